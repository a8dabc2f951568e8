"""What a run leaves on disk. A file is written beside its place, flushed, then moved there."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from training.network import Network


@dataclass(frozen=True)
class Player:
    """What a network was trained to play: enough to build its games and itself again."""

    rules: str
    options: dict[str, Any]
    num_players: int
    hidden: tuple[int, ...]
    layout_version: int  # of the observation

    @property
    def chips_per_reward(self) -> int:
        """Chips in a unit of reward: a made Nap, 10 from each opponent, is 2 at every table."""
        return 5 * (self.num_players - 1)


def save_weights(path: Path, network: Network, player: Player) -> None:
    """Write the weights, with what they are for as JSON in the metadata."""
    metadata = {"player": json.dumps(asdict(player))}
    _replace(path, lambda new: save_file(network.state_dict(), new, metadata))


def load_weights(path: Path) -> tuple[Network, Player]:
    """Read a network and what it plays.

    Raises:
        ValueError: the file is not one of ours.
    """
    try:
        with safe_open(path, "pt") as file:
            told = json.loads(file.metadata()["player"])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        player = Player(**told | {"hidden": tuple(told["hidden"])})
    except (SafetensorError, TypeError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not a checkpoint of training.ppo: {error!r}") from None
    num_actions = len(weights["policy.bias"])
    network = Network(weights["scale"], num_actions, player.hidden, torch.Generator())
    network.load_state_dict(weights)
    return network, player


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write what resuming needs, tensors and plain values, so that torch.load takes it as safe."""
    _replace(path, lambda new: torch.save(state, new))


def _replace(path: Path, write: Callable[[Path], None]) -> None:
    new = path.with_name(path.name + ".new")
    write(new)
    with new.open("rb") as file:
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
