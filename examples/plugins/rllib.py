"""RLlib: PPO of its new stack, one policy in all seats.

    pip install "nap_env[rllib]"
    python -m examples.plugins.rllib    # five minutes

What to know: docs/plugins.md.
"""

import time
from pathlib import Path

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.tune import register_env

from examples.plugins.alike import parsed, tell
from nap_env.adapters.rllib import MaskedTorchRLModule, env_creator


def main():
    """Train, measure, save."""
    options = parsed(__doc__, "rllib")
    register_env("nap", env_creator)
    config = PPOConfig().environment("nap", env_config={"rules": "standard", "num_players": 4})
    config.env_runners(num_env_runners=0)
    config.multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedTorchRLModule))
    config.training(train_batch_size_per_learner=2000, minibatch_size=500, num_epochs=4, lr=1e-3,
                    gamma=1.0, vf_clip_param=1000.0)  # fmt: skip
    algorithm = config.build_algo()
    while time.time() < options.end:
        algorithm.train()
    algorithm.save_to_path(Path(options.save).absolute())
    module = algorithm.get_module("all")

    @torch.no_grad()
    def policy(observations, masks):
        seen = {
            "observation": torch.from_numpy(observations),
            "action_mask": torch.from_numpy(masks),
        }
        logits = module.forward_inference({"obs": seen})["action_dist_inputs"]
        return torch.distributions.Categorical(logits=logits).sample().numpy()

    tell("ray", policy, minutes=options.minutes)
    algorithm.stop()


if __name__ == "__main__":
    main()
