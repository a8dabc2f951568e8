"""How strong an agent is: `python -m training.evaluate A --against B C`.

A, B and C are agents by name or checkpoints (.safetensors). Results are chips per 100 deals:

    1-vs-rest   A plays one seat, the other agent all the others
    rest-vs-1   the other agent plays one seat, A all the others; mean over A's seats

over sets of plays in which the seats go round (`training.arena`). In rules with a pool an equal
share of its change counts too, so that a table of equals comes out at 0. Deals come from odd
seeds, those of training from even ones; every row is measured on the same deals.

Plays of one deal depend on each other, sets do not. So the intervals are over sets: Student's t,
and a bootstrap that resamples sets. Where the solver covers the rules, a control variate says the
same with fewer sets (`training.control_variate`). Beside them stand what the agent does, its
contracts and what it expects of them, and a control: the agent against itself, where anything but
0 means that the measurement is broken.

In small games `--exploitability` tells, too, what nobody can win more than: what a best answer to
the agent gains, in chips a deal, mean over the seats (`training.exploitability`).

All cores take part (`--workers`), and so do the processes of `torchrun --nproc-per-node 2 -m
training.evaluate ...`. The result depends on neither.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro
from scipy import stats  # type: ignore[import-untyped]

from nap_env import __version__
from nap_env.actions import BIDS, NUM_BIDS
from nap_env.agents.network import NetworkAgent
from nap_env.batch import Batch
from nap_env.rules import Rules, whole
from nap_env.terminal import NowAndThen, Progress, run
from nap_env.threads import MOST_THREADS
from training.arena import Bools, Entrant, Floats, Plays, enter, play
from training.config import JsonObject, Players, at_least
from training.control_variate import (
    NUMBERS,
    ControlVariate,
    Moments,
    estimate,
    reason_against,
)
from training.exploitability import Yardstick
from training.provenance import commit, machine, versions
from training.results import draw_matrix, report
from training.workers import Job, Workers, cores

if TYPE_CHECKING:
    from training.team import Team

BLOCK = 1024  # sets played side by side; --until-width looks at the interval after each block
MOST_SETS = 1 << 20  # after which --until-width gives up
FIRST_REHEARSED = 1 << 30  # from this block of deals on, sets are only rehearsed
RESAMPLES = 2000
REHEARSALS = 20  # for each set
CONTROL_SHARE = 10  # one set in so many is also played by the agent against itself
CONTROL_LEVEL = 0.999  # so that the control cries wolf once in a thousand rows
MOST_BINS, FEWEST_BIDS = 5, 50  # bins of the calibration, and bids in a bin
MOST_SEED = 2**31 - 1
FORMATS = ("1-vs-rest", "rest-vs-1")


@dataclass(frozen=True)
class Config:
    """Measure an agent against others, in chips per 100 deals."""

    agent: tyro.conf.Positional[Annotated[str, tyro.conf.arg(metavar="AGENT")]]
    """Agent by name, or weights that training wrote: last.safetensors."""
    against: tuple[str, ...] = ("random", "passer")
    """Agents or weights to measure it against; weights play as sampled."""
    rules: str | None = None
    """Name of the rule set; by default that of the weights, or standard."""
    options: JsonObject = field(default_factory=dict)
    """Rule options that differ from it."""
    num_players: Annotated[int | None, Players] = None
    """Number of players; by default that of the weights, or 4."""
    sets: int = 2000
    """Deals to measure on, each played once from every seat."""
    until_width: float | None = None
    """Instead of --sets: play on, by 1024 sets, until the 95 % t interval is at most so wide."""
    rehearsals: int | None = None
    """Further sets for each set that are only rehearsed, for the control variate: the agents hold
    the auctions, `heuristic` plays the cards; 0 leaves it out. By default 20, but 0 with agents
    that search (pimc): their auctions take as long as their play, so that more sets are the faster
    way."""
    matrix: Path | None = None
    """Measure all of them against all, 1-vs-rest, and save a picture of it here (.png)."""
    exploitability: bool = False
    """In small games, such as the minis, tell what a best answer to the agent gains."""
    seed: int = 0
    """Of the deals and of the agents' choices, 0 to 2**31 - 1."""
    workers: int | None = None
    """Threads that measure, by default one a core; the result is the same with any number."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        whole("seed", self.seed, 0, MOST_SEED)
        at_least(2, "sets", self.sets)  # an interval needs two
        at_least(0, "rehearsals", self.rehearsals or 0)
        if self.workers is not None:
            whole("workers", self.workers, 1, MOST_THREADS)
        if self.until_width is not None and not self.until_width > 0:
            raise ValueError(f"until_width={self.until_width}: must be above 0")
        if not (self.against or self.matrix):
            raise ValueError("against=(): name at least one agent")
        if self.matrix and self.matrix.suffix != ".png":
            raise ValueError(f"matrix={self.matrix}: must end in .png")
        if self.matrix and not self.matrix.parent.is_dir():
            raise ValueError(f"matrix={self.matrix}: there is no such folder")


class Row:
    """An agent against another in one format: what comes together block by block."""

    def __init__(
        self, agent: Entrant, other: Entrant, format: str, rules: Rules, num_players: int
    ) -> None:
        """Begin without any set."""
        self.agent, self.other, self.format = agent, other, format
        self.rules, self.num_players = rules, num_players
        self._chips: list[Floats] = []  # (n,) each, by set
        self._numbers: list[Floats] = []  # (n, 6) each, by set
        self._further = Moments()
        # Deals, those made, and chips, by bid and by who declares: 0 the tested side, 1 the other.
        self._contracts = np.zeros((3, 2, NUM_BIDS))
        self._bids: list[Floats] = []  # (2, n) each

    def add(self, plays: Sequence[Plays]) -> None:
        """Count sets: their plays, seat by seat."""
        chips = np.zeros(len(plays[0].declarer))
        for tested, one in zip(self.tested(), plays, strict=True):
            chips += one.chips[:, tested].mean(1) / self.num_players
            self._note(one, tested)
        self._chips.append(chips)

    def add_rehearsed(self, numbers: Floats, *, further: bool) -> None:
        """Count sets that were rehearsed.

        Args:
            numbers: of the control variate, (n, 6).
            further: these sets are not played.
        """
        if further:
            self._further.add(numbers)
        else:
            self._numbers.append(numbers)

    def tested(self) -> Iterator[Bools]:
        """Go once round the table: the agent's seats (P,) in each play of a set."""
        for seat in range(self.num_players):
            single = np.arange(self.num_players) == seat
            yield single if self.format == FORMATS[0] else ~single

    def _note(self, plays: Plays, tested: Bools) -> None:
        """Count the contracts of plays, and keep what the agent expected of its bids."""
        rows = np.flatnonzero(plays.declarer >= 0)
        declarer, chips = plays.declarer[rows], plays.chips[rows]
        other = ~tested[declarer]
        won = np.where(other, chips[:, tested].mean(1), chips[np.arange(len(rows)), declarer])
        for total, counted in zip(
            self._contracts, (np.ones(len(rows)), plays.made[rows], won), strict=True
        ):
            np.add.at(total, (other.astype(np.int64), plays.contract[rows]), counted)
        self._bids.append(plays.bids)

    @property
    def chips(self) -> Floats:
        """Chips of the tested seats in a deal (sets,), mean over the plays of a set."""
        return np.concatenate(self._chips)

    def result(self) -> dict[str, Any]:
        """Return what has been measured."""
        chips = self.chips
        return {
            "agent": self.agent.name,
            "against": self.other.name,
            "format": self.format,
            "policy": self.agent.policy,
            "rules": self.rules.name,
            "options": self.rules.options,
            "num_players": self.num_players,
            "chips_per_100": _per_100(chips.mean()),
            "ci95": [_per_100(end) for end in t_interval(chips)],
            "bootstrap95": [_per_100(end) for end in bootstrap_interval(chips)],
            "sets": len(chips),
            "sd": round(float(chips.std(ddof=1)), 3),
            "control_variate": self._control_variate(chips),
            "contracts": self._contract_rows(),
            "calibration": self._calibration(),
        }

    def _control_variate(self, chips: Floats) -> dict[str, Any]:
        reason = reason_against(self.rules, self.num_players, len(chips))
        if reason or not self._further.count:
            return {"none": reason or "nothing was rehearsed"}
        mean, interval, sets_ratio = estimate(chips, np.concatenate(self._numbers), self._further)
        return {
            "chips_per_100": _per_100(mean),
            "ci95": [_per_100(end) for end in interval],
            "rehearsals": self._further.count,
            "sets_ratio": None if sets_ratio is None else round(sets_ratio, 2),
        }

    def _contract_rows(self) -> list[dict[str, Any]]:
        plays = self.num_players * sum(map(len, self._chips))
        deals, made, chips = self._contracts
        return [
            {"bid": BIDS[bid]}
            | {
                role: {
                    "per_100_deals": round(100 * deals[side, bid] / plays, 3),
                    "made": round(made[side, bid] / deals[side, bid], 4),
                    "chips": round(chips[side, bid] / deals[side, bid], 3),
                }
                for side, role in enumerate(("declares", "defends"))
                if deals[side, bid]
            }
            for bid in np.flatnonzero(deals.sum(0))
        ]

    def _calibration(self) -> list[dict[str, Any]] | None:
        """Compare what the agent expected where it bid with what it got; None: it says nothing."""
        if not isinstance(self.agent.agent, NetworkAgent):
            return None
        bids = np.concatenate(self._bids, axis=1)  # (2, n)
        expected, got = bids[:, np.argsort(bids[0], kind="stable")]
        bins = max(1, min(MOST_BINS, len(expected) // FEWEST_BIDS))
        return [
            {
                "bids": len(told),
                "expected": round(float(told.mean()), 3),
                "got": round(float(came.mean()), 3),
            }
            for told, came in zip(
                np.array_split(expected, bins), np.array_split(got, bins), strict=True
            )
            if len(told)
        ]


def _per_100(chips: float) -> float:
    return round(100 * float(chips), 2) + 0.0  # no -0.0


def t_interval(chips: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return Student's interval for the mean of sets (N,)."""
    mean, reach = chips.mean(), stats.sem(chips) * stats.t.ppf((1 + level) / 2, len(chips) - 1)
    return float(mean - reach), float(mean + reach)


def bootstrap_interval(chips: Floats) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval for the mean of sets (N,).

    Sets with the same result are alike: a resample is how often each result comes up in it.
    """
    results, counts = np.unique(chips, return_counts=True)
    draws = np.random.default_rng(0).multinomial(len(chips), counts / len(chips), size=RESAMPLES)
    low, high = np.quantile(draws @ results / len(chips), (0.025, 0.975))
    return float(low), float(high)


def _deals(seed: int, block: int) -> int:
    """Return the seed of a block of deals: odd, so no deal that training sees."""
    return 2 * (seed << 31 | block) + 1


class Desk:
    """What sets are played and rehearsed with; its agents belong to one thread."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Set it up for rows of the same rules and players."""
        self._rows = rows
        self._rules, self._num_players = rows[0].rules, rows[0].num_players
        self._variate: ControlVariate | None = None

    def _games(self, count: int) -> Batch:
        return Batch(self._rules, self._num_players, count, seed=0)

    def play(self, number: int, tested: Bools, seed: int, count: int) -> Plays:
        """Play the first deals of a seed: the agent of row `number` in the tested seats."""
        row = self._rows[number]
        return play(self._games(count), seed, tested, row.agent, row.other)

    def rehearse(self, numbers: Sequence[int], seed: int, count: int) -> list[Floats]:
        """Rehearse the first deals of a seed; return (count, 6) for each of some rows."""
        games = self._games(count)
        games.reset(seed)
        variate = self._variate = self._variate or ControlVariate(self._rules, self._num_players)
        variate.solve(games)
        sums = []
        for number in numbers:
            row = self._rows[number]
            total = np.zeros((count, NUMBERS))
            for tested in row.tested():
                plays = play(games, seed, tested, row.agent, row.other, stand_in=variate.stand_in)
                total += variate.numbers(plays, tested) / self._num_players
            sums.append(total)
        return sums


def measure(
    rows: Sequence[Row],
    *,
    sets: int,
    until_width: float | None,
    rehearsals: int,
    seed: int,
    workers: int = 1,
    team: "Team | None" = None,
) -> None:
    """Play sets for every row, the same deals for all, in blocks.

    Args:
        rows: of the same rules and players.
        sets: how many, at most.
        until_width: a row is through once its t interval is so narrow, in chips per 100 deals.
        rehearsals: further sets for each set that are only rehearsed.
        seed: of the deals.
        workers: threads; the result is the same with any number.
        team: the processes that measure together; with any number, too.
    """
    players = rows[0].num_players
    if reason_against(rows[0].rules, players, sets):
        rehearsals = 0
    going_on = [*range(len(rows))]

    def rehearsed(block: int) -> list[int]:
        first = FIRST_REHEARSED + block * rehearsals
        return [block, *range(first, first + rehearsals)] if rehearsals else []

    def jobs(block: int) -> Iterator[Job[Desk]]:
        count = min(BLOCK, sets - block * BLOCK)
        deals = _deals(seed, block)
        for number in going_on:
            for tested in rows[number].tested():
                yield Job(
                    partial(Desk.play, number=number, tested=tested, seed=deals, count=count), count
                )
        for other in rehearsed(block):
            deals = _deals(seed, other)
            yield Job(
                partial(Desk.rehearse, numbers=going_on, seed=deals, count=count),
                count * players * len(going_on),
            )

    blocks = range(-(-sets // BLOCK))
    rounds = 2 + rehearsals if rehearsals else 1
    total = None if until_width else sets * rounds * players * len(rows)
    desks = [Desk(rows), *(Desk(deepcopy(rows)) for _ in range(workers - 1))]
    staff = Workers(desks, team)
    with Progress("measuring", total, "deals") as progress:
        for at_once in ([block] for block in blocks) if until_width else [blocks]:
            results = staff.results([job for block in at_once for job in jobs(block)], progress.add)
            for block in at_once:
                for number in going_on:
                    rows[number].add([next(results) for _ in range(players)])
                for other in rehearsed(block):
                    for number, numbers in zip(going_on, next(results), strict=True):
                        rows[number].add_rehearsed(numbers, further=other != block)
            if until_width:
                widths = [
                    100 * float(np.ptp(t_interval(rows[number].chips))) for number in going_on
                ]
                going_on = [
                    number
                    for number, width in zip(going_on, widths, strict=True)
                    if width > until_width
                ]
            if not going_on:
                break


def evaluate(
    agent: str,
    against: Sequence[str],
    *,
    sets: int,
    until_width: float | None = None,
    rehearsals: int = 0,
    seed: int = 0,
    rules: str | Rules | None = None,
    options: Mapping[str, Any] | None = None,
    num_players: int | None = None,
    every_pair: bool = False,
    workers: int = 1,
    team: "Team | None" = None,
) -> list[dict[str, Any]]:
    """Measure an agent against each of others, in each format and each of its policies.

    Args:
        agent: name, or path of a checkpoint.
        against: the same; checkpoints are played against as sampled.
        sets: deals, each played from every seat.
        until_width: instead, the width of the t interval, in chips per 100 deals, to go on to.
        rehearsals: further sets for each set that are only rehearsed, for the control variate; 0
            leaves it out.
        seed: of the deals and of the agents' choices.
        rules: rules or their name; by default that of the checkpoints, or `standard`.
        options: rule options that differ from it.
        num_players: by default that of the checkpoints, or 4.
        every_pair: measure all of them against all, 1-vs-rest, and nothing else.
        workers: threads of this process; the result is the same with any number.
        team: the processes that measure together; with any number, too.

    Returns:
        A row for each, as the JSON line has them.

    Raises:
        ValueError: an agent, a checkpoint, a seed or rules that cannot be used, or do not fit.
    """
    whole("seed", seed, 0, MOST_SEED)  # ppo chooses the best network on deals above
    chosen, players, entrants = enter([agent, *against], rules, options, num_players)
    if every_pair:
        each = {policies[0].name: policies[0] for policies in entrants}.values()
        pairs = [(one, other, FORMATS[0]) for one in each for other in each]
    else:
        formats = FORMATS if players > 2 else FORMATS[:1]  # at two they are one
        pairs = [
            (one, policies[0], format)
            for policies in entrants[1:]
            for format in formats
            for one in entrants[0]
        ]
    rows = [Row(*pair, chosen, players) for pair in pairs]
    most = MOST_SETS if until_width else sets
    measure(
        rows,
        sets=most,
        until_width=until_width,
        rehearsals=rehearsals,
        seed=seed,
        workers=workers,
        team=team,
    )
    results = [row.result() for row in rows]
    if not every_pair:
        _add_controls(rows, results, seed, workers, team)
    return results


def measured(agent: NetworkAgent, against: str, sets: int, seed: int) -> dict[str, Any]:
    """Return how a network does in one seat against an agent by name in all others."""
    rules, players, others = enter([against], agent.rules, None, agent.num_players)
    row = Row(Entrant("", agent.policy, agent), others[0][0], FORMATS[0], rules, players)
    measure([row], sets=sets, until_width=None, rehearsals=0, seed=seed)
    return row.result()


def exploited(config: Config) -> dict[str, float]:
    """Return by policy what a best answer to the agent gains, and what one to uniform play does.

    Raises:
        ValueError: an agent or a checkpoint that cannot be used, or a game that is too large.
    """
    names = (config.agent, *config.against)
    rules, players, entrants = enter(names, config.rules, config.options, config.num_players)
    yardstick = Yardstick(rules, players, NowAndThen())
    found = {**yardstick.exploitability(entrants[0][0].agent), "uniform": yardstick.uniform()}
    print(
        f"a best answer gains, chips a deal: {found['sampled']:.5f} from it as sampled, "
        f"{found['argmax']:.5f} by argmax, {found['uniform']:.5f} from uniform play",
        end="\n\n",
    )
    return found


def _add_controls(
    rows: Sequence[Row],
    results: Sequence[dict[str, Any]],
    seed: int,
    workers: int,
    team: "Team | None",
) -> None:
    """Tell each result how its agent does against itself, in fewer sets."""
    controls = {
        (row.agent.policy, row.format): Row(
            row.agent, row.agent, row.format, row.rules, row.num_players
        )
        for row in rows
    }
    sets = max(2, min(BLOCK, *(result["sets"] for result in results)) // CONTROL_SHARE)
    measure(
        [*controls.values()],
        sets=sets,
        until_width=None,
        rehearsals=0,
        seed=seed,
        workers=workers,
        team=team,
    )
    for result in results:
        chips = controls[result["policy"], result["format"]].chips
        result["control"] = {
            "chips_per_100": _per_100(chips.mean()),
            "ci999": [_per_100(end) for end in t_interval(chips, CONTROL_LEVEL)],
            "sets": sets,
        }


def main(argv: Sequence[str] | None = None, prog: str = "python -m training.evaluate") -> None:
    """Run the command.

    Raises:
        SystemExit: with status 2 for a wrong command line, 1 for agents that cannot be used.
    """
    start = perf_counter()
    config = tyro.cli(Config, args=argv, prog=prog)
    names = (config.agent, *config.against)
    rehearsals = config.rehearsals
    if rehearsals is None:
        searching = any(name.startswith("pimc-") for name in names)
        rehearsals = 0 if searching else REHEARSALS
    told: dict[str, Any] = {}
    try:
        team = _team()
        if config.exploitability and (team is None or team.rank == 0):
            told["exploitability"] = exploited(config)
        results = evaluate(
            config.agent,
            config.against,
            sets=config.sets,
            until_width=config.until_width,
            rehearsals=rehearsals,
            seed=config.seed,
            rules=config.rules,
            options=config.options,
            num_players=config.num_players,
            every_pair=config.matrix is not None,
            workers=config.workers or cores(),
            team=team,
        )
        if team:
            team.leave()
            if team.rank > 0:
                return
        if config.matrix:
            draw_matrix(results, config.matrix)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    report(
        results,
        **told,
        seed=config.seed,
        **commit(),
        versions={"nap_env": __version__, **versions(("numpy", "numba", "scipy"))},
        machine=machine(),
        seconds=round(perf_counter() - start, 2),
    )


def _team() -> "Team | None":
    """Return the processes that `torchrun` has started, if there are several."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        return None
    from training.team import Team  # brings torch

    return Team()


if __name__ == "__main__":
    sys.exit(run(main))
