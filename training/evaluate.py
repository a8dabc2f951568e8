"""How strong a network is: `python -m training.evaluate runs/.../last.safetensors`.

A set is one deal played P times, the tested seat going round the table (the dealer, who is drawn
with the cards, stays; so over the sets every seat is tested at every place from the dealer).

    1-vs-rest   the network plays one seat, the other agent all the others
    rest-vs-1   the other agent plays one seat, the network all the others; mean over its seats

The interval is a t interval over sets: seats and plays of one deal depend on each other. Chips
are per deal and seat; in rules with a pool an equal share of the pool's change counts too, so that
a table of equals comes out at 0. Deals come from odd seeds, those of training from even ones.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import tyro
from scipy import stats  # type: ignore[import-untyped]

from nap_env.agents import Agent, make
from nap_env.agents.network import NetworkAgent
from nap_env.batch import Batch
from training.checkpoint import load_weights
from training.config import Players, at_least


@dataclass(frozen=True)
class Config:
    """Measure a trained network against simple agents."""

    checkpoint: tyro.conf.Positional[Path]
    """Weights that training wrote: last.safetensors."""
    against: tuple[str, ...] = ("random", "passer")
    """Agents to measure it against."""
    num_players: Annotated[int | None, Players] = None
    """Number of players; by default, and at present only, that of the checkpoint."""
    sets: int = 5000
    """Deals to measure on, each played once from every seat."""
    seed: int = 0
    """Of the deals and of the agents' choices, 0 to 2**31 - 1."""

    def __post_init__(self) -> None:
        """Refuse values that cannot be meant."""
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed={self.seed}: must be from 0 to 2**31 - 1")
        at_least(2, "sets", self.sets)  # an interval needs two


def opponents(against: Sequence[str], games: Batch) -> list[Agent]:
    """Return agents by name, set up for these games.

    Raises:
        ValueError: there is no such agent, or it cannot play these rules.
    """
    try:
        return [make(name, games.rules, games.num_players) for name in against]
    except ValueError as error:
        raise ValueError(f"against: {error}") from None


def play_deals(
    games: Batch, seed: int, seat: int, one: Agent, rest: Agent
) -> npt.NDArray[np.int32]:
    """Play the first deal of each of N games from `seed`, `one` in `seat`, `rest` elsewhere.

    The cards and the dealer depend on the seed alone.

    Returns:
        (N, P) what each seat's chips changed.
    """
    games.reset(seed)
    payments = np.zeros((games.num_games, games.num_players), np.int32)
    playing = np.ones(games.num_games, np.bool_)
    while playing.any():
        actions = games.sample()  # (N,) for games that are through
        for agent, turn in ((one, games.seat == seat), (rest, games.seat != seat)):
            rows = np.flatnonzero(playing & turn)
            if rows.size:
                actions[rows] = agent(games, rows)
        games.step(actions)
        ended = playing & games.done
        payments[ended] = games.payments[ended]
        playing &= ~ended
    if not games.rules.has_pool and payments.sum(1).any():
        raise RuntimeError("payments of a deal do not sum to 0: chips were lost or made")
    return payments


def compare(games: Batch, seed: int, agent: Agent, other: Agent, format: str) -> dict[str, Any]:
    """Play one set in each game and return the agent's chips per 100 deals with its interval."""
    chips = np.zeros(games.num_games)  # (N,) of the tested seats, mean over the plays of a set
    for seat in range(games.num_players):
        one, rest = (agent, other) if format == "1-vs-rest" else (other, agent)
        payments = play_deals(games, seed, seat, one, rest)
        shares = payments - payments.mean(1, keepdims=True)  # (N, P), the pool's change shared out
        tested = shares[:, seat] if format == "1-vs-rest" else np.delete(shares, seat, 1).mean(1)
        chips += tested / games.num_players
    mean = 100 * float(chips.mean())
    half = 100 * float(stats.sem(chips) * stats.t.ppf(0.975, len(chips) - 1))
    return {
        "chips_per_100": round(mean, 2),
        "ci95": [round(mean - half, 2), round(mean + half, 2)],
        "sets": len(chips),
    }


def evaluate(
    checkpoint: Path, against: Sequence[str], sets: int, seed: int, num_players: int | None = None
) -> list[dict[str, Any]]:
    """Return a row for each agent, format and policy: sampled and argmax, neither preferred.

    Args:
        checkpoint: weights with what they play.
        against: names of agents.
        sets: deals, each played from every seat, the same ones for every row.
        seed: of the deals and of the agents' choices.
        num_players: refused if it is not the checkpoint's.

    Raises:
        ValueError: the checkpoint is not ours, or does not fit today's observations.
    """
    weights, player = load_weights(checkpoint)
    if num_players not in (None, player.num_players):
        raise ValueError(f"players={num_players}: {checkpoint} plays with {player.num_players}")
    games = Batch(
        rules=player.rules,
        options=player.options,
        num_players=player.num_players,
        num_games=sets,
        skip_forced=True,
    )
    formats = ("1-vs-rest", "rest-vs-1") if player.num_players > 2 else ("1-vs-rest",)
    deal_seed = 2 * seed + 1  # odd: no deal that training sees
    return [
        {
            "agent": str(checkpoint),
            "against": name,
            "format": format,
            "policy": policy,
            "rules": player.rules,
            "num_players": player.num_players,
        }
        | compare(
            games,
            deal_seed,
            NetworkAgent(weights, player, policy),
            other,
            format,
        )
        for name, other in zip(against, opponents(against, games), strict=True)
        for format in formats
        for policy in ("sampled", "argmax")
    ]


def report(results: list[dict[str, Any]], **more: Any) -> None:
    """Print a table for people, then one line of JSON."""
    print(f"{'against':<10}{'format':<11}{'policy':<9}{'chips per 100 deals':>20}  95 % interval")
    for row in results:
        low, high = row["ci95"]
        print(
            f"{row['against']:<10}{row['format']:<11}{row['policy']:<9}"
            f"{row['chips_per_100']:>+20.1f}  {low:+.1f} to {high:+.1f}"
        )
    print(json.dumps({"results": results, **more}))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command.

    Raises:
        SystemExit: with status 2 for a wrong command line, 1 for a checkpoint that cannot be used.
    """
    config = tyro.cli(Config, args=argv, prog="python -m training.evaluate")
    try:
        results = evaluate(
            config.checkpoint, config.against, config.sets, config.seed, config.num_players
        )
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    report(results)


if __name__ == "__main__":
    main()
