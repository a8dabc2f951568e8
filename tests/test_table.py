"""The table as a viewer sees it: it shows the game, and no more than that viewer may know."""

from typing import Any

import numpy as np
import pytest
from deals import act, deal, shuffle_hidden_cards
from hypothesis import given, settings
from hypothesis import strategies as st
from test_observation import SPECIAL, TABLES, overridden
from test_reference import overridden_rules

from nap_env.actions import NUM_ACTIONS
from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.records import replay, sample
from nap_env.table import HIDDEN


def test_a_table_in_words_of_the_rules() -> None:
    game = deal("standard", {0: "AS KS 9S QH 8D", 1: "QS TS AH 9D KC", 2: "JS 8S KH AD QC"})
    act(game, "three pass pass pass  AS TS 8S 9C  KS")
    seen = game.table(1)
    assert seen.hands[1] == ["QS", "AH", "9D", "KC"]
    assert seen.hands[0] == [HIDDEN] * 3
    assert seen.calls == [(0, "three"), (1, "pass"), (2, "pass"), (3, "pass")]
    assert seen.tricks == [[(0, "AS"), (1, "TS"), (2, "8S"), (3, "9C")], [(0, "KS")]]
    assert (seen.winners, seen.won, seen.complete) == ([0, 0], [1, 0, 0, 0], False)
    assert (seen.contract, seen.declarer, seen.trump, seen.no_trumps) == ("three", 0, "S", False)
    assert (seen.dealer, seen.to_move, seen.phase) == (3, 1, "play")
    assert (seen.pool, seen.payments, seen.outcome) == (None, None, None)
    assert game.table(playing=False).to_move is None


def test_the_end_of_a_deal_tells_who_paid() -> None:
    game = deal("standard", {0: "AS KS 9S QH 8D"})
    act(game, "misere pass pass pass")
    while not game.over:
        game.step(game.random_action())
    seen = game.table()
    assert seen.outcome in ("seat 0 makes misere", "seat 0 fails misere")
    assert seen.payments is not None and sum(seen.payments) == 0
    assert seen.no_trumps and seen.to_move is None
    assert list(seen.scores) == list(seen.payments)


@pytest.mark.parametrize("name", PRESETS)
def test_winners_are_those_of_the_text(name: str) -> None:
    players = PRESETS[name].player_range[1]
    for record in sample(PRESETS[name], players, 5, seed=3):
        game = replay(record)
        lines = [line for line in game.text().splitlines() if line.startswith("trick ")]
        arrows = [line.split("-> ")[1] for line in lines if "-> " in line]
        assert [str(seat) for seat in game.table().winners[: len(arrows)]] == arrows


def test_the_widow_is_shown_to_who_has_looked() -> None:
    game = deal("peep", widow="AS")
    act(game, "pass look")
    assert [list(game.table(seat).widow) for seat in (None, 0, 1)] == [["AS"], [HIDDEN], ["AS"]]
    assert list(game.table(0).looked) == [False, True, False, False]


def test_the_number_of_cards_changed_is_shown() -> None:
    game = deal("draw", {0: "AS KS QS JS 2C"})
    act(game, "nap pass pass pass  2C done")
    assert game.table(1).exchanged == [1, 0, 0, 0]
    game = deal("ecarte", {0: "AS KS QS 3C 2C"})
    act(game, "2C 3C done")
    assert game.table(1).exchanged == [2, 0, 0, 0]


def test_cards_put_away_are_shown_to_their_seat_only() -> None:
    game = deal("draw", {0: "AS KS QS JS 2C"})
    act(game, "nap pass pass pass  2C")
    assert game.table(0).calls[-1] == game.table(None).calls[-1] == (0, "2C")
    assert game.table(1).calls[-1] == (0, HIDDEN)


def test_a_joker_that_is_led_lies_open_while_its_suit_is_named() -> None:
    game = deal("pub", {0: "JK KS QS JS TC"})
    act(game, "nap pass pass pass  JK")
    seen = game.table(1)
    assert (seen.phase, seen.to_move) == ("name", 0)
    assert (seen.tricks, seen.winners) == ([[(0, "JK")]], [0])
    assert seen.calls[-1] == (3, "pass")
    act(game, "spades")
    assert game.table(1).tricks == [[(0, "JK")]] and game.table(1).trump == "S"
    assert game.table(1).calls[-1] == (0, "spades")


def test_a_trick_that_a_wrong_card_ends_has_no_winner() -> None:
    hands = {0: "AS KS", 1: "2S 3S", 2: "4S 5S", 3: "7S 6H"}
    seen = act(
        deal("thirty", hands, allow_revoke=True), "three pass pass pass  AS 2S 4S 6H"
    ).table()
    assert (seen.complete, seen.winners, seen.won) == (True, [None], [0] * 4)


@pytest.mark.parametrize("viewer", [-1, 4, "0", True])
def test_a_viewer_is_a_seat(viewer: Any) -> None:
    with pytest.raises(ValueError, match=rf"viewer={viewer!r}: 0 to 3 are allowed"):
        deal("peep").table(viewer)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_cards_that_a_seat_cannot_see_are_not_told(name: str, players: int) -> None:
    assert_hidden_cards_are_not_told(Game(resolve(name), players, seed=players), deals=2)


@pytest.mark.parametrize(("name", "options"), SPECIAL)
def test_cards_that_a_seat_cannot_see_are_not_told_in_special_games(
    name: str, options: dict[str, Any]
) -> None:
    rules = resolve(name, {"player_range": [2, 8], "deck": 52, **options})
    assert_hidden_cards_are_not_told(Game(rules, 4, seed=4), deals=6)


@given(table=overridden_rules(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_cards_that_a_seat_cannot_see_are_not_told_under_any_options(table: Any, seed: int) -> None:
    assert_hidden_cards_are_not_told(Game(*overridden(table, {}), seed=seed), deals=1)


def assert_hidden_cards_are_not_told(game: Game, deals: int) -> None:
    """Exchange hidden cards: table, text, and the error for an illegal action must stay."""
    chance = np.random.default_rng(game.num_players)
    for _ in range(deals):
        while not game.over:
            wrong = [action for action in range(NUM_ACTIONS) if not game.legal_bits >> action & 1]
            action = int(chance.choice(wrong))
            for viewer in {game.seat, int(chance.integers(game.num_players))}:
                other = game.clone()
                shuffle_hidden_cards(other, viewer, chance)
                assert told(other, viewer, action) == told(game, viewer, action), game.record()
            game.step(game.random_action())
        game.next_deal()


def told(game: Game, viewer: int, action: int) -> Any:
    """Return all that a viewer is told, also of an illegal action if it is the seat to move."""
    error = f"{game.illegal(action)}" if viewer == game.seat else None
    return game.table(viewer), game.text(viewer), error
