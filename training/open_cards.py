"""The control variate: what the contracts reached would have paid with open cards.

Most of the luck in a set lies in whether the contracts that its auctions ended in can be made. The
double-dummy solver knows that from the cards. So each set gets four numbers: the chips that its
tested seats would have got, on average over its plays,

    from contracts of their own that can be made, from contracts of their own that cannot,
    from the others' contracts that can be made, from the others' contracts that cannot,

at the bids' prices. Their expectation is estimated on many further deals on which only the auctions
are held and nothing is played; what a set's numbers are above it, times coefficients, is taken off
the set's result. The coefficients come from the other half of the sets each time, so that the
estimate stays unbiased, whatever they are and however well open cards foretell the play.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from nap_env.batch import Batch
from nap_env.rules import Rules, rules_table
from nap_env.solver import Solver
from training.arena import Bools, Floats, Plays

FEATURES = 4
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


class OpenCards:
    """Which contracts can be made in the deals of a batch: solved once, looked up for each play."""

    def __init__(self, rules: Rules, num_players: int) -> None:
        """Allocate the solver."""
        self._solver = Solver()
        table = rules_table(rules, num_players)[0]
        self._win, self._lose = table["win"], table["lose"]  # chips, by bid number

    def solve(self, games: Batch) -> None:
        """Take up the deals of N games that have just begun.

        What the solver's node cap leaves open counts as not to be made.
        """
        deals = self._solver.solve_deals(games.games, games.rules, games.num_players)
        self._can_make: Bools = deals["bid_made"] == 1  # (N, seats, bids)

    def features(self, plays: Plays, tested: Bools) -> Floats:
        """Return the four numbers of a play of each of these deals: (N, 4)."""
        rows = np.flatnonzero(plays.declarer >= 0)
        declarer, contract = plays.declarer[rows], plays.contract[rows]
        can_make = self._can_make[rows, declarer, contract]
        price = np.where(can_make, self._win[contract], -self._lose[contract])
        own = tested[declarer]
        # The declarer gets the price from each of the others; this is what a tested seat gets.
        share = own * len(tested) / tested.sum() - 1
        features = np.zeros((len(plays.declarer), FEATURES))
        features[rows, 2 * ~own + ~can_make] = share * price
        return features


@dataclass
class Moments:
    """Mean and covariance of the four numbers, over sets that come in blocks."""

    count: int = 0
    total: Floats = field(default_factory=lambda: np.zeros(FEATURES))
    squares: Floats = field(default_factory=lambda: np.zeros((FEATURES, FEATURES)))

    def add(self, features: Floats) -> None:
        """Count further sets, (N, 4)."""
        self.count += len(features)
        self.total += features.sum(0)
        self.squares += features.T @ features

    @property
    def mean(self) -> Floats:
        """The mean (4,)."""
        return self.total / self.count

    @property
    def covariance(self) -> Floats:
        """The covariance (4, 4)."""
        mean = self.mean
        covariance: Floats = (self.squares / self.count - np.outer(mean, mean)) * (
            self.count / (self.count - 1)
        )
        return covariance


def estimate(
    chips: Floats, features: Floats, further: Moments
) -> tuple[float, tuple[float, float], float | None]:
    """Return what the control variate makes of N sets.

    Args:
        chips: (N,) of the tested seats, by set.
        features: (N, 4) of the same sets.
        further: of sets of which only the auctions were held.

    Returns:
        The mean of `chips`, its 95 % t interval, and how many times as many sets the plain mean
        would need for an interval of this width (None: the width is 0).
    """
    size = len(chips)
    half = np.arange(size) % 2
    above = features - further.mean
    # The mean of the further sets errs too, which makes smaller coefficients better.
    trust = further.count / (further.count + size)
    taken_off = np.zeros(size)
    coefficients = np.zeros(FEATURES)  # mean over the sets
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
