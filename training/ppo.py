"""PPO self-play: `python -m training.ppo --config configs/smoke.yaml`.

A run folder holds

| file | what |
|---|---|
| last.safetensors, best.safetensors | the network now, and where it did best on held-out deals |
| checkpoints/ | the networks of the last `keep` checkpoints, named by decisions |
| state.pt | what `--resume` needs, to go on bit for bit |
| config.yaml, versions.json | what the run was told, and what it ran on |
| metrics.jsonl, events.out.* | what is logged, as JSON lines and for TensorBoard |
| results.json | the measurement at the end, as the last line of output |
| lock | locked by the process that trains here, so that no other one does |

`torchrun --nproc-per-node 2 -m training.ppo --threads 1` trains the same network as one process
with two threads. Logs grow line by line; every other file is written beside its place and moved
there, so that one that is there is whole. A run that loses a process goes on from its last
checkpoint: by itself with torchrun's `--max-restarts` and a `--run-dir`, else with `--resume`.

What is logged to TensorBoard and metrics.jsonl, all against decisions trained:

| tag | meaning |
|---|---|
| charts/decisions_per_second | decisions played and trained per second in this update |
| charts/deals | deals played since the start |
| charts/learning_rate | Adam's step; falls to 0 |
| losses/policy | clipped objective, negated; its size means little |
| losses/value | Huber distance between expected and received reward |
| losses/explained_variance | of the returns by the values: 1 foretells them, 0 says nothing |
| losses/approx_kl | how far the policy moved in the update, nats per decision; above 0.03 is far |
| losses/clip_fraction | decisions whose probability moved by more than `clip` |
| losses/magnet_kl | divergence from the policy of the averaged weights, nats per decision |
| losses/grad_norm | mean norm of the gradients before clipping |
| losses/advantage_<role> | spread of the advantages, in reward |
| nap/entropy_<role> | nats per decision; near 0 it has stopped exploring |
| nap/decisions_per_deal | of all seats together, without forced moves |
| nap/turnover | chips that change hands in a deal, on average |
| nap/passed_out | share of the deals in which nobody bids |
| nap/bid_<name> | share of the deals in which this is the contract |
| nap/made_<name> | share of those deals in which it is made |
| nap/chips_<name> | what the declarer wins in those deals, on average |
| nap/expected_<name> | what the network expected to win where it made that bid |
| opponents/chips_per_100 | what the network wins per 100 deals from its `opponents` |
| eval/<agent> | chips per 100 deals of the network in one seat, the agent in all others |
| eval/<agent>_ci95 | half the width of its interval |
| eval/exploitability | chips a deal that a best answer to the network gains; in small games only |
| eval/exploitability_argmax | the same if it takes the likeliest action |

Where several kinds of tables are played, each has tags of its own: `standard-3/bid_nap` and
`eval-standard-3/passer` instead of `nap/bid_nap` and `eval/passer`.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch.utils.tensorboard import SummaryWriter

from nap_env import __version__, terminal
from nap_env.agents.network import Training, differences
from nap_env.engine.state import GAME
from nap_env.rules import Rules, whole
from nap_env.terminal import Progress, tell
from training.checkpoint import load_log, load_state, naming, replace, save_state, save_weights
from training.config import MAY_CHANGE, Config, parse
from training.evaluate import MOST_SEED, evaluate, measured
from training.exploitability import Yardstick
from training.provenance import commit, machine, versions
from training.results import report
from training.team import Team
from training.trainer import Trainer
from training.tree import is_small

HELD_OUT = MOST_SEED + 1
"""Seed of the deals on which the best network is chosen: none of training or of evaluation."""

MOST_DECISIONS = 3_000_000
"""Games of more decisions in all their deals take too long to measure exploitability in."""

RECORD = str(GAME.descr)
"""What the games in a state are made of."""


class Run:
    """A run and its folder.

    Attributes:
        folder: where.
        trainer: what is trained.
        strengths: what was logged when the network was measured last; empty before.
    """

    def __init__(self, trainer: Trainer) -> None:
        """Make the folder of a new run, or go on where one stopped.

        Raises:
            ValueError: the folder holds another run, or a checkpoint that cannot be gone on with;
                another process trains in it; or its disk is too full.
            OSError: the folder cannot be made or written, or there is nothing in it to resume.
        """
        config = trainer.config
        self.trainer = trainer
        self._leads = trainer.team.rank == 0
        self._best, self._measured = -np.inf, 0  # `_measured` in decisions
        self.strengths: dict[str, float] = {}
        self._yardsticks: dict[tuple[Rules, int], Yardstick | None] = {}
        named = config.resume or config.run_dir
        self.folder = named or (new_folder(config) if self._leads else Path())
        begun = self._take_folder()
        try:
            self._begin(begun)
        except BaseException:
            self.close()
            raise

    def _begin(self, begun: bool) -> None:
        """Go on with the run in the folder, or begin one; write the first checkpoint."""
        config = self.trainer.config
        restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
        if config.resume or (begun and restarted):
            self._resume()
        elif begun:
            raise ValueError(f"run_dir={self.folder}: holds a run; --resume goes on with it")
        if self._leads:
            (self.folder / "checkpoints").mkdir(exist_ok=True)
            config.save(self.folder / "config.yaml")
            _save_json(self.folder / "versions.json", where_from())
        self.save()
        if self._leads:
            self._check_disk()

    def _take_folder(self) -> bool:
        """Lock the folder until `close`, or until this process ends; return whether it has a run.

        Every process of the team must call it; the first one looks and locks.
        """
        taken = begun = False
        if self._leads:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.folder / "lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                taken = True
            begun = (self.folder / "state.pt").exists()
        team = self.trainer.team
        if team.any(taken):
            raise ValueError(
                f"run_dir={self.folder}: another process trains there: stop it, or wait for its end"
            )
        return team.any(begun)

    def close(self) -> None:
        """Let another process train in the folder."""
        if self._leads:
            self._lock.release()

    def _check_disk(self) -> None:
        """Refuse to begin what the disk cannot hold: new files stand beside old ones for a time."""
        config = self.trainer.config
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        needed = 2 * (size + config.keep * self.trainer.weights.nbytes)
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise ValueError(
                f"run_dir={self.folder}: the disk has {free:,} bytes left, "
                f"the run may need {needed:,}"
            )

    def _resume(self) -> None:
        """Go on from the last checkpoint."""
        trainer, config = self.trainer, self.trainer.config
        path = self.folder / "state.pt"
        state = load_state(path)
        try:
            self._check(state)
            trainer.resume(state["trainer"])
            self._measured = whole("measured", state["measured"], 0, trainer.decisions)
            if state["config"]["against"] == list(config.against):  # else it was best at another
                self._best = float(state["best"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        except Exception:  # depends on what is there in its place
            raise ValueError(f"{path}: something is missing in it: begin a new run") from None
        path = self.folder / "metrics.jsonl"
        if self._leads and path.exists():  # a run may have been stopped before its first update
            before = [line for line in load_log(path) if line["decisions"] <= trainer.decisions]
            replace(path, "".join(json.dumps(line) + "\n" for line in before).encode())
            for line in before:
                logged = {tag: value for tag, value in line.items() if tag.startswith("eval")}
                self.strengths = logged or self.strengths

    def _check(self, state: dict[str, Any]) -> None:
        """Refuse to go on with a state of another run, or of another nap_env.

        Raises:
            ValueError: says what differs.
        """
        for name, value in self.trainer.config.told().items():
            before = state["config"].get(name)
            if value != before and name not in MAY_CHANGE:
                raise ValueError(
                    f"{name}={value}: the run began with {before}; "
                    f"only these may change: {', '.join(MAY_CHANGE)}"
                )
        told, now = state["trainer"], self.trainer.state()
        training = Training.of(told["training"])
        for trained, today in zip(training.content, self.trainer.training.content, strict=True):
            if changed := differences(trained, today):
                raise ValueError(f"{changed}: begin a new run")
        training.check(told["weights"].numpy())
        training.check(told["average"].numpy())
        if state["record"] != RECORD:
            raise ValueError("its games are those of another nap_env: begin a new run")
        if (told["games"].shape, told["games"].dtype) != (now["games"].shape, now["games"].dtype):
            raise ValueError("its games do not fit: go on with as many processes as before")

    def save(self) -> None:
        """Write a checkpoint; every process of the team must call it."""
        trainer, config = self.trainer, self.trainer.config
        state = trainer.state()
        self._saved_at, self._saved = time.perf_counter(), trainer.updates
        if not self._leads:
            return
        state = {
            "config": config.told(),
            "record": RECORD,
            "trainer": state,
            "best": self._best,
            "measured": self._measured,
        }
        self._save_weights("last.safetensors")
        save_state(self.folder / "state.pt", state)
        folder = self.folder / "checkpoints"
        self._save_weights(f"checkpoints/{trainer.decisions:012d}.safetensors")
        for path in sorted(folder.glob("*.safetensors"))[: -config.keep]:
            path.unlink()

    def _save_weights(self, name: str) -> None:
        trainer = self.trainer
        save_weights(self.folder / name, trainer.weights, trainer.training)

    def save_now_and_then(self) -> None:
        """Write a checkpoint if it is time; every process of the team must call it."""
        config = self.trainer.config
        late = time.perf_counter() - self._saved_at > 60 * config.save_minutes
        if self.trainer.team.any(late) or self.trainer.updates - self._saved >= config.save_every:
            self.save()

    def _due(self, decisions: int) -> int:
        """Return how many measurements are due after so many decisions."""
        config = self.trainer.config
        return min(decisions, config.total_decisions) * config.eval_times // config.total_decisions

    def measure(self) -> dict[str, float]:
        """Measure the network if it is time, keep it if it is the best; return what to log.

        Deals are not those of the final measurement, so that what is best by luck is not
        reported as strong.
        """
        trainer, config = self.trainer, self.trainer.config
        if not self._leads or self._due(trainer.decisions) == self._due(self._measured):
            return {}
        self._measured = trainer.decisions
        metrics = {}
        strengths = []
        for rules, num_players in trainer.tables:
            agent = trainer.agent(rules, num_players)
            group = "eval" if len(trainer.tables) == 1 else f"eval-{rules.name}-{num_players}"
            for name in config.against:
                found = measured(agent, name, config.eval_sets, HELD_OUT)
                low, high = found["ci95"]
                metrics[f"{group}/{name}"] = found["chips_per_100"]
                metrics[f"{group}/{name}_ci95"] = (high - low) / 2
                strengths.append(found["chips_per_100"])
            if yardstick := self._yardstick(rules, num_players):
                found = yardstick.exploitability(agent)
                metrics[f"{group}/exploitability"] = found["sampled"]
                metrics[f"{group}/exploitability_argmax"] = found["argmax"]
        mean = float(np.mean(strengths))
        if mean > self._best:
            self._best = mean
            self._save_weights("best.safetensors")
        self.strengths = metrics
        return metrics

    def in_chips(self) -> str:
        """Return the last measurement in words: chips per 100 deals, and half its interval."""
        rows = [
            f"{tag[len('eval/') :]} {chips:+.1f} ± {self.strengths[f'{tag}_ci95']:.1f}"
            for tag, chips in self.strengths.items()
            if f"{tag}_ci95" in self.strengths
        ]
        return f"chips per 100: {', '.join(rows)}" if rows else "not measured yet"

    def _yardstick(self, rules: Rules, num_players: int) -> Yardstick | None:
        """Return what measures exploitability at a table, None: its game is too large."""
        if (rules, num_players) not in self._yardsticks:
            fits = is_small(rules, num_players, MOST_DECISIONS)
            self._yardsticks[rules, num_players] = Yardstick(rules, num_players) if fits else None
        return self._yardsticks[rules, num_players]


def new_folder(config: Config) -> Path:
    """Make a folder for a run that names none; two runs never get the same one."""
    name = config.config.stem if config.config else "default"
    folder = first = Path("runs", f"{name}-{config.seed}-{time.strftime('%Y%m%d-%H%M%S')}")
    for number in count(2):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            break
        folder = first.with_name(f"{first.name}-{number}")
    return folder


def _save_json(path: Path, told: dict[str, Any]) -> None:
    replace(path, f"{json.dumps(told)}\n".encode())


def where_from() -> dict[str, Any]:
    """Return what a run runs on."""
    packages = ("numpy", "numba", "torch", "gymnasium", "pettingzoo", "safetensors")
    return {"nap_env": __version__, **versions(packages), **commit(), "machine": machine()}


@contextmanager
def stopping() -> Iterator[Event]:
    """Turn the first Ctrl-C or SIGTERM into an event; the second one acts as ever."""
    stop = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in signals]

    def restore() -> None:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

    def ask(*_: Any) -> None:
        stop.set()
        restore()
        with suppress(OSError):  # not `tell`, in the midst of which the signal may have come
            os.write(2, b"\nstops after this update; Ctrl-C again breaks it off\n")

    for number in signals:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()


def train(run: Run) -> bool:
    """Train to the end of the run, its time limit, Ctrl-C or SIGTERM; say whether it is at its end.

    Raises:
        FloatingPointError: training went wrong; the last checkpoint is from before it did.
    """
    trainer, start = run.trainer, time.perf_counter()
    config, team = trainer.config, trainer.team
    total = config.total_decisions
    limit = 60 * (config.time_limit or np.inf)
    leads = team.rank == 0
    with (
        stopping() as stop,
        Log(run.folder, trainer.decisions) if leads else nullcontext() as log,
        Progress("training", total, "decisions", done=trainer.decisions)
        if leads
        else nullcontext() as progress,
    ):
        while trainer.decisions < total:
            if team.any(stop.is_set() or time.perf_counter() - start > limit):
                break
            metrics = trainer.update()
            if progress:
                progress.add(trainer.decisions - progress.done)
            measured_now = run.measure()
            if progress and measured_now:
                tell(f"{progress}; {run.in_chips()}")
            if log:
                log.write(trainer.decisions, metrics | measured_now)
            run.save_now_and_then()
    run.save()
    finished = trainer.decisions >= total
    if progress:
        how = "" if finished else f" at {progress.share}; go on with --resume {run.folder}"
        tell(
            f"{'trained to the end' if finished else 'stopped'}{how}; "
            f"weights in {run.folder / 'last.safetensors'}; {run.in_chips()}"
        )
    return finished


class Log:
    """What is logged of a run, for TensorBoard and as JSON lines."""

    def __init__(self, folder: Path, decisions: int) -> None:
        """Go on after so many decisions."""
        self._folder, self._path = folder, folder / "metrics.jsonl"
        self._board = SummaryWriter(folder, purge_step=decisions + 1)
        self._lines = self._path.open("a")

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        with naming(self._path), self._lines, naming(self._folder):
            self._board.close()

    def write(self, decisions: int, metrics: dict[str, float]) -> None:
        """Log the metrics of an update."""
        metrics = {name: float(value) for name, value in metrics.items()}
        with naming(self._folder):
            for name, value in metrics.items():
                self._board.add_scalar(name, value, decisions)
        with naming(self._path):
            self._lines.write(json.dumps({"decisions": decisions} | metrics) + "\n")
            self._lines.flush()


def main(argv: Sequence[str] | None = None, prog: str = "python -m training.ppo") -> None:
    """Run the command.

    Raises:
        SystemExit: with status 2 for options that cannot be used, before anything is trained; with
            1 if training went wrong.
    """
    start = time.perf_counter()
    config = parse(sys.argv[1:] if argv is None else argv, prog)
    torch.set_num_threads(1)  # the threads are our own
    try:
        team = Team(config.device)
        run = Run(Trainer(config, team))
    except ValueError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        other = "" if config.resume else ", or --run-dir another folder"
        print(f"{error}: give it room and rights{other}", file=sys.stderr)
        sys.exit(2)
    trainer = run.trainer
    if team.rank == 0:
        tell(f"run folder {run.folder}: {config.total_decisions:,} decisions to train on")
    with closing(run):
        try:
            finished = train(run)
        except (FloatingPointError, OSError) as error:
            if team.rank == 0:
                print(f"{error}; {run.folder} holds the checkpoint before it", file=sys.stderr)
            if team.rank == 0 and isinstance(error, OSError):
                print(f"give it room and rights, then --resume {run.folder}", file=sys.stderr)
            sys.exit(1)
        finally:
            team.leave()
        if team.rank:
            return
        # The same deals after every run, so that runs compare.
        weights = run.folder / "last.safetensors"
        results = [
            result
            for rules, num_players in (trainer.tables if finished else [])
            for result in evaluate(
                str(weights),
                config.against,
                sets=config.eval_sets,
                rules=rules,
                num_players=num_players,
            )
        ]
        told = {
            "run_dir": str(run.folder),
            "finished": finished,
            "decisions": trainer.decisions,
            "deals": trainer.deals,
            "seconds": round(time.perf_counter() - start, 1),
        }
        _save_json(run.folder / "results.json", {"results": results, **told})
    report(results, **told)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
