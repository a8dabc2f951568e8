"""From slopes at the heads of a network to the gradient of its weights: backpropagation by hand.

What the slopes are of does not matter here: `training.loss` makes them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.agents.matrix import add_product, add_scaled, aligned
from nap_env.agents.network import BLOCK, NUM_HEADS, VALUE_HEAD, Net, block_of
from nap_env.engine.kernel import kernel

Floats = npt.NDArray[np.float32]


class Block(NamedTuple):
    """Memory for a block of rows on their way through a network and back."""

    hidden: Floats  # (L, BLOCK * width), what `forward` writes: row i of layer l at i * width
    slopes: Floats  # beside it: of each number there
    heads: Floats  # (BLOCK, NUM_HEADS): of a row's k-th legal action, and last of its value
    turned: Floats  # (T,), the hidden matrices transposed, each in its place

    @staticmethod
    def of(net: Net) -> "Block":
        """Return the memory for a network."""
        layers = block_of(net.widths)
        return Block(
            aligned(*layers), aligned(*layers), aligned(BLOCK, NUM_HEADS), aligned(len(net.weights))
        )


@kernel
def turn(net, turned):
    """Write the matrices between hidden layers transposed, as `backward` needs them."""
    widths = net.widths
    at = (widths[0] + 1) * widths[1]
    for number in range(2, len(widths)):
        before = widths[number - 1]
        here = widths[number]
        for j in range(before):
            for k in range(here):
                turned[at + k * before + j] = net.weights[at + j * here + k]
        at += (before + 1) * here


@kernel
def backward(net, decisions, rows, first, count, block, gradient):
    """Add the gradient of some rows: those of `forward`, which has the same first arguments.

    Args:
        net: Net.
        decisions: Decisions.
        rows: int64, numbers of the rows,
        first: of which those are meant from here on,
        count: so many.
        block: Block, in which `forward` has written `hidden`, `turn` has written `turned`, and the
            slopes stand in `heads`; `slopes` is overwritten.
        gradient: float32 (T,), is added to.
    """
    weights, widths, factors = net.weights, net.widths, net.factors
    starts, places, values, action_starts, actions = decisions
    layers = len(widths) - 1
    width = widths[layers]
    bias = net.heads + NUM_HEADS * width
    layer = block.hidden[layers - 1]
    slopes = block.slopes[layers - 1]
    for j in range(count * width):
        slopes[j] = 0
    for i in range(count):
        row = rows[first + i]
        legal = action_starts[row + 1] - action_starts[row]
        for k in range(legal + 1):
            number = np.int64(actions[action_starts[row] + k]) if k < legal else VALUE_HEAD
            slope = block.heads[i, k if k < legal else VALUE_HEAD]
            at = net.heads + number * width
            add_scaled(gradient, at, slope, layer, i * width, width)
            add_scaled(slopes, i * width, slope, weights, at, width)
            gradient[bias + number] += slope
    at = net.heads
    for number in range(layers, 1, -1):
        before = widths[number - 1]
        here = widths[number]
        at -= (before + 1) * here
        _stop(slopes, layer, count * here)
        below = block.hidden[number - 2]
        add_product(gradient, at, below, 0, 1, before, slopes, 0, before, count, here)
        _add_rows(gradient, at + before * here, slopes, count, here)
        slopes_below = block.slopes[number - 2]
        for j in range(count * before):
            slopes_below[j] = 0
        add_product(slopes_below, 0, slopes, 0, here, 1, block.turned, at, count, here, before)
        slopes = slopes_below
        layer = below
    here = widths[1]
    _stop(slopes, layer, count * here)
    _add_rows(gradient, widths[0] * here, slopes, count, here)
    for i in range(count):
        row = rows[first + i]
        for k in range(starts[row], starts[row + 1]):
            place = np.int64(places[k])
            factor = factors[place] * np.float32(values[k])
            add_scaled(gradient, place * here, factor, slopes, i * here, here)


@kernel
def _stop(slopes, layer, count):
    """Set the slopes to 0 where the layer is not above 0."""
    for j in range(count):  # without a branch, which would be taken half of the times
        slopes[j] = np.float32(0) if layer[j] <= 0 else slopes[j]


@kernel
def _add_rows(gradient, at, slopes, count, width):
    """Add the slopes of all rows to a bias."""
    for i in range(count):
        add_scaled(gradient, at, np.float32(1), slopes, i * width, width)
