"""Agents that users write: found by `MODULE:NAME` or `FILE.py:NAME`."""

import os
import pkgutil
import runpy
import sys

import numpy as np
import numpy.typing as npt

from nap_env.agents.agent import Agent, Ints, checked_answers
from nap_env.games import Games, checked_rows


class UserAgent:
    """An agent in a user's module. Copies look it up again: what it keeps is not copied."""

    def __init__(self, name: str) -> None:
        """Find the agent.

        Args:
            name: `MODULE:NAME`, a module from here or installed, or `FILE.py:NAME`.

        Raises:
            ValueError: there is none, or it cannot be called.
        """
        self.name = name
        file, _, attribute = name.rpartition(":")
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            in_file = file.endswith(".py")
            self._agent: Agent = (
                runpy.run_path(file)[attribute] if in_file else pkgutil.resolve_name(name)
            )
        except (
            ImportError,
            OSError,
            AttributeError,
            KeyError,
            SyntaxError,
            TypeError,
            ValueError,
        ) as error:
            raise ValueError(f"{name!r}: {error!r}; write MODULE:NAME or FILE.py:NAME") from error
        if not callable(self._agent):
            raise ValueError(f"{name!r} is {self._agent!r}: an agent is called with (games, rows)")

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Choose an action in each of some games, see `Agent`."""
        rows = checked_rows(rows, games.num_games)
        return checked_answers(self.name, self._agent(games, rows), len(rows))

    def __reduce__(self) -> tuple[type["UserAgent"], tuple[str]]:
        return UserAgent, (self.name,)
