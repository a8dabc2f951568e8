"""What the examples here do alike: their options, and what a policy wins, a seat of four."""

import argparse
import json
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nap_env.envs.vector import NapVectorEnv


def parsed(text, save, **more):
    """Read the command line: `end`, the time to stop training at, `save`, `minutes` and more.

    Args:
        text: the docstring of an example.
        save: where its network is written if nothing else is said.
        **more: options by name, and what they are by default.
    """
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="to train for")
    parser.add_argument("--save", default=f"build/{save}", help="file of the network")
    for name, value in more.items():
        parser.add_argument(f"--{name}", default=value, help=f"{value}, if nothing else is said")
    options = parser.parse_args()
    options.end = time.time() + 60 * options.minutes
    Path(options.save).parent.mkdir(parents=True, exist_ok=True)
    return options


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
