"""How strength is measured, and the two simplest agents."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nap_env.actions import PASS
from nap_env.agents import AGENTS, make
from nap_env.batch import Batch
from training.checkpoint import Player, save_weights
from training.evaluate import compare, evaluate, main, network_agent, play_deals
from training.network import Network
from training.ppo import observation_scale

RANDOM, PASSER = make("random"), make("passer")


@pytest.fixture(scope="module")
def games():
    return Batch(rules="standard", num_players=4, num_games=2000, seed=0, skip_forced=True)


def untrained(games):
    scale = observation_scale(games)
    return Network(scale, games.num_actions, (8,), torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    games = Batch(rules="mini_3p", num_players=3, num_games=1, seed=0)
    path = tmp_path_factory.mktemp("run") / "last.safetensors"
    player = Player(
        rules="mini_3p",
        options={},
        num_players=3,
        hidden=(8,),
        layout_version=games.layout.version,
    )
    save_weights(path, untrained(games), player)
    return path


@pytest.mark.parametrize("name", AGENTS)
def test_agents_answer_legally_for_the_rows_asked(name):
    games = Batch(rules="standard", num_players=4, num_games=100, seed=0)
    for _ in range(50):
        rows = np.arange(0, 100, 3)
        actions = make(name)(games, rows)
        assert games.action_mask[rows, actions].all()
        if name == "passer":
            assert ((actions == PASS) == games.action_mask[rows, PASS]).all()
        games.step(games.sample())


@pytest.mark.parametrize("format", ["1-vs-rest", "rest-vs-1"])
@pytest.mark.parametrize("agent", [RANDOM, PASSER])
def test_an_agent_against_itself_comes_out_at_0(games, agent, format):
    low, high = compare(games, 1, agent, agent, format)["ci95"]
    assert low <= 0 <= high


def test_passing_beats_random_bidding(games):
    alone = compare(games, 1, PASSER, RANDOM, "1-vs-rest")
    together = compare(games, 1, PASSER, RANDOM, "rest-vs-1")
    # By simulation with another engine: +586 and +213 (LEARNING.md, section 0).
    assert alone["ci95"][0] < 586 < alone["ci95"][1]
    assert together["ci95"][0] < 213 < together["ci95"][1]


def test_one_against_the_rest_is_the_rest_against_one_turned_round(games):
    def alone(one, rest):
        return np.stack([play_deals(games, 1, seat, one, rest)[:, seat] for seat in range(4)])

    lost = alone(RANDOM, PASSER).mean()
    won = compare(games, 1, PASSER, RANDOM, "rest-vs-1")
    assert won["chips_per_100"] == pytest.approx(-100 * lost / 3, abs=0.006)


def test_the_interval_by_hand():
    # Two sets of a game in which the seat under test always wins 3 and 1 chips from another one.
    class Games:
        num_games, num_players, rules = 2, 2, SimpleNamespace(has_pool=False)
        done, payments, seat = np.array([True, True]), None, np.array([0, 0], np.int8)

        def reset(self, seed):
            self.deal = np.array([3, 1])

        def sample(self):
            return np.zeros(2, np.int64)

        def step(self, actions):
            self.payments = self.deal[:, None] * np.where(actions[:, None] == 1, [1, -1], [-1, 1])

    def winner(games, rows):
        return np.ones(len(rows), np.int64)

    def loser(games, rows):
        return np.zeros(len(rows), np.int64)

    # Mean 2 and standard error 1; t with 1 degree of freedom at 97.5 % is 12.706.
    result = compare(Games(), 1, winner, loser, "1-vs-rest")
    assert result == {"chips_per_100": 200, "ci95": [-1070.62, 1470.62], "sets": 2}


def test_lost_chips_are_noticed(games):
    broken = SimpleNamespace(
        num_games=1,
        num_players=2,
        rules=SimpleNamespace(has_pool=False),
        seat=np.zeros(1, np.int8),
        done=np.ones(1, np.bool_),
        payments=np.array([[3, -2]]),
        reset=lambda seed: None,
        sample=lambda: np.zeros(1, np.int64),
        step=lambda actions: None,
    )
    agent = network_agent(untrained(games), "argmax", 0)
    with pytest.raises(RuntimeError, match="sum to 0"):
        play_deals(broken, 1, 1, agent, lambda games, rows: np.zeros(1, np.int64))


def test_argmax_is_the_same_every_time_and_sampled_follows_its_seed(games):
    def play(policy, seed):
        return play_deals(games, 1, 0, network_agent(untrained(games), policy, seed), PASSER)

    assert (play("sampled", 0) == play("sampled", 0)).all()
    assert (play("sampled", 0) != play("sampled", 1)).any()
    assert (play("argmax", 0) == play("argmax", 1)).all()


def test_command_ends_with_json(checkpoint, capsys):
    main([str(checkpoint), "--against", "random", "passer", "--sets", "50", "--players", "3"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(r["against"], r["format"], r["policy"]) for r in last["results"]] == [
        (against, format, policy)
        for against in ("random", "passer")
        for format in ("1-vs-rest", "rest-vs-1")
        for policy in ("sampled", "argmax")
    ]
    for row in last["results"]:
        assert row["agent"] == str(checkpoint)
        assert (row["rules"], row["num_players"], row["sets"]) == ("mini_3p", 3, 50)
        assert row["ci95"][0] <= row["chips_per_100"] <= row["ci95"][1]


def test_checkpoints_that_cannot_be_used(checkpoint, tmp_path):
    with pytest.raises(ValueError, match="players=4"):
        evaluate(checkpoint, ["random"], 2, 0, num_players=4)
    (tmp_path / "other.safetensors").write_bytes(b"not weights")
    with pytest.raises(SystemExit, match="other"):
        main([str(tmp_path / "other.safetensors")])
    with pytest.raises(SystemExit, match="gone"):
        main([str(tmp_path / "gone.safetensors")])
