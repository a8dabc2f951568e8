"""stable-baselines3: MaskablePPO on many tables, against an agent or against itself.

pip install "nap_env[sb3]"
python -m examples.plugins.sb3                     # five minutes against heuristic
python -m examples.plugins.sb3 --opponents self
"""

import argparse
import time

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from examples.plugins.strength import tell

from nap_env.adapters.sb3 import NapVecEnv
from nap_env.agents import from_policy


class Until(BaseCallback):
    """Stop when the time is up."""

    def __init__(self, minutes):
        super().__init__()
        self.end = time.time() + 60 * minutes

    def _on_step(self):
        return time.time() < self.end


def main():
    """Train, measure, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--opponents", default="heuristic", help="an agent's name, or self")
    parser.add_argument("--save", default="build/sb3")
    options = parser.parse_args()

    def policy(observations, masks):  # asked once for all tables at which it is to move
        return model.predict(observations, action_masks=masks)[0]

    torch.set_num_threads(1)
    itself = options.opponents == "self"
    env = NapVecEnv(128, opponents=from_policy(policy) if itself else options.opponents)
    network = {"net_arch": [128, 128]}
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=64, batch_size=1024, n_epochs=4, gamma=1.0, ent_coef=0.01,
        policy_kwargs=network, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(10**9, callback=Until(options.minutes))
    model.save(options.save)
    model = MaskablePPO.load(options.save)
    tell("sb3-contrib", policy, opponents=options.opponents, minutes=options.minutes)


if __name__ == "__main__":
    main()
