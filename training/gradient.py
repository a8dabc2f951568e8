"""The loss of regularised PPO and its gradient, written out by hand for `nap_env.agents.network`.

Summed over rows (decisions), with p the policy over the legal actions, A the advantage:

    policy     - min(r A, clip(r, 1 - c, 1 + c) A), r the ratio of p to the policy that played;
               - sum of p(a) W(a) where the auction branched, W what each action brought
    entropy    - t H(p), its temperature t by role
    magnet     + m KL(p, q), q the policy of the averaged weights
    value      + v Huber(V - R), R the return

`training.network` says the same with torch; tests/training/test_gradient.py compares them.
"""

import math

import numpy as np
import numpy.typing as npt

from nap_env.agents.matrix import add_product, add_scaled
from nap_env.agents.network import (
    BLOCK,
    NUM_HEADS,
    VALUE_HEAD,
    Weights,
    forward,
    head,
    heads_at,
    log_policy,
    num_weights,
)
from nap_env.engine.kernel import kernel
from training.rollout import ROLES, Rollout

STATISTICS = ("policy", "value", "approx_kl", "clip_fraction", "magnet_kl", "entropy")
"""What is summed over rows beside the gradient."""

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


@kernel
def _log_policies(
    weights, widths, factors, places, values, starts, action_starts, actions, numbers, hidden,
    log_probs,
):  # fmt: skip
    """Write the log probabilities of all legal actions of all rows."""
    heads = heads_at(widths)
    width = widths[len(widths) - 1]
    count = len(starts) - 1
    for first in range(0, count, BLOCK):
        many = min(BLOCK, count - first)
        forward(weights, widths, factors, places, values, starts[first:], numbers, 0, many, hidden)
        for k in range(many):
            start = action_starts[first + k]
            log_policy(
                weights, heads, width, hidden[len(widths) - 2], k, actions, start,
                action_starts[first + k + 1], log_probs, start,
            )  # fmt: skip


@kernel
def _differentiate(
    weights, widths, factors, rows, starts, places, values, action_starts, actions, magnet,
    worth, loss_of, chosen, hidden, slopes, turned, log_probs, gradient, sums,
):  # fmt: skip
    """Add the gradient of the loss of some rows, and their statistics.

    Its arguments:
        weights, widths, factors: of the network.
        rows, starts, places, values, action_starts, actions, worth: of a Rollout.
        magnet: float32, log probabilities under the averaged weights, beside `actions`.
        loss_of: LOSS (1,).
        chosen: int64 (m,), numbers of the rows.
        hidden: float32 (L, BLOCK * width), scratch, as are
        slopes: float32 (L, BLOCK * width), and
        turned: float32 (T,), for the hidden matrices transposed, and
        log_probs: float32 (NUM_HEADS,).
        gradient: float32 (T,), is added to.
        sums: float64 (len(ROLES), len(STATISTICS) + 1), is added to: by role.
    """
    loss = loss_of[0]
    layers = len(widths) - 1
    heads = heads_at(widths)
    width = widths[layers]
    head_bias = heads + NUM_HEADS * width
    last = hidden[layers - 1]
    last_slope = slopes[layers - 1]
    at = (widths[0] + 1) * widths[1]
    for number in range(2, layers + 1):
        before = widths[number - 1]
        here = widths[number]
        for j in range(before):
            for k in range(here):
                turned[at + k * before + j] = weights[at + j * here + k]
        at += (before + 1) * here
    for first in range(0, len(chosen), BLOCK):
        many = min(BLOCK, len(chosen) - first)
        forward(weights, widths, factors, places, values, starts, chosen, first, many, hidden)
        for j in range(many * width):
            last_slope[j] = 0
        for i in range(many):
            row = chosen[first + i]
            note = rows[row]
            start = action_starts[row]
            count = action_starts[row + 1] - start
            log_policy(weights, heads, width, last, i, actions, start, start + count, log_probs, 0)
            role = np.int64(note["role"])
            temperature = loss["temperature"][role]
            entropy = 0.0
            magnet_kl = 0.0
            brought = 0.0
            for k in range(count):
                p = math.exp(log_probs[k])
                entropy -= p * log_probs[k]
                magnet_kl += p * (log_probs[k] - magnet[start + k])
                brought += p * worth[start + k]
            advantage = (note["advantage"] - loss["mean"][role]) * loss["scale"][role]
            log_ratio = log_probs[note["chosen"]] - note["log_prob"]
            ratio = math.exp(log_ratio)
            clipped = min(max(ratio, 1 - loss["clip"]), 1 + loss["clip"])
            branches = note["branches"] != 0
            gain = min(ratio * advantage, clipped * advantage)
            push = ratio * advantage if gain == ratio * advantage else 0.0
            if branches:
                gain = brought * loss["scale"][role]
                push = 0.0
            for k in range(count):
                p = math.exp(log_probs[k])
                slope = push * p + temperature * p * (log_probs[k] + entropy)
                slope += loss["magnet"] * p * (log_probs[k] - magnet[start + k] - magnet_kl)
                if k == note["chosen"]:
                    slope -= push
                if branches:
                    slope -= loss["scale"][role] * p * (worth[start + k] - brought)
                action = np.int64(actions[start + k])
                factor = np.float32(slope)
                add_scaled(gradient, heads + action * width, factor, last, i * width, width)
                add_scaled(last_slope, i * width, factor, weights, heads + action * width, width)
                gradient[head_bias + action] += factor
            value = head(weights, heads, width, VALUE_HEAD, last, i)
            miss = value - note["returns"]
            factor = np.float32(loss["value_coef"] * min(max(miss, -1.0), 1.0))
            at = heads + VALUE_HEAD * width
            add_scaled(gradient, at, factor, last, i * width, width)
            add_scaled(last_slope, i * width, factor, weights, at, width)
            gradient[head_bias + VALUE_HEAD] += factor
            total = sums[role]
            total[0] -= gain
            total[1] += 0.5 * miss * miss if abs(miss) < 1 else abs(miss) - 0.5
            total[2] += ratio - 1 - log_ratio
            total[3] += abs(ratio - 1) > loss["clip"]
            total[4] += magnet_kl
            total[5] += entropy
            total[6] += 1
        at = heads
        for number in range(layers, 1, -1):
            before = widths[number - 1]
            here = widths[number]
            at -= (before + 1) * here
            slope_of = slopes[number - 1]
            below = hidden[number - 2]
            for j in range(many * here):
                if hidden[number - 1][j] <= 0:
                    slope_of[j] = 0
            add_product(gradient, at, below, 0, 1, before, slope_of, 0, before, many, here)
            for i in range(many):
                for j in range(here):
                    gradient[at + before * here + j] += slope_of[i * here + j]
            slope_below = slopes[number - 2]
            for j in range(many * before):
                slope_below[j] = 0
            add_product(slope_below, 0, slope_of, 0, here, 1, turned, at, many, here, before)
        here = widths[1]
        slope_of = slopes[0]
        for j in range(many * here):
            if hidden[0][j] <= 0:
                slope_of[j] = 0
        for i in range(many):
            for j in range(here):
                gradient[widths[0] * here + j] += slope_of[i * here + j]
            row = chosen[first + i]
            for k in range(starts[row], starts[row + 1]):
                place = np.int64(places[k])
                factor = factors[place] * np.float32(values[k])
                add_scaled(gradient, place * here, factor, slope_of, i * here, here)


class Gradient:
    """The gradient of the loss over some rows, computed again and again in the same memory.

    Attributes:
        gradient: float32 (T,), summed over rows.
        sums: float64 (len(ROLES), len(STATISTICS) + 1), the statistics by role, and the number of
            rows.
    """

    def __init__(self, widths: npt.NDArray[np.int64], factors: npt.NDArray[np.float32]) -> None:
        """Make the memory for networks of these widths, with these factors of the features."""
        self._widths, self._factors = widths, factors
        size = num_weights(widths)
        room = (len(widths) - 1, BLOCK * int(widths[1:].max()))
        self._hidden, self._slopes = np.empty(room, np.float32), np.empty(room, np.float32)
        self._turned = np.empty(size, np.float32)
        self._log_probs = np.empty(NUM_HEADS, np.float32)
        self._numbers = np.arange(BLOCK)
        self.gradient = np.zeros(size, np.float32)
        self.sums = np.zeros((len(ROLES), len(STATISTICS) + 1))

    def log_policies(self, weights: Weights, rollout: Rollout) -> npt.NDArray[np.float32]:
        """Return the log probabilities of all legal actions, beside `rollout.actions`."""
        log_probs = np.empty(len(rollout.actions), np.float32)
        _log_policies(
            weights, self._widths, self._factors, rollout.places, rollout.values, rollout.starts,
            rollout.action_starts, rollout.actions, self._numbers, self._hidden, log_probs,
        )  # fmt: skip
        return log_probs

    def differentiate(
        self, weights: Weights, rollout: Rollout, magnet: npt.NDArray[np.float32],
        loss: npt.NDArray[np.void], rows: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Compute `gradient` and `sums` over some rows.

        Args:
            weights: float32 (T,).
            rollout: the decisions.
            magnet: float32, log probabilities under the averaged weights.
            loss: LOSS (1,).
            rows: int64 (m,), numbers of the rows.
        """
        self.gradient[:] = 0
        self.sums[:] = 0
        _differentiate(
            weights, self._widths, self._factors, rollout.rows, rollout.starts, rollout.places,
            rollout.values, rollout.action_starts, rollout.actions, magnet, rollout.worth, loss,
            rows, self._hidden, self._slopes, self._turned, self._log_probs, self.gradient,
            self.sums,
        )  # fmt: skip
