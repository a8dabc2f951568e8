"""Nap (Napoleon), the card game, as a reinforcement-learning environment."""

from typing import TYPE_CHECKING, Any

import pettingzoo
from gymnasium.envs.registration import register

if TYPE_CHECKING:
    from nap_env import nap_v0 as nap_v0
    from nap_env.actions import IllegalActionError as IllegalActionError
    from nap_env.batch import Batch as Batch
    from nap_env.game import Game as Game
    from nap_env.games import Games as Games
    from nap_env.observation import layout as layout
    from nap_env.rules import Bid as Bid
    from nap_env.rules import Rules as Rules

__version__ = "0.1.0"
__all__ = ["Batch", "Bid", "Game", "Games", "IllegalActionError", "Rules", "layout", "nap_v0"]

_HOMES = {
    "Batch": "nap_env.batch",
    "Bid": "nap_env.rules",
    "Game": "nap_env.game",
    "Games": "nap_env.games",
    "IllegalActionError": "nap_env.actions",
    "Rules": "nap_env.rules",
    "layout": "nap_env.observation",
}

register(
    id="nap/Nap-v0",
    entry_point="nap_env.envs.single:NapEnv",
    vector_entry_point="nap_env.envs.vector:NapVectorEnv",
)
if hasattr(pettingzoo, "register"):  # from 1.27 on
    pettingzoo.register("aec", "nap/nap-v0", entry_point="nap_env.nap_v0:env")
    pettingzoo.register("parallel", "nap/nap-v0", entry_point="nap_env.nap_v0:parallel_env")


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is first asked for, so that commands start fast."""
    import importlib

    if name == "nap_v0":
        return importlib.import_module("nap_env.nap_v0")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nap_env' has no attribute {name!r}")
