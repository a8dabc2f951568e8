"""The two simplest players, without which no other one is worth measuring."""

import numpy as np
import numpy.typing as npt

from nap_env.actions import PASS
from nap_env.agents.agent import checked_question
from nap_env.games import Games


def random(games: Games, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Choose uniformly among the legal actions."""
    return games.sample(checked_question(games, rows))


def passer(games: Games, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Pass where the rules allow it, else choose like `random`."""
    rows = checked_question(games, rows)
    may_pass = games.games["legal"][rows] >> PASS & 1 == 1
    return np.where(may_pass, PASS, games.sample(rows))
