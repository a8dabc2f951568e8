"""The loss of regularised PPO, one row (decision) at a time: its slopes where the network speaks.

With p the policy over the row's legal actions, A its advantage, a row's loss is the sum of

    policy     - min(r A, clip(r, 1 - c, 1 + c) A), r the ratio of p to the policy that played;
               - sum of p(a) W(a) where the auction branched, W what each action brought
    entropy    - t H(p), its temperature t by role
    magnet     + m KL(p, q), q the policy of the averaged weights
    value      + v Huber(V - R), R the return

A new term is a weight in LOSS and `weigh`, its option in `training.config`, its slopes in `slopes`
and the same in torch in `training.network`, with which tests/training/test_gradient.py compares
them. Everything else knows slopes only.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.engine.kernel import kernel
from training.config import Config
from training.rollout import IN_AUCTION, ROLES

LOSS = np.dtype(
    [
        ("clip", np.float64),
        ("value_coef", np.float64),
        ("magnet", np.float64),  # weight of the divergence from the averaged policy
        ("temperature", np.float64, len(ROLES)),  # weight of the entropy, by role
        ("mean", np.float64, len(ROLES)),  # is taken from the advantage,
        ("scale", np.float64, len(ROLES)),  # which is then multiplied by this
    ],
    align=True,
)
"""Weights of the loss."""

OUTPUT = np.dtype(
    [
        ("count", np.int64),  # of the row's legal actions; of each of them:
        ("log_prob", np.float32, NUM_ACTIONS),  # under the network's policy now
        ("prob", np.float32, NUM_ACTIONS),  # its exponential
        ("magnet", np.float32, NUM_ACTIONS),  # log probability under the averaged weights
        ("worth", np.float32, NUM_ACTIONS),  # what it brought less the mean, where the row branches
        ("slope", np.float32, NUM_ACTIONS),  # d loss / d logit, written by `slopes`
        ("value", np.float32),  # what the network expects now
        ("value_slope", np.float32),  # d loss / d value, written by `slopes`
    ],
    align=True,
)
"""What the network says of a row, beside what is known of its actions, and the slopes there."""

STATISTICS = ("policy", "value", "approx_kl", "clip_fraction", "magnet_kl", "entropy")
"""What is summed over rows, to be logged."""

SUMS = np.dtype([(name, np.float64) for name in (*STATISTICS, "rows")])
"""The sums, and the number of rows."""


def weigh(config: Config, left: float, mean: Any, scale: Any) -> npt.NDArray[np.void]:
    """Return LOSS (1,) for an update, of which a share `left` of the run is still to come."""
    heat = config.entropy_end + (1 - config.entropy_end) * left
    loss = np.zeros(1, LOSS)
    loss["clip"], loss["value_coef"], loss["magnet"] = config.clip, config.value_coef, config.magnet
    loss["temperature"] = heat * config.entropy_play
    loss["temperature"][:, IN_AUCTION] = heat * config.entropy_auction
    loss["mean"], loss["scale"] = mean, scale
    return loss


@kernel
def slopes(loss, row, output):
    """Write the slopes of the loss of a row; the arguments are records: LOSS, ROW, OUTPUT."""
    role = np.int64(row["role"])
    entropy, divergence, worth = _means(output)
    _, push = _objective(loss, row, output, worth)
    for k in range(output["count"]):
        p = output["prob"][k]
        log_p = output["log_prob"][k]
        slope = push * p + loss["temperature"][role] * p * (log_p + entropy)
        slope += loss["magnet"] * p * (log_p - output["magnet"][k] - divergence)
        if k == row["chosen"]:
            slope -= push
        if row["branches"] != 0:
            slope -= loss["scale"][role] * p * (output["worth"][k] - worth)
        output["slope"][k] = slope
    miss = output["value"] - row["returns"]
    output["value_slope"] = loss["value_coef"] * min(max(miss, -1.0), 1.0)


@kernel
def add_statistics(loss, row, output, sums):
    """Add what is to be logged of a row to a record of SUMS; the other arguments as in `slopes`."""
    entropy, divergence, worth = _means(output)
    gain, _ = _objective(loss, row, output, worth)
    miss = output["value"] - row["returns"]
    log_ratio = output["log_prob"][row["chosen"]] - row["log_prob"]
    ratio = math.exp(log_ratio)
    sums["policy"] -= gain
    sums["value"] += 0.5 * miss * miss if abs(miss) < 1 else abs(miss) - 0.5
    sums["approx_kl"] += ratio - 1 - log_ratio
    sums["clip_fraction"] += abs(ratio - 1) > loss["clip"]
    sums["magnet_kl"] += divergence
    sums["entropy"] += entropy
    sums["rows"] += 1


@kernel
def _means(output):
    """Return the policy's entropy, its divergence from the magnet, and what it would bring."""
    entropy = 0.0
    divergence = 0.0
    worth = 0.0
    for k in range(output["count"]):
        p = output["prob"][k]
        entropy -= p * output["log_prob"][k]
        divergence += p * (output["log_prob"][k] - output["magnet"][k])
        worth += p * output["worth"][k]
    return entropy, divergence, worth


@kernel
def _objective(loss, row, output, worth):
    """Return what the policy raises, and its slope by the log probability of the action taken."""
    role = np.int64(row["role"])
    if row["branches"] != 0:
        return worth * loss["scale"][role], 0.0
    advantage = (row["advantage"] - loss["mean"][role]) * loss["scale"][role]
    ratio = math.exp(output["log_prob"][row["chosen"]] - row["log_prob"])
    clipped = min(max(ratio, 1 - loss["clip"]), 1 + loss["clip"])
    gain = min(ratio * advantage, clipped * advantage)
    return gain, ratio * advantage if gain == ratio * advantage else 0.0
