"""Games are the same in threads and in processes, begun before or after kernels were compiled."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from child import in_child
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from results import same

from nap_env import Batch, nap_v0
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv

STEPS = 60


def batches(seed: int) -> list[Any]:
    """Step two batches by turns."""
    games = [Batch(rules, 4, 32, seed=seed) for rules in ("pub", "peep")]
    seen = []
    for _ in range(STEPS):
        for one in games:
            one.step(one.sample())
            seen.append([one.observation.copy(), one.payments.copy()])
    return seen


def tables(seed: int) -> list[Any]:
    """Step two tables by turns."""
    envs = [nap_v0.env(rules, 4) for rules in ("modern", "draw")]
    chance = np.random.default_rng(seed)
    seen = []
    for env in envs:
        env.reset(seed=seed)
    for _ in range(STEPS):
        for env in envs:
            if not env.agents:
                env.reset()
            observation, reward, ended, *_ = env.last()
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if ended else int(chance.choice(legal)))
            seen.append([observation, reward])
    return seen


def learners(seed: int) -> list[Any]:
    """Step two environments of learners by turns, against players that search and networks."""
    envs = [NapVectorEnv(8, opponents=name) for name in ("pimc-1", "ppo-standard-4")]
    chance = np.random.default_rng(seed)
    masks = [env.reset(seed=seed)[1]["action_mask"] for env in envs]
    seen = []
    for _ in range(STEPS // 4):
        for number, env in enumerate(envs):
            actions = (chance.random(masks[number].shape) * masks[number]).argmax(1)
            *told, infos = env.step(actions)
            masks[number] = infos["action_mask"]
            seen.append([*told, infos["scores"]])
    return seen


KINDS = (batches, tables, learners)


@pytest.mark.parametrize("play", KINDS)
def test_two_threads_with_two_environments_each(play: Callable[[int], list[Any]]) -> None:
    alone = [play(1), play(2)]
    with ThreadPoolExecutor(2) as threads:
        for _ in range(3):
            assert same(list(threads.map(play, (1, 2))), alone)


@pytest.mark.parametrize("play", KINDS)
def test_a_forked_process_plays_the_same(play: Callable[[int], list[Any]]) -> None:
    here = play(3)

    def there() -> None:
        assert same(play(3), here)

    in_child(there)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_environments_in_processes_play_the_same(context: str) -> None:
    """Gymnasium's way to many processes, after the kernels have been compiled here."""
    make = [partial(NapEnv, "pub", 4, "heuristic") for _ in range(2)]

    def played(envs: VectorEnv) -> list[Any]:  # type: ignore[type-arg]
        observations, infos = envs.reset(seed=5)
        chance = np.random.default_rng(5)
        seen = [observations]
        for _ in range(STEPS):
            masks = infos["action_mask"]
            actions = (chance.random(masks.shape) * masks).argmax(1)
            *told, infos = envs.step(actions)
            seen.append([*told, infos["scores"]])
        envs.close()
        return seen

    here = played(SyncVectorEnv(make))
    assert same(played(AsyncVectorEnv(make, context=context)), here)
