"""What a training run can be told: `Config`, from the command line and a YAML file.

A YAML file is turned into the command-line arguments it stands for, placed before the user's own.
So there is one parser, which refuses unknown and ill-typed keys by name, and the command line wins.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro
import yaml


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
Players = tyro.conf.arg(name="players", aliases=["--num-players"])


@dataclass(frozen=True)
class Config:
    """Train one network for all seats by PPO self-play, then measure it against simple agents."""

    config: Path | None = None
    """YAML file of these options; what the command line says goes before it."""
    run_dir: Path | None = None
    """Folder for the run, new or empty; by default runs/<config>-<seed>-<time>."""
    resume: Path | None = None
    """Folder of an earlier run to go on with, under its own config.yaml."""

    rules: str = "standard"
    """Name of the rule set."""
    options: JsonObject = field(default_factory=dict)
    """Rule options that differ from the rule set (a mapping in YAML)."""
    num_players: Annotated[int, Players] = 4
    """Number of players."""
    seed: int = 0
    """Everything random in the run follows from it, 0 to 2**31 - 1."""
    threads: int = 1
    """Threads that torch may use; two help only where nobody else uses the cores."""

    total_decisions: int = 10_000_000
    """Decisions to train on before stopping; forced moves are not decisions."""
    num_games: int = 4096
    """Games played side by side."""
    deals_per_update: int = 1
    """Deals that each game plays, from its first card to its payment, between two updates."""

    hidden: tuple[int, ...] = (128, 128)
    """Width of each hidden layer."""
    learning_rate: float = 3e-3
    """Adam's step at the start; it falls linearly to 0."""
    epochs: int = 2
    """Times that each decision is trained on."""
    minibatch: int = 2048
    """Decisions per gradient step, at most."""
    gae_lambda: float = 0.95
    """Weight of later decisions in the advantage: 0 trusts the value network, 1 only payments."""
    clip: float = 0.2
    """How far an update may move the probability of an action, as a ratio."""
    entropy_auction: float = 0.1
    """Temperature, in reward, where a seat may bid: weight of the entropy; falls linearly to 0."""
    entropy_play: float = 0.02
    """Temperature everywhere else; falls linearly to 0."""
    value_coef: float = 1.0
    """Weight of the value loss."""
    grad_clip: float = 0.5
    """Largest norm of a gradient."""

    save_every: int = 20
    """Updates between two checkpoints; the last one is always saved."""
    against: tuple[str, ...] = ("random", "passer")
    """Agents to measure the trained network against."""
    eval_sets: int = 5000
    """Deals to measure on, each played once from every seat."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        if self.resume and self.run_dir:
            raise ValueError(f"run_dir={self.run_dir}: a resumed run stays in its folder")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed={self.seed}: must be from 0 to 2**31 - 1")
        for name in (
            *("threads", "total_decisions", "num_games", "deals_per_update"),
            *("epochs", "minibatch", "save_every"),
        ):
            at_least(1, name, getattr(self, name))
        for name in ("learning_rate", "clip", "grad_clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be above 0")
        for name in ("entropy_auction", "entropy_play", "value_coef"):
            at_least(0, name, getattr(self, name))
        if not 0 <= self.gae_lambda <= 1:
            raise ValueError(f"gae_lambda={self.gae_lambda}: must be from 0 to 1")
        for width in self.hidden:
            at_least(1, "hidden", width)
        at_least(2, "eval_sets", self.eval_sets)

    def save(self, path: Path) -> None:
        """Write what a resumed run needs to be told again, as YAML."""
        told = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name not in ("config", "run_dir", "resume")
        }
        path.write_text(yaml.safe_dump(told, sort_keys=False))


def parse(argv: Sequence[str]) -> Config:
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
        path = named.resume / "config.yaml" if named.resume else named.config
        told = _arguments(path) if path else []
    except (OSError, ValueError) as error:
        files.exit(2, f"{error}\n")
    return tyro.cli(Config, args=[*told, *argv], prog="python -m training.ppo")


def _arguments(path: Path) -> list[str]:
    """Return the command-line arguments that a YAML file stands for."""
    try:
        told = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not YAML: {error}") from None
    if told is None:
        return []
    if not isinstance(told, dict):
        raise ValueError(f"{path}: must be lines of `key: value`")
    arguments = []
    for key, value in told.items():
        if key in ("config", "resume"):
            raise ValueError(f"{path}: {key}: belongs on the command line")
        if key == "options" and isinstance(value, dict):
            arguments.append(f"--options={json.dumps(value)}")
        elif isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
            arguments += [f"--{key}", *map(str, value)]
        elif isinstance(value, list | dict):
            raise ValueError(f"{path}: {key}: must be a value or a flat list")
        else:
            arguments.append(f"--{key}={value}")
    return arguments
