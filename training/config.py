"""What a training run can be told: `Config`, from the command line and a YAML file.

A YAML file is turned into the command-line arguments it stands for, placed before the user's own.
So there is one parser, which refuses unknown and ill-typed keys by name, and the command line wins.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
import yaml

from nap_env.words import did_you_mean
from training.checkpoint import existing, replace


def at_least(least: float, name: str, value: float) -> None:
    """Refuse a value that is below `least`, by name."""
    if not value >= least:
        raise ValueError(f"{name}={value}: must be at least {least}")


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f'must be a JSON object such as {{"must_trump": true}}, not {text}')
    return value


JsonObject = Annotated[
    dict[str, Any],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="JSON",
        instance_from_str=lambda args: _json_object(args[0]),
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda value: [json.dumps(value)],
    ),
]
MAY_CHANGE = (
    *("total_decisions", "time_limit", "max_kl", "save_every", "save_minutes", "keep"),
    *("against", "eval_sets", "eval_times"),
)
"""Options that may change when a run is resumed; schedules then follow the new total."""

Players = tyro.conf.arg(name="players", aliases=["--num-players"])


@dataclass(frozen=True)
class Config:
    """Train one network for all seats by PPO self-play, then measure it."""

    config: Path | None = None
    """YAML file of these options; what the command line says goes before it."""
    run_dir: Path | None = None
    """Folder for the run, without another run in it; by default runs/<config>-<seed>-<time>."""
    resume: Path | None = None
    """Folder of an earlier run to go on with, under its own config.yaml. Only these may change:
    total_decisions, time_limit, max_kl, save_every, save_minutes, keep, against, eval_sets,
    eval_times."""

    rules: tuple[str, ...] = ("standard",)
    """Name of the rule set (`python -m nap_env.presets` lists them); of several, each is played
    with every number of players it can seat."""
    options: JsonObject = field(default_factory=dict)
    """Rule options that differ from the rule set, such as {"must_trump": true}."""
    num_players: Annotated[tuple[int, ...], Players] = (4,)
    """Number of players, or several numbers."""
    seed: int = 0
    """Everything random in the run follows from it, 0 to 2**31 - 1."""
    threads: int = 2
    """Threads that play and train, each its own games: their number must go into that of games."""

    total_decisions: int = 50_000_000
    """Decisions to train on before stopping; forced moves are not decisions."""
    num_games: int = 4096
    """Games played side by side, at all kinds of tables together; an update trains on one deal of
    each."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where gradients are computed: by our own compiled code, or by torch on a GPU."""

    hidden: tuple[int, ...] = (128, 128)
    """Width of each hidden layer, a multiple of 16."""
    suits_in_order: tyro.conf.FlagConversionOff[bool] = True
    """Show the network the suits in an order of their own: trumps first, then the longest."""
    learning_rate: float = 2e-3
    """Adam's step at the start; it falls linearly to 0."""
    epochs: int = 2
    """Times that each decision is trained on."""
    minibatches: int = 16
    """Gradient steps per epoch."""
    gae_lambda: float = 0.95
    """Weight of later decisions in the advantage: 0 trusts the value network, 1 only payments."""
    advantage: Literal["reward", "normalised"] = "reward"
    """Unit of the advantage: the reward, or in each role its own spread."""
    clip: float = 0.2
    """How far an update may move the probability of an action, as a ratio."""
    entropy_auction: float = 0.03
    """Temperature of buys, bids and holds: weight of the entropy, in the unit of the advantage."""
    entropy_play: float = 0.01
    """Temperature everywhere else."""
    entropy_end: float = 0.0
    """Share of the temperatures that is left at the end; they fall linearly."""
    magnet: float = 0.0
    """Weight of the divergence from the policy of the averaged weights."""
    average: float = 0.99
    """Weight of the past in the averaged weights, per update."""
    value_coef: float = 1.0
    """Weight of the value loss."""
    grad_clip: float = 0.5
    """Largest norm of a gradient."""

    init: str | None = None
    """Weights to begin with: of a run (.safetensors), or of a network by name."""
    opponents: tuple[str, ...] = ()
    """Weights of runs (.safetensors) and agents by name, which do not learn: in each deal one of
    them is drawn and has all seats but one. Without any the network has all seats."""
    branch_share: float = 0.0
    """Share of the deals in which the auction branches: one decision takes every action."""

    time_limit: float | None = None
    """Stop after so many minutes, so that --resume goes on later."""
    max_kl: float = 0.5
    """Stop if an update moves the policy further than this, in nats per decision."""
    save_every: int = 200
    """Updates between two checkpoints, at most; the last one is always saved."""
    save_minutes: float = 5.0
    """Minutes between two checkpoints, at most."""
    keep: int = 3
    """Checkpoints to keep, the newest ones."""
    against: tuple[str, ...] = ("passer", "heuristic")
    """Agents to measure the trained network against."""
    eval_sets: int = 5000
    """Deals to measure on, each played once from every seat."""
    eval_times: int = 20
    """Measurements in the course of the run, on other deals; the best one is kept."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        if self.resume and self.run_dir:
            raise ValueError(f"run_dir={self.run_dir}: a resumed run stays in its folder")
        for name in ("rules", "num_players"):
            listed = getattr(self, name)
            if not listed or len(set(listed)) < len(listed):
                raise ValueError(f"{name}={listed}: at least one, and each only once")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed={self.seed}: must be from 0 to 2**31 - 1")
        for name in (
            *("threads", "total_decisions", "num_games", "epochs", "minibatches"),
            *("save_every", "keep", "eval_times"),
        ):
            at_least(1, name, getattr(self, name))
        for name in (*("learning_rate", "clip", "grad_clip", "save_minutes", "max_kl"),):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be above 0")
        for name in ("entropy_auction", "entropy_play", "value_coef", "magnet"):
            at_least(0, name, getattr(self, name))
        for name in ("gae_lambda", "average", "entropy_end", "branch_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be from 0 to 1")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit={self.time_limit}: must be above 0")
        at_least(2, "eval_sets", self.eval_sets)
        if len(set(self.opponents)) < len(self.opponents):
            raise ValueError(f"opponents={self.opponents}: each only once")
        if not self.against:
            raise ValueError("against=(): at least one agent is needed")

    def told(self) -> dict[str, Any]:
        """Return what a resumed run needs to be told again, as plain values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in ("config", "run_dir", "resume")
        }

    def save(self, path: Path) -> None:
        """Write what a resumed run needs to be told again, as YAML."""
        replace(path, yaml.safe_dump(self.told(), sort_keys=False).encode())


def parse(argv: Sequence[str], prog: str = "python -m training.ppo") -> Config:
    """Read a command line, and the YAML file that it names.

    Raises:
        SystemExit: with status 2, after saying on standard error what is wrong; with 0 for --help.
    """
    files = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    files.add_argument("--config", type=Path)
    files.add_argument("--resume", type=Path)
    named, _ = files.parse_known_args(argv)
    try:
        if named.config and named.resume:
            raise ValueError("--resume goes on under the config.yaml of its run, without --config")
        path = existing(named.resume / "config.yaml") if named.resume else named.config
        told = _arguments(path) if path else []
    except (OSError, ValueError) as error:
        files.exit(2, f"{error}\n")
    return tyro.cli(Config, args=[*told, *argv], prog=prog)


def _arguments(path: Path) -> list[str]:
    """Return the command-line arguments that a YAML file stands for."""
    try:
        told = yaml.safe_load(path.read_bytes())
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not YAML: {error}") from None
    if told is None:
        return []
    if not isinstance(told, dict):
        raise ValueError(f"{path}: must be lines of `key: value`")
    arguments = []
    known = {"players", *(option.name for option in fields(Config))}
    for key, value in told.items():
        if str(key).replace("-", "_") not in known:
            raise ValueError(
                f"{path}: {key}: not an option (of this version, which resumes no older run)"
                f"{did_you_mean(str(key).replace('-', '_'), known)}"
            )
        if key in ("config", "resume"):
            raise ValueError(f"{path}: {key}: belongs on the command line")
        if key == "options" and isinstance(value, dict):
            arguments.append(f"--options={json.dumps(value, default=str)}")
        elif isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
            arguments += [f"--{key}", *map(str, value)]
        elif isinstance(value, list | dict):
            raise ValueError(f"{path}: {key}: must be a value or a flat list")
        else:
            arguments.append(f"--{key}={value}")
    return arguments
