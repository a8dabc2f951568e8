"""Weights of a run as an agent's file: `python -m training.export RUN/best.safetensors FILE.npz`.

In `nap_env/agents/weights` the file makes an agent by its name, which plays without torch.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from nap_env.agents.network import packed
from nap_env.terminal import run
from training.checkpoint import load_weights, replace


@dataclass(frozen=True)
class Config:
    """Write the weights of a run as an npz file for nap_env.agents."""

    weights: tyro.conf.Positional[Path]
    """Weights that training wrote: best.safetensors."""
    out: tyro.conf.Positional[Path]
    """File to write: NAME.npz."""
    note: str = ""
    """How they came about, kept in the file: command, seed, time."""


def main(argv: Sequence[str] | None = None, prog: str = "python -m training.export") -> None:
    """Run the command.

    Raises:
        SystemExit: with status 1 for weights that cannot be read or a file that cannot be written.
    """
    config = tyro.cli(Config, args=argv, prog=prog)
    try:
        if config.out.suffix != ".npz":
            raise ValueError(f"out={config.out}: must end in .npz")
        weights, training = load_weights(config.weights)
        replace(config.out, packed(weights, training, config.note))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    size = config.out.stat().st_size
    print(
        f"{config.out}: {size:,} bytes, {' '.join(training.rules)} with "
        f"{' '.join(map(str, training.num_players))} players"
    )


if __name__ == "__main__":
    sys.exit(run(main))
