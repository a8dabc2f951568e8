"""What a run leaves on disk. A file is written beside its place, flushed, then moved there."""

import io
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from nap_env.agents.network import Training, Weights, parts, widths_of


def save_weights(path: Path, weights: Weights, training: Training) -> None:
    """Write a network's matrices by name, with what they are for as JSON in the metadata."""
    tensors = {
        name: weights[at : at + int(np.prod(shape))].reshape(shape)
        for name, (at, shape) in parts(widths_of(training.num_features, training.hidden)).items()
    }
    metadata = {"training": json.dumps(asdict(training))}
    replace(path, save(tensors, metadata))


def load_weights(path: Path) -> tuple[Weights, Training]:
    """Read a network's flat weights and what it plays.

    Raises:
        ValueError: the file is not one of ours.
    """
    try:
        with safe_open(path, "np") as file:
            training = Training.of(json.loads(file.metadata()["training"]))
            num_features = len(file.get_tensor("layers.0.weight"))
            names = parts(widths_of(num_features, training.hidden))
            weights = np.concatenate([file.get_tensor(name).ravel() for name in names])
    except (SafetensorError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: not a checkpoint of training.ppo: {error!r}") from None
    return weights, training


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write what resuming needs, tensors and plain values, so that torch.load takes it as safe."""
    import torch

    content = io.BytesIO()
    torch.save(state, content)
    replace(path, content.getvalue())


def load_state(path: Path) -> dict[str, Any]:
    """Read what `save_state` wrote.

    Raises:
        ValueError: the file is cut off, or not one of ours.
        OSError: it cannot be read.
    """
    import torch

    with path.open("rb") as file:
        try:
            state: dict[str, Any] = torch.load(file)
        except Exception as error:  # what torch raises depends on where the file is broken
            raise ValueError(f"{path}: not a whole state of training.ppo: {error}") from None
    if not isinstance(state, dict) or "trainer" not in state:
        raise ValueError(f"{path}: not a state of training.ppo")
    return state


def replace(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it, and move it there.

    Raises:
        OSError: it cannot be written; the file that was there is as before.
    """
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
