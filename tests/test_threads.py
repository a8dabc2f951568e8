import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

from nap_env import Batch
from nap_env.engine.kernel import kernel
from nap_env.envs.vector import NapVectorEnv
from nap_env.threads import FEWEST_GAMES, Threads

MANY = 4 * FEWEST_GAMES + 3


def after_steps(games: Batch, steps: int = 6) -> Batch:
    for _ in range(steps):
        games.step(games.sample())
    return games


def looks(games: Batch) -> list[Any]:
    return [games.games, games.observation, games.action_mask, games.planes, games.scalars,
            games.mask, games.payments, games.done, games.match_done, games.seat]  # fmt: skip


def same(one: Batch, other: Batch) -> bool:
    return all(map(np.array_equal, looks(one), looks(other)))


@pytest.mark.parametrize("observe", ["dense", "packed", "none"])
def test_games_are_the_same_with_any_number_of_threads(observe: str) -> None:
    one, two, five = (
        Batch("modern", 4, MANY, seed=1, observe=observe, skip_forced=True, threads=threads)
        for threads in (1, 2, 5)
    )
    for games in (one, two, five):
        games.rollout(15)
        after_steps(games)
    assert same(one, two) and same(one, five)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_tables_are_the_same_with_any_number_of_threads(mode: str) -> None:
    opponents = ["random", "passer", "heuristic"]  # the last one is asked from Python
    one, three = (
        NapVectorEnv(MANY, "modern", opponents=opponents, autoreset_mode=mode, threads=threads)
        for threads in (1, 3)
    )
    (ours, _), (theirs, _) = one.reset(seed=3), three.reset(seed=3)
    for _ in range(6):
        assert np.array_equal(ours["observation"], theirs["observation"])
        assert np.array_equal(ours["action_mask"], theirs["action_mask"])
        actions = ours["action_mask"].argmax(1)
        (ours, *told, infos), (theirs, *others, their_infos) = (
            one.step(actions),
            three.step(actions),
        )
        assert all(map(np.array_equal, told, others))
        assert np.array_equal(infos["scores"], their_infos["scores"])


def test_copies_have_threads_of_their_own() -> None:
    games = after_steps(Batch(num_games=MANY, seed=1, threads=2))
    copies = [copy.deepcopy(games), pickle.loads(pickle.dumps(games))]
    after_steps(games)
    for other in copies:
        assert same(after_steps(other), games)
    envs = NapVectorEnv(MANY, threads=2)
    envs.reset(seed=1)
    twin = copy.deepcopy(envs)
    actions = envs.action_masks().argmax(1)
    assert np.array_equal(
        envs.step(actions)[0]["observation"], twin.step(actions)[0]["observation"]
    )


def test_every_part_is_played_once_and_every_result_is_there() -> None:
    @kernel
    def count(rows):
        rows += 1
        return len(rows)

    for threads in (1, 2, 7):
        crew = Threads(threads)
        rows = np.zeros(20_000, np.int64)
        calls = [(rows[part],) for part in crew.parts(len(rows))]
        assert sum(crew.call(count, calls)) == len(rows)
        assert (rows == 1).all()


def test_few_games_are_not_shared_out() -> None:
    assert Threads(8).parts(2 * FEWEST_GAMES - 1) == [slice(0, 2 * FEWEST_GAMES - 1)]
    assert Threads(1).parts(10**6) == [slice(0, 10**6)]


def test_what_goes_wrong_in_a_thread_is_raised_when_all_have_ended() -> None:
    def refuse(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    with pytest.raises(ValueError, match="three"):
        Threads(2).call(refuse, [(number,) for number in range(4)])


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there are no forks here"
)
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_anew() -> None:
    games = after_steps(Batch(num_games=MANY, seed=1, threads=2))
    child = multiprocessing.get_context("fork").Process(target=after_steps, args=(games,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, 10_000])
@pytest.mark.parametrize("make", [Batch, NapVectorEnv])
def test_threads_are_a_number_from_one_on(make: Any, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"threads={wrong!r}: 1 to"):
        make(threads=wrong)
