"""Decisions trained per second: `python -m benchmarks.training_speed --peers`.

A decision counts when it has been played by the present network and has gone through the loss the
given number of epochs; forced moves are no decisions. After a warm-up each row runs for `--seconds`
at a steady state: what is timed is everything that a training run does between two updates, without
checkpoints and measurements. README.md says what each row is.
"""

import datetime
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from threading import Lock
from time import perf_counter
from typing import Any

import torch
import tyro

import nap_env
from benchmarks import matrix_product
from benchmarks.throughput import origin
from nap_env.terminal import counted
from training.config import Config
from training.provenance import commit, machine, versions
from training.trainer import Trainer

ROWS = {  # name: label, what differs from the options, decisions/s asked
    "ppo_2x128": ("2 x 128, 2 epochs", {"hidden": (128, 128), "epochs": 2}, 150e3),
    "ppo_1x128": ("1 x 128, 1 epoch", {"hidden": (128,), "epochs": 1}, 331e3),
    "ppo_2x256": ("2 x 256, 2 epochs", {"hidden": (256, 256), "epochs": 2}, None),
}
PARTS = ("_play", "_improve")  # methods of Trainer: playing, and learning from it
PEERS = {  # name: label, decisions in a minibatch, times its speed asked
    "sb3_maskable_ppo_64": ("MaskablePPO, minibatches of 64, its default", 64, 20.0),
    "sb3_maskable_ppo_2048": ("MaskablePPO, minibatches of 2,048", 2048, 10.0),
}
PRODUCT_ASKED = 1.0  # times the speed of NumPy
WARM_UP_UPDATES = 3
PEER_ENVS, PEER_STEPS = 128, 64


@dataclass(frozen=True)
class Options:
    """Measure decisions trained per second and print a table and one JSON line."""

    seconds: float = 60.0
    """Length of each measurement."""
    threads: int = 2
    """Threads of our rows, and of torch in the peer."""
    rules: str = "standard"
    """Rule set."""
    players: int = 4
    """Number of players."""
    peers: bool = False
    """Measure stable-baselines3's MaskablePPO too, on our vector environment."""
    seed: int = 0
    """Seed of networks and deals."""

    def __post_init__(self) -> None:
        """Refuse lengths that measure nothing."""
        if not self.seconds > 0:
            raise ValueError(f"seconds={self.seconds}: more than 0")


def clocked(trainer: Trainer) -> dict[str, float]:
    """Return for how long a trainer will have been in each of PARTS; `_play` runs in threads."""
    spent = dict.fromkeys(PARTS, 0.0)
    lock = Lock()

    def wrap(name: str) -> Callable[..., Any]:
        method = getattr(trainer, name)

        def timed(*arguments: Any) -> Any:
            start = perf_counter()
            answer = method(*arguments)
            with lock:
                spent[name] += perf_counter() - start
            return answer

        return timed

    for name in PARTS:
        setattr(trainer, name, wrap(name))
    return spent


def our_row(options: Options, changes: dict[str, Any]) -> dict[str, Any]:
    """Train at a steady state; give decisions per second and where the time went."""
    config = replace(
        Config(
            rules=(options.rules,),
            num_players=(options.players,),
            threads=options.threads,
            seed=options.seed,
            total_decisions=10**12,
        ),
        **changes,
    )
    trainer = Trainer(config)
    for _ in range(WARM_UP_UPDATES):
        trainer.update()
    moves = decisions = updates = 0
    spent, start = clocked(trainer), perf_counter()
    while (elapsed := perf_counter() - start) < options.seconds:
        before = trainer.decisions
        trainer.update()
        decisions += trainer.decisions - before
        moves += sum(int(p.games["num_events"].sum()) for [p] in trainer._players)
        updates += 1
    return {
        "rate": decisions / elapsed,
        "seconds": elapsed,
        "updates": updates,
        "decisions": decisions,
        "forced": 1 - decisions / moves,
        "play": spent["_play"] / config.threads / elapsed,
        "learn": spent["_improve"] / elapsed,
        "config": {
            name: getattr(config, name)
            for name in ("hidden", "epochs", "minibatches", "num_games", "threads")
        },
        "precision": "float32",
    }


def peer_row(options: Options, minibatch: int) -> dict[str, Any]:
    """Train MaskablePPO of sb3-contrib with the same network, one seat against random players."""
    from sb3_contrib import MaskablePPO  # type: ignore[import-not-found]
    from stable_baselines3.common.callbacks import BaseCallback  # type: ignore[import-not-found]

    from nap_env.adapters.sb3 import NapVecEnv

    class Clock(BaseCallback):  # type: ignore[misc]
        """Counts whole iterations after the first one, until the time is up."""

        start = 0.0
        first = elapsed = decisions = 0

        def _on_rollout_start(self) -> None:
            if self.num_timesteps and not self.start:
                self.start, self.first = perf_counter(), self.num_timesteps
            elif self.start:
                self.elapsed = perf_counter() - self.start
                self.decisions = self.num_timesteps - self.first

        def _on_step(self) -> bool:
            return not self.elapsed > options.seconds

    torch.set_num_threads(options.threads)
    model = MaskablePPO(
        "MlpPolicy",
        NapVecEnv(PEER_ENVS, rules=options.rules, num_players=options.players, opponents="random"),
        n_steps=PEER_STEPS,
        batch_size=minibatch,
        n_epochs=2,
        policy_kwargs={"net_arch": [128, 128]},
        seed=options.seed,
        device="cpu",
    )
    clock = Clock()
    model.learn(10**9, callback=clock)
    return {
        "rate": clock.decisions / clock.elapsed,
        "seconds": clock.elapsed,
        "decisions": clock.decisions,
        "config": {
            "net_arch": [128, 128],
            "n_epochs": 2,
            "n_envs": PEER_ENVS,
            "n_steps": PEER_STEPS,
            "batch_size": minibatch,
            "threads": options.threads,
        },
        "precision": "float32",
    }


def table(report: dict[str, Any]) -> str:
    """The report as text for people."""
    width = max(len(row["label"]) for row in report["results"]) + 2
    heads = f"{'decisions trained per second':{width}}{'rate':>9}{'asked':>9}{'forced':>8}"
    lines = [f"{heads}{'play':>7}{'learn':>7}"]
    for row in report["results"]:
        line = f"{row['label']:{width}}{row['rate'] / 1e3:>7.1f} k"
        line += f"{row['asked'] / 1e3:>7.0f} k" if row["asked"] else f"{'':>9}"
        if "forced" in row:
            line += f"{row['forced']:>8.0%}{row['play']:>7.0%}{row['learn']:>7.0%}"
        lines.append(line)
    for row in report["results"]:
        if "ratio" in row:
            label = f"first row over {row['label'].split(', its')[0]}"
            lines.append(f"{label:{width}}{row['ratio']:>7.1f} x{row['ratio_asked']:>7.0f} x")
    for row in report["products"]:
        label = f"matrix product {'x'.join(map(str, row['shape']))}, ours / NumPy"
        lines.append(f"{label:{width}}{row['ratio']:>7.2f} x{PRODUCT_ASKED:>7.1f} x")
    return "\n".join([*lines, "", origin(report)])


def measured(options: Options) -> dict[str, Any]:
    """Measure everything the options ask for."""
    torch.set_num_threads(1)
    packages = ("numba", "numpy", "torch", "gymnasium", "stable-baselines3", "sb3-contrib")
    report: dict[str, Any] = {
        "options": asdict(options),
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **commit(),
        "versions": {"nap_env": nap_env.__version__, **versions(packages)},
        "results": [],
        "products": matrix_product.measured(),
    }
    for name, (label, changes, asked) in counted(ROWS.items(), "measuring", "rows"):
        row = {"name": name, "label": label, "asked": asked, **our_row(options, changes)}
        report["results"].append(row)
    if options.peers:
        ours = report["results"][0]["rate"]
        for name, (label, minibatch, asked) in PEERS.items():
            row = {"name": name, "label": label, "asked": None, **peer_row(options, minibatch)}
            row |= {"ratio": ours / row["rate"], "ratio_asked": asked}
            report["results"].append(row)
    return report


def main() -> int:
    """Run the command; gives its exit status."""
    options = tyro.cli(Options, prog="python -m benchmarks.training_speed")
    try:
        report = measured(options)
    except (ValueError, ModuleNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(report))
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
