"""Loops that measure other libraries, and the AEC loops that ours share with them.

Every loop plays uniformly random legal actions. Whatever a game needs besides decisions (dealing,
chance nodes, resets, PettingZoo's dead steps) is inside the time; only decisions are counted.
"""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

Run = Callable[[float], tuple[int, float]]
"""Plays for about so many seconds; gives the decisions made and the seconds they took."""

GAMES_PER_CHUNK = 16  # games between two looks at the clock, in the Python loops


def timed(chunk: Callable[[], int]) -> Run:
    """Repeat `chunk`, which gives the decisions it made, until the time is up."""

    def run(seconds: float) -> tuple[int, float]:
        decisions = 0
        start = perf_counter()
        while (elapsed := perf_counter() - start) < seconds:
            decisions += chunk()
        return decisions, elapsed

    return run


def agent_iter_run(env: Any, seed: int) -> Run:
    """PettingZoo's documented loop, `agent_iter` and `last`, the same for every AEC environment."""
    uniform = random.Random(seed).random
    env.reset(seed=seed)

    def chunk() -> int:
        decisions = 0
        for _ in range(GAMES_PER_CHUNK):
            env.reset()
            for _agent in env.agent_iter():
                observation, _reward, termination, truncation, _info = env.last()
                if termination or truncation:
                    env.step(None)
                    continue
                legal = observation["action_mask"].nonzero()[0]
                env.step(int(legal[int(uniform() * len(legal))]))
                decisions += 1
        return decisions

    return timed(chunk)


def direct_run(env: Any, seed: int) -> Run:
    """`observe` and `step` without PettingZoo's iterator and `last`; dead steps are still made."""
    uniform = random.Random(seed).random
    env.reset(seed=seed)

    def chunk() -> int:
        decisions = 0
        for _ in range(GAMES_PER_CHUNK):
            env.reset()
            while env.agents:
                agent = env.agent_selection
                if env.terminations[agent] or env.truncations[agent]:
                    env.step(None)
                    continue
                legal = env.observe(agent)["action_mask"].nonzero()[0]
                env.step(int(legal[int(uniform() * len(legal))]))
                decisions += 1
        return decisions

    return timed(chunk)


def openspiel_run(game_name: str, seed: int) -> Run:
    """OpenSpiel from Python in the form of its own `example.py`, with its numpy observer.

    The observer is the one that the game offers: the observation where it has one, else the
    information state.
    """
    import pyspiel
    from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

    game = pyspiel.load_game(game_name)
    has_observation = game.get_type().provides_observation_tensor
    observer = make_observation(game, None if has_observation else INFO_STATE_OBS_TYPE)
    uniform = random.Random(seed).random

    def chunk() -> int:
        decisions = 0
        for _ in range(GAMES_PER_CHUNK):
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():  # dealing one card; the outcomes are equally likely
                    outcomes = state.chance_outcomes()
                    state.apply_action(outcomes[int(uniform() * len(outcomes))][0])
                    continue
                observer.set_from(state, state.current_player())
                legal = state.legal_actions()
                state.apply_action(legal[int(uniform() * len(legal))])
                decisions += 1
        return decisions

    return timed(chunk)


def openspiel_spades_tuned_run(seed: int) -> Run:
    """The same observations and legal actions of spades by the quickest Python loop known to us.

    A shuffled pack is dealt without asking for the outcomes, `current_player` alone tells the end,
    and bound methods are kept.
    """
    import numpy as np
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game("spades")
    observe = make_observation(game).set_from
    num_cards = game.max_chance_outcomes()
    shuffle = np.random.default_rng(seed).permutation
    uniform = random.Random(seed).random

    def chunk() -> int:
        decisions = 0
        for _ in range(GAMES_PER_CHUNK):
            state = game.new_initial_state()
            apply, current_player, legal_actions = (
                state.apply_action,
                state.current_player,
                state.legal_actions,
            )
            for card in shuffle(num_cards).tolist():
                apply(card)
            while (player := current_player()) >= 0:
                observe(state, player)
                legal = legal_actions()
                apply(legal[int(uniform() * len(legal))])
                decisions += 1
        return decisions

    return timed(chunk)


def rlcard_run(game_name: str, seed: int) -> Run:
    """RLCard's `reset` and `step`, both of which give the observation and the legal actions."""
    import rlcard

    env = rlcard.make(game_name, config={"seed": seed})
    uniform = random.Random(seed).random

    def chunk() -> int:
        decisions = 0
        for _ in range(GAMES_PER_CHUNK):
            state, _player = env.reset()
            while not env.is_over():
                legal = list(state["legal_actions"])
                state, _player = env.step(legal[int(uniform() * len(legal))])
                decisions += 1
        return decisions

    return timed(chunk)


def pettingzoo_leduc_run(factory_name: str, seed: int) -> Run:
    """PettingZoo's Leduc hold'em, `env` or `raw_env`."""
    from pettingzoo.classic import leduc_holdem_v4

    return agent_iter_run(getattr(leduc_holdem_v4, factory_name)(), seed)


def pgx_leduc_run(seed: int, batch_size: int = 4096, steps_per_call: int = 64) -> Run:
    """Pgx: a batch of Leduc with auto-reset, actions and steps in one jitted `scan`.

    The defaults were the fastest of batches of 256 to 65,536 and of 1 or 64 steps a call.
    """
    # One core: where the process is not pinned, XLA would start a thread for each.
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("leduc_holdem")
    step = jax.vmap(auto_reset(env.step, env.init))

    def play_one(carry: Any, _: None) -> tuple[Any, None]:
        state, key = carry  # the state holds the observation, so that XLA cannot leave it out
        key, action_key, step_key = jax.random.split(key, 3)
        mask = state.legal_action_mask  # (batch_size, A) bool
        cumulative = mask.cumsum(axis=1)
        uniform = jax.random.uniform(action_key, (batch_size,))
        nth = jnp.floor(uniform * cumulative[:, -1]).astype(cumulative.dtype)
        action = (cumulative > nth[:, None]).argmax(axis=1)
        return (step(state, action, jax.random.split(step_key, batch_size)), key), None

    @jax.jit
    def play(carry: Any) -> Any:
        return jax.lax.scan(play_one, carry, length=steps_per_call)[0]

    init_key, key = jax.random.split(jax.random.key(seed))
    carry = jax.jit(jax.vmap(env.init))(jax.random.split(init_key, batch_size)), key

    def chunk() -> int:
        nonlocal carry
        carry = jax.block_until_ready(play(carry))
        return batch_size * steps_per_call

    return timed(chunk)


@dataclass(frozen=True)
class Peer:
    """One loop of another library."""

    name: str  # in the JSON line
    label: str  # in the table
    make: Callable[[int], Run]  # from a seed; raises ImportError where the library is missing


# Distributions whose versions belong to the figures.
PACKAGES = ("open-spiel", "rlcard", "pettingzoo", "gymnasium", "pgx", "jax", "jaxlib")

PEERS = (
    Peer(
        name="openspiel_spades",
        label="OpenSpiel spades, Python, numpy observer",
        make=lambda seed: openspiel_run("spades", seed),
    ),
    Peer(
        name="openspiel_spades_tuned",
        label="OpenSpiel spades, the same by a tuned loop",
        make=openspiel_spades_tuned_run,
    ),
    Peer(
        name="openspiel_euchre",
        label="OpenSpiel euchre, Python, numpy observer",
        make=lambda seed: openspiel_run("euchre", seed),
    ),
    Peer(
        name="rlcard_bridge",
        label="RLCard bridge",
        make=lambda seed: rlcard_run("bridge", seed),
    ),
    Peer(
        name="pgx_leduc",
        label="Pgx Leduc, jitted batch of 4096",
        make=pgx_leduc_run,
    ),
    Peer(
        name="pettingzoo_leduc_raw_env",
        label="PettingZoo Leduc raw_env, agent_iter",
        make=lambda seed: pettingzoo_leduc_run("raw_env", seed),
    ),
    Peer(
        name="pettingzoo_leduc_env",
        label="PettingZoo Leduc env, agent_iter",
        make=lambda seed: pettingzoo_leduc_run("env", seed),
    ),
)
