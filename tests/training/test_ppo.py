"""The training loop: right ratios, updates that learn, runs that resume and stop well."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from training import ppo
from training.config import Config
from training.network import log_policy
from training.rollout import collect

TINY = Config(
    num_games=64,
    total_decisions=2500,
    hidden=(16,),
    minibatch=256,
    threads=1,
    eval_sets=20,
    save_every=1,
)
TINY_ARGS = [
    f"--{name}={value}"
    for name, value in vars(TINY).items()
    if name in ("num_games", "minibatch", "threads", "eval_sets", "save_every")
] + ["--hidden", "16"]


def weights(trainer):
    return {name: value.clone() for name, value in trainer.network.state_dict().items()}


def test_ratio_is_1_before_the_first_step():
    trainer = ppo.Trainer(TINY)
    rows = collect(trainer.games, trainer.network, 1, 0, torch.Generator().manual_seed(0))
    logits, value = trainer.network(torch.from_numpy(rows.observation))
    log_probs = log_policy(logits, torch.from_numpy(rows.legal))
    new = log_probs.gather(1, torch.from_numpy(rows.action)[:, None]).squeeze(1)
    torch.testing.assert_close(
        (new - torch.from_numpy(rows.log_prob)).exp(), torch.ones(len(new)), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(value, torch.from_numpy(rows.value), atol=1e-5, rtol=0)


def test_a_step_of_size_0_moves_nothing():
    trainer = ppo.Trainer(replace(TINY, learning_rate=1e-12))
    metrics = trainer.update()
    assert metrics["losses/approx_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["losses/clip_fraction"] == 0


def test_two_updates():
    trainer = ppo.Trainer(TINY)
    start = weights(trainer)
    metrics = [trainer.update(), trainer.update()]
    assert all(np.isfinite(value) for row in metrics for value in row.values())
    assert metrics[0]["charts/learning_rate"] == TINY.learning_rate
    assert 0 < metrics[1]["charts/learning_rate"] < TINY.learning_rate
    assert (trainer.updates, trainer.deals) == (2, 2 * 64)
    end = weights(trainer)
    assert torch.equal(start.pop("scale"), end.pop("scale"))
    assert all((start[name] != end[name]).any() for name in start)


def test_every_tag_is_explained():
    trainer = ppo.Trainer(TINY)
    for name in trainer.update():
        prefix = name if name in ppo.__doc__ else name[: name.index("_") + 1] + "<name>"
        assert f"| {prefix} |" in ppo.__doc__


def test_training_learns_to_keep_out_of_hopeless_auctions():
    trainer = ppo.Trainer(
        replace(TINY, num_games=256, total_decisions=60_000, minibatch=1024, hidden=(64,))
    )
    passed_out = []
    while trainer.decisions < trainer.config.total_decisions:
        passed_out.append(trainer.update()["nap/passed_out"])
    # Uniformly random bids leave a quarter of a quarter of ... of the deals without one.
    assert passed_out[0] < 0.1
    assert passed_out[-1] > 0.3


def test_nothing_uses_the_global_generators():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    ppo.Trainer(TINY).update()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()


def test_same_seed_same_run():
    def run(seed):
        trainer = ppo.Trainer(replace(TINY, seed=seed))
        trainer.update()
        trainer.update()
        return weights(trainer)

    first, again, other = run(0), run(0), run(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_resumed_run_equals_a_straight_one(tmp_path):
    straight, stopped, resumed = (ppo.Trainer(TINY) for _ in range(3))
    for _ in range(4):
        straight.update()
    for _ in range(2):
        stopped.update()
    stopped.save(tmp_path)
    resumed.load(tmp_path)
    assert resumed.decisions == stopped.decisions
    for _ in range(2):
        last = resumed.update()
    assert last["charts/deals"] == 4 * 64
    assert (resumed.updates, resumed.decisions) == (straight.updates, straight.decisions)
    for name, value in weights(straight).items():
        assert torch.equal(value, weights(resumed)[name])
    for old, new in zip(
        straight.optimizer.state_dict()["state"].values(),
        resumed.optimizer.state_dict()["state"].values(),
        strict=True,
    ):
        assert all(torch.equal(old[name], new[name]) for name in old)


def test_resume_refuses_another_network(tmp_path):
    ppo.Trainer(TINY).save(tmp_path)
    with pytest.raises(ValueError, match="hidden"):
        ppo.Trainer(replace(TINY, hidden=(8,))).load(tmp_path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A complete tiny run, by the command."""
    run_dir = tmp_path_factory.mktemp("runs") / "tiny"
    ppo.main([*TINY_ARGS, "--total-decisions", "2500", "--run-dir", str(run_dir)])
    return run_dir


def test_run_folder(run):
    assert {"last.safetensors", "state.pt", "config.yaml", "metrics.jsonl"} <= set(os.listdir(run))
    assert list(run.glob("events.*"))
    assert not list(run.glob("*.new"))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    decisions = [line["decisions"] for line in lines]
    assert decisions == sorted(set(decisions))
    assert decisions[-1] >= 2500


def test_run_ends_with_json_and_resumes_further(run, capsys):
    before = (run / "metrics.jsonl").read_text()
    ppo.main(["--resume", str(run), "--total-decisions", "4000"])
    output = capsys.readouterr()
    last = json.loads(output.out.splitlines()[-1])
    assert last["finished"]
    assert last["decisions"] >= 4000
    assert len(last["results"]) == 2 * 2 * 2
    assert "decisions" not in output.err  # no progress bar where nobody watches
    after = (run / "metrics.jsonl").read_text()
    assert after.startswith(before)
    decisions = [json.loads(line)["decisions"] for line in after.splitlines()]
    assert decisions == sorted(set(decisions))


def test_a_run_is_not_written_over(run, capsys):
    with pytest.raises(SystemExit) as stop:
        ppo.main([*TINY_ARGS, "--run-dir", str(run)])
    assert stop.value.code == 2
    assert "run_dir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--players", "9"], "num_players=9"),
        (["--against", "nobody"], "against: 'nobody': allowed are random"),
    ],
)
def test_impossible_rules_and_opponents_stop_the_run(tmp_path, capsys, options, message):
    with pytest.raises(SystemExit) as stop:
        ppo.main([*TINY_ARGS, *options, "--run-dir", str(tmp_path / "run")])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_saves_and_leaves(tmp_path, number):
    run_dir = tmp_path / "run"
    command = [sys.executable, "-m", "training.ppo", *TINY_ARGS, "--run-dir", str(run_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    metrics = run_dir / "metrics.jsonl"
    while not metrics.exists() or not metrics.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    last = json.loads(output.splitlines()[-1])
    assert (last["finished"], last["results"]) == (False, [])
    trainer = ppo.Trainer(Config(num_games=64, hidden=(16,), threads=1))
    trainer.load(run_dir)
    assert trainer.decisions == last["decisions"]


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
