"""Agents that users write: found by `MODULE:NAME` or `FILE.py:NAME`."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from nap_env.agents.agent import Agent, Ints, checked_answers
from nap_env.games import Games


class UserAgent:
    """An agent in a user's module; copies look it up again, so that any of them can be pickled."""

    def __init__(self, name: str) -> None:
        """Find the agent.

        Args:
            name: `MODULE:NAME`, a module from here or installed, or `FILE.py:NAME`.

        Raises:
            ValueError: there is none, or it cannot be called.
        """
        self.name = name
        place, _, attribute = name.rpartition(":")
        module = _module(name, place)
        agent = getattr(module, attribute, None)
        if not callable(agent):
            names = ", ".join(key for key, value in vars(module).items() if callable(value))
            raise ValueError(f"{name!r}: {place} has no function {attribute!r}; it has {names}")
        self._agent: Agent = agent

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Choose an action in each of some games, see `Agent`."""
        return checked_answers(self.name, self._agent(games, rows), len(rows))

    def __reduce__(self) -> tuple[type["UserAgent"], tuple[str]]:
        return UserAgent, (self.name,)


def _module(name: str, place: str) -> ModuleType:
    """Import a module by its name or its file."""
    try:
        if not place.endswith(".py"):
            if os.getcwd() not in sys.path:  # as `python -m` has it
                sys.path.insert(0, os.getcwd())
            return importlib.import_module(place)
        path = Path(place).resolve(strict=True)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except (ImportError, OSError) as error:
        raise ValueError(f"{name!r}: {error}; write MODULE:NAME or FILE.py:NAME") from error
