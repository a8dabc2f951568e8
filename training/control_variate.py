"""A control variate: what is luck in a set, foretold without playing it.

Most of the luck in a set lies in the contracts that its auctions end in, and in whether the cards
let them be made. So each set is rehearsed: the agents hold the auctions, then `heuristic` plays
everybody's cards, and the double-dummy solver says which contracts can be made with open cards.
That gives six numbers, chips of the tested seats on average over the plays:

    by open cards, at the bids' prices: from contracts of their own that can be made, from those
    that cannot, from contracts of the others that can be made, from those that cannot;
    in the rehearsal: from contracts of their own, from contracts of the others.

Their expectation is estimated on many further sets that are only rehearsed. What a set's numbers
are above it, times coefficients, is taken off the set's result. The coefficients come from the
other half of the sets each time, so the estimate is unbiased, whatever they are and however badly
the rehearsal foretells the play. It saves many sets where agents differ in what they bid, few where
they differ only in how they play.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from nap_env.agents import make
from nap_env.batch import Batch
from nap_env.rules import Rules, rules_table
from nap_env.solver import Solver
from training.arena import Bools, Floats, Plays

NUMBERS = 6
MOST_CARDS = 25
"""In play: up to so many a deal is solved in 0.2 ms, with 35 in 10 ms, with 49 in a second."""

FEWEST_SETS = 20
"""Below, the coefficients of half of the sets are noise."""


def reason_against(rules: Rules, num_players: int, sets: int) -> str | None:
    """Return why there is no control variate for so many sets of these rules; None: there is."""
    if rules.exchanges:
        return "cards are exchanged: the hands dealt are not those that are played"
    cards = rules.hands(num_players) * rules.num_tricks
    if cards > MOST_CARDS:
        return f"{cards} cards in play take too long to solve, {MOST_CARDS} at most do not"
    if sets < FEWEST_SETS:
        return f"{sets} sets are too few, {FEWEST_SETS} are needed"
    return None


class ControlVariate:
    """Foretells the deals of a batch: solved once, looked up for each rehearsal."""

    def __init__(self, rules: Rules, num_players: int) -> None:
        """Set up the solver, and who plays in a rehearsal."""
        self.stand_in = make("heuristic", rules, num_players)
        self._solver = Solver()
        table = rules_table(rules, num_players)[0]
        self._win, self._lose = table["win"], table["lose"]  # chips, by bid number

    def solve(self, games: Batch) -> None:
        """Take up the deals of N games that have just begun.

        What the solver's node cap leaves open counts as not to be made.
        """
        deals = self._solver.solve_deals(games.games, games.rules, games.num_players)
        self._can_make: Bools = deals["bid_made"] == 1  # (N, seats, bids)

    def numbers(self, rehearsal: Plays, tested: Bools) -> Floats:
        """Return the six numbers (N, 6) of a rehearsal of each of these deals.

        Args:
            rehearsal: played with `stand_in`.
            tested: (P,) the seats of the agent under test.
        """
        rows = np.flatnonzero(rehearsal.declarer >= 0)
        declarer, contract = rehearsal.declarer[rows], rehearsal.contract[rows]
        can_make = self._can_make[rows, declarer, contract]
        price = np.where(can_make, self._win[contract], -self._lose[contract])
        own = tested[declarer]
        # The declarer gets the price from each of the others; this is what a tested seat gets.
        share = own * len(tested) / tested.sum() - 1
        numbers = np.zeros((len(rehearsal.declarer), NUMBERS))
        numbers[rows, 2 * ~own + ~can_make] = share * price
        numbers[rows, 4 + ~own] = rehearsal.chips[rows][:, tested].mean(1)
        return numbers


@dataclass
class Moments:
    """Mean and covariance of the six numbers, over sets that come in blocks."""

    count: int = 0
    total: Floats = field(default_factory=lambda: np.zeros(NUMBERS))
    squares: Floats = field(default_factory=lambda: np.zeros((NUMBERS, NUMBERS)))

    def add(self, numbers: Floats) -> None:
        """Count further sets, (N, 6)."""
        self.count += len(numbers)
        self.total += numbers.sum(0)
        self.squares += numbers.T @ numbers

    @property
    def mean(self) -> Floats:
        """The mean (6,)."""
        return self.total / self.count

    @property
    def covariance(self) -> Floats:
        """The covariance (6, 6)."""
        mean = self.mean
        covariance: Floats = (self.squares / self.count - np.outer(mean, mean)) * (
            self.count / (self.count - 1)
        )
        return covariance


def estimate(
    chips: Floats, numbers: Floats, further: Moments
) -> tuple[float, tuple[float, float], float | None]:
    """Return what the control variate makes of N sets.

    Args:
        chips: (N,) of the tested seats, by set.
        numbers: (N, 6) of the same sets.
        further: of sets that were only rehearsed.

    Returns:
        The mean of `chips`, its 95 % t interval, and how many times as many sets the plain mean
        would need for an interval of this width (None: the width is 0).
    """
    size = len(chips)
    half = np.arange(size) % 2
    above = numbers - further.mean
    # The mean of the further sets errs too, which makes smaller coefficients better.
    trust = further.count / (further.count + size)
    taken_off = np.zeros(size)
    coefficients = np.zeros(NUMBERS)  # mean over the sets
    for mine in (0, 1):
        others, own = half != mine, half == mine
        design = np.column_stack([np.ones(others.sum()), above[others]])
        fitted = trust * np.linalg.lstsq(design, chips[others], rcond=None)[0][1:]
        taken_off[own] = above[own] @ fitted
        coefficients += own.mean() * fitted
    left = chips - taken_off
    variance = float(
        left.var(ddof=1) / size + coefficients @ further.covariance @ coefficients / further.count
    )
    mean, reach = float(left.mean()), float(np.sqrt(variance) * stats.t.ppf(0.975, size - 1))
    sets_ratio = float(chips.var(ddof=1)) / size / variance if variance > 0 else None
    return mean, (mean - reach, mean + reach), sets_ratio
