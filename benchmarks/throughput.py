"""Decisions per second on one core, ours and, with `--peers`, other libraries' in the same run.

    python -m benchmarks.throughput --peers

Rows are measured in turn, round after round, because a shared machine changes its speed from second
to second; a ratio is the median of the ratios within each round. README.md says what each row is.
"""

import datetime
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill
from time import perf_counter
from typing import Any

import numba
import tyro

from benchmarks import peers
from benchmarks.peers import Run
from nap_env.actions import NUM_ACTIONS
from nap_env.engine.state import lowest_bit, popcount, prefetch_step
from nap_env.engine.step import advance, next_deal, random_action
from nap_env.terminal import Progress, counted
from training.provenance import ROOT, commit, machine, versions

SIZES = (1, 64, 4096, 16384)  # games in a Batch
OBSERVE = {  # value of Batch's `observe`: what its label says
    "none": "packed masks",
    "packed": "packed, with observations",
    "dense": "observations and masks",
}
VECTORS = (  # autoreset mode and number of tables of a vector environment
    ("NextStep", 256),
    ("NextStep", 1024),
    ("NextStep", 4096),
    ("SameStep", 1024),
    ("Disabled", 1024),
)
VECTOR_STEPS = 16  # its steps between two looks at the clock
WARM_UP_SECONDS = 0.2
CHUNK_SECONDS = 0.005  # compiled code between two looks at the clock takes at least this long

# What is asked of the standard game at four players, decisions/s.
ASKED_RATES = {
    "rollout_4096": 30e6,
    "batch_dense_4096": 12e6,
    "raw_env_direct": 0.3e6,
    "env_direct": 0.25e6,
}
# Ours, theirs, the ratio asked (None: none is).
RATIOS = (
    ("batch_dense_4096", "openspiel_spades", 30.0),
    ("batch_dense_4096", "openspiel_spades_tuned", None),
    ("batch_dense_4096", "openspiel_euchre", None),
    ("batch_dense_4096", "rlcard_bridge", None),
    ("batch_dense_4096", "pgx_leduc", None),
    ("raw_env_agent_iter", "pettingzoo_leduc_raw_env", 6.0),
    ("env_agent_iter", "pettingzoo_leduc_env", 12.0),
)
# Distributions whose versions belong to our figures.
OUR_PACKAGES = ("numba", "numpy", "gymnasium", "pettingzoo")
COLUMN, LAST_COLUMN, TERMINAL = 9, 11, 80  # widths: figures, `asked` where there is room, all
ASKED_RESET_SECONDS = {"cold": 10.0, "warm": 1.0}

STARTUP = """
import sys
from time import perf_counter
start = perf_counter()
from nap_env import nap_v0
imported = perf_counter()
env = nap_v0.env(rules=sys.argv[1], num_players=int(sys.argv[2]))
env.reset(seed=int(sys.argv[3]))
reset = perf_counter()
for agent in env.agent_iter():
    observation, _, termination, truncation, _ = env.last()
    env.step(None if termination or truncation else int(observation["action_mask"].argmax()))
print(imported - start, reset - start, perf_counter() - start)
"""


@dataclass(frozen=True)
class Options:
    """Measure decisions per second on one core: a table, ratios, a JSON line."""

    peers: bool = False
    """Measure other libraries too, those that are installed."""
    rules: str = "standard"
    """Preset that our rows play."""
    players: int = 4
    """Number of players in our rows."""
    rounds: int = 7
    """How often each row is measured."""
    seconds: float = 0.5
    """Length of one measurement of one row."""
    startups: int = 3
    """How often the first reset of a fresh process is measured, cold and warm (0: not)."""
    core: int | None = None
    """Core to run on; by default the last that this process may use, -1 for no pinning."""
    seed: int = 0
    """Seed of the deals and of the choices."""

    def __post_init__(self) -> None:
        """Refuse lengths that measure nothing."""
        for name, allowed in (("rounds", 1), ("startups", 0)):
            if getattr(self, name) < allowed:
                raise ValueError(f"{name}={getattr(self, name)}: at least {allowed}")
        if not self.seconds > 0:
            raise ValueError(f"seconds={self.seconds}: more than 0")


@dataclass(frozen=True)
class Row:
    """One thing to measure."""

    name: str  # in the JSON line
    label: str  # in the table
    run: Run


def compiled_run(play: Callable[[int], None], num_games: int) -> Run:
    """Measure `play(steps)`, which moves each of `num_games` games on by so many steps."""
    steps = 1
    seconds = 0.0
    play(steps)  # compiles
    while seconds < CHUNK_SECONDS:
        steps *= 2
        start = perf_counter()
        play(steps)
        seconds = perf_counter() - start

    def chunk() -> int:
        play(steps)
        return steps * num_games

    return peers.timed(chunk)


def batch_run(options: Options, observe: str, num_games: int) -> Run:
    """`games.step(games.sample())` from Python: two calls for one step of every game."""
    from nap_env import Batch

    games = Batch(
        rules=options.rules,
        num_players=options.players,
        num_games=num_games,
        seed=options.seed,
        observe=observe,
    )

    def play(steps: int) -> None:
        for _ in range(steps):
            games.step(games.sample())

    return compiled_run(play, num_games)


def rollout_run(options: Options, num_games: int) -> Run:
    """`games.rollout(steps)`: choices and steps inside compiled code, no observations."""
    from nap_env import Batch

    games = Batch(
        rules=options.rules,
        num_players=options.players,
        num_games=num_games,
        seed=options.seed,
        observe="none",
    )
    return compiled_run(games.rollout, num_games)


@numba.njit
def step_in_turn(games: Any, table: Any, steps: int) -> None:
    """Play random decisions, one in each game before the next one in any."""
    rules = table[0]
    for _ in range(steps):
        for i in range(len(games)):
            prefetch_step(games, i)
            g = games[i]
            if advance(g, rules, random_action(g), False):
                next_deal(g, rules)


def in_turn_run(options: Options, num_games: int) -> Run:
    """The same game after game, as `Batch` steps them: what the cache cannot hold is loaded."""
    from nap_env import Batch
    from nap_env.rules import rules_table

    games = Batch(options.rules, options.players, num_games, options.seed, observe="none")
    table = rules_table(games.rules, games.num_players)
    return compiled_run(lambda steps: step_in_turn(games.games, table, steps), num_games)


def aec_run(options: Options, factory_name: str, make_run: Callable[[Any, int], Run]) -> Run:
    """Our AEC environment, `env` or `raw_env`, in one of the loops of `peers`."""
    from nap_env import nap_v0

    env = getattr(nap_v0, factory_name)(rules=options.rules, num_players=options.players)
    return make_run(env, options.seed)


def parallel_run(options: Options) -> Run:
    """The parallel environment: everybody observes every decision, the one with a mask decides."""
    from nap_env import nap_v0

    env = nap_v0.parallel_env(rules=options.rules, num_players=options.players)
    uniform = random.Random(options.seed).random
    env.reset(seed=options.seed)

    def chunk() -> int:
        decisions = 0
        for _ in range(peers.GAMES_PER_CHUNK):
            observations, _infos = env.reset()
            while env.agents:
                agent = env.agent_selection
                legal = observations[agent]["action_mask"].nonzero()[0]
                action = int(legal[int(uniform() * len(legal))])
                observations, *_results = env.step({agent: action})
                decisions += 1
        return decisions

    return peers.timed(chunk)


def single_run(options: Options) -> Run:
    """The Gymnasium environment as `make` gives it, opponents random; the learner's decisions."""
    import gymnasium

    env = gymnasium.make(
        "nap_env:nap/Nap-v0", rules=options.rules, num_players=options.players, opponents="random"
    )
    uniform = random.Random(options.seed).random
    env.reset(seed=options.seed)

    def chunk() -> int:
        decisions = 0
        for _ in range(peers.GAMES_PER_CHUNK):
            observation, _info = env.reset()
            ended = False
            while not ended:
                legal = observation["action_mask"].nonzero()[0]
                action = int(legal[int(uniform() * len(legal))])
                observation, _reward, terminated, truncated, _info = env.step(action)
                ended = terminated or truncated
                decisions += 1
        return decisions

    return peers.timed(chunk)


@numba.njit
def choose(masks: Any, uniform: Any, actions: Any) -> int:
    """Write a random legal action for each row that has one; return how many have.

    Args:
        masks: (N, 2) int64, a bit for each action, as `Batch.mask` has them.
        uniform: (N,) float64, from 0 to 1, without 1.
        actions: (N,) int64, overwritten; of no use in the other rows.
    """
    decisions = 0
    for row in range(len(masks)):
        in_first = popcount(masks[row, 0])
        legal = in_first + popcount(masks[row, 1])
        decisions += legal > 0
        place = int(uniform[row] * legal)
        word = int(place >= in_first)
        mask = masks[row, word]
        place -= word * in_first
        for k in range(4):  # without a branch, as a rule
            mask &= mask - int(k < place)
        for _ in range(4, place):
            mask &= mask - 1
        actions[row] = 64 * word + lowest_bit(mask)
    return decisions


def vector_run(options: Options, mode: str, num_envs: int) -> Run:
    """The vector environment as `make_vec` gives it, opponents random; the learners' decisions.

    The choices are compiled, as those of `Batch.sample` are. A row in which a match begins anew
    without a decision (`NextStep`) is not counted, and a reset (`Disabled`) is inside the time.
    """
    import gymnasium
    import numpy as np

    envs = gymnasium.make_vec(
        "nap_env:nap/Nap-v0",
        num_envs=num_envs,
        rules=options.rules,
        num_players=options.players,
        opponents="random",
        autoreset_mode=mode,
    )
    uniform = np.random.default_rng(options.seed).random
    actions = np.zeros(num_envs, np.int64)
    padded = np.zeros((num_envs, 128), np.int8)
    observation, _ = envs.reset(seed=options.seed)

    def chunk() -> int:
        nonlocal observation
        decisions = 0
        for _ in range(VECTOR_STEPS):
            padded[:, :NUM_ACTIONS] = observation["action_mask"]
            masks = np.packbits(padded, bitorder="little").view(np.int64).reshape(-1, 2)
            decisions += choose(masks, uniform(num_envs), actions)
            observation, _rewards, terminated, truncated, _info = envs.step(actions)
            if mode == "Disabled" and (ended := terminated | truncated).any():
                observation, _info = envs.reset(options={"reset_mask": ended})
        return decisions

    return peers.timed(chunk)


def our_rows(options: Options) -> list[Row]:
    """Our rows, compiled and ready."""
    rows = [Row("rollout_4096", "bare rollout, N=4096", rollout_run(options, 4096))]
    rows += [
        Row(
            f"in_turn_{size}",
            f"bare rollout, game after game, N={size}",
            in_turn_run(options, size),
        )
        for size in SIZES[1:]
    ]
    for observe, label in OBSERVE.items():
        for size in SIZES:
            run = batch_run(options, observe, size)
            rows.append(Row(f"batch_{observe}_{size}", f"Batch, {label}, N={size}", run))
    for loop, make_run in (("direct", peers.direct_run), ("agent_iter", peers.agent_iter_run)):
        for factory_name in ("raw_env", "env"):
            run = aec_run(options, factory_name, make_run)
            label = f"AEC {factory_name}, {loop.replace('direct', 'direct loop')}"
            rows.append(Row(f"{factory_name}_{loop}", label, run))
    rows.append(Row("parallel", "parallel_env", parallel_run(options)))
    rows.append(Row("single", "single environment, random opponents", single_run(options)))
    for mode, size in VECTORS:
        label = f"vector, random opponents, {mode}, N={size}"
        rows.append(Row(f"vector_{mode}_{size}", label, vector_run(options, mode, size)))
    return rows


def peer_rows(seed: int) -> tuple[list[Row], dict[str, str]]:
    """Other libraries' rows, and why a peer has none, by its name."""
    rows, missing = [], {}
    for peer in peers.PEERS:
        try:
            rows.append(Row(peer.name, peer.label, peer.make(seed)))
        except ImportError as error:
            missing[peer.name] = str(error)
    return rows, missing


def in_order(rows: list[Row]) -> list[Row]:
    """Move each row of a ratio's other side to just after ours, so that they share the moment."""
    partner = {theirs: ours for ours, theirs, _ in RATIOS}
    place = {row.name: i for i, row in enumerate(rows)}
    return sorted(rows, key=lambda row: place[partner.get(row.name, row.name)])


def measure(rows: list[Row], options: Options) -> dict[str, list[float]]:
    """Decisions per second of each row, one figure a round."""
    for row in counted(rows, "warming up", "rows"):
        row.run(WARM_UP_SECONDS)
    gc.collect()
    gc.freeze()  # else the Python loops pay for looking through what the libraries hold
    rates: dict[str, list[float]] = {row.name: [] for row in rows}
    with Progress("measuring", options.rounds * len(rows), "runs") as progress:
        for k in range(options.rounds):
            for row in rows if k % 2 == 0 else reversed(rows):  # a drift favours neither
                decisions, seconds = row.run(options.seconds)
                rates[row.name].append(decisions / seconds)
                progress.add(1)
    return rates


def measure_startup(options: Options) -> dict[str, list[dict[str, float]]]:
    """Seconds of fresh processes with an empty and a filled cache of compiled code."""
    command = [sys.executable, "-c", STARTUP, options.rules, str(options.players)]
    command.append(str(options.seed))
    times: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in counted(range(options.startups), "starting", "processes"):
        with tempfile.TemporaryDirectory() as cache:
            for kind in times:
                child = subprocess.run(
                    command,
                    cwd=ROOT,
                    env={**os.environ, "NUMBA_CACHE_DIR": cache},
                    check=True,
                    stdout=subprocess.PIPE,
                    encoding="utf-8",
                )
                keys = ("import", "reset", "first_deal")
                seconds = map(float, child.stdout.split())
                times[kind].append(dict(zip(keys, seconds, strict=True)))
                if not any(Path(cache).iterdir()):
                    raise RuntimeError("NUMBA_CACHE_DIR was not used: cold and warm are the same")
    return times


def summary(values: list[float]) -> dict[str, Any]:
    """Median, spread and the single values."""
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "rounds": values,
    }


def ratios(rates: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Ratios within each round, for those whose two rows were measured."""
    return [
        {
            "name": f"{ours} / {theirs}",
            "asked": asked,
            **summary([a / b for a, b in zip(rates[ours], rates[theirs], strict=True)]),
        }
        for ours, theirs, asked in RATIOS
        if ours in rates and theirs in rates
    ]


def pin(core: int | None) -> int | None:
    """Keep this process, and those it starts, on one core; gives the core, None for no pinning.

    Raises:
        ValueError: This process may not use the core.
    """
    if core == -1 or not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    chosen = max(allowed) if core is None else core
    if chosen not in allowed:
        raise ValueError(f"core={core}: this process may use {sorted(allowed)}, or -1")
    os.sched_setaffinity(0, {chosen})
    return chosen


def shown(rate: float) -> str:
    """A rate to three or four figures."""
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} k"


def table(report: dict[str, Any]) -> str:
    """The report as text for people."""
    rows = [["decisions/s, one core", "median", "min", "max", "asked"]]
    for row in report["results"]:
        if "median" not in row:
            rows.append([row["label"], "missing"])
            continue
        cells = [shown(row[key]) for key in ("median", "min", "max")]
        rows.append([row["label"], *cells, f">= {row['asked'] / 1e6:g} M" if row["asked"] else ""])
    parts = [lines(rows)]
    rows = [["ratio within a round", "median", "min", "max", "asked"]]
    for row in report["ratios"]:
        cells = [f"{row[key]:.1f}" for key in ("median", "min", "max")]
        rows.append([row["name"], *cells, f">= {row['asked']:g}" if row["asked"] else ""])
    parts += [lines(rows)] * (len(rows) > 1)
    rows = [["fresh process, s, to the end of", "import", "reset", "1st deal", "asked"]]
    for row in report["startup"]:
        cells = [f"{row[key]:.2f}" for key in ("import", "reset", "first_deal")]
        asked = f"<= {row['asked']:g}" if row["asked"] else ""
        rows.append([f"{row['cache']} cache, median of {len(row['times'])}", *cells, asked])
    parts += [lines(rows)] * (len(rows) > 1)
    return "\n\n".join([*parts, origin(report)])


def lines(rows: list[list[str]]) -> str:
    """A table of labels and figures as lines of a terminal."""
    width = max(len(row[0]) for row in rows)
    last = min(LAST_COLUMN, TERMINAL - width - 3 * COLUMN)
    widths = (COLUMN, COLUMN, COLUMN, last)
    return "\n".join(
        (
            f"{label:{width}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=False))
        ).rstrip()
        for label, *cells in rows
    )


def origin(report: dict[str, Any]) -> str:
    """When and where a report was made, from which commit and with which versions."""
    where = report["machine"]
    state = f"commit {report['commit']}" + (" with changes" if report["dirty"] else "")
    core = "" if where.get("core") is None else f", on core {where['core']}"
    vectors = f"vectors of {where['vector_bits']} bits"
    told = (
        f"{report['date']}, {state}",
        f"{where['cpu']}, {where['cores']} cores{core}, {vectors}, load {where['load']}",
        ", ".join(f"{name} {number}" for name, number in report["versions"].items() if number),
    )
    return "\n".join(fill(line, TERMINAL) for line in told)


def measured(options: Options) -> dict[str, Any]:
    """Measure everything the options ask for."""
    report: dict[str, Any] = {
        "options": asdict(options),
        "machine": {**machine(), "core": pin(options.core)},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **commit(),
        "versions": versions((*OUR_PACKAGES, *(peers.PACKAGES if options.peers else ()))),
    }
    ours = our_rows(options)
    others, missing = peer_rows(options.seed) if options.peers else ([], {})
    rates = measure(in_order(ours + others), options)
    as_asked = options.rules == "standard" and options.players == 4
    report["results"] = [
        {
            "name": row.name,
            "label": row.label,
            "asked": ASKED_RATES.get(row.name) if as_asked else None,
            **summary([round(rate, 1) for rate in rates[row.name]]),
        }
        for row in ours + others
    ]
    report["results"] += [
        {"name": peer.name, "label": peer.label, "missing": missing[peer.name]}
        for peer in peers.PEERS
        if peer.name in missing
    ]
    report["ratios"] = ratios(rates)
    report["startup"] = [
        {
            "cache": kind,
            "asked": ASKED_RESET_SECONDS[kind],
            **{key: statistics.median(time[key] for time in times) for key in times[0]},
            "times": times,
        }
        for kind, times in measure_startup(options).items()
        if times
    ]
    return report


def main() -> int:
    """Run the command; gives its exit status."""
    options = tyro.cli(Options, prog="python -m benchmarks.throughput")
    try:
        report = measured(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(report))
    print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
