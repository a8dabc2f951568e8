"""Nap for TorchRL: rewards where they belong, in rollouts of its PettingZooWrapper.

    env = PettingZooWrapper(nap_v0.env(), use_mask=True)
    rollout = credit_last_decision(env.rollout(1000, break_when_any_done=False), env.group_map)

`GymWrapper(gymnasium.make_vec(.., autoreset_mode="Disabled", mask_in="obs"))` needs no help.
"""

from collections.abc import Iterable

from nap_env.adapters.extra import needs

with needs("torchrl"):
    import torch
    from tensordict import TensorDictBase


def credit_last_decision(rollout: TensorDictBase, groups: Iterable[str]) -> TensorDictBase:
    """Return a rollout in which agents are paid in the rows where they decide.

    Agents are mostly paid in another agent's step. Here the row of a decision has all that its
    agent is paid before it decides again, and says whether the agent's episode ends by then; all
    other rows have no reward and no end. So the rows of a group where its `mask` is True, in their
    order, are what it learns from.

    Args:
        rollout: of a PettingZooWrapper with `use_mask=True`; time is the last batch dimension. It
            is not changed.
        groups: names of the groups of agents, `env.group_map`.

    Raises:
        ValueError: it does not say who decides.
    """
    credited = rollout.copy()
    for group in groups:
        if (group, "mask") not in rollout.keys(include_nested=True):
            raise ValueError(f"rollout has no mask of {group}: PettingZooWrapper(use_mask=True)")
        decides = rollout[group, "mask"].unsqueeze(-1)  # (.., T, agents, 1)
        time = rollout.batch_dims - 1
        done = rollout["next", group, "done"]
        paid = {name: rollout["next", group, name] for name in _PAID}
        own = {name: torch.zeros_like(value) for name, value in paid.items()}
        due = {name: torch.zeros_like(value.select(time, 0)) for name, value in paid.items()}
        for step in reversed(range(rollout.batch_size[-1])):
            here = decides.select(time, step)
            for name, value in paid.items():
                now = value.select(time, step)
                later = due[name].masked_fill(done.select(time, step), 0)
                due[name] = now + later if name == "reward" else now | later
                own[name].select(time, step).copy_(due[name].masked_fill(~here, 0))
                due[name] = due[name].masked_fill(here, 0)
        for name, value in own.items():
            credited["next", group, name] = value
    return credited


_PAID = ("reward", "done", "terminated", "truncated")
"""What goes back to the last decision."""
