"""`Games`: some games at tables of one kind, as agents are asked about them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS
from nap_env.engine.kernel import kernel, prefetch
from nap_env.engine.state import checked_games
from nap_env.engine.step import random_action
from nap_env.game import Cloneable, Game, checked_seats, determinize_games, future_keys
from nap_env.observation import layout
from nap_env.presets import resolve
from nap_env.rules import Rules, as_array, is_whole, rules_table, seated
from nap_env.sight import MASK_BYTES, show
from nap_env.words import names_arguments

_AHEAD = 16  # draws, of which each takes a tenth of the time of a step


@kernel
def _sample(games, rows, actions):
    """Draw an action in each row; return the first place whose game has none to draw, or -1."""
    for k in range(len(rows)):
        if k + _AHEAD < len(rows):
            prefetch(games, rows[k + _AHEAD], 0)  # all that a draw needs
        g = games[rows[k]]
        if g["legal"] == 0 and g["legal_bids"] == 0:
            return k
        actions[k] = random_action(g)
    return -1


@kernel
def _show(games, table, views, rows, dense, dense_mask):
    for k in range(len(rows)):
        g = games[rows[k]]
        show(g, table[0], g["seat"], views[0], dense, dense_mask, k)


def checked_rows(rows: Any, num_games: int) -> npt.NDArray[np.int64]:
    """Return numbers of games, int64 (n,), from integers (n,) or a boolean mask (num_games,).

    Raises:
        ValueError: something else, or a number that is no game.
    """
    rows = as_array(rows)
    if rows.dtype == np.bool_ and rows.shape == (num_games,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"rows: {rows.dtype} {rows.shape}, integers (n,) or a boolean mask ({num_games},) are "
            "needed"
        )
    if rows.size and not 0 <= rows.min() <= rows.max() < num_games:
        wrong = rows[(rows < 0) | (rows >= num_games)][0]
        raise ValueError(f"rows: {wrong} among them, games are 0 to {num_games - 1}")
    return np.ascontiguousarray(rows, np.int64)


class Games(Cloneable):
    """N independent games of the same rules and players.

    Attributes:
        rules: the rules.
        num_players: P, players at each table.
        num_games: N.
        games: GAME (N,), the engine's records.
        layout: where the fields of an observation stand.
    """

    @names_arguments
    def __init__(
        self,
        rules: str | Rules,
        num_players: int,
        games: npt.NDArray[np.void],
        observation_layout: str = "fixed",
    ) -> None:
        """Look at games.

        Args:
            rules: their rules, or a preset's name.
            num_players: players at their tables.
            games: GAME (N,), not copied.
            observation_layout: `fixed` for these rules and players, or `full`, one for all.

        Raises:
            ValueError: rules that cannot seat so many players, or records of something else.
        """
        self.rules = resolve(rules)
        self.num_players = seated(self.rules, num_players)
        self._table = rules_table(self.rules, self.num_players)
        self.games = checked_games(games, self._table)
        self.num_games = len(games)
        self.observation_layout = observation_layout
        self.layout = layout(self.rules, self.num_players, observation_layout)
        self._views = self.layout.new_view()
        self._every_row = np.arange(self.num_games)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse another array in the place of one that compiled code looks at."""
        if not name.startswith("_") and isinstance(self.__dict__.get(name), np.ndarray):
            raise AttributeError(f"{name}: cannot be replaced; write into it: {name}[:] = ...")
        object.__setattr__(self, name, value)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.rules, self.num_players, self.games, self.observation_layout)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        Games.__init__(self, *state)

    @property
    def seat(self) -> npt.NDArray[np.int8]:
        """The seats to move, int8 (N,)."""
        return self.games["seat"].astype(np.int8)

    def observe(self, rows: Any = None) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        """Return what the seats to move see, and what they may do.

        Args:
            rows: integers (n,), the games meant, or a boolean mask (N,); None for all N.

        Returns:
            Observations int8 (n, K) and action masks int8 (n, 78), new arrays.

        Raises:
            ValueError: a row that is no game.
        """
        rows = self._every_row if rows is None else checked_rows(rows, self.num_games)
        dense = np.empty((len(rows), self.layout.size // 8), np.uint64)
        dense_mask = np.empty((len(rows), MASK_BYTES), np.uint64)
        _show(self.games, self._table, self._views, rows, dense, dense_mask)
        return dense.view(np.int8), dense_mask.view(np.int8)[:, :NUM_ACTIONS]

    def sample(self, rows: Any = None) -> npt.NDArray[np.int64]:
        """Return a uniformly random legal action for each game, from its own stream.

        Args:
            rows: integers (n,), the games to answer for, or a boolean mask (N,); None for all N.
                The streams of other games stay where they are.

        Returns:
            int64 (n,).

        Raises:
            ValueError: a row that is no game, or a game that is over.
        """
        rows = self._every_row if rows is None else checked_rows(rows, self.num_games)
        actions = np.empty(len(rows), np.int64)
        over = _sample(self.games, rows, actions)
        if over >= 0:
            raise ValueError(f"rows: nobody is to move in game {rows[over]}")
        return actions

    def game(self, index: int) -> Game:
        """Return a copy of game `index`.

        Raises:
            IndexError: there is no such game.
        """
        if not is_whole(index) or not 0 <= index < self.num_games:
            raise IndexError(f"index={index!r}: games are 0 to {self.num_games - 1}")
        return Game.of(self.rules, self.num_players, self.games[index : index + 1])

    def record(self, index: int) -> dict[str, Any]:
        """Return the deal that game `index` is playing, so far, as a record.

        Raises:
            IndexError: there is no such game.
        """
        return self.game(index).record()

    def reseed(self, seed: int | None) -> None:
        """Give all that is still random another future, see `Cloneable.reseed`."""
        self.games["key"] = future_keys(seed, self.num_games)

    def determinize(self, seat: Any, seed: int | None = None) -> None:
        """Deal anew, within these games, all that a seat cannot see, as `Game.determinize` does.

        Args:
            seat: the seat, or integers (N,), one for each game.
            seed: of the cards and the future; None takes fresh entropy.

        Raises:
            ValueError: there is no such seat, or a seed that is not a whole number from 0 on.
        """
        seats = checked_seats(seat, self.num_games, self.num_players)
        keys = future_keys(seed, self.num_games)
        determinize_games(self.games, self._table, seats, keys)
