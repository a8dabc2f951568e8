"""What a policy is worth, as every example here tells it: chips per 100 deals, one seat of four."""

import json
from importlib.metadata import version

import numpy as np

from nap_env.envs.vector import NapVectorEnv


def against(name, policy, deals):
    """Play deals against an agent; return chips per 100 deals and half their 95 % interval."""
    tables = NapVectorEnv(deals, opponents=name, autoreset_mode="SameStep")
    seen, infos = tables.reset(seed=1)
    won, playing = infos["earned"].astype(float), np.ones(deals, bool)
    while playing.any():
        actions = policy(seen["observation"], infos["action_mask"])
        seen, rewards, terminated, truncated, infos = tables.step(actions)
        won += rewards * playing
        playing &= ~(terminated | truncated)
    return 100 * won.mean(), 196 * won.std() / np.sqrt(deals)


def tell(library, policy, *, others=("random", "passer", "heuristic"), deals=2000, **more):
    """Print what a policy wins, then the same as a line of JSON.

    Args:
        library: the distribution that it was trained with.
        policy: gets observations int8 (n, K) and masks int8 (n, 78), and returns n actions.
        others: agents to measure it against, by name.
        deals: against each.
        **more: goes into the JSON.
    """
    found = {name: against(name, policy, deals) for name in others}
    for name, (chips, half) in found.items():
        print(f"against {name:9} {chips:+7.1f} ± {half:.1f} chips per 100 deals")
    line = {"library": library, "version": version(library), "chips_per_100": found, **more}
    print(json.dumps(line))
