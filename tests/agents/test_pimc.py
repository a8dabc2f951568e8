"""Players that solve: legal and sensible everywhere, blind to hidden cards, choices in cards."""

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from agents.test_worlds import deal_worlds
from deals import act, deal
from test_observation import SPECIAL

from nap_env.actions import ACTIONS
from nap_env.agents import Agent, make
from nap_env.agents import pimc as module
from nap_env.batch import Batch
from nap_env.game import Game


def choice(name: str, game: Game) -> str:
    """Return what a player of that name does in a game."""
    batch = Batch(game.rules, game.num_players, 1, 0)
    batch.games[0] = game.games[0]
    batch._show()
    agent = make(name, game.rules, game.num_players)
    return ACTIONS[agent(batch, np.arange(1))[0]]


def choices(name: str, game: Game) -> set[str]:
    """Return all that it does there, drawing other worlds each time: the game's stream moves on."""
    found = set()
    for _ in range(10):
        game.games["draws"] += 1000
        found.add(choice(name, game))
    return found


@pytest.mark.parametrize(("name", "options"), SPECIAL)
def test_hidden_cards_do_not_change_a_choice_under_rare_rules(
    name: str, options: dict[str, Any]
) -> None:
    players = 4
    batch = Batch(name, players, 6, 1, options=options)
    agents = [make(kind, batch.rules, players) for kind in ("pimc-2", "pimc-inference-2")]
    rows = np.arange(6)
    for _ in range(25):
        worlds = deal_worlds(batch)
        worlds.games["draws"] = batch.games["draws"]
        for agent in agents:
            again = batch.clone()
            chosen = agent(again, rows)
            worlds_again = worlds.clone()
            assert (agent(worlds_again, rows) == chosen).all()
        batch.step(chosen)  # raises if a choice is not legal


@pytest.mark.parametrize("name", ["pimc-3", "pimc-inference-3", "omniscient"])
def test_answers_do_not_depend_on_other_games_or_on_earlier_answers(name: str) -> None:
    batch = Batch("standard", 4, 6, 2)
    used: Agent = make(name, "standard", 4)
    for _ in range(20):
        together = used(batch.clone(), np.arange(6))
        fresh = make(name, "standard", 4)
        alone = [int(fresh(batch.clone(), np.array([row]))[0]) for row in reversed(range(6))]
        assert alone[::-1] == together.tolist()
        batch.step(together)


@pytest.mark.parametrize("name", ["pimc-3", "omniscient"])
def test_a_copy_is_small_and_chooses_alike(name: str) -> None:
    batch = Batch("standard", 4, 4, 2)
    agent = make(name, "standard", 4)
    chosen = agent(batch.clone(), np.arange(4))
    assert len(pickle.dumps(agent)) < 20_000
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert (other(batch.clone(), np.arange(4)) == chosen).all()


def test_a_lay_down_nap_is_bid_and_trumps_are_led() -> None:
    game = deal("standard", {0: "AS KS QS JS TS"}, num_players=4)
    assert choice("pimc-20", game) == choice("omniscient", game) == "nap"
    act(game, "nap pass pass pass")
    assert choice("pimc-20", game)[1] == "S"


def test_the_lowest_cards_are_a_misere_and_no_three() -> None:
    hands = {0: "8S 9S 8H 9D TC", 1: "AS KS", 2: "AD AH", 3: "AC KC"}
    assert choice("pimc-20", deal("standard", hands)) == "misere"
    assert choice("pimc-20", deal("standard", hands, bids=["three", "four", "nap"])) == "pass"


@pytest.mark.parametrize(
    # JS takes the lead of hearts or diamonds that seat 2 makes sooner or later; 8S does not.
    ("held", "bid"),
    [("AS KS JS 8H 8D", "three"), ("AS KS 8S 8H 8D", "two")],
)
def test_the_omniscient_bids_what_makes(held: str, bid: str) -> None:
    hands = {0: held, 1: "QS TS 9S AH AD", 2: "KH QH JH KD QD", 3: "9H TH JD TD 9D"}
    game = deal("standard", hands, dealer=0, bids=["one", "two", "three", "four"])
    assert choice("omniscient", act(game, "pass pass pass")) == bid


@pytest.mark.parametrize("stake", [1, 10])
def test_few_worlds_leave_a_call_to_the_heuristic_and_many_do_not(stake: int) -> None:
    # Defenders who see all cards beat nearly every misère with this hand, for 3 instead of +3.
    hands = {0: "KC JD QH TS JS", 1: "8D AD JH QS KS", 2: "JC TD TH AH 9S", 3: "8C QC 9D 8H AS"}
    game = act(deal("standard", hands, bids=["misere"], stake=stake), "pass pass pass")
    assert choice("heuristic", game) == "misere"
    assert choices("pimc-1", game) == {"misere"}  # CALL_DOUBT is more than 3, a tenth is not
    assert choices("pimc-100", game) == {"pass"}
    assert choice("omniscient", game) == "pass"


@pytest.mark.parametrize("stake", [1, 10])
def test_few_worlds_leave_a_card_to_the_heuristic_and_many_do_not(
    stake: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CARD_DOUBT", 7)  # more than any world says: 3 won for 3 lost
    hands = {0: "AH 4H 3H 9C 9S", 1: "QH 3S 4D AC 4C", 2: "KH 5H QC AS 2S"}
    game = deal("parlett", hands, num_players=3, dealer=1, stake=stake)
    act(game, "two three pass  AH QH 5H  9C AC QC  4C KH")
    assert choice("heuristic", game) == "3H"  # leaves one trump where two are needed
    assert choices("pimc-1", game) == {"3H"}
    assert choices("pimc-100", game) == {"9S"}
    assert choice("omniscient", game) == "9S"


def test_the_last_seat_takes_the_trick_that_beats_the_contract() -> None:
    game = deal(
        "standard",
        {0: "AS KS 8H 8D 8C", 1: "9H 9S TS 9D 9C", 2: "TH JS QS TD TC", 3: "AH QH AD KD AC"},
    )
    act(game, "three pass pass pass  AS 9S JS QH  KS TS QS KD  8H 9H TH")
    assert choice("pimc-20", game) == "AH"


def test_worlds_that_are_given_up_leave_the_choice_to_the_heuristic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "NODE_CAP", 1)
    batch = Batch("parlett", 5, 20, 4)
    rows = np.arange(20)
    heuristic = make("heuristic", "parlett", 5)
    capped = make("pimc-2", "parlett", 5)(batch.clone(), rows)
    assert (capped == heuristic(batch.clone(), rows)).all()


def test_more_worlds_than_can_be_counted_are_refused() -> None:
    assert make("pimc-1048576")
    with pytest.raises(ValueError, match="worlds=1048577: must be at most 1048576"):
        make("pimc-1048577")


def test_the_same_choices_without_the_jit() -> None:
    code = (
        "import numpy as np; from nap_env import Batch; from nap_env.agents import make\n"
        "batch = Batch('mini_3p', 3, 2, 0)\n"
        "agents = [make(name, 'mini_3p', 3) for name in ('pimc-inference-2', 'omniscient')]\n"
        "for _ in range(12):\n"
        "    actions = [agent(batch, np.arange(2)).tolist() for agent in agents]\n"
        "    print(actions); batch.step(np.array(actions[0]))\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
    assert outputs[0] == outputs[1] != ""
