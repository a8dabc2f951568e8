"""Agents of your own, measured against the shipped ones.

    python examples/my_agent.py
    python -m training.evaluate examples/my_agent.py:careful --against heuristic
    python -m nap_env.play --opponents examples/my_agent.py:lowest

An agent answers for many games at once: `games` are at tables of one kind, `rows` says which of
them are asked about, always with the seat that is to move.
"""

import argparse

import numpy as np

from nap_env.actions import PASS, action_id
from nap_env.agents import from_policy, make

THREE = action_id("three")
helper = make("heuristic", "standard", num_players=4)


def careful(games, rows):
    """Play as the heuristic does, but bid three and no more, with a suit that is worth it."""
    observations, masks = games.observe(rows)  # int8 (n, K) and (n, 78)
    hands = observations[:, games.layout.slice("hand")]  # by card id: suit by suit, 2 to ace
    suits = hands[:, :52].reshape(-1, 4, 13)
    good = (suits.sum(2) >= 3) & (suits[:, :, -3:].sum(2) >= 2)  # three cards, two of Q K A
    call = np.where(good.any(1) & (masks[:, THREE] == 1), THREE, PASS)
    return np.where(masks[:, PASS] == 1, call, helper(games, rows))


def lowest_action(observations, masks):
    """Take the legal action of the lowest number: a policy, as a network would be one."""
    return masks.argmax(1)


lowest = from_policy(lowest_action)


def main():
    """Measure both; `training.evaluate` is a command, and this is its Python side."""
    from training.evaluate import evaluate

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="deals, each from every seat")
    sets = parser.parse_args().sets
    for name in ("careful", "lowest"):
        for row in evaluate(f"{__file__}:{name}", ["passer", "heuristic"], sets=sets):
            low, high = row["ci95"]
            chips = f"{row['chips_per_100']:+7.1f} chips per 100 deals ({low:+.1f} to {high:+.1f})"
            print(f"{name:8} against {row['against']:10} {row['format']}: {chips}")


if __name__ == "__main__":
    main()
