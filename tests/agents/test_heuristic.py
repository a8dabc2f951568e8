"""What the player by rules of thumb does, in cards."""

from typing import Any

import numpy as np
import pytest
from deals import act, deal
from test_observation import SPECIAL, TABLES

from nap_env.actions import ACTIONS
from nap_env.agents import Agent, make
from nap_env.batch import Batch
from nap_env.game import Game
from nap_env.presets import resolve


def answer(game: Game) -> str:
    """Return what the player does in the seat to move."""
    batch = Batch(game.rules, game.num_players, 1, seed=0)
    batch.games[:] = game.games
    player = make("heuristic", game.rules, game.num_players)
    return ACTIONS[player(batch, np.array([0]))[0]]


def answers(game: Game, count: int) -> str:
    """Return what it does in so many decisions, one after another."""
    said = []
    for _ in range(count):
        said.append(answer(game))
        game.act(said[-1])
    return " ".join(said)


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_every_answer_is_legal(name: str, players: int) -> None:
    play_on(Batch(name, players, 16, seed=players))


@pytest.mark.parametrize(("name", "options"), SPECIAL)
def test_every_answer_is_legal_in_special_games(name: str, options: dict[str, Any]) -> None:
    play_on(Batch(resolve(name, {"player_range": [2, 8], "deck": 52, **options}), 4, 16, seed=4))


def play_on(games: Batch) -> None:
    player = make("heuristic", games.rules, games.num_players)
    for step in range(60):
        if step % 3:
            games.step(player(games, np.arange(games.num_games)))
        else:  # so that it meets what it would not have played
            assert games.num_games == len(player(games, np.arange(games.num_games)))
            games.step(games.sample())


# The auction


def test_five_highest_of_a_suit_bid_nap() -> None:
    assert answer(deal("standard", {0: "AS KS QS JS TS"})) == "nap"


def test_five_highest_of_a_suit_bid_wellington_over_another_nap() -> None:
    assert answer(act(deal("standard", {1: "AS KS QS JS TS"}), "nap")) == "wellington"


def test_a_hand_that_is_sure_of_nothing_leaves_a_nap_alone() -> None:
    assert answer(act(deal("standard", {1: "AS KH QS JD TS"}), "nap")) == "pass"


def test_twos_and_threes_bid_misere_where_there_is_one() -> None:
    low = {0: "2C 3C 2D 3H 2S"}
    assert answer(deal("parlett", low)) == "misere"
    assert answer(deal("pool_nap", low)) == "pass"


def test_a_joker_does_not_bid_misere() -> None:
    assert answer(deal("parlett", {0: "2C 3C 2D 3H JK"}, joker=True)) != "misere"


def test_a_large_pool_is_worth_a_nap_unless_a_failed_one_doubles_it() -> None:
    hand = {0: "AS KS 9S AD TC"}
    assert answer(deal("pub", hand, pool=4)) == "two"
    assert answer(deal("pub", hand, pool=500)) == "nap"
    assert answer(deal("pub", hand, pool=500, pool_five_fail="double")) == "two"


def test_the_price_decides_between_bids() -> None:
    low = {0: "2C 3C 2D 3H 2S"}
    assert answer(deal("parlett", low, pay={"misere": [3, 60]})) == "pass"


def test_the_last_to_speak_bids_where_it_must() -> None:
    game = act(deal("dealer_must", {3: "4C 6D 8H TS 9C"}, bids=["two"]), "pass pass pass")
    assert answer(game) == "one"


# Exchanges


def test_a_low_card_goes_for_an_ace_on_the_table() -> None:
    game = deal("floater", {3: "KS QS JS TS 8D"}, widow="AS")
    assert answers(act(game, "pass pass pass"), 2) == "nap+f 8D"


def test_of_ten_cards_the_best_five_are_kept() -> None:
    game = act(deal("sir_garnet", {0: "AS KS QS 2D 3C"}, widow="JS TS 2H 3H 4C"), "take")
    assert answers(game, 5) == "3C 4C 2D 2H 3H"


def test_trumps_and_aces_are_not_exchanged() -> None:
    game = act(deal("draw", {0: "AS KS 9S AH 2C"}), "three pass pass pass")
    assert answers(game, 2) == "2C done"


def test_only_a_single_bad_card_is_worth_buying_another_for() -> None:
    assert answers(deal("ecarte", {0: "AS KS QS AH 2C"}), 2) == "2C done"
    assert answer(deal("ecarte", {0: "AS KS 2H 2D 2C"})) == "done"


# The play


def test_the_declarer_of_a_nap_leads_his_winning_trumps_first() -> None:
    game = act(
        deal("standard", {0: "AS KS QS 9S AD", 1: "TS 8S", 2: "8C", 3: "8D AC"}),
        "nap pass pass pass",
    )
    assert answer(game) == "AS"
    # King and queen are worth the same; the nine and the ace of diamonds must wait.
    assert answer(act(game, "AS TS 8C 8D")) == "QS"


def test_a_declarer_who_may_lose_tricks_keeps_his_trumps() -> None:
    game = act(deal("parlett", {0: "AS KS 9S AD 2C", 1: "3S", 2: "4S"}), "three pass pass pass")
    assert answer(act(game, "AS 3S 4S 5S")) == "AD"


def test_the_longest_good_suit_is_named_as_trumps() -> None:
    game = act(deal("modern", {0: "AS KS QS JS AD"}), "wellington pass pass pass")
    assert answer(game) == "spades"


def test_a_defender_leaves_the_trick_to_the_one_who_beats_the_declarer() -> None:
    game = deal("standard", {0: "TS 9S", 1: "AS", 2: "KS 8S"}, num_players=3)
    assert answer(act(game, "three pass pass TS AS")) == "8S"


def test_a_defender_beats_the_declarer_as_cheaply_as_he_can() -> None:
    game = deal("standard", {0: "TS 9S", 1: "8S", 2: "AS KS JS"}, num_players=3)
    assert answer(act(game, "three pass pass TS 8S")) == "JS"


def test_a_defender_who_cannot_win_throws_his_lowest_card() -> None:
    game = deal("standard", {0: "AS KS", 1: "8S", 2: "QS JS 9S"}, num_players=3)
    assert answer(act(game, "three pass pass AS 8S")) == "9S"


def test_a_misere_is_played_just_below_the_best_card() -> None:
    game = deal("parlett", {0: "2C 8D 6D 3D 2H", 1: "KC 7D", 2: "QC 4D"}, num_players=3)
    assert answer(act(game, "misere pass pass 2C KC QC 7D 4D")) == "6D"


def test_the_declarer_of_a_misere_gets_rid_of_his_highest_card() -> None:
    game = deal("parlett", {0: "2C 9D 3D 3H 2S", 1: "3C 4C", 2: "5C 6C"}, num_players=3)
    assert answer(act(game, "misere pass pass 2C 3C 5C 6C")) == "9D"


def test_a_defender_of_a_misere_stays_below_the_declarer() -> None:
    game = deal("parlett", {0: "5C 3D 3H 2S 2D", 1: "3C 9C", 2: "4C 8C"}, num_players=3)
    assert answer(act(game, "misere pass pass 5C")) == "3C"


# Strength


def duel(rules: str, players: int, one: str, rest: str, sets: int) -> tuple[float, float]:
    """Return chips per 100 deals of one seat against the rest, and half its 95 % interval.

    Each deal is played once with the tested player in every seat.
    """
    games = Batch(rules, players, sets, seed=1)
    chips = np.zeros(sets)
    for seat in range(players):
        games.reset(1)
        agents: list[Agent] = [make(name, games.rules, players) for name in (one, rest)]
        playing = np.ones(sets, np.bool_)
        while playing.any():
            actions = games.sample()
            for agent, turn in zip(agents, (games.seat == seat, games.seat != seat), strict=True):
                rows = np.flatnonzero(playing & turn)
                actions[rows] = agent(games, rows)
            games.step(actions)
            ended = playing & games.done
            chips[ended] += (games.payments[:, seat] - games.payments.mean(1))[ended] / players
            playing &= ~ended
    return 100 * chips.mean(), 196 * chips.std(ddof=1) / sets**0.5


@pytest.mark.parametrize(("rules", "players"), [("standard", 4), ("parlett", 3)])
def test_heuristic_beats_passer(rules: str, players: int) -> None:
    mean, half = duel(rules, players, "heuristic", "passer", 500)
    assert mean - half > 200
    mean, half = duel(rules, players, "passer", "heuristic", 500)
    assert mean + half < -80


@pytest.mark.slow
@pytest.mark.parametrize(("name", "players"), TABLES)
def test_heuristic_beats_passer_in_every_preset(name: str, players: int) -> None:
    for sign, (one, rest) in ((1, ("heuristic", "passer")), (-1, ("passer", "heuristic"))):
        mean, half = duel(name, players, one, rest, 2000)
        assert sign * mean - half > 0


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("rules", ["standard", "parlett"])
def test_players_come_out_in_order(rules: str, players: int) -> None:
    for better, worse in (("passer", "random"), ("heuristic", "passer")):
        mean, half = duel(rules, players, better, worse, 5000)
        assert mean - half > 0
