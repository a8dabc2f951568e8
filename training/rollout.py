"""Self-play: complete deals by one network in all seats, and what each decision was worth.

A row is one decision: a seat with at least two legal actions. The decisions of one seat in one
deal are a chain; a chain ends with its deal, so nothing after it is ever estimated.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from nap_env.actions import FIRST_BID
from nap_env.batch import Batch
from training.network import Network, log_policy, sample

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Rollout:
    """The M decisions of D complete deals in each of N games, in the order they were taken."""

    observation: npt.NDArray[np.int8]  # (M, K), seen by the seat that decides
    legal: npt.NDArray[np.bool_]  # (M, A)
    action: Ints  # (M,)
    log_prob: Floats  # (M,), of the action, under the policy that took it
    value: Floats  # (M,), expected by the network, in units of reward
    chain: Ints  # (M,), (game * D + deal) * P + seat
    starts: Ints  # (steps + 1,), where each step's rows start, and M
    payments: npt.NDArray[np.int32]  # (N * D, P), what each seat's chips changed in each deal

    @property
    def may_bid(self) -> npt.NDArray[np.bool_]:
        """Rows (M,) of the auction: the seat may bid."""
        rows: npt.NDArray[np.bool_] = np.asarray(self.legal[:, FIRST_BID:].any(1))
        return rows

    @property
    def num_chains(self) -> int:
        """Chains, counting those without a decision."""
        return self.payments.size

    def rewards(self, chips_per_reward: float) -> Floats:
        """Return each row's reward (M,): what its seat's chips changed until its next decision.

        Chips move when a deal ends, so that is a seat's payment on its last decision, else 0.
        """
        last = np.full(self.num_chains, -1)
        last[self.chain] = np.arange(len(self.chain))  # of equal chains the latest row stays
        decided = np.flatnonzero(last >= 0)
        rewards = np.zeros(len(self.chain), np.float32)
        rewards[last[decided]] = self.payments.ravel()[decided] / chips_per_reward
        return rewards


@torch.inference_mode()
def collect(
    games: Batch, network: Network, deals: int, seed: int, generator: torch.Generator
) -> Rollout:
    """Play `deals` complete deals in each game, afresh.

    Args:
        games: N games, restarted from `seed`.
        network: plays all seats.
        deals: D, at least 1.
        seed: of the cards and of forced moves.
        generator: draws the network's actions.
    """
    games.reset(seed)
    deal = np.zeros(games.num_games, np.int64)  # the deal that each game is in; D when through
    payments = np.zeros((games.num_games, deals, games.num_players), np.int32)
    steps: list[dict[str, npt.NDArray[Any]]] = []
    while (deal < deals).any():
        mask = games.action_mask.astype(np.bool_)  # (N, A)
        rows = np.flatnonzero((deal < deals) & (mask.sum(1) > 1))  # (n,) games with a decision
        seat = games.seat[rows].astype(np.int64)  # (n,)
        observation, legal = torch.from_numpy(games.observation[rows]), torch.from_numpy(mask[rows])
        logits, value = network(observation)  # (n, A), (n,)
        log_probs = log_policy(logits, legal)  # (n, A)
        action = sample(log_probs, legal, generator)  # (n,)
        step = {
            "observation": observation.numpy(),  # (n, K), a copy of the Batch's
            "legal": legal.numpy(),  # (n, A)
            "action": action.numpy(),
            "log_prob": log_probs.gather(1, action[:, None]).squeeze(1).numpy(),
            "value": value.numpy(),
            "chain": (rows * deals + deal[rows]) * games.num_players + seat,
        }
        steps.append(step)

        actions = games.sample()  # (N,) for forced moves, and games that are through
        actions[rows] = step["action"]
        games.step(actions)
        ended = np.flatnonzero(games.done & (deal < deals))
        payments[ended, deal[ended]] = games.payments[ended]
        deal[ended] += 1

    columns = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}
    return Rollout(
        **columns,
        starts=np.cumsum([0, *(len(step["action"]) for step in steps)]),
        payments=payments.reshape(-1, games.num_players),
    )


def advantages(rewards: Floats, rollout: Rollout, gae_lambda: float) -> Floats:
    """Return how much better than expected each decision (M,) turned out (GAE, undiscounted).

    Every chain goes along one seat's own decisions: what a decision led to is the value of the
    same seat's next one, and after its last one in the deal only the payment.
    """
    advantage = np.zeros_like(rewards)
    next_value = np.zeros(rollout.num_chains, np.float32)
    next_advantage = np.zeros(rollout.num_chains, np.float32)
    for start, end in reversed(list(pairwise(rollout.starts))):  # the rows of a step
        chain = rollout.chain[start:end]  # (n,) all different: a game has one decision a step
        value = rollout.value[start:end]
        error = rewards[start:end] + next_value[chain] - value
        advantage[start:end] = error + gae_lambda * next_advantage[chain]
        next_value[chain] = value
        next_advantage[chain] = advantage[start:end]
    return advantage
