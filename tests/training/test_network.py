"""The policy over legal actions."""

import pytest
import torch

from training.network import Network, entropy, log_policy, sample


@pytest.mark.parametrize("legal_actions", [0, 1, 2, 78])
def test_entropy_and_gradients_are_finite(legal_actions):
    logits = torch.linspace(-50, 50, 78).repeat(3, 1).requires_grad_()
    legal = (torch.arange(78) < legal_actions).repeat(3, 1)
    log_probs = log_policy(logits, legal)
    value = entropy(log_probs, legal)
    assert value.isfinite().all()
    (value.sum() + log_probs.gather(1, torch.zeros(3, 1, dtype=torch.long)).sum()).backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[~legal].any()
    if legal_actions <= 1:
        assert not value.any()


def test_entropy_counts_legal_actions_only():
    legal = torch.arange(78) < 4
    value = entropy(log_policy(torch.zeros(1, 78), legal[None]), legal[None])
    torch.testing.assert_close(value, torch.tensor([4.0]).log())


def test_sample_takes_legal_actions_as_often_as_the_policy_says():
    logits = torch.tensor([2.0, 1.0, 0.0, 9.0]).log().repeat(30_000, 1)
    legal = torch.tensor([True, True, False, False]).repeat(30_000, 1)
    action = sample(log_policy(logits, legal), legal, torch.Generator().manual_seed(0))
    frequency = action.bincount(minlength=4) / len(action)
    torch.testing.assert_close(frequency, torch.tensor([2 / 3, 1 / 3, 0, 0]), atol=0.01, rtol=0)


def test_weights_come_from_the_generator_alone():
    def weights(seed):
        torch.manual_seed(seed)
        net = Network(torch.ones(5), 78, (4, 4), torch.Generator().manual_seed(1))
        return torch.cat([value.flatten() for value in net.state_dict().values()])

    assert torch.equal(weights(0), weights(1))


def test_scale_0_leaves_an_entry_out():
    net = Network(torch.tensor([1.0, 0.0]), 78, (4,), torch.Generator().manual_seed(1))
    seen = torch.tensor([[1, 0], [1, 51]], dtype=torch.int8)
    logits, value = net(seen)
    assert torch.equal(logits[0], logits[1])
    assert value[0] == value[1]
