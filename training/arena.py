"""Who can be measured, and a set's plays.

A set is one deal, cards and dealer, played P times: the seat under test goes once round the table
while the cards stay where they lie. However the dealer is found, the tested seat so stands once at
every place from the dealer, the dealer's own included where he sits out. Only the first deal of a
match is played, when all have the same chips. Seats differ in nothing else, so a table of equals
comes out at 0 in every set, not only on average.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import FIRST_BID
from nap_env.agents import Agent, make
from nap_env.agents.network import POLICIES, NetworkAgent
from nap_env.batch import Batch
from nap_env.engine.state import NAME, PLAY
from nap_env.presets import resolve
from nap_env.rules import Rules
from training.checkpoint import load_weights

Rows = npt.NDArray[np.intp]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

CHECKPOINT = ".safetensors"


@dataclass(frozen=True)
class Entrant:
    """Somebody to measure, or to measure against."""

    name: str
    policy: str  # sampled or argmax; an agent by name has one way to play, said to be sampled
    agent: Agent

    def expects(self, games: Batch, rows: Rows) -> Floats | None:
        """Return the chips (n,) that the seats to move expect; None: the agent does not say."""
        if not isinstance(self.agent, NetworkAgent):
            return None
        return self.agent.answer(games, rows)[1].astype(np.float64)


def enter(
    names: Sequence[str],
    rules: str | Rules | None = None,
    options: Mapping[str, Any] | None = None,
    num_players: int | None = None,
) -> tuple[Rules, int, list[list[Entrant]]]:
    """Set up all who are to play each other, and settle what they play.

    Args:
        names: agents by name, and paths of checkpoints, which end in .safetensors.
        rules: rules or their name; None for those of the checkpoints, or `standard`.
        options: rule options that differ from them.
        num_players: None for that of the checkpoints, or 4.

    Returns:
        The rules, the number of players, and the entrants of each name: a checkpoint's policy both
        sampled and as its argmax, neither preferred; an agent by name as it is.

    Raises:
        ValueError: there is no such agent or checkpoint, or it cannot play this.
    """
    networks = {}
    for name in names:
        if name.endswith(CHECKPOINT):
            networks[name] = load_weights(Path(name))
    chosen = resolve(rules or "standard", options) if rules or options else None
    for name, (_, training) in networks.items():
        try:
            chosen, num_players = training.table(chosen, num_players)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    chosen, num_players = chosen or resolve("standard"), num_players or 4
    chosen.check_players(num_players)
    entrants = []
    for name in names:
        if name in networks:
            weights, training = networks[name]
            try:
                entrants.append(
                    [
                        Entrant(
                            name,
                            policy,
                            NetworkAgent(weights, training, policy, chosen, num_players),
                        )
                        for policy in POLICIES
                    ]
                )
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        else:
            entrants.append([Entrant(name, "sampled", make(name, chosen, num_players))])
    return chosen, num_players, entrants


@dataclass(frozen=True)
class Plays:
    """The first deal of each of N games, played once."""

    declarer: Ints  # (N,) seat, -1: nobody has bid
    contract: Ints  # (N,) bid number
    made: Bools  # (N,) whether the settlement favoured the declarer
    payments: Ints  # (N, P) what each seat's chips changed
    bids: Floats  # (2, n) chips that the tested agent expected where it bid, and what it got

    @property
    def chips(self) -> Floats:
        """Chips (N, P) with an equal share of the pool's change: those of a deal sum to 0."""
        chips: Floats = self.payments - self.payments.mean(1, keepdims=True)
        return chips


def play(
    games: Batch,
    seed: int,
    tested: Bools,
    agent: Entrant,
    other: Entrant,
    *,
    stand_in: Agent | None = None,
) -> Plays:
    """Play the first deal of each game from `seed`; cards and dealer depend on the seed alone.

    Moves with one legal action are played without asking.

    Args:
        games: N games, without `skip_forced`; restarted.
        seed: of the deals, and of the games' own streams, from which agents may draw.
        tested: (P,) the seats of `agent`; `other` plays the rest.
        agent: the one under test.
        other: the one it is measured against.
        stand_in: plays everybody's cards once the auction is over.

    Raises:
        ValueError: `tested` is something else.
        RuntimeError: chips were lost or made.
    """
    if tested.dtype != np.bool_ or tested.shape != (games.num_players,):
        raise ValueError(f"tested: {tested!r}: a truth value for each of the seats is needed")
    games.reset(seed)
    size, players = games.num_games, games.num_players
    declarer, contract = np.full(size, -1), np.full(size, -1)
    payments = np.zeros((size, players), np.int64)
    paid = np.zeros((size, players), np.int64)  # before the last step of the deal
    stated: list[tuple[Rows, Ints, Floats]] = []  # games, seats, chips expected
    playing = np.ones(size, np.bool_)
    while playing.any():
        declarer[playing] = games.games["declarer"][playing]
        contract[playing] = games.games["contract"][playing]
        paid[playing] = games.games["payments"][playing, :players]
        actions = games.sample()  # (N,) for forced moves, and games that are through
        decides = playing & (games.action_mask.sum(1) > 1)
        if stand_in:
            rows = np.flatnonzero(decides & np.isin(games.games["phase"], (NAME, PLAY)))
            actions[rows] = stand_in(games, rows)
            decides[rows] = False
        of_agent = tested[games.seat]
        for entrant, turn in ((agent, of_agent), (other, ~of_agent)):
            rows = np.flatnonzero(decides & turn)
            if rows.size:
                actions[rows] = entrant.agent(games, rows)
        rows = np.flatnonzero(decides & of_agent & (actions >= FIRST_BID))
        expected = agent.expects(games, rows)
        if expected is not None:
            stated.append((rows, games.seat[rows].astype(np.int64), expected))
        games.step(actions)
        ended = playing & games.done
        payments[ended] = games.payments[ended]
        in_pool = np.where(games.match_done, 0, games.games["first_pool"])  # else shared out
        if (payments.sum(1) + in_pool)[ended].any():
            raise RuntimeError("payments of a deal and its pool do not sum to 0: chips were lost")
        playing &= ~ended
    settled = payments - paid  # (N, P)
    favoured = settled[np.arange(size), declarer] > settled.mean(1)
    told = [(chips, payments[rows, seats]) for rows, seats, chips in stated]
    return Plays(
        declarer=declarer,
        contract=contract,
        made=favoured & (declarer >= 0),
        payments=payments,
        bids=np.concatenate([np.zeros((2, 0)), *map(np.stack, told)], axis=1),
    )
