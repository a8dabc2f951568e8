"""What is asked of every player: legal, blind to hidden cards, the same whatever stands beside."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from deals import shuffle_hidden_cards

from nap_env.actions import FIRST_SUIT
from nap_env.agents import AGENTS, WEIGHTS, make
from nap_env.agents.network import load_network
from nap_env.batch import Batch
from nap_env.engine.state import BUY, EVENT_SEAT, EXCHANGE
from nap_env.game import Game
from nap_env.presets import PRESETS

NETWORKS = {path.stem: load_network(path).training.tables for path in WEIGHTS.glob("*.npz")}
"""Networks play at the tables at which they were trained."""

HONEST = [
    name.replace("-K", "-2") for name in AGENTS if name != "omniscient" and name not in NETWORKS
]
"""All others but the one that looks into the other hands: they play at every table."""

TABLES = [
    (name, min(max(rules.player_range[0], 3), rules.player_range[1]))
    for name, rules in PRESETS.items()
]
SOME_TABLES = [("standard", 4), ("ecarte", 3), ("floater", 5)]


def cases(tables: list[tuple[str, int]]) -> list[tuple[str, str, int]]:
    """Return players with the tables at which they sit."""
    anywhere = [(agent, *table) for agent in HONEST for table in tables]
    at_home = [
        (agent, rules.name, players)
        for agent, tables in NETWORKS.items()
        for rules, players in tables
    ]
    return anywhere + at_home


def played(agent: str, rules: str, players: int, games: int, decisions: int) -> Any:
    """Yield a batch in which the player has acted more and more, and its next answers."""
    batch = Batch(rules, players, games, seed=players)
    act = make(agent, rules, players)
    rows = np.arange(games)
    for _ in range(decisions):
        before = batch.clone()
        actions = act(batch, rows)
        yield before, actions
        batch.step(actions)


def forget_history(game: Game) -> None:
    """Blank what a record keeps for the log alone: cards as dealt, or gathered, and others' marks.

    A mark says which card has been put away.
    """
    g = game.games[0]
    g["pack"][: g["stock_next"]] = 0
    g["gathered"] = 0
    if g["phase"] in (BUY, EXCHANGE):
        for place in range(g["num_events"]):
            seat, action = divmod(int(g["events"][place]), EVENT_SEAT)
            if seat != g["seat"] and action < FIRST_SUIT:
                g["events"][place] = EVENT_SEAT * seat


@pytest.mark.parametrize(("agent", "rules", "players"), cases(TABLES))
def test_cards_that_a_seat_cannot_see_do_not_change_what_it_does(
    agent: str, rules: str, players: int
) -> None:
    chance = np.random.default_rng(players)
    act = make(agent, rules, players)
    rows = np.arange(6)
    changed = 0
    for batch, actions in played(agent, rules, players, games=6, decisions=40):
        for row in rows:
            game = Game.of(batch.rules, players, batch.games[row : row + 1])
            shuffle_hidden_cards(game, game.seat, chance)
            changed += batch.games[row]["hand"].tolist() != game.games[0]["hand"].tolist()
            forget_history(game)
            batch.games[row] = game.games[0]
        assert act(batch, rows).tolist() == actions.tolist()
    assert changed > 40


@pytest.mark.parametrize(("agent", "rules", "players"), cases(SOME_TABLES))
def test_games_beside_it_do_not_change_what_a_player_does(
    agent: str, rules: str, players: int
) -> None:
    act = make(agent, rules, players)
    for batch, actions in played(agent, rules, players, games=12, decisions=20):
        turned = np.array([7, 2, 11, 3])
        assert act(batch.clone(), turned).tolist() == actions[turned].tolist()
        for row in turned:
            assert act(batch.clone(), np.array([row])).tolist() == [actions[row]]


PLAY = """
import sys
import numpy as np
from nap_env.agents import make
from nap_env.batch import Batch

for rules in ("standard", "peep", "sir_garnet", "draw", "seven_card"):
    games = Batch(rules, 3, 3, seed=1)
    act = make(sys.argv[1], rules, 3)
    for _ in range(30):
        actions = act(games, np.arange(3))
        print(*actions)
        games.step(actions)
"""


@pytest.mark.parametrize("agent", ["random", "passer", "heuristic"])  # pimc: test_pimc.py
def test_players_do_the_same_without_the_jit(agent: str) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PLAY, agent],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
    assert said[0] == said[1] != ""


def test_a_player_is_made_for_a_table_that_there_is() -> None:
    for name in AGENTS:
        with pytest.raises(ValueError, match="num_players=9: standard seats 3 to 7"):
            make(name.replace("-K", "-2"), "standard", 9)


def test_a_network_of_another_table_names_those_who_play_there() -> None:
    with pytest.raises(
        ValueError, match=r"plays standard with 4 .* pub with 5 players is played by"
    ):
        make("ppo-standard-4", "pub", 5)
    with pytest.raises(ValueError, match=r"played by random, passer, .*, ppo-standard-3$"):
        make("ppo-standard-4", "standard", 3)
