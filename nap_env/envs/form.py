"""In which form an environment gives observations and masks; all environments take the same."""

from typing import Any

import numpy as np
from gymnasium import spaces

from nap_env.actions import NUM_ACTIONS
from nap_env.rules import flag, one_of

MASK_IN = ("both", "obs", "info")


class Form:
    """The form in which observations and masks are given, and its space.

    Attributes:
        mask_in_obs: whether the mask is in the observation.
        mask_in_info: whether the mask is in the info.
        space: of one seat's observation.
    """

    def __init__(self, size: int, mask_in: str | None, flat_obs: bool) -> None:
        """Choose a form.

        Args:
            size: K, entries of an observation.
            mask_in: `both`, `obs` or `info`; None: `obs`, or `info` of a plain array.
            flat_obs: the observation is the plain array.

        Raises:
            ValueError: another `mask_in`, or one for which a plain array has no place.
        """
        flat_obs = flag("flat_obs", flat_obs)
        if mask_in is None:
            mask_in = "info" if flat_obs else "obs"
        one_of("mask_in", mask_in, MASK_IN)
        if flat_obs and mask_in == "obs":
            raise ValueError(
                "mask_in='obs' with flat_obs=True: a plain array has no place for the mask; "
                "allowed are both, info"
            )
        self.mask_in_info = mask_in != "obs"
        self.mask_in_obs = mask_in != "info" and not flat_obs
        self._flat = flat_obs
        box = spaces.Box(-128, 127, (size,), np.int8)
        mask = spaces.Box(0, 1, (NUM_ACTIONS,), np.int8)
        self.space: spaces.Space[Any] = box if flat_obs else spaces.Dict(self.of(box, mask))

    def of(self, observation: Any, mask: Any) -> Any:
        """Return an observation in this form."""
        if self._flat:
            return observation
        if self.mask_in_obs:
            return {"observation": observation, "action_mask": mask}
        return {"observation": observation}
