"""Players by name: `make("passer")(games, rows)` gives what passer does in those games.

AGENTS is the table of all of them. Whatever they play on, their choices depend only on what the
seat to move may know and on the game's own random stream, never on the games beside it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from nap_env.agents.agent import Agent, Policy, from_policy
from nap_env.agents.heuristic import Heuristic
from nap_env.agents.network import load_network
from nap_env.agents.pimc import Pimc
from nap_env.agents.simple import passer, random
from nap_env.agents.users import UserAgent
from nap_env.presets import resolve
from nap_env.rules import Rules, seated
from nap_env.words import did_you_mean

__all__ = ["AGENTS", "Agent", "Maker", "Policy", "from_policy", "make"]

Maker = Callable[[Rules, int, int], Agent]
"""Sets a player up: (rules, number of players, K) -> agent. K is 0 for names that end without."""

WEIGHTS = files("nap_env.agents").joinpath("weights")
"""Networks that `training.export` wrote: each file makes an agent of its name."""


def _exported(path: Traversable, rules: Rules, num_players: int, _: int) -> Agent:
    """Set up the network of a file."""
    return load_network(path, "sampled", rules, num_players)


AGENTS: dict[str, Maker] = {
    "random": lambda rules, num_players, k: random,
    "passer": lambda rules, num_players, k: passer,
    "heuristic": lambda rules, num_players, k: Heuristic(rules, num_players),
    "pimc-K": Pimc,
    "pimc-inference-K": partial(Pimc, infers=True),
    "omniscient": Pimc,
    **{
        name.removesuffix(".npz"): partial(_exported, WEIGHTS.joinpath(name))
        for name in sorted(file.name for file in WEIGHTS.iterdir())
        if name.endswith(".npz")
    },
}
"""By name. K in a name stands for a whole number from 1 on, as in `pimc-20`."""


def make(name: str, rules: str | Rules = "standard", num_players: int = 4) -> Agent:
    """Return a player, set up for these rules and players.

    Args:
        name: one of AGENTS; a file that `training.export` wrote (`FILE.npz`); or an agent of your
            own, as `MODULE:NAME` or `FILE.py:NAME`, see `Agent` and `from_policy`.
        rules: a preset's name, or rules.
        num_players: players at the table.

    Raises:
        ValueError: there is no such player, or it cannot play these rules with so many.
    """
    rules = resolve(rules)
    num_players = seated(rules, num_players)
    if not isinstance(name, str):
        raise ValueError(f"name={name!r}: the name of a player is a text")
    family, _, number = name.rpartition("-")
    if f"{family}-K" in AGENTS and re.fullmatch("[1-9][0-9]{,9}", number):
        return AGENTS[f"{family}-K"](rules, num_players, int(number))
    if name in AGENTS and not name.endswith("-K"):
        try:
            return AGENTS[name](rules, num_players, 0)
        except ValueError as error:
            others = ", ".join(_fitting(rules, num_players))
            raise ValueError(
                f"{error}; {rules.name} with {num_players} players is played by {others}"
            ) from None
    if ":" in name:
        return UserAgent(name)
    if name.endswith(".npz"):
        return load_network(Path(name), "sampled", rules, num_players)
    if Path(name).is_dir():
        raise ValueError(f"{name!r}: a folder: name the file of a network in it")
    raise ValueError(
        f"{name!r}: allowed are {', '.join(AGENTS)}, FILE.npz, MODULE:NAME and FILE.py:NAME; "
        f"K is a whole number from 1 on{did_you_mean(name, AGENTS)}"
    )


def _fitting(rules: Rules, num_players: int) -> Iterator[str]:
    """Yield the names of those who play these rules with so many players."""
    for name, maker in AGENTS.items():
        with suppress(ValueError):
            maker(rules, num_players, 1)
            yield name
