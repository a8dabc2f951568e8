"""The network and its loss in torch: for a GPU, and as the check of `training.gradient`."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nap_env.agents.matrix import aligned
from nap_env.agents.network import (
    NUM_HEADS,
    VALUE_HEAD,
    Decisions,
    Net,
    Weights,
    num_weights,
    parts,
)
from training.loss import STATISTICS
from training.rollout import ROLES, Rollout

NEVER = -1e9  # logit of an illegal action: finite, so that no gradient and no entropy becomes NaN


def new_weights(widths: npt.NDArray[np.int64], seed: int) -> Weights:
    """Return fresh weights, float32 (T,): orthogonal, the heads of actions close to 0."""
    generator = torch.Generator().manual_seed(seed)
    weights = aligned(num_weights(widths))
    for name, (at, shape) in parts(widths).items():
        if len(shape) == 2:
            # (out, in): what decides the scale is the number of inputs.
            matrix = torch.empty(shape if name == "heads.weight" else shape[::-1])
            nn.init.orthogonal_(matrix, 2**0.5, generator)
            if name == "heads.weight":
                matrix /= matrix.norm(dim=1, keepdim=True)
                matrix[:VALUE_HEAD] *= 0.01
            else:
                matrix = matrix.T
            weights[at : at + matrix.numel()] = matrix.reshape(-1).numpy()
    return weights


def evaluate(weights: Tensor, widths: npt.NDArray[np.int64], features: Tensor) -> Tensor:
    """Map features (B, K) to what the heads say, (B, NUM_HEADS): logits, and the value last."""
    found = {
        name: weights[at : at + int(np.prod(shape))].view(shape)
        for name, (at, shape) in parts(widths).items()
    }
    hidden = features
    for layer in range(len(widths) - 1):
        hidden = torch.relu(
            hidden @ found[f"layers.{layer}.weight"] + found[f"layers.{layer}.bias"]
        )
    return hidden @ found["heads.weight"].T + found["heads.bias"]


class TorchGradient:
    """What `training.gradient.Gradient` is, computed by torch on any device."""

    def __init__(self, net: Net, device: torch.device) -> None:
        """Make ready for networks like this one."""
        self._widths, self._device = net.widths, device
        self._factors = torch.from_numpy(net.factors).to(self._device)
        self.gradient = np.zeros_like(net.weights)
        self.sums = np.zeros((len(ROLES), len(STATISTICS) + 1))

    def _on_device(self, array: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _features(self, decisions: Decisions, rows: npt.NDArray[np.int64]) -> Tensor:
        """Return the features (B, K) of some rows."""
        counts = decisions.starts[rows + 1] - decisions.starts[rows]
        chosen = _runs(decisions.starts[rows], counts)
        places = self._on_device(decisions.places[chosen].astype(np.int64))
        values = self._on_device(decisions.values[chosen]) * self._factors[places]
        row = self._on_device(np.repeat(np.arange(len(rows)), counts))
        features = torch.zeros(len(rows), len(self._factors), device=self._device)
        features[row, places] = values
        return features

    def _beside(
        self, decisions: Decisions, rows: npt.NDArray[np.int64], *arrays: npt.NDArray[np.float32]
    ) -> tuple[Tensor, list[Tensor]]:
        """Return which actions are legal, bool (B, NUM_HEADS), and arrays beside them as rows."""
        counts = decisions.action_starts[rows + 1] - decisions.action_starts[rows]
        chosen = _runs(decisions.action_starts[rows], counts)
        at = (np.repeat(np.arange(len(rows)), counts), decisions.actions[chosen])
        legal = np.zeros((len(rows), NUM_HEADS), np.bool_)
        legal[at] = True
        wide = []
        for array in arrays:
            row = np.zeros((len(rows), NUM_HEADS), np.float32)
            row[at] = array[chosen]
            wide.append(self._on_device(row))
        return self._on_device(legal), wide

    @torch.no_grad()
    def log_policies(self, weights: Weights, rollout: Rollout) -> npt.NDArray[np.float32]:
        """Return the log probabilities of all legal actions, beside `decisions.actions`."""
        decisions, rows = rollout.decisions, np.arange(len(rollout.rows))
        legal, _ = self._beside(decisions, rows)
        heads = evaluate(self._on_device(weights), self._widths, self._features(decisions, rows))
        log_probs = torch.log_softmax(heads.masked_fill(~legal, NEVER), -1).cpu().numpy()
        row = np.repeat(rows, np.diff(decisions.action_starts))
        answer: npt.NDArray[np.float32] = log_probs[row, decisions.actions]
        return answer

    def differentiate(
        self, weights: Weights, rollout: Rollout, magnet: npt.NDArray[np.float32],
        loss: npt.NDArray[np.void], rows: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Compute `gradient` and `sums` over some rows; see `training.gradient.Gradient`."""
        flat = self._on_device(weights).requires_grad_()
        heads = evaluate(flat, self._widths, self._features(rollout.decisions, rows))
        total, statistics = self._loss(heads, rollout, magnet, loss[0], rows)
        torch.autograd.backward(total.sum())
        assert flat.grad is not None
        self.gradient[:] = flat.grad.cpu().numpy()
        self.sums[:] = 0
        np.add.at(self.sums, rollout.rows["role"][rows], statistics.detach().cpu().numpy())

    def _loss(
        self, heads: Tensor, rollout: Rollout, magnet: npt.NDArray[np.float32], loss: Any,
        rows: npt.NDArray[np.int64],
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Return what `training.loss` says: the loss (B,), the statistics and 1 (B, S + 1)."""
        decisions, notes = rollout.decisions, rollout.rows[rows]
        legal, (pulled, worth) = self._beside(decisions, rows, magnet, rollout.worth)
        log_probs = torch.log_softmax(heads.masked_fill(~legal, NEVER), -1)  # (B, NUM_HEADS)
        probs = log_probs.exp() * legal
        log_probs = log_probs.masked_fill(~legal, 0)
        role = self._on_device(notes["role"].astype(np.int64))  # (B,)
        temperature, mean, scale = (
            self._on_device(loss[name].astype(np.float32))[role]
            for name in ("temperature", "mean", "scale")
        )
        first = decisions.action_starts[rows] + notes["chosen"]
        action = self._on_device(decisions.actions[first].astype(np.int64))  # (B,)
        advantage = (self._on_device(notes["advantage"]) - mean) * scale
        log_ratio = log_probs.gather(1, action[:, None]).squeeze(1)
        log_ratio = log_ratio - self._on_device(notes["log_prob"])
        ratio, clip = log_ratio.exp(), float(loss["clip"])
        gain = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        gain = torch.where(
            self._on_device(notes["branches"]) != 0, scale * (probs * worth).sum(1), gain
        )
        entropy = -(probs * log_probs).sum(1)
        magnet_kl = (probs * (log_probs - pulled)).sum(1)
        value, returns = heads[:, VALUE_HEAD], self._on_device(notes["returns"])
        miss = nn.functional.huber_loss(value, returns, reduction="none")
        total = -gain - temperature * entropy + float(loss["magnet"]) * magnet_kl
        outside = ((ratio - 1).abs() > clip).float()
        statistics = (-gain, miss, ratio - 1 - log_ratio, outside, magnet_kl, entropy)
        return (
            total + float(loss["value_coef"]) * miss,
            torch.stack([*statistics, torch.ones_like(ratio)], 1),
        )


def _runs(starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the numbers from each start on, so many of them, one run after the other."""
    before = np.cumsum(counts) - counts
    runs: npt.NDArray[np.int64] = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return runs
