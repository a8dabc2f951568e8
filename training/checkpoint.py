"""What a run leaves on disk. A file is written beside its place, flushed, then moved there.

Weights and states end in a checksum of all before it: what is not whole is never loaded.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from nap_env.agents.network import Training, Weights, parts, widths_of
from nap_env.agents.seal import SEAL, sealed, sealed_archive, unsealed
from nap_env.words import did_you_mean

MOST_RUNS = 10
"""As many of the runs that there are stand in an error's text."""


def existing(path: Path) -> Path:
    """Return the path of a run's file, if there is one.

    Raises:
        ValueError: there is none; names the runs that there are, or the files in this one.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        folder = path.parent
        if folder.is_dir():
            found = sorted(other.name for other in folder.glob(f"*{path.suffix}"))
            there = f"in this folder are {', '.join(found) or 'none such'}"
            raise ValueError(
                f"{path}: No such file or directory; {there}{did_you_mean(path.name, found)}"
            ) from None
        places = dict.fromkeys([folder.parent, Path("runs")])
        runs = {str(state.parent) for place in places for state in place.glob("*/state.pt")}
        newest = sorted(runs, key=lambda run: Path(run, "state.pt").stat().st_mtime)[-MOST_RUNS:]
        names = [Path(run).name for run in newest]
        there = f"there are {', '.join(newest)}" if runs else "nap train makes one, in runs/"
        raise ValueError(
            f"{folder}: No such run; {there}{did_you_mean(folder.name, names)}"
        ) from None
    except OSError:  # whoever reads it says so
        pass
    return path


def save_weights(path: Path, weights: Weights, training: Training) -> None:
    """Write a network's matrices by name, with what they are for as JSON in the metadata."""
    tensors = {
        name: weights[at : at + int(np.prod(shape))].reshape(shape)
        for name, (at, shape) in parts(widths_of(training.num_features, training.hidden)).items()
    }
    tensors["sha256"] = np.zeros(SEAL, np.uint8)  # bytes come last in the file
    metadata = {"training": json.dumps(asdict(training))}
    replace(path, sealed(save(tensors, metadata)))


def load_weights(path: Path) -> tuple[Weights, Training]:
    """Read a network's flat weights and what it plays.

    Raises:
        ValueError: the file is damaged, or not one of ours.
    """
    unsealed(existing(path))
    try:
        with safe_open(path, "np") as file:
            training = Training.of(json.loads(file.metadata()["training"]))
            names = parts(widths_of(training.num_features, training.hidden))
            weights = np.concatenate([file.get_tensor(name).ravel() for name in names])
        training.check(weights)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception:  # what safetensors raises depends on what else the file is
        raise ValueError(f"{path}: not weights that training.ppo wrote") from None
    return weights, training


def save_state(path: Path, state: dict[str, Any]) -> None:
    """Write what resuming needs, tensors and plain values, so that torch.load takes it as safe."""
    import torch

    content = io.BytesIO()
    torch.save(state, content)
    replace(path, sealed_archive(content))


def load_state(path: Path) -> dict[str, Any]:
    """Read what `save_state` wrote.

    Raises:
        ValueError: the file is damaged, or not one of ours.
    """
    import torch

    content = io.BytesIO(unsealed(path))
    try:
        state: dict[str, Any] = torch.load(content)
    except Exception:  # what torch raises depends on what else the file is
        state = {}
    if "trainer" not in state:
        raise ValueError(f"{path}: not a state that training.ppo wrote")
    return state


def load_log(path: Path) -> list[dict[str, float]]:
    """Read metrics.jsonl, without a last line that was not written to its end.

    Raises:
        ValueError: another line is damaged.
        OSError: the file cannot be read.
    """
    lines = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        whole = isinstance(told, dict) and {"decisions", "charts/deals"} <= told.keys()
        if not whole or not all(isinstance(value, int | float) for value in told.values()):
            raise ValueError(f"{path}:{number}: not a line of a log: mend it or delete it")
        lines.append(told)
    return lines


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an error of the operating system say which file it is about."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or str(path)) from error


def replace(path: Path, content: bytes) -> None:
    """Write a file beside its place, flush it, and move it there.

    Raises:
        OSError: it cannot be written, and is named; what was there is as before.
    """
    new = path.with_name(path.name + ".new")
    with naming(path):
        try:
            with new.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise
    if hasattr(os, "O_DIRECTORY"):  # Windows opens no folder; it needs no such call
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
