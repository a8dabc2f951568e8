"""Arrays of any type, shape, range and memory are refused by name, or taken as what they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from drawn import accepted, fuzz, values
from hypothesis import given
from hypothesis import strategies as st
from results import same

from nap_env import Batch, Game, Games, nap_v0
from nap_env.actions import NUM_ACTIONS
from nap_env.agents import from_policy, make
from nap_env.agents.network import NetworkAgent
from nap_env.engine.state import GAME
from nap_env.envs.vector import NapVectorEnv
from nap_env.solver import Solver

N = 5
"""Games side by side."""

DTYPES = ("i1", "u1", "<i2", ">i4", "<u4", "<i8", ">i8", "<u8", "f4", "f8", "?", "O", "U3", "m8[s]")


def strided(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def backwards(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array[..., ::-1].copy()[..., ::-1]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def misaligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype == object:
        return array
    raw = np.zeros(array.nbytes + 1, np.uint8)
    shifted = raw[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    return shifted


FORMS: tuple[Callable[[npt.NDArray[Any]], Any], ...] = (
    *(np.asarray, list, tuple, strided, backwards, read_only, misaligned),
    *(lambda array: array[:, None], lambda array: array[None], lambda array: array[:1].squeeze()),
    *(np.ma.masked_array, lambda array: array.view(np.recarray)),
)


@st.composite
def arrays(draw: Any, most: int) -> Any:
    """Draw numbers up to `most`, seldom others, in some form; or anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(values)
    size = draw(st.just(N) | st.integers(0, N + 1))
    fitting = st.integers(0, most)
    number = fitting if draw(st.booleans()) else fitting | st.sampled_from((-1, 10**9, 2**63 - 1))
    numbers = np.array(draw(st.lists(number, min_size=size, max_size=size)), np.int64)
    with np.errstate(all="ignore"):
        typed = numbers.astype(draw(st.sampled_from(DTYPES)))
    return draw(st.sampled_from(FORMS))(typed)


def integers(values: Any) -> list[int] | None:
    """Return what one row of integers holds; None if it is something else."""
    try:
        array = np.asarray(values)
    except ValueError:
        return None
    is_row = array.ndim == 1 and (array.size == 0 or array.dtype.kind in "iu")
    return array.tolist() if is_row else None


def rows_of(values: Any) -> list[int] | None:
    """Return the games that something names; None if it names none."""
    if isinstance(values, np.ndarray | list | tuple):
        mask = list(np.atleast_1d(values)) if isinstance(values, np.ndarray) else list(values)
        if len(mask) == N and all(isinstance(value, bool | np.bool_) for value in mask):
            return np.flatnonzero(mask).tolist()
    rows = integers(values)
    return rows if rows is not None and all(0 <= row < N for row in rows) else None


def batch(**more: Any) -> Batch:
    games = Batch("standard", 4, N, seed=3, **more)
    games.step(games.sample())
    return games


def table() -> NapVectorEnv:
    tables = NapVectorEnv(N, opponents="passer")
    tables.reset(seed=0)
    return tables


GAMES = Batch("standard", 4, 1, seed=0)
PLAYERS = {
    name: make(name, GAMES.rules, 4)
    for name in ("random", "passer", "heuristic", "pimc-1", "pimc-inference-1", "omniscient")
} | {
    "ppo-standard-4": make("ppo-standard-4", GAMES.rules, 4),
    "from_policy": from_policy(lambda observations, masks: masks.argmax(1)),
}
ROWS: dict[str, Callable[[Batch, Any], Any]] = {
    **{name: player for name, player in PLAYERS.items()},
    "sample": Batch.sample,
    "observe": Batch.observe,
    "Games": lambda games, rows: Games(games.rules, 4, games.games).observe(rows),
}
assert isinstance(PLAYERS["ppo-standard-4"], NetworkAgent)


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load here what every child would have to load again."""
    for ask in ROWS.values():
        ask(batch(), np.arange(N))
    table().step(table().action_masks().argmax(1))
    games = batch()
    Solver().solve_games(games.games, games.rules, 4)
    Solver().solve_deals(games.games, games.rules, 4)
    games.determinize(0)


@fuzz(5)
@given(name=st.sampled_from(sorted(ROWS)), rows=arrays(N - 1))
def test_rows(name: str, rows: Any) -> None:
    every = rows is None and name not in PLAYERS  # whom games are asked about is told
    meant = list(range(N)) if every else rows_of(rows)

    def asked() -> None:
        found = ROWS[name](batch(), rows)
        assert meant is not None, "taken, but no rows"
        assert same(found, ROWS[name](batch(), np.array(meant, np.int64)))

    assert accepted(asked, "rows") == (meant is not None)


STEPS: dict[str, Callable[[Any], Any]] = {
    "Batch": lambda actions: stepped(batch(), actions),
    "skip_forced": lambda actions: stepped(batch(skip_forced=True), actions),
    "vector": lambda actions: table().step(actions),
}


def stepped(games: Batch, actions: Any) -> bytes:
    games.step(actions)
    return games.games.tobytes()


@fuzz(4)
@given(name=st.sampled_from(sorted(STEPS)), actions=arrays(NUM_ACTIONS - 1))
def test_actions(name: str, actions: Any) -> None:
    meant = integers(actions)

    def done() -> None:
        found = STEPS[name](actions)
        assert meant is not None and len(meant) == N, "taken, but no actions"
        assert same(found, STEPS[name](np.array(meant, np.int64)))

    accepted(done, "actions", "chose")


SEATS: dict[str, Callable[[Any], Any]] = {
    "Batch": lambda seat: batch().determinize(seat, seed=1),
    "vector": lambda seat: table().determinize(seat, seed=1),
}


@fuzz()
@given(name=st.sampled_from(sorted(SEATS)), seats=arrays(3))
def test_seats(name: str, seats: Any) -> None:
    def seen() -> None:
        SEATS[name](seats)
        meant = [seats] * N if isinstance(seats, int | np.integer) else integers(seats)
        assert meant is not None and len(meant) == N and all(0 <= seat < 4 for seat in meant)

    accepted(seen, "seat")


@fuzz()
@given(answers=arrays(NUM_ACTIONS - 1), wraps=st.booleans())
def test_answers_of_players(answers: Any, wraps: bool) -> None:
    def played() -> None:
        player = from_policy(lambda *_: answers) if wraps else lambda *_: answers
        tables = NapVectorEnv(N, opponents=player, seat=0)
        tables.reset(seed=0)
        tables.step(tables.action_masks().argmax(1))
        assert integers(answers) is not None, "taken, but no answers"

    accepted(played, "answered", "chose")


TAKERS: dict[str, Callable[[Any], Any]] = {
    "Games": lambda games: through(Games("standard", 4, games)),
    "Game.of": lambda games: Game.of(GAMES.rules, 4, games).text(),
    "solve_games": lambda games: Solver(node_cap=1000).solve_games(games, GAMES.rules, 4),
    "solve_deals": lambda games: Solver(node_cap=1000).solve_deals(games, GAMES.rules, 4),
    "set_state": lambda games: in_environment(games),
}


def through(games: Games) -> None:
    """Ask everybody about games, as often as somebody is to move."""
    for name, ask in PLAYERS.items():
        if name not in ("pimc-1", "pimc-inference-1", "omniscient"):  # they need what can be
            ask(games, np.arange(games.num_games))
    games.sample()
    games.observe()
    for index in range(games.num_games):
        games.record(index)


def in_environment(games: Any) -> None:
    env = nap_v0.raw_env("standard", 4)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "game": games})
    env.render_mode = "ansi"
    env.last()
    env.record()


@fuzz(5)
@given(
    name=st.sampled_from(sorted(TAKERS)),
    steps=st.integers(0, 30),
    bytes_of=st.lists(
        st.tuples(st.integers(0, GAME.itemsize - 1), st.integers(0, 255)), max_size=3
    ),
    form=st.sampled_from(FORMS),
    anything=st.none() | values,
)
def test_records_of_games(name: str, steps: int, bytes_of: Any, form: Any, anything: Any) -> None:
    games = Batch("standard", 4, 1, seed=steps)
    games.rollout(steps)
    records = games.games.copy()
    for place, value in bytes_of:
        records.view(np.uint8)[place] = value
    whole = not bytes_of and form in (np.asarray, np.ma.masked_array)

    def taken() -> None:
        TAKERS[name](form(records) if anything is None else anything)

    said = ("game", "rows", "state", "phase", "play has begun")
    assert accepted(taken, *said) or not whole or anything is not None or name == "solve_deals"


@fuzz()
@given(seeds=arrays(9), mask=arrays(1) | st.none())
def test_seeds_and_masks_of_a_reset(seeds: Any, mask: Any) -> None:
    def reset() -> None:
        tables = table()
        tables.reset(seed=seeds, options=None if mask is None else {"reset_mask": mask})

    accepted(reset, "seed", "reset_mask", errors=(TypeError,))
