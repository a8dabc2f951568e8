"""Your own learner on `Batch`: a linear policy taught by REINFORCE, in NumPy alone.

    python examples/own_loop.py                # about a minute
    python examples/own_loop.py --updates 3

All seats learn with one set of weights, from what each of them is paid at the end of a deal.
"""

import argparse

import numpy as np

from nap_env import Batch

STEPS = 64  # decisions of each game in an update: some deals
LEARNING_RATE = 0.02


def probabilities(weights, observation, mask):
    """Softmax over the legal actions: (n, 78)."""
    logits = np.where(mask, observation @ weights, -np.inf)
    odds = np.exp(logits - logits.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


def choose(policy, rng):
    """Draw an action from each row."""
    return (policy.cumsum(1) > rng.random((len(policy), 1))).argmax(1)


def play(games, weights, rng):
    """Play STEPS decisions in every game; return those of complete deals and what they brought."""
    seen, chosen, seats, ends = [], [], [], []
    for _ in range(STEPS):
        observation, mask = games.observation.astype(np.float32), games.action_mask == 1
        policy = probabilities(weights, observation, mask)
        actions = choose(policy, rng)
        seen.append((observation, policy))
        chosen.append(actions)
        seats.append(games.seat.copy())  # a batch's arrays change with the next step
        games.step(actions)
        ends.append((games.done.copy(), games.payments.copy()))
    # Everybody is paid at the end of a deal: backwards, each decision gets its seat's payment.
    rows = np.arange(games.num_games)
    paid, complete = np.zeros((games.num_games, games.num_players)), np.zeros(games.num_games, bool)
    returns = np.zeros((STEPS, games.num_games), np.float32)
    counted = np.zeros((STEPS, games.num_games), bool)
    for step in reversed(range(STEPS)):
        done, payments = ends[step]
        paid[done], complete = payments[done], complete | done
        returns[step], counted[step] = paid[rows, seats[step]], complete
    return seen, chosen, returns, counted


def learn(weights, seen, chosen, returns, counted):
    """Make likelier what brought more than usual."""
    advantage = np.where(counted, returns - returns[counted].mean(), 0) / returns[counted].std()
    gradient = np.zeros_like(weights)
    for (observation, policy), actions, worth in zip(seen, chosen, advantage, strict=True):
        direction = -policy
        direction[np.arange(len(actions)), actions] += 1
        gradient += observation.T @ (direction * worth[:, None])
    return weights + LEARNING_RATE * gradient / counted.sum()


def strength(weights, rng, deals=2000):
    """Chips per 100 deals of one seat with these weights against three that choose at random."""
    games = Batch(num_games=deals, seed=1)
    won, through = np.zeros(deals), np.zeros(deals, bool)
    while not through.all():
        mask = games.action_mask == 1
        policy = probabilities(weights, games.observation.astype(np.float32), mask)
        ours = games.seat == np.arange(deals) % games.num_players  # every seat in turn
        actions = np.where(ours, choose(policy, rng), games.sample())
        games.step(actions)
        first = games.done & ~through
        won[first] = games.payments[first, np.flatnonzero(first) % games.num_players]
        through |= games.done
    return 100 * won.mean(), 196 * won.std() / np.sqrt(deals)


def main():
    """Learn, and tell how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=60, help="gradient steps")
    updates = parser.parse_args().updates
    rng = np.random.default_rng(0)
    games = Batch(rules="standard", num_players=4, num_games=512, seed=0)
    weights = np.zeros((games.observation_size, games.num_actions), np.float32)
    for update in range(updates + 1):
        if update % 10 == 0 or update == updates:
            chips, half = strength(weights, rng)
            print(
                f"{update:4d} updates: {chips:+7.1f} ± {half:.1f} chips per 100 deals", flush=True
            )
        if update < updates:
            weights = learn(weights, *play(games, weights, rng))


if __name__ == "__main__":
    main()
