"""The networks that are shipped sit down wherever players are taken by name."""

import re

import gymnasium
import numpy as np
import pytest

from nap_env.agents import AGENTS, WEIGHTS
from nap_env.play import main
from training.evaluate import evaluate

NETWORKS = [path.stem for path in WEIGHTS.glob("*.npz")]
MATCHES = [{}, {"deals": 3}, {"deals": None, "target": 5, "max_deals": 4}]
ID = "nap_env:nap/Nap-v0"

every_network = pytest.mark.parametrize("name", NETWORKS)
every_match = pytest.mark.parametrize("options", MATCHES, ids=["one deal", "deals", "target"])


def table(name):
    """Return the rules and the number of players that stand in a network's name."""
    _, rules, players = name.split("-")
    return rules, int(players)


def test_every_network_has_a_name_and_is_small():
    assert len(NETWORKS) == 5 and set(NETWORKS) <= AGENTS.keys()
    assert all(path.stat().st_size < 1_000_000 for path in WEIGHTS.glob("*.npz"))


@every_network
@pytest.mark.parametrize("watch", [False, True])
def test_in_the_terminal(name, watch, capsys, monkeypatch):
    rules, players = table(name)
    monkeypatch.setattr("builtins.input", lambda prompt: re.search(r"\[(\S+?)[] ]", prompt)[1])
    arguments = f"--rules {rules} --players {players} --opponents {name} --deals 3 --seed 1"
    assert main([*arguments.split(), *["--watch"] * watch]) == 0
    assert "chips after 3 deals" in capsys.readouterr().out


@every_network
@every_match
def test_in_gymnasium(name, options):
    rules, players = table(name)
    env = gymnasium.make(ID, rules=rules, num_players=players, opponents=name, options=options)
    rng = np.random.default_rng(0)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
    assert info["scores"].sum() == 0


@every_network
@every_match
def test_in_gymnasium_vectors(name, options):
    rules, players = table(name)
    envs = gymnasium.make_vec(
        ID, num_envs=8, rules=rules, num_players=players, opponents=name, options=options
    )
    _, infos = envs.reset(seed=0)
    for _ in range(60):
        actions = infos["action_mask"].argmax(1)
        _, _, _, _, infos = envs.step(actions)
    assert not infos["scores"].sum(1).any()


@every_network
@every_match
def test_in_evaluation(name, options):
    rules, players = table(name)
    results = evaluate(name, ["random"], sets=20, rules=rules, num_players=players, options=options)
    assert results[0]["chips_per_100"] > 0
