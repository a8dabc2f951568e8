"""What a seat sees: the layout, perfect memory, and nothing that it may not know."""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from deals import act, deal, shuffle_hidden_cards
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from observer import Observer, View
from test_reference import overridden_rules

from nap_env.actions import ACTIONS, NUM_ACTIONS
from nap_env.batch import Batch
from nap_env.game import Game
from nap_env.observation import FIELDS, LAYOUT_HASH, LAYOUT_VERSION, SIZES, Layout, layout
from nap_env.presets import PRESETS, resolve
from nap_env.rules import Rules, rules_table

TABLES = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in sorted({rules.player_range[0], 4, rules.player_range[1]})
    if rules.player_range[0] <= players <= rules.player_range[1]
]

EXCHANGES = ("discards", "widow", "bought_cards", "exchanged_cards")
"""Fields that rules without exchanges do not have."""

NO_TRUMPS = {"joker": True, "bids": ["misere"], "all_pass": "eldest_one"}
SPECIAL: list[tuple[str, dict[str, Any]]] = [
    ("standard", NO_TRUMPS),
    ("standard", {**NO_TRUMPS, "misere_goal": "exact3_nt", "allow_revoke": True}),
    ("standard", {**NO_TRUMPS, "misere_trump": "lead", "transfer": "split", "deals": 2}),
    ("standard", {"joker": True, "allow_revoke": True, "bids": ["one", "two", "wellington"]}),
    ("standard", {"joker": True, "hand_size": 2, "bids": ["one", "nap"], "stake": 3, "deals": 4}),
    ("house", {"joker": True, "deals": 5, "stake": 40, "pool_start": 3, "pool_revoke": 1}),
    ("modern", {"joker": True, "bids": ["wellington"], "deals": 3, "allow_revoke": True}),
    ("seven_card", {"discard_to": 5, "bids": ["three", "nap"], "buy": True, "deals": 200}),
    ("standard", {"dealer_out_from": 4, "allow_revoke": True, "target": 6, "deals": "none"}),
    ("peep", {"look_needed": False, "joker": True, "all_pass": "dealer_one", "deals": 3}),
    ("peep", {"discard_to": 3, "bids": ["one", "two", "nap"], "buy": True, "hold": True}),
    ("sir_garnet", {"garnet_pool": 2, "garnet_fail": 2, "hold": True, "discard_to": 4}),
    ("floater", {"hold": True, "bids": ["three+f", "nap+f"], "buy": True, "deals": 3}),
    ("draw", {"hand_size": 7, "buy": True, "hold": True, "stake": 2, "deals": 3}),
    ("old_russian", {"separate_call": True, "buy": True, "deals": 3, "pool_start": 40}),
]
"""Games with what the presets lack or seldom come to."""


@pytest.mark.parametrize("observation_layout", ["fixed", "full"])
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_fields_do_not_overlap_and_fill_the_size(
    name: str, players: int, observation_layout: str
) -> None:
    shape = layout(resolve(name), players, observation_layout)
    covered = np.zeros(shape.size, int)
    names = [field.name for field in FIELDS]
    for field in names:
        for seat in range(8):
            try:
                covered[shape.slice(field, seat)] += 1
            except ValueError:
                continue
    assert covered.max() == 1
    # What no field names is padding, less than a word a group.
    assert covered.sum() > shape.size - 64 * len(SIZES)
    assert shape.size == shape.num_bits + shape.num_scalars
    assert shape.size % 8 == 0


HASHES = {1: "87e9bfd16ade094b"}
"""By version of the layout, its hash."""


def test_another_layout_has_another_version() -> None:
    assert HASHES.get(LAYOUT_VERSION) == LAYOUT_HASH, (
        "The layout of the observation has changed: raise LAYOUT_VERSION in "
        "nap_env/observation.py, train or convert the networks in nap_env/agents/weights, and note "
        f"here the version with its hash, {LAYOUT_HASH!r}."
    )


def test_layout_is_printed_from_the_fields() -> None:
    text = layout(resolve("standard"), 4).describe()
    assert "hand" in text
    assert "passed (seat 3)" in text
    assert text.splitlines()[0].split()[:2] == ["0-", "52"]


def test_plain_rules_have_no_planes_for_exchanges() -> None:
    plain = layout(resolve("standard"), 4)
    with pytest.raises(ValueError, match="field 'discards'"):
        plain.slice("discards")
    assert layout(resolve("peep"), 4).num_planes == plain.num_planes + 2


def test_full_layout_is_one_for_all_rules_and_players() -> None:
    sizes = {layout(resolve(name), players, "full").size for name, players in TABLES}
    assert len(sizes) == 1


def assert_observation_is_what_the_seat_knows(games: list[Game], told: Observer) -> None:
    """Compare every entry of every seat's observation, in each of the layouts, and the masks."""
    for me in range(told.players):
        view = told.sees(me)
        legal = told.referee.legal() if me == told.referee.seat else []
        for game in games:
            seen, mask = game.observe(me)
            assert seen.dtype == mask.dtype == np.int8
            assert seen.shape == (game.layout.size,)
            assert mask.shape == (NUM_ACTIONS,)
            assert sorted(ACTIONS[action] for action in np.flatnonzero(mask)) == legal
            if (seen != expected_entries(game.layout, view)).any():
                where = {"me": me, "record": game.record()}
                assert fields_of(game.layout, seen) == fields_of(
                    game.layout, expected_entries(game.layout, view)
                ), where
                raise AssertionError(f"an entry that no field names is not 0: {where}")


def expected_entries(where: Layout, view: View) -> npt.NDArray[np.int8]:
    """Write a view into an observation of this layout, whose other entries are 0."""
    entries = np.zeros(where.size, np.int8)
    places = places_of(where)
    for key, values in view.items():
        if key in places:
            start, stop = places[key]
            if key[0] == "order":
                entries[start:stop] = -1
                stop = start + len(values)
            entries[start:stop] = values
        else:
            # Only these may be missing, and only where they would always be 0.
            assert key[0] in EXCHANGES
            assert not any(values), key
    return entries


def fields_of(where: Layout, entries: npt.NDArray[np.int8]) -> dict[tuple[str, int], list[int]]:
    return {
        key: entries[start:stop].tolist()
        for key, (start, stop) in places_of(where).items()
        if entries[start:stop].any()
    }


@functools.cache
def places_of(where: Layout) -> dict[tuple[str, int], tuple[int, int]]:
    """Return first and last entry + 1 of every field, by name and seat."""
    places = {}
    for field in FIELDS:
        for seat in range(8):
            try:
                part = where.slice(field.name, seat)
            except ValueError:
                continue
            places[field.name, seat] = part.start, part.stop
    return places


def watch_deals(games: list[Game], told: Observer, deals: int) -> set[tuple[str, int]]:
    """Play deals at random, the same in all the layouts, and compare after each event.

    Returns:
        The fields of which any entry was ever other than 0.
    """
    shown = set()
    for number in range(deals):
        if number > 0:
            for game in games:
                game.next_deal()
            told = told.next_deal(games[0].record())
        while not games[0].over:
            assert told.referee.seat is not None
            assert_observation_is_what_the_seat_knows(games, told)
            action = games[0].random_action()
            told.act(ACTIONS[action])
            for game in games:
                game.step(action)
            shown |= {name for (name, _), values in told.sees(0).items() if any(values)}
        assert told.referee.seat is None
        assert_observation_is_what_the_seat_knows(games, told)
        assert games[0].match_over == told.match_over
    return shown


def in_both_layouts(rules: Rules, players: int, seed: int) -> list[Game]:
    return [Game(rules, players, seed, shape) for shape in ("fixed", "full")]


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_observation_tells_what_the_seat_knows(name: str, players: int) -> None:
    """Rebuild every field from the deal's record at every decision: matches, scores carried on."""
    games = in_both_layouts(resolve(name, {"deals": 3}), players, seed=players)
    watch_deals(games, Observer(games[0].rules, games[0].record()), deals=4)


@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize(("name", "options"), SPECIAL)
def test_observation_tells_what_the_seat_knows_in_special_games(
    name: str, options: dict[str, Any], players: int
) -> None:
    rules = resolve(name, {"player_range": [2, 8], "deck": 52, "max_deals": 7, **options})
    games = in_both_layouts(rules, players, seed=players)
    watch_deals(games, Observer(games[0].rules, games[0].record()), deals=8)


def test_special_games_show_every_field() -> None:
    """A field that is 0 throughout would be compared with nothing."""
    shown = set()
    for name, options in SPECIAL:
        rules = resolve(name, {"player_range": [2, 8], "deck": 52, **options})
        games = in_both_layouts(rules, 4, seed=1)
        shown |= watch_deals(games, Observer(games[0].rules, games[0].record()), deals=8)
    assert shown == {field.name for field in FIELDS}


def field(game: Game, me: int, name: str, seat: int = 0) -> list[int]:
    return game.observe(me)[0][game.layout.slice(name, seat)].tolist()


def test_a_joker_led_without_trumps_leads_no_suit() -> None:
    hands = {0: "JK 2C 3C 4C 5C", 1: "6C 7C 8C 9C TC", 2: "2H 3H 4H 5H 6H"}
    game = act(
        deal("standard", hands, num_players=3, deck=52, joker=True), "misere pass pass JK 6C"
    )
    assert field(game, 1, "no_trumps") == [1]
    assert field(game, 1, "trump_suit") == field(game, 1, "led_suit") == [0, 0, 0, 0]
    assert field(game, 1, "void", 0) == [0, 0, 0, 0]
    assert field(game, 1, "winning", 2) == field(game, 1, "leader", 2) == [1]
    act(game, "2H")
    assert game.over  # the misere is lost


def test_a_seat_that_does_not_follow_is_void_of_the_led_suit() -> None:
    hands = {0: "AS 2C 3C 4C 5C", 1: "6C 7C 8C 9C TC", 2: "2S 3H 4H 5H 6H"}
    game = act(deal("standard", hands, num_players=3, deck=52), "three pass pass AS 6C")
    assert field(game, 2, "trump_suit") == field(game, 2, "led_suit") == [0, 0, 0, 1]
    assert field(game, 2, "void", 2) == [0, 0, 0, 1]  # seat 1 as seat 2 sees it
    assert field(game, 2, "void", 1) == [0, 0, 0, 0]
    assert field(game, 2, "trick") == [1, 0, 0, 0, 0, 0, 0]
    act(game, "2S 2C")
    assert field(game, 2, "trick") == [0, 1, 0, 0, 0, 0, 0]
    assert field(game, 2, "led_suit") == [1, 0, 0, 0]
    assert field(game, 2, "void", 2) == [0, 0, 0, 1]
    assert field(game, 2, "tricks") == [0, 1, 0, 0, 0, 0, 0, 0]


def test_a_joker_led_is_in_the_hand_until_trumps_are_named() -> None:
    hands = {0: "JK 2C 3C 4C 5C", 1: "6C 7C 8C 9C TC"}
    game = act(deal("standard", hands, num_players=3, deck=52, joker=True), "three pass pass JK")
    assert game.phase == "name"
    assert field(game, 0, "hand")[52] == 1
    assert field(game, 1, "order")[0] == -1
    act(game, "clubs")
    assert field(game, 0, "hand")[52] == 0
    assert field(game, 1, "order")[0] == 52
    assert field(game, 1, "led_suit") == field(game, 1, "trump_suit") == [1, 0, 0, 0]


def test_the_price_of_a_bid_counts_stake_and_multiplier() -> None:
    game = deal("floater", num_players=4, stake=3, deals=2, multiplier=2, scores=[7, 0, 0, -7])
    assert field(game, 0, "contract_tricks") == [-1]
    act(game, "look nap+f")
    assert field(game, 1, "contract_tricks") == [5]
    assert field(game, 1, "win") == [60]
    assert field(game, 1, "lose") == [30]
    assert field(game, 1, "multiplier") == [2]
    assert field(game, 1, "deals_left") == [1]
    assert field(game, 1, "pool") == [5]
    assert field(game, 1, "scores") == [0, 0, -7, 7, 0, 0, 0, 0]


@given(table=overridden_rules(), deals=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_observation_tells_what_the_seat_knows_under_any_options(
    table: Any, deals: int, seed: int
) -> None:
    games = in_both_layouts(*overridden(table, {"deals": deals}), seed)
    watch_deals(games, Observer(games[0].rules, games[0].record()), deals=3)


def overridden(table: Any, options: dict[str, Any]) -> tuple[Rules, int]:
    """Return the rules and the players of a drawn table, unless they make no game."""
    name, drawn, players = table
    try:
        rules = resolve(name, {**drawn, **options})
        rules.check_players(players)
        rules_table(rules, players)
    except ValueError:
        assume(False)
    # The referee's alternative scoring has no prices that `pay` could change.
    assume(rules.scheme == "table" or not drawn.get("pay"))
    return rules, players


@pytest.mark.parametrize("far", [127, 128, 129, 1_000, 999_000])
def test_numbers_saturate_at_the_ends_of_int8(far: int) -> None:
    """Chips, stakes and deals beyond what an int8 holds; a doubled stake as well."""
    options = {"deals": far, "stake": min(far, 1_000), "pool_each": 0, "player_range": [2, 8]}
    games = in_both_layouts(resolve("floater", options), 4, seed=far)
    scores = [far, -far, 127 - far, far - 128]
    for game in games:
        game.set_up(pool=far, multiplier=2, scores=scores)
    watch_deals(games, Observer(games[0].rules, games[0].record(), scores=scores), deals=3)


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_dense_form_is_the_unpacking_of_the_packed_one(
    name: str, players: int, skip_forced: bool
) -> None:
    dense = Batch(name, players, 16, seed=2, skip_forced=skip_forced)
    packed = Batch(name, players, 16, seed=2, observe="packed", skip_forced=skip_forced)
    for _ in range(30):
        bits = np.unpackbits(packed.planes.view(np.uint8), axis=1, bitorder="little")
        assert (dense.observation == np.hstack([bits, packed.scalars])).all()
        masks = np.unpackbits(packed.mask.view(np.uint8), axis=1, bitorder="little")
        assert (dense.action_mask == masks[:, :NUM_ACTIONS]).all()
        for row in range(0, 16, 5):
            game = Game.of(dense.rules, players, dense.games[row : row + 1])
            seen, mask = game.observe(int(dense.seat[row]))
            assert (dense.observation[row] == seen).all()
            assert (dense.action_mask[row] == mask).all()
        actions = dense.sample()
        assert (actions == packed.sample()).all()
        dense.step(actions)
        packed.step(actions)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_cards_that_a_seat_cannot_see_change_nothing_it_sees(name: str, players: int) -> None:
    assert_hidden_cards_stay_hidden(Game(resolve(name), players, seed=players), deals=4)


@pytest.mark.parametrize(("name", "options"), SPECIAL)
def test_cards_that_a_seat_cannot_see_change_nothing_in_special_games(
    name: str, options: dict[str, Any]
) -> None:
    rules = resolve(name, {"player_range": [2, 8], "deck": 52, **options})
    assert_hidden_cards_stay_hidden(Game(rules, 4, seed=4), deals=6)


@given(table=overridden_rules(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_cards_that_a_seat_cannot_see_change_nothing_under_any_options(
    table: Any, seed: int
) -> None:
    assert_hidden_cards_stay_hidden(Game(*overridden(table, {}), seed=seed), deals=2)


def assert_hidden_cards_stay_hidden(game: Game, deals: int) -> None:
    """Exchange hidden cards between other hands, discards, widow and stock; the view must stay."""
    chance = np.random.default_rng(game.num_players)
    for _ in range(deals):
        while not game.over:
            for seat in range(game.num_players):
                other = game.clone()
                shuffle_hidden_cards(other, seat, chance)
                before, after = game.observe(seat), other.observe(seat)
                assert (before[0] == after[0]).all(), (game.record(), seat)
                if seat != game.seat:
                    assert (before[1] == after[1]).all()
            game.step(game.random_action())
        game.next_deal()
