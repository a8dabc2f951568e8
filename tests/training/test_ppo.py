"""The training loop: updates that learn, runs that resume and stop well."""

import errno
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from training_runs import Run, has_logged

from nap_env.actions import FIRST_BID, action_id
from nap_env.agents import make
from nap_env.agents.network import chips_per_reward
from nap_env.presets import PRESETS
from training import ppo
from training.checkpoint import load_log, load_state, load_weights, save_state
from training.config import MAY_CHANGE, Config
from training.exploitability import Yardstick
from training.team import Team
from training.trainer import Trainer

TINY = Config(
    num_games=64,
    total_decisions=2500,
    hidden=(16,),
    minibatches=2,
    threads=1,
    eval_sets=20,
    eval_times=2,
    save_every=1,
)
ALL_ON = {
    "magnet": 0.1,
    "opponents": ("heuristic", "passer"),
    "branch_share": 0.2,
    "advantage": "normalised",
    "entropy_end": 0.3,
}
TINY_ARGS = [
    f"--{name}={value}"
    for name, value in vars(TINY).items()
    if name in ("num_games", "minibatches", "threads", "eval_sets", "eval_times", "save_every")
] + ["--hidden", "16"]


def arguments(options):
    """Return options as a command line tells them."""
    told = []
    for name, value in options.items():
        told += [f"--{name}", *value] if isinstance(value, tuple) else [f"--{name}={value}"]
    return told


def test_a_step_of_size_0_moves_nothing():
    trainer = Trainer(replace(TINY, learning_rate=1e-12))
    metrics = trainer.update()
    assert metrics["losses/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["losses/clip_fraction"] == 0


@pytest.mark.parametrize("more", [{}, ALL_ON, ALL_ON | {"opponents": ()}])
def test_two_updates(more):
    trainer = Trainer(replace(TINY, **more))
    start = trainer.weights.copy()
    metrics = [trainer.update(), trainer.update()]
    assert all(np.isfinite(value) for row in metrics for value in row.values())
    assert metrics[0]["charts/learning_rate"] == TINY.learning_rate
    assert 0 < metrics[1]["charts/learning_rate"] < TINY.learning_rate
    assert (trainer.updates, trainer.deals) == (2, 2 * 64)
    assert (trainer.weights != start).mean() > 0.3
    # The average has moved by a hundredth of the way.
    assert (trainer.average != start).any()
    moved = np.abs(trainer.average - start).max() / np.abs(trainer.weights - start).max()
    assert 0.005 < moved < 0.05


def trained(trainer):
    """Train once; return the rollouts, what divergence was measured from, and the loss."""
    improve, seen = trainer._improve, []

    def watched(rollouts, magnets, loss, random):
        seen.extend([rollouts, magnets, loss[0].copy()])
        return improve(rollouts, magnets, loss, random)

    trainer._improve = watched
    return trainer.update(), *seen


def loss_of(trainer):
    """Train once; return what the loss was told, and the decisions it was of."""
    _, rollouts, _, loss = trained(trainer)
    return loss, np.concatenate([rollout.rows for rollout in rollouts])


def test_temperatures_fall_with_the_decisions_to_their_share():
    heat = {"entropy_auction": 0.2, "entropy_play": 0.04, "entropy_end": 0.5}
    trainer = Trainer(replace(TINY, **heat))
    first, _ = loss_of(trainer)
    assert first["temperature"] == pytest.approx([0.2, 0.04, 0.04])
    trainer.decisions = TINY.total_decisions // 2  # 0.5 + 0.5 * 0.5 of them are left
    half, _ = loss_of(trainer)
    assert half["temperature"] == pytest.approx([0.15, 0.03, 0.03])


def test_the_unit_of_the_advantage():
    loss, rows = loss_of(Trainer(TINY))
    assert loss["mean"] == pytest.approx(3 * [rows["advantage"].mean()], rel=1e-4)
    assert (loss["scale"] == 1).all()
    loss, rows = loss_of(Trainer(replace(TINY, advantage="normalised", threads=2)))
    for role in range(3):
        found = rows["advantage"][rows["role"] == role].astype(np.float64)
        assert loss["mean"][role] == pytest.approx(found.mean(), rel=1e-4)
        assert loss["scale"][role] == pytest.approx(1 / found.std(), rel=1e-2)


def test_what_happened_is_told_by_contract():
    trainer = Trainer(replace(TINY, opponents=("passer",)))
    told, (rollout,), _, _ = trained(trainer)
    seats = trainer._players[0][0]
    games = seats.games
    paid = games["payments"][:, :4]
    expected = {}  # where the seat last bid
    decisions = rollout.decisions
    for row, start in zip(rollout.rows, decisions.action_starts, strict=False):
        if decisions.actions[start + row["chosen"]] >= FIRST_BID:
            expected[row["chain"]] = 15 * row["value"]
    for name in (bid.name for bid in trainer.tables[0][0].bids):
        bid = action_id(name) - FIRST_BID
        deals = [k for k in range(64) if games["contract"][k] == bid]
        assert told[f"nap/bid_{name}"] == len(deals) / 64
        if deals:
            won = [paid[k, games["declarer"][k]] for k in deals]
            assert told[f"nap/chips_{name}"] == np.mean(won)
            assert told[f"nap/made_{name}"] == np.mean(np.array(won) > 0)
        chains = {4 * k + games["declarer"][k] for k in deals} & expected.keys()
        if chains:
            mean = np.mean([expected[chain] for chain in chains])
            assert told[f"nap/expected_{name}"] == pytest.approx(mean, rel=1e-4)
    assert told["nap/passed_out"] == np.mean(games["contract"] == -1)
    assert told["nap/turnover"] == paid.clip(0).sum() / 64
    assert told["opponents/chips_per_100"] == pytest.approx(100 * paid[seats.sits == 0].mean())
    assert not any(name.startswith("opponents/") for name in Trainer(TINY).update())


@pytest.mark.parametrize("players", [3, 5])
def test_a_made_nap_is_a_reward_of_2(players):
    assert 10 * (players - 1) / chips_per_reward(players) == 2


def test_explained_variance_is_of_the_returns():
    told, (rollout,), _, _ = trained(Trainer(TINY))
    rows = rollout.rows
    unexplained = np.mean((rows["returns"] - rows["value"]) ** 2) / np.var(rows["returns"])
    assert told["losses/explained_variance"] == pytest.approx(1 - unexplained, rel=1e-3)


def test_the_magnet_is_the_policy_of_the_averaged_weights():
    trainer = Trainer(replace(TINY, magnet=0.1))
    trainer.average[:] = 0  # so it takes every legal action as often
    _, (rollout,), (magnet,), _ = trained(trainer)
    counts = np.diff(rollout.decisions.action_starts)
    np.testing.assert_allclose(magnet, np.repeat(-np.log(counts), counts), rtol=1e-5)


def test_a_run_begins_with_the_weights_it_is_told(tmp_path, capsys):
    tiny_run(run_dir=tmp_path / "first", seed=1)
    path = str(tmp_path / "first" / "last.safetensors")
    trainer = Trainer(replace(TINY, init=path))
    assert (trainer.weights == load_weights(tmp_path / "first" / "last.safetensors")[0]).all()
    named = Trainer(replace(TINY, init="ppo-standard-4", hidden=(128, 128)))
    assert (named.weights == make("ppo-standard-4").weights).all()
    named.update()
    assert (named.weights != make("ppo-standard-4").weights).any()
    for options, message in (
        (["--init", "heuristic"], "init=heuristic: is not a network"),
        (["--init", "nobody"], "'nobody': allowed are"),
        (["--init", "gone.safetensors"], "gone.safetensors"),
        (["--init", path, "--hidden", "32"], "has hidden=(16,), the run has (32,)"),
        (["--init", path, "--players", "3"], "has num_features="),
    ):
        assert message in refusal(capsys, *TINY_ARGS, *options, "--run-dir", str(tmp_path / "run"))


def test_what_a_run_began_with_is_not_needed_to_go_on(tmp_path):
    tiny_run(run_dir=tmp_path / "first")
    path = tmp_path / "first" / "last.safetensors"
    tiny_run(run_dir=tmp_path / "second", init=str(path)).close()
    path.unlink()
    assert tiny_run(resume=tmp_path / "second", init=str(path)).trainer.updates == 0


def test_a_run_among_opponents_goes_on_only_among_the_same(tmp_path):
    tiny_run(run_dir=tmp_path / "first", hidden=(32,)).close()
    path = tmp_path / "first" / "last.safetensors"
    among = {"opponents": (str(path), "random")}
    with closing(tiny_run(run_dir=tmp_path / "second", **among)) as run:
        run.trainer.update()
        run.save()
    with closing(tiny_run(resume=tmp_path / "second", **among)) as run:
        assert run.trainer.updates == 1
    shutil.copy(tmp_path / "second" / "last.safetensors", path)
    with pytest.raises(ValueError, match=r"opponents=.*last\.safetensors: has changed"):
        tiny_run(resume=tmp_path / "second", **among)


def test_training_learns_to_beat_its_opponents():
    told = {"num_games": 512, "total_decisions": 40_000, "hidden": (64,), "opponents": ("random",)}
    trainer = Trainer(replace(TINY, **told))
    won = []
    while trainer.decisions < trainer.config.total_decisions:
        won.append(trainer.update()["opponents/chips_per_100"])
    assert np.mean(won[-3:]) > np.mean(won[:3]) + 300


def test_what_is_logged_again_after_resuming_is_logged_once(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for before, values in ((0, {100: 1.0, 200: 2.0}), (100, {200: 3.0})):
        with ppo.Log(tmp_path, before) as log:
            for decisions, value in values.items():
                log.write(decisions, {"tag": value})
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("tag")
    assert [(event.step, event.value) for event in events] == [(100, 1), (200, 3)]


def test_every_tag_is_explained():
    trainer = Trainer(replace(TINY, **ALL_ON))
    for name in trainer.update():
        stem = name.rpartition("_")[0]
        tags = (name, f"{stem}_<name>", f"{stem}_<role>")
        assert any(f"| {tag} |" in ppo.__doc__ for tag in tags), name


def test_training_learns_to_bid_what_pays():
    trainer = Trainer(replace(TINY, num_games=256, total_decisions=100_000, hidden=(64,)))
    won = []
    bids = [bid.name for bid in trainer.tables[0][0].bids]
    while trainer.decisions < trainer.config.total_decisions:
        told = trainer.update()
        won.append(sum(told[f"nap/bid_{bid}"] * told.get(f"nap/chips_{bid}", 0) for bid in bids))
    assert np.mean(won[:3]) < -20  # declarers at random
    assert np.mean(won[-3:]) > -4


def test_one_network_learns_at_several_tables(tmp_path, capsys):
    run_dir = tmp_path / "run"
    tables = ["--rules", "standard", "parlett", "--players", "2", "4", "--against", "passer"]
    more = ["--num-games", "66", "--eval-times", "1", "--run-dir", str(run_dir)]
    ppo.main([*TINY_ARGS, *more, *tables, "--total-decisions", "2500"])
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    played = {(row["rules"], row["num_players"]) for row in last["results"]}
    assert played == {("standard", 4), ("parlett", 2), ("parlett", 4)}
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    for table in ("standard-4", "parlett-2", "parlett-4"):
        assert {f"{table}/turnover", f"{table}/bid_nap"} <= lines[0].keys()
        assert f"eval-{table}/passer" in lines[-1]
    assert not any(name.startswith("nap/bid") for name in lines[0])
    told = refusal(capsys, *TINY_ARGS, *tables, "--run-dir", str(tmp_path / "other"))
    assert "num_games=64: must be a multiple of 3" in told


def test_nothing_uses_the_global_generators():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    Trainer(replace(TINY, **ALL_ON)).update()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


def test_same_seed_same_run():
    def run(seed):
        trainer = Trainer(replace(TINY, seed=seed, threads=2, **ALL_ON))
        trainer.update()
        trainer.update()
        return trainer.weights

    first, again, other = run(0), run(0), run(1)
    assert (first == again).all()
    assert (first != other).any()


def in_torch(config):
    """Return a trainer that computes as on a GPU, but on the CPU."""
    return Trainer(replace(config, device="cuda"), Team("cpu"))


def test_the_torch_loss_trains_the_same_network():
    weights = []
    for trainer in (in_torch(replace(TINY, **ALL_ON)), Trainer(replace(TINY, **ALL_ON))):
        trainer.update()
        weights.append(trainer.weights)
    np.testing.assert_allclose(*weights, atol=2e-4)


def command(*arguments, run_dir):
    return [
        sys.executable, "-m", "training.ppo", *TINY_ARGS, *arguments, "--run-dir", str(run_dir),
    ]  # fmt: skip


def wait_for(process, run_dir, updates):
    while not has_logged(run_dir, updates):
        assert process.poll() is None
        time.sleep(0.02)


def same_state(left, right):
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_state(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_state, left, right))
    return left == right


def test_10_updates_a_kill_and_10_more_are_20_updates(tmp_path):
    config = replace(TINY, total_decisions=14_000, threads=2, save_every=5, **ALL_ON)
    straight = Trainer(config)
    for _ in range(20):
        straight.update()
    options = [
        *arguments(ALL_ON),
        *("--threads=2", "--total-decisions=14000", "--save-every=5"),
    ]
    run_dir = tmp_path / "run"
    killed = Run(*TINY_ARGS, *options, "--run-dir", run_dir)
    killed.wait_until(lambda: has_logged(run_dir, updates=12))
    killed.process.kill()
    killed.end()
    updates = load_state(run_dir / "state.pt")["trainer"]["updates"]
    assert updates >= 10 and updates % 5 == 0
    resumed = Trainer(replace(config, resume=run_dir))
    run = ppo.Run(resumed)
    assert len((run_dir / "metrics.jsonl").read_text().splitlines()) == resumed.updates == updates
    while resumed.updates < 20:
        resumed.update()
    left, right = straight.state(), resumed.state()
    assert same_state(left, right)
    assert run.folder == run_dir


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A complete tiny run, by the command."""
    run_dir = tmp_path_factory.mktemp("runs") / "tiny"
    ppo.main([*TINY_ARGS, "--total-decisions", "2500", "--run-dir", str(run_dir), "--keep", "2"])
    return run_dir


def test_run_folder(run):
    names = {"last.safetensors", "best.safetensors", "state.pt", "config.yaml", "metrics.jsonl"}
    assert {*names, "versions.json", "checkpoints"} <= set(os.listdir(run))
    assert list(run.glob("events.*"))
    assert not list(run.rglob("*.new"))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    decisions = [line["decisions"] for line in lines]
    assert decisions == sorted(set(decisions))
    assert decisions[-1] >= 2500
    kept = sorted((run / "checkpoints").iterdir())
    assert len(kept) == 2
    assert int(kept[-1].stem) == decisions[-1]
    newest, last = load_weights(kept[-1]), load_weights(run / "last.safetensors")
    assert (newest[0] == last[0]).all() and newest[1] == last[1]
    measured = [line for line in lines if "eval/passer" in line]
    assert len(measured) == 2 and all(line["eval/passer_ci95"] > 0 for line in measured)
    assert {"numpy", "torch", "nap_env"} <= json.loads((run / "versions.json").read_text()).keys()


def tiny_run(**changes):
    return ppo.Run(Trainer(replace(TINY, **{"against": ("passer",), **changes})))


def measures(monkeypatch, *means):
    results = iter(means)

    def compare(*_, **__):
        mean = next(results)
        return {"chips_per_100": mean, "ci95": [mean - 1, mean + 1]}

    monkeypatch.setattr(ppo, "measured", compare)


def test_the_best_network_is_the_one_that_did_best_on_held_out_deals(tmp_path, monkeypatch):
    measures(monkeypatch, 3.0, 7.0, 5.0)
    run, best = tiny_run(run_dir=tmp_path / "run", eval_times=3), []
    trainer = run.trainer
    for done in (1, 2, 3):
        trainer.decisions = TINY.total_decisions * done // 3 + 1
        trainer.weights[:] = done
        assert run.measure()
        assert not run.measure()  # not again before it is time
        best.append(load_weights(tmp_path / "run" / "best.safetensors")[0][0])
    assert best == [1, 2, 2]


def test_in_small_games_exploitability_is_logged(tmp_path):
    options = {"deck": 6, "hand_size": 2, "bids": ["one", "nap"]}
    small = {"rules": ("mini_2x4",), "options": options, "num_players": (2,)}
    with closing(tiny_run(run_dir=tmp_path, **small)) as run:
        run.trainer.decisions = TINY.total_decisions
        logged = run.measure()
        rules, players = run.trainer.tables[0]
        found = Yardstick(rules, players).exploitability(run.trainer.agent(rules, players))
    assert logged["eval/exploitability"] == found["sampled"] > 0
    assert logged["eval/exploitability_argmax"] == found["argmax"] > 0


def test_in_large_games_exploitability_is_not_logged(tmp_path):
    with closing(tiny_run(run_dir=tmp_path)) as run:
        run.trainer.decisions = TINY.total_decisions
        assert not any("exploitability" in tag for tag in run.measure())


def test_a_run_that_goes_on_further_is_measured_further(tmp_path, monkeypatch):
    measures(monkeypatch, 3.0, 7.0)
    run = tiny_run(run_dir=tmp_path, total_decisions=1000, eval_times=4)
    run.trainer.decisions = 1000
    assert run.measure()
    run.save()
    run.close()
    run = tiny_run(resume=tmp_path, total_decisions=2000, eval_times=4)
    run.trainer.decisions = 1499
    assert not run.measure()
    run.trainer.decisions = 1500
    assert run.measure()


def test_what_was_best_against_others_is_not_the_best_any_more(tmp_path, monkeypatch):
    measures(monkeypatch, 900.0, -5.0)
    run = tiny_run(run_dir=tmp_path)
    run.trainer.decisions = 1300
    run.measure()
    run.save()
    run.close()
    run = tiny_run(resume=tmp_path, against=("random",))
    run.trainer.decisions = 2500
    run.trainer.weights[:] = 2
    run.measure()
    assert load_weights(tmp_path / "best.safetensors")[0][0] == 2


def test_a_run_stopped_before_its_first_update_goes_on(tmp_path):
    tiny_run(run_dir=tmp_path).close()
    assert not (tmp_path / "metrics.jsonl").exists()
    assert tiny_run(resume=tmp_path).trainer.updates == 0


def changed_state(folder, change):
    """Make a new run, change something in its state, and go on; return what is said against it."""
    tiny_run(run_dir=folder).close()
    state = load_state(folder / "state.pt")
    change(state, state["trainer"])
    save_state(folder / "state.pt", state)
    with pytest.raises(ValueError) as error:
        tiny_run(resume=folder)
    said = str(error.value)
    assert said.startswith(f"{folder / 'state.pt'}: ")
    return said


def test_the_state_of_another_nap_env_is_refused(tmp_path):
    said = changed_state(tmp_path / "0", lambda _, told: told["training"].update(layout_version=9))
    assert "trained on observation layout 9" in said and "train again" in said
    said = changed_state(tmp_path / "1", lambda state, _: state.update(record="other"))
    assert "its games are those of another nap_env: begin a new run" in said


def test_a_run_does_not_go_on_under_other_rules(tmp_path, monkeypatch):
    tiny_run(run_dir=tmp_path).close()
    changed = PRESETS["standard"].with_options({"pay": {"nap": [12, 5]}, "deals": 3})
    monkeypatch.setitem(PRESETS, "standard", changed)
    said = (
        r"state\.pt: deals: trained with 1, here it is 3; "
        "win of nap: trained with 10, here it is 12: begin a new run"
    )
    with pytest.raises(ValueError, match=said):
        tiny_run(resume=tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda told: told.update(games=told["games"][:, :, :1]), "its games do not fit"),
        (lambda told: told.update(average=told["average"][:1]), "weights: float32 (1,)"),
        (lambda told: told["weights"].fill_(np.nan), "are not finite numbers"),
        (lambda told: told.pop("games"), "something is missing in it: begin a new run"),
        (lambda told: told.pop("updates"), "something is missing in it: begin a new run"),
        (lambda told: told["training"].pop("hidden"), "written by another nap_env"),
    ],
)
def test_a_state_that_is_short_of_something_is_refused(tmp_path, change, text):
    assert text in changed_state(tmp_path, lambda _, told: change(told))


def test_one_process_trains_in_a_folder(tmp_path, capsys):
    run_dir = tmp_path / "run"
    other = Run(*TINY_ARGS, "--total-decisions=100000000", "--run-dir", run_dir)
    other.wait_until(lambda: has_logged(run_dir, updates=1))
    for arguments in (["--resume", str(run_dir)], [*TINY_ARGS, "--run-dir", str(run_dir)]):
        said = refusal(capsys, *arguments)
        assert f"run_dir={run_dir}: another process trains there" in said
    other.process.kill()  # and so the folder is free
    other.end()
    lines = (run_dir / "metrics.jsonl").read_text()
    assert load_log(run_dir / "metrics.jsonl") and lines.count("\n") > 0
    state = load_state(run_dir / "state.pt")["trainer"]
    ppo.main(["--resume", str(run_dir), "--total-decisions", str(state["decisions"] + 1)])
    capsys.readouterr()


def test_of_two_fresh_starts_in_one_folder_one_is_refused(tmp_path):
    to = ("--total-decisions=2500", "--run-dir", tmp_path / "run")
    ended = sorted(run.end() for run in [Run(*TINY_ARGS, *to) for _ in range(2)])
    assert [status for status, _ in ended] == [0, 2]
    assert f"run_dir={tmp_path / 'run'}: " in ended[1][1]


def test_runs_that_begin_in_the_same_second_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ppo.time, "strftime", lambda _: "20261130-120000")
    runs = [tiny_run(seed=3) for _ in range(3)]
    names = [f"default-3-20261130-120000{end}" for end in ("", "-2", "-3")]
    assert [str(run.folder) for run in runs] == [f"runs/{name}" for name in names]
    assert all((run.folder / "state.pt").exists() for run in runs)


def test_a_line_that_was_being_written_is_left_out_when_the_run_goes_on(tmp_path, capsys):
    ppo.main([*TINY_ARGS, "--total-decisions", "2500", "--run-dir", str(tmp_path)])
    path = tmp_path / "metrics.jsonl"
    before = path.read_text()
    path.write_text(before + before.splitlines()[0][:30])
    ppo.main(["--resume", str(tmp_path), "--total-decisions", "4000"])
    after = path.read_text()
    assert after.startswith(before) and len(load_log(path)) == after.count("\n")
    path.write_text(before[1:])
    assert f"{path}:1: not a line of a log" in refusal(capsys, "--resume", str(tmp_path))


@pytest.mark.parametrize("trained_by", [Trainer, in_torch])
def test_fewer_decisions_than_minibatches(trained_by):
    trainer = trained_by(replace(TINY, num_games=1, minibatches=64))
    metrics = trainer.update()
    assert 0 < trainer.decisions < 64
    assert all(np.isfinite(value) for value in metrics.values())


def test_an_update_in_which_the_network_has_nothing_to_decide():
    # Of six players the dealer sits out, and so does the network in one of six deals.
    told = {"num_games": 1, "num_players": (6,), "opponents": ("passer",), "max_kl": 100.0}
    trainer = Trainer(replace(TINY, **told))
    updates = (trainer.update() for _ in range(100))
    metrics = next(each for each in updates if not each["nap/decisions_per_deal"])
    assert all(np.isfinite(value) for value in metrics.values())


def test_run_ends_with_json_and_resumes_further(run, capsys):
    before = (run / "metrics.jsonl").read_text()
    ppo.main(["--resume", str(run), "--total-decisions", "4000"])
    output = capsys.readouterr()
    last = json.loads(output.out.splitlines()[-1])
    assert last["finished"]
    assert last["decisions"] >= 4000
    assert len(last["results"]) == 2 * 2 * 2
    first, measured, ended = output.err.splitlines()
    assert first == f"run folder {run}: 4,000 decisions to train on"
    numbers = r"[\d,]+ decisions \(\d+ %\), [\d,]+/s, \d+:\d\d left"
    chips = r"chips per 100: passer [+-][\d.]+ ± [\d.]+, heuristic [+-][\d.]+ ± [\d.]+"
    assert re.fullmatch(f"{numbers}; {chips}", measured)
    weights = f"weights in {re.escape(str(run))}/last.safetensors"
    assert re.fullmatch(f"trained to the end; {weights}; {chips}", ended)
    after = (run / "metrics.jsonl").read_text()
    assert after.startswith(before)
    decisions = [json.loads(line)["decisions"] for line in after.splitlines()]
    assert decisions == sorted(set(decisions))


def refusal(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        ppo.main(list(arguments))
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_a_run_is_not_written_over(run, capsys):
    assert "run_dir" in refusal(capsys, *TINY_ARGS, "--run-dir", str(run))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--hidden=32", r"hidden=[32]: the run began with [16]"),
        ("--seed=1", "seed=1: the run began with 0"),
        ("--learning-rate=0.1", "learning_rate=0.1: the run began with"),
    ],
)
def test_what_would_break_a_run_may_not_change(run, capsys, option, message):
    told = refusal(capsys, "--resume", str(run), option)
    assert message in told and all(name in told for name in MAY_CHANGE)


@pytest.mark.parametrize("broken", [b"", b"PK\x03\x04 cut off", "half", "foreign"])
def test_a_broken_checkpoint_is_refused(run, tmp_path, capsys, broken):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    whole = (run / "state.pt").read_bytes()
    if broken == "foreign":
        torch.save({"weights": torch.zeros(3)}, folder / "state.pt")
    else:
        (folder / "state.pt").write_bytes(whole[: len(whole) // 2] if broken == "half" else broken)
    assert "state.pt: damaged, or written by an older" in refusal(capsys, "--resume", str(folder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--players", "9"], "num_players=9"),
        (["--against", "nobody"], "'nobody': allowed are random"),
        (["--opponents", "nobody"], "'nobody': allowed are random"),
        (["--opponents", "random", "random"], "opponents=('random', 'random'): each only once"),
        (["--opponents", "ppo-parlett-2"], "ppo-parlett-2.npz: plays parlett with 2 players"),
        (["--num-games", "63", "--threads", "2"], "num_games=63: must be a multiple of 2"),
        (["--hidden", "20"], "widths must be multiples of 16"),
        (["--device", "cuda"], "device=cuda: torch finds no GPU"),
    ],
)
def test_what_is_impossible_stops_before_there_is_a_folder(
    tmp_path, capsys, monkeypatch, options, message
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert message in refusal(capsys, *TINY_ARGS, *options, "--run-dir", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_told_before_training(tmp_path, capsys, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(ppo.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    told = refusal(capsys, *TINY_ARGS, "--run-dir", str(tmp_path / "run"))
    assert "the disk has 1,000 bytes left, the run may need" in told


@pytest.mark.parametrize(("room", "status"), [(0, 2), (20, 1)])
def test_a_disk_that_fills_up_is_told_and_leaves_whole_files(
    tmp_path, capsys, monkeypatch, room, status
):
    calls = itertools.count()

    def fsync(_):
        if next(calls) >= room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("training.checkpoint.os.fsync", fsync)
    with pytest.raises(SystemExit) as stop:
        ppo.main([*TINY_ARGS, "--run-dir", str(tmp_path / "run")])
    assert stop.value.code == status
    assert "No space left" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.new"))
    if status == 1:
        assert load_state(tmp_path / "run" / "state.pt")["trainer"]["updates"] > 0


def test_a_folder_that_cannot_be_made_is_told_before_training(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert "file" in refusal(capsys, *TINY_ARGS, "--run-dir", str(tmp_path / "file" / "run"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_saves_and_leaves(tmp_path, number):
    run_dir = tmp_path / "run"
    many = "--total-decisions=100000000"
    process = subprocess.Popen(
        command(many, run_dir=run_dir),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    wait_for(process, run_dir, 1)
    process.send_signal(number)
    output, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told.startswith(f"run folder {run_dir}: 100,000,000 decisions to train on\n")
    assert "\nstops after this update; Ctrl-C again breaks it off\n" in told
    weights = f"weights in {run_dir}/last.safetensors"
    assert told.endswith(
        f"\nstopped at 0 %; go on with --resume {run_dir}; {weights}; not measured yet\n"
    )
    last = json.loads(output.splitlines()[-1])
    assert (last["finished"], last["results"]) == (False, [])
    assert output.count("\n") == 1  # no tables without results
    assert load_state(run_dir / "state.pt")["trainer"]["decisions"] == last["decisions"]


def test_the_time_limit_stops_and_saves(tmp_path, capsys):
    run_dir = str(tmp_path / "run")
    many = ["--total-decisions", "100000000", "--time-limit", "0.01"]
    ppo.main([*TINY_ARGS, *many, "--run-dir", run_dir])
    output = capsys.readouterr()
    last = json.loads(output.out.splitlines()[-1])
    assert not last["finished"] and last["decisions"] > 0
    assert f"stopped at 0 %; go on with --resume {run_dir}; weights in" in output.err


def test_a_run_that_is_stopped_tells_the_measurement_before(run, tmp_path, capsys):
    run = shutil.copytree(run, tmp_path / "run")
    before = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    chips = [line["eval/passer"] for line in before if "eval/passer" in line][-1]
    longer = ["--total-decisions", "100000000", "--eval-times", "1", "--time-limit", "0.0001"]
    ppo.main(["--resume", str(run), *longer])
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"stopped at 0 %; go on with --resume {run}; weights in {run}/last")
    assert f"; chips per 100: passer {chips:+.1f} ± " in told


def test_a_run_that_there_is_not_is_told_with_those_that_there_are(run, capsys):
    for arguments in (["--resume", f"{run}x"], ["--resume", str(run.parent / "tin")]):
        told = refusal(capsys, *arguments)
        assert "No such run; there are " in told and str(run) in told
        assert told.endswith("; did you mean 'tiny'?\n")


def test_a_number_of_games_that_works_is_named(tmp_path, capsys):
    options = ["--threads", "3", "--num-games", "64", "--run-dir", str(tmp_path / "run")]
    assert "num_games=64: must be a multiple of 3" in (told := refusal(capsys, *options))
    assert told.endswith(": take 63 or 66\n")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--max-kl", "1e-9"], "the policy moved by"),
        (["--learning-rate", "1e30"], "update 0"),
    ],
)
def test_training_that_goes_wrong_stops_and_says_why(tmp_path, capsys, options, reason):
    run_dir = tmp_path / "run"
    with pytest.raises(SystemExit) as stop:
        ppo.main([*TINY_ARGS, *options, "--run-dir", str(run_dir)])
    assert stop.value.code == 1
    assert reason in capsys.readouterr().err
    weights, _ = load_weights(run_dir / "last.safetensors")
    assert np.isfinite(weights).all()
    assert load_state(run_dir / "state.pt")["trainer"]["updates"] == 0


def test_two_processes_train_the_network_that_two_threads_train(tmp_path):
    options = [*arguments(ALL_ON), "--total-decisions=4000"]
    one, two = tmp_path / "one", tmp_path / "two"
    threads = Run(*TINY_ARGS, *options, "--threads=2", "--run-dir", one)
    assert threads.end()[0] == 0
    one_thread = command(*options, "--threads=1", run_dir=two)
    torchrun = [one_thread[0], "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    subprocess.run(
        [*torchrun, *one_thread[1:]],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    left, right = (load_weights(folder / "last.safetensors")[0] for folder in (one, two))
    np.testing.assert_allclose(left, right, atol=1e-5)
    lines = [(folder / "metrics.jsonl").read_text().splitlines() for folder in (one, two)]
    assert len(lines[0]) == len(lines[1])
    for mine, theirs in zip(*(map(json.loads, each) for each in lines), strict=True):
        for name in mine.keys() - {"charts/decisions_per_second"}:
            assert mine[name] == pytest.approx(theirs[name], rel=1e-3, abs=1e-3), name


def test_a_lost_process_is_replaced_and_the_run_goes_on(tmp_path):
    run_dir = tmp_path / "run"
    python, *told = command("--total-decisions=30000", run_dir=run_dir)
    torchrun = [python, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    process = subprocess.Popen(
        [*torchrun, "--max-restarts=1", "--standalone", *told],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    wait_for(process, run_dir, 5)
    workers = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(workers[-1]), signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert json.loads(output.splitlines()[-1])["finished"]
    lines = [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]
    decisions = [line["decisions"] for line in lines]
    assert decisions == sorted(set(decisions)) and decisions[-1] >= 30000
    # Nothing is lost but what came after the last checkpoint: the deals are those of one run.
    assert [line["charts/deals"] for line in lines] == [64 * k for k in range(1, len(lines) + 1)]


@pytest.mark.slow
def test_smoke_run(tmp_path):
    command = [sys.executable, "-m", "training.ppo", "--config", "configs/smoke.yaml"]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "--run-dir", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert time.perf_counter() - start < 60
    results = json.loads(done.stdout.splitlines()[-1])["results"]
    low = {
        row["against"]: row["ci95"][0]
        for row in results
        if row["format"] == "1-vs-rest" and row["policy"] == "sampled"
    }
    assert low["random"] >= 600
    assert low["passer"] >= 80
