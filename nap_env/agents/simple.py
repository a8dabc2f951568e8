"""The two simplest players, without which no other one is worth measuring."""

import numpy as np
import numpy.typing as npt

from nap_env.actions import PASS
from nap_env.batch import Batch


def random(games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Choose uniformly among the legal actions."""
    return games.sample(rows)


def passer(games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Pass where the rules allow it, else choose like `random`."""
    return np.where(games.action_mask[rows, PASS] == 1, PASS, games.sample(rows))
