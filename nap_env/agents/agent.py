"""What a player is to those who ask it, and what those built here have in common."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from nap_env.games import Games, checked_rows
from nap_env.rules import Rules, integers, rules_table, same_deals, seated

Ints = npt.NDArray[np.int64]
Policy = Callable[[npt.NDArray[np.int8], npt.NDArray[np.int8]], Any]
"""Observations int8 (n, K) and action masks int8 (n, 78) -> n actions."""


class Agent(Protocol):
    """A player, asked for the games where its seat is to move."""

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Choose an action in each of some games.

        Args:
            games: a `Games` or a `Batch`. It may ask them what the seats to move see (`observe`),
                read in their records what these seats may know, and draw from the records' own
                random streams.
            rows: integers (n,), numbers of the games to answer for.

        Returns:
            Legal actions, int64 (n,).
        """
        ...


class FromPolicy:
    """An agent that asks a function of observations and action masks."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Choose an action in each of some games, see `Agent`."""
        rows = checked_question(games, rows)
        return checked_answers(self.policy, self.policy(*games.observe(rows)), len(rows))


def from_policy(policy: Policy) -> FromPolicy:
    """Make an agent of a function.

    Args:
        policy: gets observations int8 (n, K) and action masks int8 (n, 78) of n games, as the seats
            to move see them, and returns n actions. The agent can be pickled if it is a function
            of a module.
    """
    if not callable(policy):
        raise ValueError(f"policy={policy!r}: a function (observations, masks) -> actions")
    return FromPolicy(policy)


def checked_question(games: Any, rows: Any) -> Ints:
    """Return the rows of some games that an agent is asked about, int64 (n,).

    Raises:
        ValueError: they are no games, or not numbers of games where a seat is to move.
    """
    if not isinstance(games, Games):
        raise ValueError(f"games: {type(games).__name__}, a Games or a Batch is needed")
    numbers = checked_rows(rows, games.num_games)
    legal = games.games["legal"][numbers] | games.games["legal_bids"][numbers]
    for over in numbers[legal == 0]:
        raise ValueError(f"rows: nobody is to move in game {over}")
    return numbers


def checked_answers(player: Any, answers: Any, count: int) -> Ints:
    """Return what a player has answered as int64 (count,).

    Raises:
        ValueError: something else; names the player.
    """
    try:
        return integers(f"player {player!r} answered", answers, (count,))
    except ValueError as error:
        raise ValueError(
            f"{error}; a player is called with (games, rows), and agents.from_policy makes one of "
            "a function of (observations, masks)"
        ) from None


class SeatedAgent:
    """An agent set up for tables of one kind; it refuses the games of others.

    Attributes:
        rules: what it plays,
        num_players: and with how many.
    """

    def __init__(self, rules: Rules, num_players: int) -> None:
        """Sit down.

        Raises:
            ValueError: the rules cannot seat so many players.
        """
        self.rules, self.num_players = rules, seated(rules, num_players)
        self._table = rules_table(rules, num_players)

    def __call__(self, games: Games, rows: npt.NDArray[np.intp]) -> Ints:
        """Choose an action in each of some games, see `Agent`.

        Raises:
            ValueError: games of another table, or rows that are no games.
        """
        rows = self._checked(games, rows)
        actions = np.empty(len(rows), np.int64)
        self._choose(games.games, rows, actions)
        return actions

    def _checked(self, games: Games, rows: Any) -> Ints:
        """Return the rows, if it plays such games."""
        numbers = checked_question(games, rows)
        if games.num_players != self.num_players or not self._plays(games.rules):
            raise ValueError(
                f"an agent set up for {_table(self.rules, self.num_players)} was asked about games "
                f"of {_table(games.rules, games.num_players)}"
            )
        return numbers

    def _plays(self, rules: Rules) -> bool:
        """Return whether it plays these rules: a match may have any length."""
        return rules is self.rules or same_deals(rules, self.rules)

    def _choose(self, games: npt.NDArray[np.void], rows: Ints, actions: Ints) -> None:
        """Write an action for each of the rows."""
        raise NotImplementedError


def _table(rules: Rules, num_players: int) -> str:
    changes = f" with {rules.options}" if rules.options else ""
    return f"{rules.name}{changes}, {num_players} players"
