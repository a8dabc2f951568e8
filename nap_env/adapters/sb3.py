"""Nap for stable-baselines3: the vector environment as its VecEnv, for MaskablePPO of sb3-contrib.

model = MaskablePPO("MlpPolicy", NapVecEnv(128, rules="pub"))
"""

from collections.abc import Iterable
from time import time
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from nap_env.adapters.extra import needs
from nap_env.envs.vector import NapVectorEnv

with needs("sb3"):
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv


class NapVecEnv(VecEnv):
    """Many tables of Nap, at each of which one seat learns; all are stepped by one call.

    An observation is int8 (N, K), and masks are asked for by `env_method("action_masks")`, as
    MaskablePPO does. The info of a row whose match is over has `terminal_observation`,
    `TimeLimit.truncated` and `episode` (chips `r`, decisions `l`, seconds `t`), as a Monitor writes
    them; other infos are empty. Seeds are those of `nap_env.envs.vector.NapVectorEnv`.
    """

    def __init__(self, num_envs: int, **arguments: Any) -> None:
        """Set the tables; `reset` deals.

        Args:
            num_envs: N, number of tables.
            **arguments: those of `gymnasium.make_vec("nap_env:nap/Nap-v0", ..)`, except the form of
                observations and the autoreset mode, which are what the library wants.

        Raises:
            TypeError: an argument that there is not.
            ValueError: an argument that is not allowed.
        """
        self._tables = NapVectorEnv(
            num_envs,
            autoreset_mode=AutoresetMode.SAME_STEP,
            flat_obs=True,
            mask_in="info",
            **arguments,
        )
        tables = self._tables
        super().__init__(
            tables.num_envs, tables.single_observation_space, tables.single_action_space
        )
        self._chips = np.zeros(num_envs)
        self._decisions = np.zeros(num_envs, np.int64)
        self._began = time()

    def reset(self) -> npt.NDArray[np.int8]:
        """Begin a new match at every table, from the seeds given since the last `reset`."""
        if any(self._options):
            raise ValueError(f"options={self._options!r}: none are allowed for many tables")
        seeded = any(seed is not None for seed in self._seeds)
        seen, infos = self._tables.reset(seed=self._seeds if seeded else None)
        self._reset_seeds()
        self._masks = infos["action_mask"].view(np.bool_)
        self._chips[:] = 0
        self._decisions[:] = 0
        observations: npt.NDArray[np.int8] = seen
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Note the actions, integers (N,), that `step_wait` takes."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[
        npt.NDArray[np.int8], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]
    ]:
        """Step all tables; see `NapVectorEnv.step`."""
        seen, rewards, terminated, truncated, infos = self._tables.step(self._actions)
        self._masks = infos["action_mask"].view(np.bool_)
        self._chips += rewards
        self._decisions += 1
        ended = terminated | truncated
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        seconds = round(time() - self._began, 6)
        for row in np.flatnonzero(ended).tolist():
            told[row] = {
                "terminal_observation": infos["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row]),
                "episode": {
                    "r": float(self._chips[row]),
                    "l": int(self._decisions[row]),
                    "t": seconds,
                },
            }
        self._chips[ended] = 0
        self._decisions[ended] = 0
        return seen, rewards.astype(np.float32), ended, told

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call `action_masks`, or `record`, of some tables."""
        rows = self._get_indices(indices)
        if method_name == "action_masks":
            return [self._masks[row] for row in rows]
        if method_name == "record":
            return [self._tables.record(row) for row in rows]
        raise AttributeError(f"{method_name!r}: tables have action_masks and record")

    def has_attr(self, attr_name: str) -> bool:
        """Return whether a table has an attribute: `action_masks`, or one of the environment."""
        return attr_name == "action_masks" or super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of `NapVectorEnv`, which all tables share, for some of them."""
        return [getattr(self._tables, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> NoReturn:
        """Refuse: what the tables are is said when they are set."""
        raise AttributeError(f"{attr_name!r} cannot be set: give it to NapVecEnv")

    def get_images(self) -> Any:
        """Return a picture of every table, with `render_mode="rgb_array"`."""
        return self._tables.render()

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return True for Monitor: episodes are reported as it does."""
        rows: Iterable[int] = self._get_indices(indices)
        return [wrapper_class is Monitor for _ in rows]

    def close(self) -> None:
        """Close the environment."""
        self._tables.close()
