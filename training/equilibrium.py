"""Small games solved: `python -m training.equilibrium mini_2x4`.

The whole game is walked (`training.tree`), and plans are improved against each other
(`training.plan`) until all that a seat could gain by any other play is `--until`, the mean of both:
their exploitability, in chips a deal. What the seats then get is the worth of the game, to twice
that.

With three players or more nothing is promised. What is told then is how much each seat gains by
its best answer to the others, and how much all others gain together against a seat: at least what
they get if each answers best for all of them in turns, at most what they get with open cards among
them.

`--out FILE.npz` keeps the plans. Rows are information sets, one of all that differ only in the
names of suits; columns:

    seat            whose turn it is, seats counted from the one who speaks first
    hand            the cards that it was dealt, a mask by card id
    moves           actions since the deal, -1: no more
    first           where its actions start, int64 (I + 1,)
    action          what it can do; actions that it cannot tell apart stand here as one
    probability     how likely it does that
    reached         how likely the set is met
    told            JSON: the last line of the command
"""

import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tyro

from nap_env.actions import ACTIONS, BIDS, CALLS
from nap_env.presets import resolve
from nap_env.rules import Rules, seated
from nap_env.terminal import NowAndThen, run
from training.checkpoint import replace
from training.config import JsonObject, Players, at_least
from training.plan import (
    Floats,
    Solver,
    exploitability,
    gain_in_turns,
    gains,
    plan_of,
    policy_of,
    reach,
    uniform,
    worth,
)
from training.provenance import commit, machine, versions
from training.tree import SmallGame

UNTIL = 1e-5
ITERATIONS = 200
"""With more than two players, where no number of them leads to an equilibrium for certain."""

_OF_AUCTION = {*CALLS, *BIDS} - {"done"}

LOOKS = 10
"""After so many iterations, and then so many times before their number has doubled, is looked."""


@dataclass(frozen=True)
class Config:
    """Solve a small game: what each seat can get for certain, and how it must play."""

    rules: tyro.conf.Positional[str]
    """Name of the rule set."""
    options: JsonObject = field(default_factory=dict)
    """Rule options that differ from it."""
    num_players: Annotated[int | None, Players] = None
    """Number of players; by default the fewest that it seats."""
    iterations: int | None = None
    """Iterations to do; by default as many as --until needs, or 200 with more than two players."""
    until: float | None = None
    """Stop when the exploitability is at most this, in chips a deal; by default 1e-5."""
    out: Path | None = None
    """File for the plans: NAME.npz."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        if self.iterations is not None and self.until is not None:
            raise ValueError(f"until={self.until}: iterations={self.iterations} is told, too")
        if self.iterations is not None:
            at_least(1, "iterations", self.iterations)
        if self.until is not None and not self.until > 0:
            raise ValueError(f"until={self.until}: must be above 0")
        if self.out and self.out.suffix != ".npz":
            raise ValueError(f"out={self.out}: must end in .npz")
        if self.out and not self.out.parent.is_dir():
            raise ValueError(f"out={self.out}: there is no such folder")


@dataclass(frozen=True)
class Solution:
    """Plans for a small game, as close to an equilibrium as was asked for.

    Attributes:
        game: all of it, each seat a side of its own.
        plan: float64 (S,), how all of them play.
        told: what the JSON line has.
    """

    game: SmallGame
    plan: Floats
    told: dict[str, Any]


def improved(game: SmallGame, iterations: int | None, until: float, progress: NowAndThen) -> Solver:
    """Return a solver that has done so many iterations, or None: come as close as `until`."""
    solver = Solver(game.tree)
    while iterations is None or solver.iterations < iterations:
        step = max(LOOKS, solver.iterations // LOOKS)
        if iterations is not None:
            step = min(step, iterations - solver.iterations)
        solver.improve(step)
        found = exploitability(game.tree, solver.plan)
        progress(f"{game.rules.name}: {solver.iterations:,} iterations, exploitability {found:.2e}")
        if iterations is None and found <= until:
            break
    return solver


def gains_together(
    game: SmallGame, plan: Floats, progress: NowAndThen
) -> list[tuple[float, float]]:
    """Return by seat what all others gain together against it, at least and at most.

    Args:
        game: each seat a side of its own.
        plan: float64 (S,), how all of them play.
        progress: is told how far it is.
    """
    worths, policy = worth(game.tree, plan), policy_of(game.tree, plan)
    found = []
    for seat in range(game.num_players):
        sides = [int(other != seat) for other in range(game.num_players)]
        joined = SmallGame(game.rules, game.num_players, sides, say=progress)
        alone = plan_of(joined.tree, _carried(game, policy, seat, joined))
        most = gains(joined.tree, alone)[1] + worth(joined.tree, alone)[1] + worths[seat]
        found.append((gain_in_turns(game.tree, plan, seat), float(most)))
    return found


def _carried(game: SmallGame, policy: Floats, seat: int, joined: SmallGame) -> Floats:
    """Return a policy for `joined`: side 0 plays as a seat does, the other uniformly."""
    carried = uniform(joined.tree)
    start, end = game.tree.side_sets[seat : seat + 2]
    keys = game.places.keys[start:end]
    order = np.argsort(keys)
    sets = np.arange(joined.tree.side_sets[1])
    theirs = start + order[np.searchsorted(keys[order], joined.places.keys[sets])]
    for number, their in zip(sets, theirs, strict=True):
        count = joined.tree.counts[number]
        first, their_first = joined.tree.firsts[number], game.tree.firsts[their]
        carried[first : first + count] = policy[their_first : their_first + count]
    return carried


class Decision(NamedTuple):
    """What a seat does at an information set: one of all that differ in the names of suits only."""

    seat: int
    hand: int  # the cards that it was dealt, a mask
    before: tuple[str, ...]  # the actions since the deal
    chances: dict[str, float]  # by action; those that it cannot tell apart stand here as one
    reached: float  # how likely it comes here

    @property
    def is_call(self) -> bool:
        """Whether it is one of the auction, the dealer's hold included."""
        return not self.chances.keys().isdisjoint(_OF_AUCTION)


def decisions(solution: Solution) -> Iterator[Decision]:
    """Go through all decisions with a choice."""
    game, plan = solution.game, solution.plan
    tree, places, hands = game.tree, game.places, game.hands()
    policy, reached = policy_of(tree, plan), reach(tree, plan)
    for number, (first, count) in enumerate(zip(tree.firsts, tree.counts, strict=True)):
        start = places.starts[number]
        names = [ACTIONS[action] for action in places.actions[first : first + count]]
        yield Decision(
            seat=int(places.seats[number]),
            hand=int(hands[number]),
            before=tuple(
                ACTIONS[action] for action in places.moves[start : start + places.lengths[number]]
            ),
            chances=dict(zip(names, policy[first : first + count].tolist(), strict=True)),
            reached=float(reached[first : first + count].sum()),
        )


def calls(solution: Solution) -> dict[tuple[str, ...], dict[str, float]]:
    """Return by the calls before how often each call follows, as a share of all deals."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for decision in filter(lambda decision: decision.is_call, decisions(solution)):
        shares = found.setdefault(decision.before, {})
        for name, chance in decision.chances.items():
            shares[name] = shares.get(name, 0.0) + decision.reached * chance
    return dict(sorted(found.items(), key=lambda item: len(item[0])))


def save(path: Path, solution: Solution) -> None:
    """Write plans, see above."""
    tree, places = solution.game.tree, solution.game.places
    policy, reached = policy_of(tree, solution.plan), reach(tree, solution.plan)
    actions = np.repeat(tree.firsts, tree.counts) + _within(tree.counts)
    longest = int(places.lengths.max(initial=0))
    moves = np.full((len(tree.parents), longest), -1, np.int8)
    mask = np.arange(longest) < places.lengths[:, None]
    moves[mask] = places.moves[np.repeat(places.starts, places.lengths) + _within(places.lengths)]
    content = io.BytesIO()
    np.savez_compressed(
        content,
        seat=places.seats.astype(np.int8),
        hand=solution.game.hands(),
        moves=moves,
        first=np.concatenate([[0], np.cumsum(tree.counts)]),
        action=places.actions[actions],
        probability=policy[actions],
        reached=np.add.reduceat(reached[actions], np.cumsum(tree.counts) - tree.counts),
        told=json.dumps(solution.told),
    )
    replace(path, content.getvalue())


def _within(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return 0, 1, .. up to each count, one after the other."""
    ends = np.cumsum(counts)
    within: npt.NDArray[np.int64] = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    return within


def described(solution: Solution) -> str:
    """Return what has been found, for people."""
    told, gained = solution.told, gains(solution.game.tree, solution.plan)
    lines = [
        f"{told['rules']}, {told['players']} players: {told['deals']:,} deals, "
        f"{told['information_sets']:,} information sets",
        f"{told['iterations']:,} iterations, {told['seconds']:.1f} s; exploitability "
        f"{told['exploitability']:.2e} chips a deal, of uniform play "
        f"{told['uniform_exploitability']:.3f}",
        "",
        f"{'seat':<6}{'chips a deal':>14}{'best answer gains':>20}",
    ]
    for seat, (chips, gain) in enumerate(zip(told["values"], gained, strict=True)):
        lines.append(f"{seat:<6}{chips:>+14.6f}{gain:>20.2e}")
    for seat, (least, most) in enumerate(told.get("gains_together", ())):
        lines.append(
            f"all others than seat {seat} together gain {least:.4f}, with open cards {most:.4f}"
        )
    lines.append("")
    for before, shares in calls(solution).items():
        total = sum(shares.values())
        if total > 0:
            cells = "  ".join(f"{name} {share / total:.1%}" for name, share in shares.items())
            lines.append(f"{' '.join(before) or 'first':<16}{total:>7.1%} of deals:  {cells}")
    return "\n".join(lines)


def equilibrium(
    rules: Rules,
    num_players: int,
    *,
    iterations: int | None = None,
    until: float = UNTIL,
) -> Solution:
    """Solve a small game.

    Args:
        rules: the rules.
        num_players: players at the table.
        iterations: how many; None for as many as `until` needs, which may never be with more than
            two players.
        until: exploitability to stop at, in chips a deal.

    Raises:
        ValueError: the game is too large, or a match is more than one deal.
    """
    start, progress = perf_counter(), NowAndThen()
    game = SmallGame(rules, num_players, say=progress)
    solver = improved(game, iterations, until, progress)
    plan = solver.plan
    told: dict[str, Any] = {
        "rules": rules.name,
        "players": num_players,
        "deals": game.size.deals,
        "information_sets": game.size.information_sets,
        "iterations": solver.iterations,
        "exploitability": exploitability(game.tree, plan),
        "uniform_exploitability": exploitability(game.tree, plan_of(game.tree, uniform(game.tree))),
        "values": worth(game.tree, plan).tolist(),
    }
    if num_players > 2:
        told["gains"] = gains(game.tree, plan).tolist()
        told["gains_together"] = gains_together(game, plan, progress)
    told["seconds"] = round(perf_counter() - start, 2)
    return Solution(game, plan, told)


def main(argv: Sequence[str] | None = None, prog: str = "python -m training.equilibrium") -> None:
    """Run the command.

    Raises:
        SystemExit: with status 2 for a wrong command line, 1 for a game that cannot be solved.
    """
    config = tyro.cli(Config, args=argv, prog=prog)
    try:
        rules = resolve(config.rules, config.options)
        players = seated(rules, config.num_players or rules.player_range[0])
        iterations = config.iterations
        if players > 2 and iterations is None:
            if config.until is not None:
                raise ValueError(f"until={config.until}: {players} players may never come so close")
            iterations = ITERATIONS
        solution = equilibrium(rules, players, iterations=iterations, until=config.until or UNTIL)
        if config.out:
            save(config.out, solution)
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    print(described(solution), end="\n\n")
    print(json.dumps({**commit(), "versions": versions(("numpy", "numba")), "machine": machine()}))
    print(json.dumps(solution.told))


if __name__ == "__main__":
    sys.exit(run(main))
