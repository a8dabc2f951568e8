"""What a player is to those who ask it."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from nap_env.batch import Batch


class Agent(Protocol):
    """A player, asked for the games where its seat is to move."""

    def __call__(self, games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Choose an action in each of some games.

        Args:
            games: of the rules that the agent was set up for. It may look at `observation` and
                `action_mask` of the rows (buffers of the Batch: not to be changed, overwritten by
                the next step), and in the games' records at what the seat to move may know; and
                it may draw from the records' own random streams.
            rows: integers (n,), numbers of the games to answer for.

        Returns:
            Legal actions, int64 (n,).
        """
        ...
