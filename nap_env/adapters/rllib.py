"""Nap for RLlib: the environment's maker, and a module for its new stack that obeys the masks.

register_env("nap", env_creator)
config.environment("nap", env_config={"rules": "pub", "num_players": 5})
config.rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedTorchRLModule))
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from nap_env import nap_v0
from nap_env.adapters.extra import needs

with needs("rllib"):
    import torch
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from torch import nn


def env_creator(config: Mapping[str, Any]) -> PettingZooEnv:
    """Return a table at which all seats learn, for `ray.tune.register_env`.

    Args:
        config: arguments of `nap_v0.env`, but masks are in observations.

    Raises:
        TypeError: an argument that there is not.
        ValueError: an argument that is not allowed.
    """
    return PettingZooEnv(nap_v0.env(**{**config, "mask_in": "obs"}))


class MaskedTorchRLModule(TorchRLModule, ValueFunctionAPI):
    """Two networks over `observation`; logits of illegal actions get the least float.

    `model_config={"hidden": (128, 128)}` gives the widths of the hidden layers of both.
    """

    def setup(self) -> None:
        """Make the networks."""
        config = self.model_config if isinstance(self.model_config, Mapping) else {}
        widths = [self.observation_space["observation"].shape[0], *config.get("hidden", (128, 128))]

        def network(outputs: int) -> nn.Sequential:
            pairs = pairwise(widths)
            hidden = [layer for a, b in pairs for layer in (nn.Linear(a, b), nn.ReLU())]
            return nn.Sequential(*hidden, nn.Linear(widths[-1], outputs))

        self.policy = network(self.action_space.n)
        self.value = network(1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return the logits of legal actions, float32 (.., 78)."""
        seen = batch[Columns.OBS]
        logits = self.policy(seen["observation"].float())
        least = torch.finfo(logits.dtype).min
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(seen["action_mask"] == 0, least)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Return what positions are worth, float32 (..,)."""
        values: torch.Tensor = self.value(batch[Columns.OBS]["observation"].float())
        return values.squeeze(-1)
