"""`Batch`: N games stepped by one call, the fast way in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from nap_env.actions import FIRST_BID, NUM_ACTIONS, IllegalActionError
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import reward_of
from nap_env.engine.state import OVER, new_games, seed_game
from nap_env.engine.step import new_match, next_deal, only_action, random_action, step
from nap_env.game import Game, hash_seed
from nap_env.observation import VIEW, layout, observe
from nap_env.presets import resolve
from nap_env.rules import Rules, is_whole, rules_table

OBSERVE = ("dense", "packed", "none")
_DENSE, _PACKED, _NONE = range(len(OBSERVE))

_MASK_WORDS = -(-NUM_ACTIONS // 64)
MASK_BYTES = -(-NUM_ACTIONS // 8)
_U = np.uint64

# By value of a byte: the eight bytes that its bits unpack to, lowest bit first.
_UNPACKED = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(
    np.uint64
)[:, 0]


def _store_in_python(rows, row, word, bits):
    """Do what `_store_compiled` does, byte by byte."""
    for byte in range(8):
        rows[row, word + byte] = _UNPACKED[(bits >> (8 * byte)) & 255]


@intrinsic
def _store_compiled(_context, rows, row, word, bits):
    """Write 64 bits as 64 bytes, 0 or 1, at words `word` to `word + 7` of a row, in one store.

    LLVM has an instruction for it; a loop over bytes takes twice as long.
    """

    def generate(context, builder, signature, arguments):
        array = context.make_array(rows)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, rows, array, arguments[1:3])
        bools = builder.bitcast(arguments[3], ir.VectorType(ir.IntType(1), 64))
        chars = ir.VectorType(ir.IntType(8), 64)
        store = builder.store(
            builder.zext(bools, chars), builder.bitcast(place, chars.as_pointer())
        )
        store.align = 8
        return context.get_dummy_value()

    return types.void(rows, row, word, bits), generate


_jit_is_off = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
store_bits: Any = _store_in_python if _jit_is_off else _store_compiled


@kernel
def write_dense(g, view, num_planes, dense, dense_mask, row):
    """Write a view and the legal actions as a row of dense observations and masks.

    Args:
        g: the game, for what is legal.
        view: a record of dtype VIEW, of the seat to move.
        num_planes: of the layout.
        dense: uint64 (N, K / 8), the bytes of the observations.
        dense_mask: uint64 (N, MASK_BYTES), the bytes of the masks.
        row: which of N.
    """
    for plane in range(num_planes):
        store_bits(dense, row, 8 * plane, view["planes"][plane])
    place = 8 * num_planes
    for word in range(dense.shape[1] - place):
        dense[row, place + word] = view["scalars"][word]
    write_mask(g, dense_mask, row)


@kernel
def write_mask(g, dense_mask, row):
    """Write the legal actions as a row of dense masks, uint64 (N, MASK_BYTES)."""
    store_bits(dense_mask, row, 0, g["legal"] | (g["legal_bids"] << FIRST_BID))
    high = g["legal_bids"] >> (64 - FIRST_BID)
    for byte in range(8, MASK_BYTES):
        dense_mask[row, byte] = _UNPACKED[(high >> (8 * (byte - 8))) & 255]


@kernel
def _seed_games(games, seed):
    for i in range(len(games)):
        seed_game(games[i], seed, np.int64(i))


@kernel
def _new_matches(games, table):
    for i in range(len(games)):
        new_match(games[i], table[0])


@kernel
def _first_illegal(mask, actions):
    """Return the row of the first action that `mask` does not allow, or -1."""
    for i in range(len(actions)):
        action = actions[i]
        if action < 0 or action >= NUM_ACTIONS:
            return i
        if not (mask[i, action >> 6] >> _U(action & 63)) & _U(1):
            return i
    return -1


@kernel
def _sample(games, actions):
    for i in range(len(games)):
        actions[i] = random_action(games[i])


@kernel
def _sample_rows(games, rows, actions):
    for k in range(len(rows)):
        actions[k] = random_action(games[rows[k]])


@kernel
def _rollout(games, table, steps):
    """Play `steps` random decisions in every game."""
    rules = table[0]
    for i in range(len(games)):
        g = games[i]
        for _ in range(steps):
            step(g, rules, random_action(g))
            if g["phase"] == OVER:
                next_deal(g, rules)


@kernel
def _step_forced(g, rules):
    """Play on while there is one legal action; stop when the deal is over."""
    action = only_action(g)
    while action >= 0:
        step(g, rules, action)
        action = only_action(g)


@kernel
def _advance(
    games, table, views, actions, skip_forced, done, match_done, payments,
    seat, mask, mode, planes, scalars, dense, dense_mask,
):  # fmt: skip
    """Step every game by its action (none if `actions` is empty), and show what comes next."""
    rules = table[0]
    view = views[0]
    playing = len(actions) > 0
    players = rules["num_players"]
    for i in range(len(games)):
        g = games[i]
        if playing:
            if done[i]:
                done[i] = False
                match_done[i] = False
                for s in range(players):
                    payments[i, s] = 0
            step(g, rules, actions[i])
            if skip_forced:
                _step_forced(g, rules)
            if g["phase"] == OVER:
                done[i] = True
                match_done[i] = g["match_over"] != 0
                for s in range(players):
                    payments[i, s] = reward_of(g, s)
                next_deal(g, rules)
        seat[i] = g["seat"]
        low = g["legal"] | (g["legal_bids"] << FIRST_BID)
        high = g["legal_bids"] >> (64 - FIRST_BID)
        mask[i, 0] = _U(low)
        mask[i, 1] = _U(high)
        if mode == _NONE:
            continue
        observe(g, rules, g["seat"], view)
        if mode == _PACKED:
            for word in range(planes.shape[1]):
                planes[i, word] = _U(view["planes"][word])
            for word in range(scalars.shape[1]):
                scalars[i, word] = view["scalars"][word]
        else:
            write_dense(g, view, planes.shape[1], dense, dense_mask, i)


class Batch:
    """N independent games of the same rules; every call moves each of them by one decision.

    The arrays below belong to the batch and are overwritten by the next `step` or `reset`: copy
    what must last. A game whose deal has ended shows the first decision of its next deal; `done`
    and `payments` speak of the deal that has ended. Game `i` plays the same deals whatever is
    played and however many games stand beside it: deals depend only on (seed, i, deal number).

    Attributes:
        observation: int8 (N, K), what the seat to move sees (`observe="dense"`).
        action_mask: int8 (N, A), 1 for each legal action (`observe="dense"`).
        planes: uint64 (N, W), the bits of the observation (`observe="packed"`).
        scalars: int8 (N, S), the numbers of the observation (`observe="packed"`).
        mask: uint64 (N, 2), bit `a & 63` of word `a >> 6` is set where action `a` is legal.
        seat: int8 (N,), the seat to move.
        payments: int32 (N, P), chips that each seat won or lost in the deal that has just ended,
            `pool_start` and the shares of the pool included; zero where no deal has ended.
        done: bool (N,), whether a deal has just ended.
        match_done: bool (N,), whether a match has ended with it.
        games: GAME (N,), the engine's records.
        rules, num_players, num_games, num_actions, observation_size, layout: as they say.
    """

    def __init__(
        self,
        rules: str | Rules = "standard",
        num_players: int = 4,
        num_games: int = 4096,
        seed: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        observe: str = "dense",
        observation_layout: str = "fixed",
        skip_forced: bool = False,
    ) -> None:
        """Deal the first deal of every game.

        Args:
            rules: a preset's name, or rules.
            num_players: P, players at each table.
            num_games: N.
            seed: restarts the random streams; None takes fresh entropy.
            options: changes to the rules, as in a deal record.
            observe: `dense`, `packed`, or `none` (masks only, as `packed` has them).
            observation_layout: `fixed` for these rules and players, or `full`, one for all.
            skip_forced: moves with one legal action are played by the batch itself; only the
                first decision of a deal is always shown.

        Raises:
            ValueError: bad rules, options, sizes or seed.
        """
        if observe not in OBSERVE:
            raise ValueError(f"observe={observe!r}: allowed are {', '.join(OBSERVE)}")
        if not is_whole(num_games) or num_games < 1:
            raise ValueError(f"num_games={num_games!r}: a whole number from 1 on is allowed")
        self.rules = resolve(rules, options)
        self.num_players = int(num_players) if isinstance(num_players, np.integer) else num_players
        self.num_games = int(num_games)
        self.num_actions = NUM_ACTIONS
        self.observe = observe
        self.skip_forced = skip_forced
        self.observation_layout = observation_layout
        rules_table(self.rules, num_players, observation_layout)  # refuses what cannot be played
        self.games = new_games(self.num_games)
        self._attach()
        self._restart(hash_seed(seed))

    def _attach(self) -> None:
        """Make the arrays that show what the games' records say."""
        self._table = rules_table(self.rules, self.num_players, self.observation_layout)
        self.layout = layout(self.rules, self.num_players, self.observation_layout)
        self.observation_size = self.layout.size
        n = self.num_games
        self.seat = np.zeros(n, np.int8)
        self._done = np.zeros(n, np.bool_)
        self.match_done = np.zeros(n, np.bool_)
        self.payments = np.zeros((n, self.num_players), np.int32)
        self._mask = np.zeros((n, _MASK_WORDS), np.uint64)
        # `step` relies on these two, so that nobody else may write them.
        self.done, self.mask = self._done.view(), self._mask.view()
        self.done.flags.writeable = self.mask.flags.writeable = False
        planes, scalars = self.layout.num_planes, self.layout.num_scalars // 8
        rows = n if self.observe == "packed" else 0
        self.planes = np.zeros((rows, planes), np.uint64)
        self._scalar_words = np.zeros((rows, scalars), np.uint64)
        self.scalars = self._scalar_words.view(np.int8)
        rows = n if self.observe == "dense" else 0
        self._dense = np.zeros((rows, self.observation_size // 8), np.uint64)
        self._dense_mask = np.zeros((rows, MASK_BYTES), np.uint64)
        self.observation = self._dense.view(np.int8)
        self.action_mask = self._dense_mask.view(np.int8)[:, :NUM_ACTIONS]
        self._views = np.zeros(1, VIEW)
        self._mode = OBSERVE.index(self.observe)

    def _advance(self, actions: npt.NDArray[np.int64]) -> None:
        _advance(
            self.games, self._table, self._views, actions, self.skip_forced, self._done,
            self.match_done, self.payments, self.seat, self._mask, self._mode, self.planes,
            self._scalar_words, self._dense, self._dense_mask,
        )  # fmt: skip

    def _show(self) -> None:
        """Refresh the arrays without a step: no deal has just ended."""
        self._done[:] = False
        self.match_done[:] = False
        self.payments[:] = 0
        self._advance(np.zeros(0, np.int64))

    def reset(self, seed: int | None = None) -> None:
        """Start a new match in every game; a seed restarts the random streams.

        Raises:
            ValueError: a seed that is not a whole number from 0 on.
        """
        self._restart(None if seed is None else hash_seed(seed))

    def _restart(self, stream: np.uint64 | None) -> None:
        if stream is not None:
            _seed_games(self.games, stream)
        _new_matches(self.games, self._table)
        self._show()

    def step(self, actions: Any) -> None:
        """Let the seat to move of every game take an action.

        Args:
            actions: integers (N,), of any integer type.

        Raises:
            ValueError: a wrong shape or type.
            IllegalActionError: names the first game whose action is not legal. Nothing is changed.
        """
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" or actions.shape != (self.num_games,):
            raise ValueError(
                f"actions: {actions.dtype} {actions.shape}, integers ({self.num_games},) are needed"
            )
        chosen = np.ascontiguousarray(actions, np.int64)
        row = _first_illegal(self._mask, chosen)
        if row >= 0:
            error = self._game(row).illegal(int(actions[row]))
            raise IllegalActionError(f"game {row}: {error}")
        self._advance(chosen)

    def sample(self, rows: npt.NDArray[np.intp] | None = None) -> npt.NDArray[np.int64]:
        """Return a uniformly random legal action for each game, from its own stream.

        Args:
            rows: integers (n,), the games to answer for; None for all N. The streams of other
                games stay where they are.

        Returns:
            int64 (N,) or (n,).

        Raises:
            ValueError: a row that is no game.
        """
        if rows is None:
            actions = np.empty(self.num_games, np.int64)
            _sample(self.games, actions)
            return actions
        rows = np.asarray(rows, np.int64)
        if rows.size and not 0 <= rows.min() <= rows.max() < self.num_games:
            raise ValueError(f"rows={rows}: games are 0 to {self.num_games - 1}")
        actions = np.empty(len(rows), np.int64)
        _sample_rows(self.games, rows, actions)
        return actions

    def rollout(self, steps: int) -> None:
        """Play `steps` random decisions in every game inside compiled code.

        The same games as `steps` times `step(sample())` without `skip_forced`, only the last
        position is shown.
        """
        if not is_whole(steps) or steps < 0:
            raise ValueError(f"steps={steps!r}: a whole number from 0 on is allowed")
        _rollout(self.games, self._table, np.int64(steps))
        self._show()

    def copy(self) -> "Batch":
        """Return an independent copy, random streams included."""
        other = Batch.__new__(Batch)
        other.__setstate__(self.__getstate__())
        return other

    def __deepcopy__(self, _memo: Any) -> "Batch":
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("rules", "num_players", "num_games", "num_actions", "observe", "skip_forced")
        ended = ("_done", "match_done", "payments")
        return {name: getattr(self, name) for name in (*kept, "observation_layout")} | {
            name: getattr(self, name).copy() for name in (*ended, "games")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a copy's state: views are made anew, so that they look at its own arrays."""
        ended = {name: state[name] for name in ("_done", "match_done", "payments")}
        self.__dict__.update({name: value for name, value in state.items() if name not in ended})
        self.games = new_games(self.num_games)
        self.games[:] = state["games"]
        self._attach()
        self._show()
        for name, value in ended.items():
            getattr(self, name)[:] = value

    def record(self, index: int) -> dict[str, Any]:
        """Return the deal that game `index` is playing, so far, as a record.

        Raises:
            IndexError: there is no such game.
        """
        if not 0 <= index < self.num_games:
            raise IndexError(f"index={index}: games are 0 to {self.num_games - 1}")
        return self._game(index).record()

    def _game(self, index: int) -> Game:
        return Game.of(self.rules, self.num_players, self.games[index : index + 1])

    def set_deals(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Set up a given deal in every game, as after `reset`: no event has happened yet.

        Args:
            records: one a game: a deal record of these rules and players, or a mapping with any
                of the keys dealer, hands, stock, widow, pool, multiplier and scores. What it lacks
                comes from the game's stream; events that have happened are not played.

        Raises:
            ValueError: names the record that does not fit. Nothing is changed.
        """
        if len(records) != self.num_games:
            raise ValueError(f"records: {len(records)} of them for {self.num_games} games")
        games = self.games.copy()
        for index, record in enumerate(records):
            game = self._game(index)
            try:
                if isinstance(record, Mapping) and "rules" in record:
                    game.set_up_as(None, {"record": {**record, "events": []}})
                else:
                    game.set_up_as(None, record)
            except ValueError as error:
                raise ValueError(f"record {index}: {error}") from None
            games[index] = game.games[0]
        self.games[:] = games
        self._show()
