"""What happened in the deals that a network has played."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nap_env.actions import BIDS, FIRST_BID, NUM_BIDS
from nap_env.agents.network import chips_per_reward
from nap_env.rules import Rules, rules_table
from training.rollout import IN_AUCTION, Players, Rollout
from training.team import Team


@dataclass(frozen=True)
class Deals:
    """One deal of each game of a worker at one kind of table."""

    players: Players
    rollout: Rollout

    def contracts(self, bids: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return what became of each bid as the contract, (bids, 5).

        The columns: deals, those made, chips of the declarers; of declarers whose expectation is
        known, how many there are and what they expected.
        """
        chips = self.rollout.payments
        games = self.players.games[: len(chips)]
        expected = self._expected()
        sums = np.zeros((len(bids), 5))
        for k, bid in enumerate(bids):
            deals = np.flatnonzero((games["contract"] == bid) & (games["declarer"] >= 0))
            declarer = games["declarer"][deals]
            won, told = chips[deals, declarer], expected[deals, declarer]
            known = ~np.isnan(told)
            made = games["made"][deals] == 1
            sums[k] = len(deals), made.sum(), won.sum(), known.sum(), told[known].sum()
        return sums

    def _expected(self) -> npt.NDArray[np.float64]:
        """Return the chips (N, P) that each seat expected where it last bid, NaN if it did not."""
        rollout, num_players = self.rollout, self.players.num_players
        rows = rollout.rows
        decisions = rollout.decisions
        action = decisions.actions[decisions.action_starts[:-1] + rows["chosen"]]
        bids = (rows["role"] == IN_AUCTION) & (action >= FIRST_BID)
        bids &= rows["chain"] < rollout.payments.size  # not of branches
        chips = np.full(rollout.payments.size, np.nan)
        chips[rows["chain"][bids]] = rows["value"][bids] * chips_per_reward(num_players)
        return chips.reshape(-1, num_players)

    def totals(self) -> npt.NDArray[np.float64]:
        """Return deals, chips moved, seats among opponents, and what those won."""
        chips, sits = self.rollout.payments, self.players.sits
        mine = (sits == 0) & sits.any(1, keepdims=True)
        return np.array([len(chips), np.abs(chips).sum() / 2, mine.sum(), chips[mine].sum()])


def describe(
    team: Team, tables: Sequence[tuple[Rules, int]], deals: Sequence[Sequence[Deals]]
) -> dict[str, float]:
    """Return what to log of the deals of all workers.

    Args:
        team: the processes that train together; each has deals of its own.
        tables: rules and numbers of players.
        deals: for each worker of this process, its deals at each table.
    """
    metrics: dict[str, float] = {}
    among_opponents = np.zeros(2)
    for number, (rules, num_players) in enumerate(tables):
        table = rules_table(rules, num_players)[0]
        bids = [bid for bid in range(NUM_BIDS) if table["tricks"][bid] or table["win"][bid]]
        names = [BIDS[bid] for bid in bids]
        here = [of_worker[number] for of_worker in deals]
        sums = team.add(np.sum([each.contracts(bids) for each in here], 0))
        totals = team.add(np.sum([each.totals() for each in here], 0))
        among_opponents += totals[2:]
        group = "nap" if len(tables) == 1 else f"{rules.name}-{num_players}"
        metrics[f"{group}/turnover"] = totals[1] / totals[0]
        metrics[f"{group}/passed_out"] = 1 - sums[:, 0].sum() / totals[0]
        for name, (count, made, won, known, told) in zip(names, sums, strict=True):
            metrics[f"{group}/bid_{name}"] = count / totals[0]
            if count:
                metrics[f"{group}/made_{name}"] = made / count
                metrics[f"{group}/chips_{name}"] = won / count
            if known:
                metrics[f"{group}/expected_{name}"] = told / known
    if among_opponents[0]:
        metrics["opponents/chips_per_100"] = 100 * among_opponents[1] / among_opponents[0]
    return metrics
