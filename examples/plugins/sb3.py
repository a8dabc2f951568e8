"""stable-baselines3: MaskablePPO on many tables, against an agent or against itself.

    pip install "nap_env[sb3]"
    python -m examples.plugins.sb3                     # five minutes against heuristic
    python -m examples.plugins.sb3 --opponents self

What to know: docs/plugins.md.
"""

import time

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from examples.plugins.alike import parsed, tell
from nap_env.adapters.sb3 import NapVecEnv
from nap_env.agents import from_policy


class Until(BaseCallback):
    """Stop when the time is up."""

    def __init__(self, end):
        super().__init__()
        self.end = end

    def _on_step(self):
        return time.time() < self.end


def main():
    """Train, measure, save."""
    options = parsed(__doc__, "sb3.zip", opponents="heuristic")

    def policy(observations, masks):  # asked once for all tables at which it is to move
        return model.predict(observations, action_masks=masks)[0]

    torch.set_num_threads(1)
    itself = options.opponents == "self"
    env = NapVecEnv(512, opponents=from_policy(policy) if itself else options.opponents)
    how = {"n_steps": 32, "batch_size": 4096, "n_epochs": 4, "learning_rate": 1e-3}
    # Chips are large numbers, and to pass is tempting.
    how |= {"gamma": 1.0, "ent_coef": 0.03, "vf_coef": 0.01}
    model = MaskablePPO("MlpPolicy", env, **how, policy_kwargs={"net_arch": [128, 128]})
    model.learn(10**9, callback=Until(options.end))
    model.save(options.save)
    model = MaskablePPO.load(options.save)
    told = {"opponents": options.opponents, "decisions": model.num_timesteps}
    tell("sb3-contrib", policy, minutes=options.minutes, **told)


if __name__ == "__main__":
    main()
