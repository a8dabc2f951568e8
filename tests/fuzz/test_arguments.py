"""Arguments of any kind are refused by name, or are what they have to be."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from drawn import OPTIONS, accepted, fuzz, values
from gymnasium.error import ResetNeeded
from hypothesis import given
from hypothesis import strategies as st

from nap_env import Batch, Bid, Game, Rules, nap_v0
from nap_env.actions import ACTIONS, NUM_ACTIONS
from nap_env.agents import make
from nap_env.envs.single import NapEnv
from nap_env.envs.vector import NapVectorEnv
from nap_env.observation import layout
from nap_env.presets import PRESETS, resolve
from nap_env.records import sample
from nap_env.rules import rules_table
from nap_env.solver import Solver
from nap_env.threads import MOST_THREADS

Fits = Callable[[Any], bool]


def is_whole(value: Any, low: int = 0, high: int = 10**40) -> bool:
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return number and low <= value <= high


def is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def is_seed(value: Any) -> bool:
    return value is None or is_whole(value)


def is_player(value: Any) -> bool:
    return callable(value) or (isinstance(value, str) and value in ("random", "passer"))


def one_of(*allowed: Any) -> Fits:
    return lambda value: isinstance(value, str | type(None)) and value in allowed


def is_seat(value: Any) -> bool:
    return is_whole(value, 0, 3)


def is_rules(value: Any) -> bool:
    return isinstance(value, Rules) or (isinstance(value, str) and value in PRESETS)


RULES = {
    "rules": is_rules,
    "num_players": lambda value: is_whole(value, 3, 7),
}
TABLE = {
    **RULES,
    "options": lambda value: value is None or isinstance(value, Mapping),
    "observation_layout": one_of("fixed", "full"),
}
is_way = one_of("terminate", "random")
FORM = {
    **TABLE,
    "mask_in": one_of(None, "both", "obs", "info"),
    "flat_obs": is_flag,
    "render_mode": one_of(None, "ansi", "rgb_array"),
    "reveal": is_flag,
}
LEARNER = {
    **FORM,
    "illegal": is_way,
    "seat": lambda value: value is None or is_seat(value),
    "opponents": is_player,
}


def table(**more: Any) -> Any:
    env = nap_v0.raw_env(**more)
    env.reset(seed=0)
    env.last()
    return env


def learner(**more: Any) -> Any:
    env = NapEnv(**more)
    env.reset(seed=0)
    return env


def learners(**more: Any) -> Any:
    env = NapVectorEnv(**{"num_envs": 2, **more})
    env.reset(seed=0)
    env.step(env.action_masks().argmax(1))
    return env


def stepped(**more: Any) -> Any:
    games = Batch(**{"num_games": 3, **more})
    games.step(games.sample())
    return games


def game() -> Game:
    return Game("standard", 4, seed=0)


# What is called, with which arguments, and which values they may have.
CALLS: dict[str, tuple[Callable[..., Any], Mapping[str, Fits]]] = {
    "Batch": (stepped, {
        **TABLE, "num_games": lambda value: is_whole(value, 1), "seed": is_seed,
        "observe": one_of("dense", "packed", "none"), "skip_forced": is_flag,
        "threads": lambda value: is_whole(value, 1) and value <= MOST_THREADS,
    }),
    "Game": (Game, {**TABLE, "seed": is_seed}),
    "raw_env": (table, FORM),
    "parallel_env": (lambda **more: nap_v0.parallel_env(**more).reset(seed=0), {
        **FORM, "illegal": is_way,
    }),
    "NapEnv": (learner, LEARNER),
    "NapVectorEnv": (learners, {
        **LEARNER, "num_envs": lambda value: is_whole(value, 1), "copy": is_flag,
        "threads": lambda value: is_whole(value, 1) and value <= MOST_THREADS,
        "autoreset_mode": one_of("NextStep", "SameStep", "Disabled"),
    }),
    "make": (lambda **more: make(**{"name": "heuristic", **more}), {
        **RULES, "name": lambda value: is_player(value) and isinstance(value, str),
    }),
    "layout": (lambda **more: layout(**{"rules": PRESETS["standard"], "num_players": 4, **more}), {
        **RULES, "observation_layout": one_of("fixed", "full"),
    }),
    "rules_table": (
        lambda **more: rules_table(**{"rules": PRESETS["standard"], "num_players": 4, **more}),
        RULES,
    ),
    "resolve": (lambda **more: resolve(**{"rules": "standard", **more}), {
        "rules": lambda value: is_rules(value) or isinstance(value, Mapping),
        "options": TABLE["options"],
    }),
    "Solver": (Solver, {"node_cap": lambda value: is_whole(value, 1)}),
    "Bid": (lambda **more: Bid(**{"name": "two", "tricks": 2, "win": 2, "lose": 2, **more}), {
        "name": one_of("one", "two", "three", "nap", "four"),
        **{name: is_whole for name in ("tricks", "win", "lose", "overtrick", "undertrick")},
        "lead": one_of("any", "lowest_trump", "lowest_plain"),
    }),
    "Batch.reset": (lambda **more: stepped().reset(**more), {"seed": is_seed}),
    "Batch.record": (lambda index: stepped().record(index), {
        "index": lambda value: is_whole(value, 0, 2),
    }),
    "Batch.reseed": (lambda seed: stepped().reseed(seed), {"seed": is_seed}),
    "Batch.set_deals": (lambda records: stepped(num_games=1).set_deals(records), {
        "record": lambda value: isinstance(value, list | tuple),
    }),
    "Game.act": (lambda name: game().act(name), {
        "action": lambda value: isinstance(value, str) and value in ACTIONS,
    }),
    "Game.observe": (lambda seat: game().observe(seat), {"seat": is_seat}),
    "Game.table": (lambda viewer: game().table(viewer), {
        "viewer": lambda value: value is None or is_whole(value, 0, 3),
    }),
    "Game.determinize": (lambda seat: game().determinize(seat), {"seat": is_seat}),
    "Game.reset": (lambda seed: game().reset(seed), {"seed": is_seed}),
    "AEC.reset": (lambda **more: table().reset(**more), {
        "seed": is_seed, "options": TABLE["options"],
    }),
    "AEC.observe": (lambda agent: table().observe(agent), {
        "agent": one_of(*(f"player_{seat}" for seat in range(4))),
    }),
    "AEC.set_state": (lambda state: table().set_state(state), {
        "state": lambda value: isinstance(value, Mapping) and "game" in value,
    }),
    "NapEnv.reset": (lambda **more: learner().reset(**more), {
        "seed": is_seed, "options": TABLE["options"],
    }),
    "NapVectorEnv.reset": (lambda **more: learners().reset(**more), {
        "seed": lambda value: is_seed(value) or np.shape(value) == (2,),
        "options": TABLE["options"],
    }),
    "NapVectorEnv.record": (lambda index: learners().record(index), {
        "index": lambda value: is_whole(value, 0, 1),
    }),
    "NapVectorEnv.reseed": (lambda seed: learners().reseed(seed), {"seed": is_seed}),
    "sample": (
        lambda **more: list(sample(**{
            "rules": PRESETS["standard"], "num_players": 4, "deals": 1, "seed": 1, **more,
        })),
        {
            **RULES, "seed": lambda value: is_whole(value, 0, 2**63),
            "deals": lambda value: is_whole(value, 0, 255),
        },
    ),
}  # fmt: skip
STEPS: dict[str, Callable[[Any], Any]] = {
    "Game": lambda action: game().step(action),
    "AEC": lambda action: table().step(action),
    "parallel": lambda action: parallel_step(action),
    "NapEnv": lambda action: learner().step(action),
}


def parallel_step(action: Any) -> None:
    env = nap_v0.parallel_env()
    env.reset(seed=0)
    env.step({env.agent_selection: action})


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load here what the children would have to load again."""
    for call in (stepped, table, learner, learners):
        call()


@fuzz(15)
@given(which=st.sampled_from(sorted(CALLS)), place=st.integers(0, 20), value=values)
def test_arguments(which: str, place: int, value: Any) -> None:
    call, arguments = CALLS[which]
    name = sorted(arguments)[place % len(arguments)]
    if name in ("num_games", "num_envs", "deals") and is_whole(value, 256):
        return  # it would take the whole machine, as asked for
    if name == "opponents" and callable(value):
        return  # a player; what it answers is checked when it is asked
    if name == "agent" and isinstance(value, np.ndarray):
        return  # numpy refuses to compare it with a text, in its own words
    given_as = {"record": "records", "action": "name"}.get(name, name)

    def called() -> None:
        with np.errstate(all="ignore"):
            call(**{given_as: value})
        assert arguments[name](value), f"{which}: {name} was taken"

    known = "allowed are random" if which == "make" else name
    keys = (*OPTIONS, *Game.DEAL_KEYS) if name == "options" else ()
    accepted(called, name, known, "option", "chose", *keys, errors=(IndexError,))


@fuzz(5)
@given(which=st.sampled_from(sorted(STEPS)), action=values)
def test_single_actions(which: str, action: Any) -> None:
    def done() -> None:
        STEPS[which](action)
        number = np.asarray(action)
        assert not isinstance(action, bool)
        assert number.dtype.kind in "iu" and number.ndim == 0 and 0 <= number < NUM_ACTIONS

    accepted(done, "chose")


def test_a_step_before_a_reset_is_refused() -> None:
    with pytest.raises(ResetNeeded):
        gymnasium.make("nap_env:nap/Nap-v0", disable_env_checker=True).unwrapped.step(3)
