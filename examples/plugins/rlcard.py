"""RLCard: its DQN at a table with random players.

    pip install "nap_env[rlcard]" torch
    python -m examples.plugins.rlcard    # five minutes

What to know: docs/plugins.md.
"""

import contextlib
import os
import time

import numpy as np
import torch
from rlcard.agents import DQNAgent, RandomAgent
from rlcard.utils import reorganize

from examples.plugins.alike import parsed, tell
from nap_env.adapters.rlcard import NapEnv


def main():
    """Train, measure, save."""
    options = parsed(__doc__, "rlcard.pt")
    torch.set_num_threads(1)
    env = NapEnv("standard", num_players=4, seed=0)
    agent = DQNAgent(
        num_actions=env.num_actions, state_shape=env.state_shape[0], mlp_layers=[128, 128],
        discount_factor=1.0, learning_rate=3e-4, epsilon_decay_steps=20_000, train_every=4,
    )  # fmt: skip
    game = 0
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
    ):  # it tells each loss
        while time.time() < options.end:
            seat = game % env.num_players  # it learns in every seat
            players = [RandomAgent(env.num_actions)] * env.num_players
            players[seat] = agent
            env.set_agents(players)
            trajectories, payoffs = env.run(is_training=True)
            for transition in reorganize(trajectories, payoffs)[seat]:
                agent.feed(transition)
            game += 1
    torch.save(agent.checkpoint_attributes(), options.save)

    @torch.no_grad()
    def policy(observations, masks):
        values = agent.q_estimator.qnet(torch.from_numpy(observations).float()).numpy()
        return np.where(masks == 1, values, -np.inf).argmax(1)

    agent.q_estimator.qnet.eval()
    tell("rlcard", policy, minutes=options.minutes, games=game)


if __name__ == "__main__":
    main()
