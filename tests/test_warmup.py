"""`nap warmup` leaves nothing to compile."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nap_env

ROOT = Path(nap_env.__file__).parent.parent

USED = """
import gymnasium
import numpy as np
from nap_env import Batch, Game, nap_v0
from nap_env.agents import AGENTS, make
from nap_env.rules import PRESETS
from nap_env.solver import Solver

for rules, players in (("pub", 5), ("draw", 4), ("old_russian", 3), ("peep", 4)):
    for observe in ("dense", "packed", "none"):
        games = Batch(rules, players, num_games=8, seed=1, observe=observe, skip_forced=True)
        games.rollout(3)
        games.step(games.sample([*range(8)]))
        games.reset(seed=2)
        games.observe()
        games.reseed(3)
    game = games.game(0)
    game.determinize(0)
    game.clone(seed=1)
    game.set_up(dealer=1)
    game.observe(1)
    env = nap_v0.env(rules, players)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        ended = terminated or truncated
        env.step(None if ended else env.action_space(agent).sample(observation["action_mask"]))
    env.reset(options={"record": game.record()})
    env.state()
    parallel = nap_v0.parallel_env(rules, players)
    parallel.reset(seed=1)
    names = ["random", "passer", "heuristic", "pimc-2", "pimc-inference-2", "omniscient"]
    names += ["ppo-standard-4"] * (rules == "standard")
    for name in names:
        single = gymnasium.make("nap_env:nap/Nap-v0", rules=rules, num_players=players,
                                opponents=name)
        single.reset(seed=0)
        single.unwrapped.clone(seed=3)
    for mode in ("NextStep", "SameStep", "Disabled"):
        tables = gymnasium.make_vec("nap_env:nap/Nap-v0", num_envs=3, rules=rules,
                                    num_players=players, opponents="heuristic",
                                    autoreset_mode=mode)
        _, infos = tables.reset(seed=0)
        tables.step(infos["action_mask"].argmax(1))
games = Batch(num_games=4, seed=0)
make("ppo-standard-4")(games, np.arange(4))
Solver().solve_deals(games.games, PRESETS["standard"], 4)
game = Game("parlett", 4, seed=0)
while game.phase != "play":
    game.step(game.random_action())
Solver().solve(game)
"""


def run(*arguments: str, cache: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(cache: Path) -> set[str]:
    return {f"{path.relative_to(cache)}" for path in cache.rglob("*.nbc")}


@pytest.mark.slow
def test_after_it_nothing_is_compiled(tmp_path: Path) -> None:
    text = run("-m", "nap_env.warmup", cache=tmp_path)
    assert re.fullmatch(r"all kernels are compiled: \d+\.\d s\n", text)
    before = compiled(tmp_path)
    assert before
    run("-c", USED, cache=tmp_path)
    assert compiled(tmp_path) == before
