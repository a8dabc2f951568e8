"""Players by name: `AGENTS["passer"](games, rows)` gives what passer does in those games.

An agent is asked for the games where its seat is to move and answers one action each. It may look
at `games.observation` and `games.action_mask` of these rows (buffers of the Batch: not to be
changed, and overwritten by the next step) and at nothing else that its seat may not know.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from nap_env.actions import PASS
from nap_env.batch import Batch

# (games, rows): rows are the numbers of the games to answer for, integers (n,);
# the answer is the legal actions, int64 (n,).
Agent = Callable[[Batch, npt.NDArray[np.intp]], npt.NDArray[np.int64]]


def random(games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Choose uniformly among the legal actions, from the games' own random streams."""
    return games.sample(rows)


def passer(games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Pass where the rules allow it, else choose like `random`."""
    return np.where(games.action_mask[rows, PASS] == 1, PASS, games.sample(rows))


AGENTS: dict[str, Agent] = {"random": random, "passer": passer}
