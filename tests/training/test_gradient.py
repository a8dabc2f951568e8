"""The gradient written out by hand against torch's."""

import numpy as np
import pytest
import torch

from nap_env.agents.network import Training
from nap_env.observation import LAYOUT_VERSION
from nap_env.presets import resolve
from training.gradient import Gradient
from training.loss import LOSS, STATISTICS
from training.network import TorchGradient, new_weights
from training.rollout import ROLES, Players


@pytest.fixture(scope="module", params=[(16,), (48, 32), (64, 16, 32)])
def case(request):
    plan = Training(("standard",), {}, (4,), request.param, LAYOUT_VERSION, True)
    players = Players(resolve("standard"), 4, plan, 0, 120, 0, 0.3)
    weights, other = (new_weights(players.net.widths, seed) for seed in (0, 1))
    rollout = players.play(weights, 0.9, np.random.default_rng(0))
    assert rollout.rows["branches"].any()
    # Some way from the policy that played, so that ratios differ from 1 and some are clipped.
    random = np.random.default_rng(0)
    weights, other = (
        each + random.normal(0, 0.1, each.shape).astype(np.float32) for each in (weights, other)
    )
    loss = np.zeros(1, LOSS)
    loss["clip"], loss["value_coef"], loss["magnet"] = 0.1, 0.7, 0.3
    loss["temperature"], loss["mean"], loss["scale"] = [0.2, 0.05, 0.1], [0.1, -0.2, 0], [1, 2, 0.5]
    ours = Gradient(players.net)
    theirs = TorchGradient(players.net, torch.device("cpu"))
    return ours, theirs, weights, other, rollout, loss


def test_policies_agree(case):
    ours, theirs, weights, _, rollout, _ = case
    np.testing.assert_allclose(
        ours.log_policies(weights, rollout), theirs.log_policies(weights, rollout), atol=1e-5
    )


def test_gradients_and_statistics_agree(case):
    ours, theirs, weights, other, rollout, loss = case
    magnet = ours.log_policies(other, rollout)
    rows = np.random.default_rng(0).permutation(len(rollout.rows))[:700]
    for each in (ours, theirs):
        each.differentiate(weights, rollout, magnet, loss, rows)
    size = np.abs(theirs.gradient).max()
    assert size > 1
    np.testing.assert_allclose(ours.gradient, theirs.gradient, atol=2e-5 * size)
    np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-3, atol=1e-2)
    assert ours.sums[:, -1].sum() == 700
    assert ours.sums[:, STATISTICS.index("clip_fraction")].min() > 0


@pytest.mark.parametrize("name", ["clip", "value_coef", "magnet", "temperature", "mean", "scale"])
def test_every_weight_of_the_loss_counts(case, name):
    ours, _, weights, other, rollout, loss = case
    magnet, rows = ours.log_policies(other, rollout), np.arange(300)
    ours.differentiate(weights, rollout, magnet, loss, rows)
    before, changed = ours.gradient.copy(), loss.copy()
    changed[name] = changed[name] * 1.5 + 0.1
    ours.differentiate(weights, rollout, magnet, changed, rows)
    assert np.abs(ours.gradient - before).max() > 1e-3


def test_the_gradient_of_rows_is_the_sum_over_parts(case):
    ours, _, weights, other, rollout, loss = case
    magnet, rows = ours.log_policies(other, rollout), np.arange(600)
    total = np.zeros_like(weights)
    for part in np.array_split(rows, 3):
        ours.differentiate(weights, rollout, magnet, loss, part)
        total += ours.gradient
    ours.differentiate(weights, rollout, magnet, loss, rows)
    np.testing.assert_allclose(total, ours.gradient, atol=1e-3)


def test_a_step_along_the_gradient_lowers_the_loss(case):
    ours, _, weights, other, rollout, loss = case
    magnet, rows = ours.log_policies(other, rollout), np.arange(len(rollout.rows))

    def value(at):
        ours.differentiate(at, rollout, magnet, loss, rows)
        policy, miss, _, _, divergence, entropy, _ = ours.sums.T
        return (
            policy.sum() + 0.7 * miss.sum() + 0.3 * divergence.sum()
            - loss["temperature"][0] @ entropy
        )  # fmt: skip

    before = value(weights)
    step = 1e-5 * ours.gradient.copy()
    assert value(weights - step) < before < value(weights + step)
    assert len(ROLES) == len(ours.sums)
