"""`Batch`: N games stepped by one call, the fast way in."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import call
from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import FIRST_BID, NUM_ACTIONS, IllegalActionError
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import reward_of
from nap_env.engine.state import new_games, prefetch_step, seed_game
from nap_env.engine.step import advance, new_match, next_deal, random_action
from nap_env.game import hash_seed
from nap_env.games import Games
from nap_env.presets import resolve
from nap_env.rules import Rules, flag, integers, one_of, whole
from nap_env.sight import MASK_BYTES, observe, unpack, write_mask
from nap_env.threads import Threads
from nap_env.words import names_arguments

MOST_GAMES = 2**31 - 1
MOST_STEPS = 2**63 - 1
OBSERVE = ("dense", "packed", "none")
_DENSE, _, _NONE = range(len(OBSERVE))

_MASK_WORDS = -(-NUM_ACTIONS // 64)
_NO_ACTIONS = np.zeros(0, np.int64)
_U = np.uint64


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
    first = -1
    for i in range(len(actions) - 1, -1, -1):  # one exit: where it is inlined others cost
        action = actions[i]
        if (
            action < 0
            or action >= NUM_ACTIONS
            or not (mask[i, action >> 6] >> _U(action & 63)) & _U(1)
        ):
            first = i
    return first


@kernel
def _rollout(games, table, steps):
    """Play `steps` random decisions in every game."""
    rules = table[0]
    for i in range(len(games)):
        g = games[i]
        for _ in range(steps):
            if advance(g, rules, random_action(g), False):
                next_deal(g, rules)


@kernel
def _advance(
    games, table, views, done, match_done, payments, seat, mask, mode, planes, scalars, dense,
    dense_mask, actions, skip_forced,
):  # fmt: skip
    """Step every game by its action (none if `actions` is empty), and show what comes next.

    Returns:
        The row of the first illegal action, and nothing is done; else -1.
    """
    rules = table[0]
    view = views[0]
    playing = len(actions) > 0
    wrong = _first_illegal(mask, actions)
    for i in range(len(games) if wrong < 0 else 0):
        g = games[i]
        prefetch_step(games, i)
        if playing:
            if done[i]:
                done[i] = False
                match_done[i] = False
                for s in range(rules["num_players"]):
                    payments[i, s] = 0
            if advance(g, rules, actions[i], skip_forced):
                done[i] = True
                match_done[i] = g["match_over"] != 0
                for s in range(rules["num_players"]):
                    payments[i, s] = reward_of(g, s)
                next_deal(g, rules)
        seat[i] = g["seat"]
        mask[i, 0] = _U(g["legal"] | (g["legal_bids"] << FIRST_BID))
        mask[i, 1] = _U(g["legal_bids"] >> (64 - FIRST_BID))
        if mode == _NONE:
            continue
        observe(g, rules, g["seat"], view)
        if mode == _DENSE:
            unpack(view, dense, i)
            write_mask(g, np.int64(-1), dense_mask, i)
        else:
            for word in range(view["num_planes"]):
                planes[i, word] = _U(view["planes"][word])
            for word in range(view["num_words"]):
                scalars[i, word] = view["scalars"][word]
    return wrong


class Batch(Games):
    """N independent games of the same rules; every call moves each of them by one decision.

    The arrays below belong to the batch and are overwritten by the next `step` or `reset`: copy
    what must last. A game whose deal has ended shows the first decision of its next deal; `done`
    and `payments` speak of the deal that has ended. Game `i` plays the same matches however many
    games stand beside it: its cards are shuffled by (seed, i, number of the deal) alone. Whose they
    are depends on who deals, and so on how long the matches before have lasted; with
    `shuffle="after_nap"` also on how the deal before was played.

    Attributes:
        observation: int8 (N, K), what the seat to move sees (`observe="dense"`).
        action_mask: int8 (N, A), 1 for each legal action (`observe="dense"`).
        planes: uint64 (N, W), the bits of the observation (`observe="packed"`).
        scalars: int8 (N, S), the numbers of the observation (`observe="packed"`).
        mask: uint64 (N, 2), bit `a & 63` of word `a >> 6` is set where action `a` is legal.
        payments: int32 (N, P), chips that each seat won or lost in the deal that has just ended,
            `pool_start` and the shares of the pool included; zero where no deal has ended.
        done: bool (N,), whether a deal has just ended.
        match_done: bool (N,), whether a match has ended with it.
        num_actions, observation_size: A and K.
        rules, num_players, num_games, games, layout: see `Games`.
    """

    @names_arguments
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
        threads: int = 1,
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
            threads: step the games on so many threads, which pays from some thousand games on.
                The games are the same with any number.

        Raises:
            ValueError: bad rules, options, sizes, threads or seed.
        """
        self.observe_as = one_of("observe", observe, OBSERVE)
        self.skip_forced = flag("skip_forced", skip_forced)
        self._threads = Threads(threads)
        games = new_games(whole("num_games", num_games, 1, MOST_GAMES))
        super().__init__(resolve(rules, options), num_players, games, observation_layout)
        self._attach()
        self._restart(hash_seed(seed))

    def _attach(self) -> None:
        """Make the arrays that show what the games' records say."""
        self.num_actions, self.observation_size = NUM_ACTIONS, self.layout.size
        n = self.num_games
        self._mode = OBSERVE.index(self.observe_as)
        self._seat = np.zeros(n, np.int8)
        self._done = np.zeros(n, np.bool_)
        self.match_done = np.zeros(n, np.bool_)
        self.payments = np.zeros((n, self.num_players), np.int32)
        self._mask = np.zeros((n, _MASK_WORDS), np.uint64)
        # `step` relies on these two, so that nobody else may write them.
        self.done, self.mask = self._done.view(), self._mask.view()
        self.done.flags.writeable = self.mask.flags.writeable = False
        planes, scalars = self.layout.num_planes, self.layout.num_scalars // 8
        rows = n if self.observe_as == "packed" else 0
        self.planes = np.zeros((rows, planes), np.uint64)
        self._scalar_words = np.zeros((rows, scalars), np.uint64)
        self.scalars = self._scalar_words.view(np.int8)
        rows = n if self.observe_as == "dense" else 0
        self._dense = np.zeros((rows, self.observation_size // 8), np.uint64)
        self._dense_mask = np.zeros((rows, MASK_BYTES), np.uint64)
        self.observation = self._dense.view(np.int8)
        self.action_mask = self._dense_mask.view(np.int8)[:, :NUM_ACTIONS]
        self._parts = self._threads.parts(n)
        self._steps = [
            partial(
                _advance,
                self.games[part], self._table, self.layout.new_view(), self._done[part],
                self.match_done[part], self.payments[part], self._seat[part], self._mask[part],
                self._mode, self.planes[part], self._scalar_words[part], self._dense[part],
                self._dense_mask[part],
            )
            for part in self._parts
        ]  # fmt: skip

    @property
    def seat(self) -> npt.NDArray[np.int8]:
        """The seats to move, int8 (N,)."""
        return self._seat

    def _advance(self, actions: npt.NDArray[np.int64]) -> int:
        """Step all games, or none: then return the row of the first illegal action, else -1."""
        wrong: int
        if len(self._steps) == 1:
            wrong = self._steps[0](actions, self.skip_forced)
            return wrong
        wrong = _first_illegal(self._mask, actions)  # of all parts, before the first is stepped
        if wrong < 0:
            steps = zip(self._steps, self._parts, strict=True)
            calls = [(step, actions[part], self.skip_forced) for step, part in steps]
            self._threads.call(call, calls)
        return wrong

    def _show(self) -> None:
        """Refresh the arrays without a step: no deal has just ended."""
        self._done[:] = False
        self.match_done[:] = False
        self.payments[:] = 0
        self._advance(_NO_ACTIONS)

    def determinize(self, seat: Any, seed: int | None = None) -> None:
        """Deal anew, within these games, all that a seat cannot see; see `Games.determinize`."""
        super().determinize(seat, seed)
        self._advance(_NO_ACTIONS)

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
        chosen = integers("actions", actions, (self.num_games,))
        row = self._advance(chosen)
        if row >= 0:
            error = self.game(row).illegal(int(actions[row]))
            raise IllegalActionError(f"game {row}: {error}")

    def rollout(self, steps: int) -> None:
        """Play `steps` random decisions in every game inside compiled code.

        The same games as `steps` times `step(sample())` without `skip_forced`, only the last
        position is shown.
        """
        count = np.int64(whole("steps", steps, 0, MOST_STEPS))
        calls = [(self.games[part], self._table, count) for part in self._parts]
        self._threads.call(_rollout, calls)
        self._show()

    def __getstate__(self) -> tuple[Any, ...]:
        ended = self._done.copy(), self.match_done.copy(), self.payments.copy()
        how = self.observe_as, self.skip_forced, self._threads
        return (super().__getstate__(), *how, *ended)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Take a copy's state: views are made anew, so that they look at its own arrays."""
        (rules, num_players, records, observation_layout), *how, done, match_done, payments = state
        games = new_games(len(records))
        games[:] = records
        super().__setstate__((rules, num_players, games, observation_layout))
        self.observe_as, self.skip_forced, self._threads = how
        self._attach()
        self._show()
        self._done[:], self.match_done[:], self.payments[:] = done, match_done, payments

    def set_deals(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Set up a given deal in every game, as after `reset`: no event has happened yet.

        Args:
            records: one a game: a deal record of these rules and players, or a mapping with any
                of the keys dealer, hands, stock, widow, pool, multiplier and scores. What it lacks
                comes from the game's stream; events that have happened are not played.

        Raises:
            ValueError: names the record that does not fit. Nothing is changed.
        """
        if not isinstance(records, Sequence) or len(records) != self.num_games:
            what = len(records) if isinstance(records, Sequence) else repr(records)
            raise ValueError(
                f"records: {what} of them for {self.num_games} games, a list is needed"
            )
        games = self.games.copy()
        for index, record in enumerate(records):
            game = self.game(index)
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
