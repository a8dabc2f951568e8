"""Nap as a PettingZoo environment: `env` checks every call and action, `raw_env` is the bare one.

Both take the arguments of `nap_env.envs.aec.RawNapEnv`.

Version history:
    v0: first version.
"""

from nap_env.envs.aec import NapEnv as env
from nap_env.envs.aec import RawNapEnv as raw_env

__all__ = ["env", "raw_env"]
