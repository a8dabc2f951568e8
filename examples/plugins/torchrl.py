"""TorchRL: its PPO on many tables, against an agent.

    pip install "nap_env[torchrl]"
    python -m examples.plugins.torchrl    # five minutes against heuristic

What to know: docs/plugins.md.
"""

import time

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.envs import ExplorationType, GymWrapper, set_exploration_type
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from examples.plugins.alike import parsed, tell

ID = "nap_env:nap/Nap-v0"


class Network(nn.Sequential):
    """Gives logits, the least ones to illegal actions; or values, where there is no mask."""

    def forward(self, seen, mask=None):
        """Return an output for each row."""
        out = super().forward(seen.float())
        return out if mask is None else out.masked_fill(mask == 0, -1e9)


def main():
    """Train, measure, save."""
    options = parsed(__doc__, "torchrl.pt")
    tables = gymnasium.make_vec(ID, num_envs=128, autoreset_mode="Disabled", mask_in="obs")
    env, size = GymWrapper(tables, categorical_action_encoding=True), tables.layout.size
    policy_net = Network(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, 78))
    value_net = Network(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, 1))
    logits = TensorDictModule(policy_net, ["observation", "action_mask"], ["logits"])
    kind = {"distribution_class": Categorical, "return_log_prob": True}
    actor = ProbabilisticActor(logits, ["logits"], **kind)
    critic = ValueOperator(value_net, ["observation"])
    loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01)
    advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=3e-4)
    while time.time() < options.end:
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
            rows = advantage(env.rollout(64, actor, break_when_any_done=False)).reshape(-1)
        for some in torch.randperm(len(rows)).repeat(4).split(1024):
            losses = loss(rows[some])
            optimizer.zero_grad()
            sum(losses[f"loss_{part}"] for part in ("objective", "critic", "entropy")).backward()
            optimizer.step()
    torch.save(policy_net.state_dict(), options.save)

    @torch.no_grad()
    def policy(observations, masks):
        chances = policy_net(torch.from_numpy(observations), torch.from_numpy(masks))
        return Categorical(logits=chances).sample().numpy()

    tell("torchrl", policy, minutes=options.minutes)


if __name__ == "__main__":
    main()
