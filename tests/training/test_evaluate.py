"""How strength is measured."""

import json
import re
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from threading import Barrier

import numpy as np
import pytest

from nap_env.actions import PASS
from nap_env.agents import make
from nap_env.agents.network import NetworkAgent, Training, widths_of
from nap_env.batch import Batch
from nap_env.engine.state import AUCTION, OVER
from nap_env.engine.step import step
from nap_env.observation import LAYOUT_VERSION
from nap_env.presets import PRESETS, resolve
from nap_env.rules import rules_table
from training.arena import Entrant, enter, play
from training.checkpoint import save_weights
from training.evaluate import MOST_SEED, _deals, bootstrap_interval, evaluate, main, t_interval
from training.network import new_weights
from training.ppo import HELD_OUT
from training.provenance import ROOT
from training.results import draw_matrix, report

RANDOM = Entrant("random", "sampled", make("random"))
PASSER = Entrant("passer", "sampled", make("passer"))
TABLES = [
    (name, players)
    for name, rules in PRESETS.items()
    for players in range(rules.player_range[0], rules.player_range[1] + 1)
]


def alone(seat, players=4):
    return np.arange(players) == seat


def plan(rules, players):
    return Training((rules,), {}, (players,), (16,), LAYOUT_VERSION, True)


def untrained(games, seed=0):
    return new_weights(widths_of(games.observation_size, (16,)), seed)


@pytest.fixture(scope="module")
def games():
    return Batch(rules="standard", num_players=4, num_games=100, seed=0)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    games = Batch(rules="mini_3p", num_players=3, num_games=1, seed=0)
    path = tmp_path_factory.mktemp("run") / "last.safetensors"
    save_weights(path, untrained(games), plan("mini_3p", 3))
    return str(path)


@pytest.mark.parametrize("name", ["random", "passer", "heuristic", "omniscient", "ppo-standard-4"])
def test_agents_answer_legally_for_the_rows_asked(name):
    games = Batch(rules="standard", num_players=4, num_games=100, seed=0)
    for _ in range(50):
        rows = np.arange(0, 100, 3)
        actions = make(name)(games, rows)
        assert games.action_mask[rows, actions].all()
        if name == "passer":
            assert ((actions == PASS) == games.action_mask[rows, PASS]).all()
        games.step(games.sample())


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_every_table_can_be_measured_and_equals_come_out_at_0(rules, players):
    results = evaluate("random", ["passer"], sets=20, rules=rules, num_players=players)
    assert [row["format"] for row in results] == ["1-vs-rest", "rest-vs-1"][: players - 1]
    for row in results:
        assert row["control"] == {"chips_per_100": 0, "ci999": [0, 0], "sets": 2}


def test_passing_beats_random_bidding_by_either_estimate():
    row, turned = evaluate("passer", ["random"], sets=2000, rehearsals=8)
    # By simulation with another engine: +586 and +213 (LEARNING.md, section 0).
    for result, truth in ((row, 586), (turned, 213)):
        for interval in (
            result["ci95"],
            result["bootstrap95"],
            result["control_variate"]["ci95"],
        ):
            assert interval[0] < truth < interval[1]
    assert row["control_variate"]["sets_ratio"] > 3


def test_one_against_the_rest_is_the_rest_against_one_turned_round():
    (lost, _), (_, won) = (
        evaluate(agent, [other], sets=100)
        for agent, other in (("random", "passer"), ("passer", "random"))
    )
    assert won["chips_per_100"] == pytest.approx(-lost["chips_per_100"] / 3, abs=0.01)


def test_the_t_interval_by_hand():
    # Mean 2 and standard error 1; t with 1 degree of freedom at 97.5 % is 12.706.
    assert t_interval(np.array([3.0, 1.0])) == pytest.approx((2 - 12.706, 2 + 12.706), abs=1e-3)


def test_the_bootstrap_resamples_sets():
    chips = np.random.default_rng(0).choice([-3.0, 0.0, 1.0, 9.0], 400, p=[0.2, 0.5, 0.2, 0.1])
    draws = np.random.default_rng(1).choice(chips, (4000, 400)).mean(1)
    assert bootstrap_interval(chips) == pytest.approx(np.quantile(draws, (0.025, 0.975)), abs=0.03)


def test_lost_chips_are_noticed():
    class Leaking(Batch):
        def step(self, actions):
            super().step(actions)
            self.payments[self.done, 0] -= 1

    games = Leaking(rules="standard", num_players=4, num_games=10, seed=0)
    with pytest.raises(RuntimeError, match="sum to 0"):
        play(games, 1, alone(0), RANDOM, RANDOM)


@pytest.mark.parametrize(
    ("rules", "players", "options"),
    [
        ("standard", 4, {}),
        ("pub", 3, {}),
        ("pool_nap", 2, {"pool_dealer": 10}),  # who fails may still get more back than he pays
        ("floater", 3, {}),
        ("old_russian", 4, {}),
        ("peel", 6, {}),
    ],
)
def test_contracts_are_those_that_the_engine_settles(rules, players, options):
    table = rules_table(resolve(rules, options), players)
    settled = np.full((3, 200), -9)

    class Watched(Batch):
        def step(self, actions):
            for index in np.flatnonzero(settled[0] == -9):
                game = self.games[index : index + 1].copy()
                step(game[0], table[0], int(actions[index]))
                if game["phase"][0] == OVER:
                    settled[:, index] = [game[name][0] for name in ("declarer", "contract", "made")]
            super().step(actions)

    games = Watched(rules=rules, num_players=players, options=options, num_games=200, seed=0)
    plays = play(games, 1, alone(0, players), RANDOM, PASSER)
    bid = plays.declarer >= 0
    assert (plays.declarer == settled[0]).all()
    assert (plays.contract[bid] == settled[1][bid]).all()
    assert (plays.made[bid] == (settled[2][bid] == 1)).all()


def test_a_stand_in_plays_the_cards_after_the_same_auction(games):
    plays = play(games, 1, alone(0), RANDOM, PASSER)

    def bidder(games, rows):
        assert (games.games["phase"][rows] == AUCTION).all()
        return games.sample(rows)

    agent = Entrant("bidder", "sampled", bidder)
    rehearsal = play(games, 1, alone(0), agent, PASSER, stand_in=make("heuristic"))
    assert (rehearsal.declarer == plays.declarer).all()
    assert (rehearsal.contract == plays.contract).all()
    assert (rehearsal.made != plays.made).any()


def test_the_table_of_contracts_adds_up():
    (row, _) = evaluate("random", ["passer"], sets=300)
    assert all("defends" not in contract for contract in row["contracts"])  # the others pass
    chips = sum(
        contract["declares"]["per_100_deals"] * contract["declares"]["chips"]
        for contract in row["contracts"]
    )
    assert chips == pytest.approx(row["chips_per_100"], abs=0.5)
    for contract in row["contracts"]:
        if contract["bid"] == "nap":  # makes 10 from each of three, or pays 5
            made = contract["declares"]["made"]
            assert contract["declares"]["chips"] == pytest.approx(30 * made - 15 * (1 - made), 0.01)


def test_an_agent_is_asked_what_it_expects_where_it_bids(games):
    class Telling(Entrant):
        def expects(self, games, rows):
            return 100.0 * rows + games.seat[rows]

    told = Telling("random", "sampled", RANDOM.agent)
    plays = play(games, 1, alone(2), told, PASSER)
    bids = np.flatnonzero(plays.declarer == 2)  # each made one bid: the others pass
    assert sorted(plays.bids[0]) == [100 * row + 2 for row in bids]
    order = np.argsort(plays.bids[0])
    assert (plays.bids[1][order] == plays.payments[bids, 2]).all()


def test_a_network_plays_the_same_every_time(games):
    def payments(policy):
        agent = NetworkAgent(untrained(games), plan("standard", 4), policy)
        return play(games, 1, alone(0), Entrant("net", policy, agent), PASSER).payments

    for policy in ("sampled", "argmax"):
        assert (payments(policy) == payments(policy)).all()
    assert (payments("sampled") != payments("argmax")).any()


def test_as_many_sets_give_the_same_however_they_were_asked_for():
    def told(row):
        return {key: value for key, value in row.items() if key != "control"}

    asked = evaluate("passer", ["random"], sets=2048, rules="mini_2x4", num_players=2, rehearsals=1)
    width = asked[0]["ci95"][1] - asked[0]["ci95"][0] + 0.1
    reached = evaluate(
        *("passer", ["random"]),
        sets=5,
        until_width=width,
        rules="mini_2x4",
        num_players=2,
        rehearsals=1,
    )
    assert told(reached[0]) == told(asked[0])


def measured_by(workers, team=None):
    agents = ["heuristic", ["random", "pimc-2"]]
    return evaluate(*agents, sets=30, rehearsals=1, seed=5, workers=workers, team=team)


def test_the_result_depends_neither_on_workers_nor_on_processes():
    alone = measured_by(1)
    assert measured_by(3) == alone
    told, everybody = {}, Barrier(2)

    class Half:
        """One of two processes, played by a thread."""

        def __init__(self, rank):
            self.rank, self.size = rank, 2

        def gather_objects(self, value):
            told[self.rank] = value
            everybody.wait(60)
            values = [told[0], told[1]]
            everybody.wait(60)
            return values

    with ThreadPool(2) as pool:
        halves = pool.starmap(measured_by, [(2, Half(0)), (1, Half(1))])
    assert halves == [alone, alone]


@pytest.mark.slow
def test_torchrun_measures_the_same(capfd):
    """`python -m pytest -m slow tests/training/test_evaluate.py`: 20 s."""
    arguments = "training.evaluate passer --against random --sets 30 --rehearsals 1".split()
    told = []
    for command in (
        ["-m"],
        ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m"],
    ):
        subprocess.run([sys.executable, *command, *arguments], check=True, cwd=ROOT)
        told.append(json.loads(capfd.readouterr().out.splitlines()[-1])["results"])
    assert told[0] == told[1]


def test_command_ends_with_json(checkpoint, capsys):
    main([checkpoint, "--against", "random", "passer", "--sets", "50", "--players", "3"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(r["against"], r["format"], r["policy"]) for r in last["results"]] == [
        (against, format, policy)
        for against in ("random", "passer")
        for format in ("1-vs-rest", "rest-vs-1")
        for policy in ("sampled", "argmax")
    ]
    for row in last["results"]:
        assert row["agent"] == checkpoint
        assert (row["rules"], row["num_players"], row["sets"]) == ("mini_3p", 3, 50)
        assert row["ci95"][0] <= row["chips_per_100"] <= row["ci95"][1]
        assert row["control_variate"]["rehearsals"] == 20 * 50
        assert sum(told["bids"] for told in row["calibration"]) > 0
    assert {"commit", "dirty", "versions", "seed", "machine", "seconds"} <= set(last)
    assert last["versions"]["numba"]


def test_progress_is_told_where_nobody_watches(capsys, monkeypatch):
    monkeypatch.setattr("nap_env.terminal.SECONDS_BETWEEN", 0.01)
    main(["random", "--against", "passer", "--sets", "2000", "--rehearsals", "0"])
    told = capsys.readouterr()
    assert re.search(r"^measuring: [\d,]+ deals \(\d+ %\)", told.err, re.M)
    assert "measuring" not in told.out


def test_fixed_seeds_give_the_same_output(capsys):
    def told(seed):
        main(["passer", "--against", "random", "--sets", "30", "--players", "3", "--seed", seed])
        return json.loads(capsys.readouterr().out.splitlines()[-1])["results"]

    assert told("3") == told("3") != told("4")


def test_the_tables_fit_a_terminal_and_say_what_the_json_says(checkpoint, capsys):
    main([checkpoint, "--against", "random", "--sets", "40"])
    *lines, last = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for row in json.loads(last)["results"]:
        how = f"  {row['format']:<11}{row['policy']:<9}40 sets "
        (at,) = (number for number, line in enumerate(lines) if line.startswith(how))
        assert f"{row['chips_per_100']:+.1f}  {row['ci95'][0]:+.1f} to " in lines[at]
        assert lines[at + 1].split()[:2] == ["bootstrap", f"{row['bootstrap95'][0]:+.1f}"]
        variate = row["control_variate"]
        told = [f"{variate['sets_ratio']:.1f}", f"{variate['chips_per_100']:+.1f}"]
        assert lines[at + 2].split()[2:7:4] == told


def test_every_pair_and_its_picture(checkpoint, tmp_path, capsys):
    path = tmp_path / "matrix.png"
    against = ["random", "passer", "random"]  # one of them twice
    main([checkpoint, "--against", *against, "--sets", "30", "--matrix", str(path)])
    results = json.loads(capsys.readouterr().out.splitlines()[-1])["results"]
    names = [checkpoint, "random", "passer"]
    pairs = [(one, other) for one in names for other in names]
    assert [(row["agent"], row["against"]) for row in results] == pairs
    assert path.read_bytes().startswith(b"\x89PNG")
    draw_matrix(results[:1], path)  # a single agent makes a picture, too


def test_no_seed_plays_the_held_out_deals(capsys):
    blocks = (0, 2**31 - 1)  # the first and the last
    asked = [_deals(seed, block) for seed in (0, MOST_SEED) for block in blocks]
    assert asked == sorted(set(asked)) and all(seed % 2 for seed in asked)
    assert _deals(HELD_OUT, 0) > asked[-1]
    with pytest.raises(ValueError, match="seed=2147483648: 0 to 2147483647 are allowed"):
        evaluate("random", ["passer"], sets=2, seed=HELD_OUT)
    with pytest.raises(SystemExit):
        main(["random", "--seed", "2147483648"])
    assert "seed=2147483648" in capsys.readouterr().err


def test_a_control_that_is_not_0_is_told(capsys):
    results = evaluate("random", ["passer"], sets=20)
    report(results)
    assert "WARNING" not in capsys.readouterr().out
    results[0]["control"]["ci999"] = [1, 2]
    report(results)
    assert "WARNING: random against itself" in capsys.readouterr().out


def test_weights_of_single_deals_are_measured_in_matches_of_any_length(checkpoint):
    longer = {"deals": 5, "max_deals": 9}
    for agent, other in ((checkpoint, "random"), ("random", checkpoint)):
        row = evaluate(agent, [other], sets=2, rules="mini_3p", options=longer)[0]
        assert row["options"] == longer


def test_what_cannot_be_measured_is_refused(checkpoint, tmp_path):
    with pytest.raises(ValueError, match=r"plays mini_3p with 3 players: .* 4 players is none"):
        evaluate(checkpoint, ["random"], sets=2, num_players=4)
    with pytest.raises(ValueError, match=r"plays mini_3p with 3 players: standard with"):
        evaluate("random", [checkpoint], sets=2, rules="standard")
    with pytest.raises(ValueError, match=r"safetensors: must_trump: trained with False, here it"):
        enter([checkpoint], "mini_3p", {"must_trump": True})
    with pytest.raises(ValueError, match="num_players=9"):
        evaluate("random", ["random"], sets=2, num_players=9)
    (tmp_path / "other.safetensors").write_bytes(b"not weights")
    with pytest.raises(SystemExit, match="other"):
        main([str(tmp_path / "other.safetensors")])
    with pytest.raises(SystemExit, match="gone"):
        main([str(tmp_path / "gone.safetensors")])
    with pytest.raises(SystemExit, match="nobody"):
        main(["nobody"])
    for arguments in ("--sets 1", "--until-width 0", "--matrix a.svg", "--against"):
        with pytest.raises(SystemExit) as error:
            main(["random", *arguments.split()])
        assert error.value.code == 2


def test_measuring_does_without_torch():
    code = "import sys, training.evaluate; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
