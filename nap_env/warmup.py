"""Compile now, and keep on disk, what is else compiled when it is first called.

python -m nap_env.warmup
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter

import numpy as np

from nap_env import nap_v0
from nap_env.agents import AGENTS, make
from nap_env.batch import Batch
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.game import Game
from nap_env.records import sample
from nap_env.rules import PRESETS
from nap_env.solver import Solver
from nap_env.terminal import Parser, Progress, run

OURS, SEED = PRESETS["standard"], 0


def warm_up() -> None:
    """Call every kernel once: those of batches, games, environments, agents and the solver."""
    parts = (_use_batches, _use_games, _use_environments, _ask_agents)
    with Progress("compiling", len(parts), "parts") as progress:
        for use in parts:
            use()
            progress.add(1)


def _use_batches() -> None:
    games = Batch(num_games=2, seed=SEED)
    games.rollout(1)
    games.step(games.sample())
    games.observe([0])
    games.determinize(games.seat, seed=SEED)
    Solver().solve_deals(Batch(num_games=1, seed=SEED).games, OURS, games.num_players)


def _use_games() -> None:
    (record,) = sample(OURS, 4, 1, SEED)
    game = Game(seed=SEED)
    game.set_up_as(None, {"record": record})
    game.next_deal()
    game.observe(0)
    game.reseed(SEED)
    while game.phase != "play":
        game.step(game.legal_actions()[-1])  # somebody bids
    Solver().solve(game)


def _use_environments() -> None:
    env = nap_v0.env()
    env.reset(seed=SEED)
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    single = NapEnv(opponents="heuristic")
    single.reset(seed=SEED)
    single.step(int(single.action_masks().argmax()))
    single.reseed(SEED)
    tables = NapVectorEnv(2)
    _, infos = tables.reset(seed=SEED)
    tables.step(infos["action_mask"].argmax(1))


def _ask_agents() -> None:
    games = Batch(num_games=1, seed=SEED)
    for name in AGENTS:
        with suppress(ValueError):  # a network of another table
            make(name.replace("-K", "-1"), OURS, games.num_players)(games, np.zeros(1, np.intp))


def main(arguments: Sequence[str] | None = None, prog: str = "python -m nap_env.warmup") -> int:
    """Run the command line; return the exit status."""
    description = (
        "Compile now, and keep on disk, what else is compiled when it is first called: all kernels "
        "of batches, games, environments, agents and the solver. NUMBA_CACHE_DIR names where."
    )
    Parser(prog=prog, description=description).parse_args(arguments)
    start = perf_counter()
    warm_up()
    print(f"all kernels are compiled: {perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
