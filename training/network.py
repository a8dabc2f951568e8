"""The network that plays every seat, and the policy over legal actions it stands for."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

NEVER = -1e9  # logit of an illegal action: finite, so that no gradient and no entropy becomes NaN


class Network(nn.Module):
    """A multilayer perceptron from what a seat sees to action logits and the chips it expects."""

    scale: Tensor

    def __init__(
        self, scale: Tensor, num_actions: int, hidden: Sequence[int], generator: torch.Generator
    ) -> None:
        """Make a network with fresh weights.

        Args:
            scale: (K,) float32, factor for each entry of an observation; 0 leaves it out.
            num_actions: A.
            hidden: width of each hidden layer.
            generator: draws the weights.
        """
        super().__init__()
        self.register_buffer("scale", scale)
        layers: list[nn.Module] = []
        width = len(scale)
        for next_width in hidden:
            layers += [_linear(width, next_width, 2**0.5, generator), nn.ReLU()]
            width = next_width
        self.trunk = nn.Sequential(*layers)
        self.policy = _linear(width, num_actions, 0.01, generator)
        self.value = _linear(width, 1, 1.0, generator)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations int8 (B, K) to logits (B, A) and values (B,), in units of reward."""
        trunk = self.trunk(observation * self.scale)  # (B, H)
        return self.policy(trunk), self.value(trunk).squeeze(-1)


def _linear(size: int, width: int, gain: float, generator: torch.Generator) -> nn.Linear:
    # On no device first: torch would draw weights from its global generator.
    layer = nn.Linear(size, width, device="meta").to_empty(device="cpu")
    nn.init.orthogonal_(layer.weight, gain, generator)
    nn.init.zeros_(layer.bias)
    return layer


def log_policy(logits: Tensor, legal: Tensor) -> Tensor:
    """Return log probabilities (B, A) from logits (B, A) and which actions are legal, bool (B, A).

    Illegal actions get probability 0. A row without any legal action is finite and means nothing.
    """
    return torch.log_softmax(logits.masked_fill(~legal, NEVER), dim=-1)


def entropy(log_probs: Tensor, legal: Tensor) -> Tensor:
    """Return the entropy (B,) of a policy over its legal actions, in nats."""
    return -(log_probs.exp() * log_probs.masked_fill(~legal, 0)).sum(-1)


def sample(log_probs: Tensor, legal: Tensor, generator: torch.Generator) -> Tensor:
    """Draw an action (B,) from each row of log probabilities (B, A)."""
    noise = torch.empty_like(log_probs).exponential_(generator=generator)
    return (log_probs - noise.log()).masked_fill(~legal, -torch.inf).argmax(-1)  # Gumbel's way
