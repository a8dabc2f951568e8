"""The gradient of the loss over some rows: through the network, `training.loss`, and back."""

import math

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.agents.matrix import aligned
from nap_env.agents.network import BLOCK, VALUE_HEAD, Net, Weights, forward, head, log_policy
from nap_env.engine.kernel import kernel
from training.backward import Block, backward, turn
from training.loss import OUTPUT, STATISTICS, SUMS, add_statistics, slopes
from training.rollout import ROLES, Rollout


@kernel
def _log_policies(net, decisions, rows, hidden, log_probs):
    """Write the log probabilities of all legal actions of some rows."""
    starts = decisions.action_starts
    last = hidden[len(net.widths) - 2]
    for first in range(0, len(rows), BLOCK):
        many = min(BLOCK, len(rows) - first)
        forward(net, decisions, rows, first, many, hidden)
        for i in range(many):
            start = starts[rows[first + i]]
            end = starts[rows[first + i] + 1]
            log_policy(net, last, i, decisions.actions, start, end, log_probs, start)


@kernel
def _differentiate(net, rollout, magnet, loss_of, chosen, block, outputs, gradient, sums):
    """Add the gradient of the loss of some rows, and their statistics.

    Its arguments: Net, Rollout, LOSS (1,), Block; the rows `chosen`, int64 (m,); OUTPUT (1,),
    scratch that the caller keeps, as a record alone does not; and what is added to, `gradient`,
    float32 (T,), and `sums`, SUMS (len(ROLES),).
    """
    loss = loss_of[0]
    output = outputs[0]
    log_probs = np.empty(NUM_ACTIONS, np.float32)
    rows, worth, heads = rollout.rows, rollout.worth, block.heads
    actions, starts = rollout.decisions.actions, rollout.decisions.action_starts
    last = block.hidden[len(net.widths) - 2]
    turn(net, block.turned)
    for first in range(0, len(chosen), BLOCK):
        many = min(BLOCK, len(chosen) - first)
        forward(net, rollout.decisions, chosen, first, many, block.hidden)
        for i in range(many):
            number = chosen[first + i]
            start = starts[number]
            count = starts[number + 1] - start
            log_policy(net, last, i, actions, start, start + count, log_probs, 0)
            output["count"] = count
            for k in range(count):
                output["log_prob"][k] = log_probs[k]
                output["prob"][k] = math.exp(log_probs[k])
                output["magnet"][k] = magnet[start + k]
                output["worth"][k] = worth[start + k]
            output["value"] = head(net, VALUE_HEAD, last, i)
            slopes(loss, rows[number], output)
            add_statistics(loss, rows[number], output, sums[np.int64(rows[number]["role"])])
            for k in range(count):
                heads[i, k] = output["slope"][k]
            heads[i, VALUE_HEAD] = output["value_slope"]
        backward(net, rollout.decisions, chosen, first, many, block, gradient)


class Gradient:
    """The gradient of the loss over some rows, computed again and again in the same memory.

    Attributes:
        gradient: float32 (T,), summed over rows.
        sums: float64 (len(ROLES), len(STATISTICS) + 1), the statistics by role, and the number of
            rows.
    """

    def __init__(self, net: Net) -> None:
        """Make the memory for networks like this one."""
        self._net, self._block, self._outputs = net, Block.of(net), np.zeros(1, OUTPUT)
        self.gradient = aligned(len(net.weights))
        self.sums = np.zeros((len(ROLES), len(STATISTICS) + 1))

    def log_policies(self, weights: Weights, rollout: Rollout) -> npt.NDArray[np.float32]:
        """Return the log probabilities of all legal actions, beside `decisions.actions`."""
        log_probs = np.empty(len(rollout.decisions.actions), np.float32)
        net, rows = self._net._replace(weights=weights), np.arange(len(rollout.rows))
        _log_policies(net, rollout.decisions, rows, self._block.hidden, log_probs)
        return log_probs

    def differentiate(
        self, weights: Weights, rollout: Rollout, magnet: npt.NDArray[np.float32],
        loss: npt.NDArray[np.void], rows: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Compute `gradient` and `sums` over some rows.

        Args:
            weights: float32 (T,).
            rollout: the decisions.
            magnet: float32, log probabilities under the averaged weights, beside
                `decisions.actions`.
            loss: LOSS (1,).
            rows: int64 (m,), numbers of the rows.
        """
        self.gradient[:] = 0
        self.sums[:] = 0
        net, sums = self._net._replace(weights=weights), self.sums.view(SUMS)[:, 0]
        _differentiate(
            net, rollout, magnet, loss, rows, self._block, self._outputs, self.gradient, sums
        )  # fmt: skip
