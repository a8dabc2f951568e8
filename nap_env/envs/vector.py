"""Nap as a native Gymnasium vector environment: many tables, at each of which one seat learns."""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from nap_env.actions import NUM_ACTIONS, PASS, IllegalActionError
from nap_env.agents import Agent, make
from nap_env.agents.agent import checked_answers
from nap_env.batch import MOST_GAMES
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import reward_of
from nap_env.engine.state import OVER, draw, new_games, prefetch_step, seed_game
from nap_env.engine.step import advance, is_legal, next_deal, random_action
from nap_env.envs.form import Form
from nap_env.envs.illegal import plays_on, warn_of_illegal_action
from nap_env.game import (
    Cloneable,
    Game,
    checked_seats,
    determinize_games,
    future_keys,
    hash_seed,
)
from nap_env.games import Games
from nap_env.picture import RENDER_FPS, Screen, warn_of_no_mode
from nap_env.presets import resolve
from nap_env.rules import MAX_SEATS, Rules, flag, integers, one_of, rules_table, seated, whole
from nap_env.sight import MASK_BYTES, show, write_mask
from nap_env.threads import Threads
from nap_env.words import names_arguments

Player = str | Agent
"""A name for `nap_env.agents.make`, or an agent; `agents.from_policy` makes one of a function."""

Opponents = Player | Mapping[Player, float]
"""Who plays a seat: a player, or players with weights, one of which is drawn for each match."""

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.bool_]

RENDER_MODES = ("ansi", "svg", "rgb_array")
"""Of many tables; a window shows one."""

# What a table is to do next ..
BEGINS = 0  # a new match
STANDS = 1  # a match that has been set up goes on where it stands
MOVES = 2  # the seat to move takes its action
# .. and what it did, in which case there is nothing to do.
DECIDES = 3  # the learner is to move
WAITS = 4  # an opponent is to move who does not play inside compiled code
ENDED = 5  # the match is over, or the learner has ended it by an illegal action

LEARNER = np.dtype(
    [
        ("status", np.int64),  # one of the six above
        ("seat", np.int64),
        ("new", np.int64),  # it has not decided anything in this match
        ("reward", np.int64),  # what its chips changed since its last decision
        ("earned", np.int64),  # what they changed before its first one
        ("truncated", np.int64),  # the match was cut off
        ("players", np.int64, MAX_SEATS - 1),  # of this match, clockwise from its left, by number
    ],
    align=True,
)
"""The record of one table's learner."""

MOST_MIXED = 16
"""Most players in a mixture."""
CHANCES = 2**32
"""In so many equal chances a mixture is divided."""

SEATING = np.dtype(
    [
        ("drawn", np.int64),  # the learner's seat is drawn for each match
        # Clockwise from the learner's left: who may sit there, by number, and his chances in
        # CHANCES with those before him.
        ("players", np.int64, (MAX_SEATS - 1, MOST_MIXED)),
        ("chances", np.int64, (MAX_SEATS - 1, MOST_MIXED)),
        ("plays_on", np.int64),  # instead of an illegal action a random one is played
        ("illegal", np.int64),  # not 0: a learner has taken an illegal action
    ],
    align=True,
)
"""The record of what holds for all tables."""


def _mask_of(dense_mask: npt.NDArray[np.uint64]) -> npt.NDArray[np.int8]:
    return dense_mask.view(np.int8)[:, :NUM_ACTIONS]


class Told(NamedTuple):
    """What the learners are told, a row for each of N tables."""

    dense: npt.NDArray[np.uint64]  # (N, K / 8): what the seat to move sees, the learner at the end
    dense_mask: npt.NDArray[np.uint64]  # (N, MASK_BYTES): what it may do
    rewards: npt.NDArray[np.float64]  # (N,): what its chips changed since its last decision
    terminated: Rows  # (N,): the match is over, or an illegal action has ended it
    truncated: Rows  # (N,): the match was cut off
    seat: Ints  # (N,)
    scores: Ints  # (N, P)
    pool: Ints  # (N,)
    earned: Ints  # (N,): what its chips changed before its first decision

    @property
    def observation(self) -> npt.NDArray[np.int8]:
        """What the learners see: int8 (N, K)."""
        return self.dense.view(np.int8)

    @property
    def action_mask(self) -> npt.NDArray[np.int8]:
        """What the learners may do: int8 (N, 78)."""
        return _mask_of(self.dense_mask)


# Players inside compiled code have negative numbers.
_COMPILED: dict[str | int, int] = {"random": -1, "passer": -2}
_PASSER = _COMPILED["passer"]


@kernel
def _seed(games, rows, keys):
    """Restart the random streams of some games; each is game 0 of its own seed."""
    for k in range(len(rows)):
        seed_game(games[rows[k]], keys[k], np.int64(0))


@kernel
def _collect(g, learner):
    """Pay the learner for a deal; return whether its episode is over."""
    chips = reward_of(g, learner["seat"])
    if learner["new"] != 0:
        learner["earned"] += chips
        return False
    learner["reward"] += chips
    if g["match_over"] == 0:
        return False
    learner["truncated"] = g["truncated"]
    return True


@kernel
def _clear(g, rules):
    """End the match at once: there is nothing to pay for it."""
    for seat in range(rules["num_players"]):
        g["payments"][seat] = 0
        g["shares"][seat] = 0
    g["phase"] = OVER
    g["match_over"] = 1


@kernel
def _sit(g, rules, learner, seating):
    """Give the learner its seat and its opponents for a new match."""
    if seating["drawn"] != 0:
        learner["seat"] = draw(g, rules["num_players"])
    for place in range(rules["num_players"] - 1):
        which = 0
        if seating["chances"][place, 0] < CHANCES:
            drawn = draw(g, CHANCES)
            while drawn >= seating["chances"][place, which]:
                which += 1
        learner["players"][place] = seating["players"][place, which]


@kernel
def _begin(g, rules, learner, seating):
    """Have the learner sit down at a game that has been set up, or at one that is to be dealt."""
    learner["new"] = 1
    learner["reward"] = 0
    learner["earned"] = 0
    learner["truncated"] = 0
    if learner["status"] == STANDS:
        _sit(g, rules, learner, seating)
    else:
        _clear(g, rules)


@kernel
def _decide(g, rules, learner, seating, action):
    """Let the learner decide; return what it plays, or -1 if an illegal action ends its episode."""
    learner["new"] = 0
    learner["reward"] = 0
    learner["earned"] = 0
    if is_legal(g, action):
        return action
    seating["illegal"] = 1
    if seating["plays_on"] != 0:
        return random_action(g)
    g["legal"] = 0
    g["legal_bids"] = 0
    learner["reward"] = -rules["illegal_price"]
    learner["status"] = ENDED
    return np.int64(-1)


@kernel
def _player(g, rules, learner):
    """Return the player of the seat to move, an opponent."""
    place = g["seat"] - learner["seat"] - 1
    if place < 0:
        place += rules["num_players"]
    return learner["players"][place]


@kernel
def _play_on(g, rules, learner, seating, action):
    """Play until the learner is to move, its match is over, or an opponent must be asked.

    A match in which the learner has had no decision is followed by another one.

    Args:
        g: the game.
        rules: the rules.
        learner: the learner.
        seating: who sits where.
        action: of the seat to move, -1 if it is not to move yet.
    """
    while True:
        if advance(g, rules, action, False):
            if _collect(g, learner):
                learner["status"] = ENDED
                return
            first = g["match_over"] != 0
            next_deal(g, rules)
            if first:
                _sit(g, rules, learner, seating)
        if g["seat"] == learner["seat"]:
            learner["status"] = DECIDES
            return
        player = _player(g, rules, learner)
        if player >= 0:
            learner["status"] = WAITS
            return
        if player == _PASSER and (g["legal"] >> PASS) & 1:
            action = np.int64(PASS)
        else:
            action = random_action(g)


@kernel
def _play(
    games, table, views, learners, seatings, actions, show_all,
    dense, dense_mask, rewards, terminated, truncated, told_seat, scores, pool, earned,
):  # fmt: skip
    """Play on at every table that has something to do, and show what comes next.

    Args:
        games: GAME (N,).
        table: TABLE (1,), the rules.
        views: `Layout.new_view`, scratch.
        learners: LEARNER (N,).
        seatings: SEATING (1,).
        actions: int64 (N,), of the seats to move at the tables that move. Legal, if of opponents.
        show_all: also the tables at which there is nothing to do are shown.
        dense: the arrays of Told are from here on, in their order.
        dense_mask: of Told.
        rewards: of Told. From here on the rows of tables that have nothing to do are left alone.
        terminated: of Told.
        truncated: of Told.
        told_seat: of Told.
        scores: of Told.
        pool: of Told.
        earned: of Told.

    Returns:
        Number of tables that wait for an opponent.
    """
    rules = table[0]
    view = views[0]
    seating = seatings[0]
    waiting = 0
    for i in range(len(games)):
        learner = learners[i]
        plays = learner["status"] <= MOVES
        if not plays and not show_all:
            continue
        prefetch_step(games, i)
        g = games[i]
        if plays:
            action = np.int64(-1)
            if learner["status"] < MOVES:
                _begin(g, rules, learner, seating)
            else:
                action = actions[i]
                if g["seat"] == learner["seat"]:
                    action = _decide(g, rules, learner, seating, action)
                    plays = action >= 0
            if plays:
                _play_on(g, rules, learner, seating, action)
            if learner["status"] == WAITS:
                waiting += 1
                continue
            ended = learner["status"] == ENDED
            cut = learner["truncated"] != 0
            rewards[i] = learner["reward"]
            terminated[i] = ended and not cut
            truncated[i] = cut
            told_seat[i] = learner["seat"]
            for other in range(rules["num_players"]):
                scores[i, other] = g["scores"][other]
            pool[i] = g["pool"]
            earned[i] = learner["earned"]
        seat = learner["seat"] if learner["status"] == ENDED else g["seat"]
        show(g, rules, seat, view, dense, dense_mask, i)
    return waiting


@kernel
def _take(learners, given, restarts, actions):
    """Have every learner take the action given to it, or begin anew if its match is over.

    Args:
        learners: LEARNER (N,).
        given: int64 (N,).
        restarts: matches that are over begin anew.
        actions: int64 (N,), overwritten.

    Returns:
        The first row at which neither is possible, and nothing is changed; or -1.
    """
    for i in range(len(learners)):
        if learners[i]["status"] == DECIDES:
            if given[i] < 0 or given[i] >= NUM_ACTIONS:
                return i
        elif learners[i]["status"] != ENDED or not restarts:
            return i
    for i in range(len(learners)):
        learners[i]["status"] = MOVES if learners[i]["status"] == DECIDES else BEGINS
        actions[i] = given[i]
    return -1


@kernel
def _write_masks(games, dense_mask):
    """Write what the seats to move may do into uint64 (N, MASK_BYTES)."""
    for i in range(len(games)):
        write_mask(games[i], np.int64(-1), dense_mask, i)


@kernel
def _first_illegal(games, rows, actions):
    """Return the first of some rows whose action is not legal, as its place among them; or -1."""
    for k in range(len(rows)):
        if not (0 <= actions[k] < NUM_ACTIONS and is_legal(games[rows[k]], actions[k])):
            return k
    return -1


def _mixed(mixture: Mapping[Player, float]) -> tuple[list[Player], list[int]]:
    """Return the players of a mixture, and the chances in CHANCES of each with those before it.

    Raises:
        ValueError: too few or too many players, or weights that are no weights.
    """
    if not 1 <= len(mixture) <= MOST_MIXED:
        raise ValueError(f"opponents={mixture!r}: a mixture has 1 to {MOST_MIXED} players")
    for player, weight in mixture.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < weight < math.inf:
            raise ValueError(f"opponents: weight {weight!r} of {player!r}: a number above 0")
    shares = np.cumsum([float(weight) for weight in mixture.values()])
    return [*mixture], [*(CHANCES * (shares[:-1] / shares[-1])).astype(int).tolist(), CHANCES]


class Tables:
    """N tables of the same rules at which one seat learns and the other seats are played here.

    Every table has its own random streams, so that its games do not depend on the others.

    Attributes:
        rules, num_players, layout: as they say.
        games: GAME (N,), the engine's records.
        learners: LEARNER (N,).
        told: what the learners are told, overwritten by the next `play` unless it is renewed.
    """

    def __init__(
        self,
        count: int,
        rules: str | Rules | Mapping[str, Any],
        num_players: int,
        opponents: Opponents | Sequence[Opponents],
        seat: int | None,
        options: Mapping[str, Any] | None,
        illegal: str,
        observation_layout: str,
        threads: int = 1,
    ) -> None:
        """Set the tables; nothing is dealt."""
        self.rules = resolve(rules, options)
        self.num_players = num_players = seated(self.rules, num_players)
        # A copy, because copies of an environment have tables that can be written to.
        self._table = rules_table(self.rules, num_players).copy()
        self.games = new_games(count)
        self.seen = Games(self.rules, num_players, self.games, observation_layout)
        self.layout = self.seen.layout
        self.learners = np.zeros(count, LEARNER)
        self.learners["status"] = WAITS
        self._seating = np.zeros(1, SEATING)
        self._seating["drawn"] = seat is None
        self._plays_on = self._seating["plays_on"] = plays_on(illegal)
        if seat is not None:
            self._check_seat(seat)
            self.learners["seat"] = seat
        self._actions = np.zeros(count, np.int64)
        self._threads = Threads(threads)
        self._parts = self._threads.parts(count)
        self._views = [self.layout.new_view() for _ in self._parts]
        self.told = self._new_told()
        self._seat_players(opponents)
        fresh = np.random.SeedSequence().generate_state(count, np.uint64)
        self.seed(np.arange(count), fresh.astype(np.uint64))

    def _check_seat(self, seat: int) -> None:
        players = self.num_players
        if isinstance(seat, bool) or not isinstance(seat, int | np.integer):
            raise ValueError(f"seat={seat!r}: None, or a whole number, 0 to {players - 1}")
        if not 0 <= seat < players:
            raise ValueError(f"seat={seat!r}: seats are 0 to {players - 1}, None draws one")
        sits_out = bool(self._table["dealer_out"][0]) and seat == self.rules.first_dealer
        if sits_out and 1 in (self.rules.deals, self.rules.max_deals):
            raise ValueError(
                f"seat={seat!r}: as first_dealer it sits out in every match; the others are allowed"
            )

    def _seat_players(self, opponents: Opponents | Sequence[Opponents]) -> None:
        """Give every opponent's place the numbers and chances of its players."""
        others = self.num_players - 1
        if isinstance(opponents, str | Mapping) or callable(opponents):
            opponents = [opponents] * others
        if not isinstance(opponents, list | tuple) or len(opponents) != others:
            raise ValueError(f"opponents={opponents!r}: one player, or a list of {others}")
        self._players: list[Agent] = []
        known = dict(_COMPILED)
        for place, one in enumerate(opponents):
            players, chances = _mixed(one) if isinstance(one, Mapping) else ([one], [CHANCES])
            numbers = [self._number(player, known) for player in players]
            self._seating["players"][0, place, : len(numbers)] = numbers
            self._seating["chances"][0, place, : len(numbers)] = chances

    def _number(self, player: Player, known: dict[str | int, int]) -> int:
        """Return the number of a player, who sits down if he is not known yet."""
        if not isinstance(player, str) and not callable(player):
            raise ValueError(f"opponents: {player!r}: a name or an agent is allowed")
        key = player if isinstance(player, str) else id(player)
        if key not in known:
            known[key] = len(self._players)
            self._players.append(self._made(player))
        return known[key]

    def _made(self, player: Player) -> Agent:
        try:
            return make(player, self.rules, self.num_players) if isinstance(player, str) else player
        except ValueError as error:
            raise ValueError(f"opponents: {error}") from None

    def _new_told(self) -> Told:
        count = len(self.games)
        return Told(
            dense=np.empty((count, self.layout.size // 8), np.uint64),
            dense_mask=np.empty((count, MASK_BYTES), np.uint64),
            rewards=np.zeros(count),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            seat=np.zeros(count, np.int64),
            scores=np.zeros((count, self.num_players), np.int64),
            pool=np.zeros(count, np.int64),
            earned=np.zeros(count, np.int64),
        )

    def renew_told(self, *, observations: bool) -> None:
        """Leave the arrays of `told` to whoever has them; the new ones say zero.

        Args:
            observations: observations and masks are renewed, too.
        """
        old, self.told = self.told, self._new_told()
        if not observations:
            self.told = self.told._replace(dense=old.dense, dense_mask=old.dense_mask)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return what the seats to move may do, bool (N, 78)."""
        dense_mask = np.empty_like(self.told.dense_mask)
        _write_masks(self.games, dense_mask)
        return _mask_of(dense_mask).view(np.bool_)

    @property
    def status(self) -> Ints:
        """What each table is to do or did, (N,): to be read and written."""
        return self.learners["status"]

    def seed(self, rows: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64]) -> None:
        """Restart the random streams of some tables from hashed seeds."""
        _seed(self.games, rows, keys)

    def play(self, status: Any, actions: Any = 0, *, show_all: bool = False) -> None:
        """Play on at every table that has something to do.

        Args:
            status: what each table is to do; the others have done it.
            actions: of the learners at the tables that move, within the action space.
            show_all: what is seen at the other tables is told again.

        Raises:
            IllegalActionError: an opponent chose what is not legal. The tables that wait for
                opponents must begin anew.
        """
        self.status[:] = status
        self._actions[:] = actions
        self.play_on(show_all)

    def take(self, actions: Ints, restarts: bool) -> int:
        """Have all learners take their actions, or begin anew, in the next `play_on`.

        Args:
            actions: (N,).
            restarts: matches that are over begin anew.

        Returns:
            The first row at which neither is possible, and nothing has changed; or -1.
        """
        return int(_take(self.learners, actions, restarts, self._actions))

    def play_on(self, show_all: bool = False) -> None:
        """Do what `play` does once it is said what each table is to do."""
        while self._play(show_all):
            self._ask()
            show_all = False
        if self._seating["illegal"][0]:
            self._seating["illegal"] = 0
            warn_of_illegal_action(self._plays_on)

    def _play(self, show_all: bool) -> int:
        """Play on, and return the number of tables that wait for opponents."""
        table, seating = self._table, self._seating
        if len(self._parts) == 1:
            waiting: int = _play(
                self.games, table, self._views[0], self.learners, seating, self._actions, show_all,
                *self.told,
            )  # fmt: skip
            return waiting
        calls = [
            (
                self.games[part], table, view, self.learners[part], seating, self._actions[part],
                show_all, *(array[part] for array in self.told),
            )
            for part, view in zip(self._parts, self._views, strict=True)
        ]  # fmt: skip
        return sum(self._threads.call(_play, calls))

    def _ask(self) -> None:
        """Ask the opponents for the actions that tables wait for, each player once."""
        rows = np.flatnonzero(self.status == WAITS)
        places = (self.games["seat"][rows] - self.learners["seat"][rows] - 1) % self.num_players
        numbers = self.learners["players"][rows, places]
        for number in np.unique(numbers):
            asked = rows[numbers == number]
            self._actions[asked] = self._answers(self._players[number], asked)
        self.status[rows] = MOVES

    def _answers(self, player: Agent, rows: npt.NDArray[np.intp]) -> Ints:
        """Return a player's actions at some tables, (n,)."""
        answers = checked_answers(player, player(self.seen, rows), len(rows))
        wrong = _first_illegal(self.games, rows, answers)
        if wrong >= 0:
            raise self.illegal(int(rows[wrong]), int(answers[wrong]))
        return answers

    def _future_keys(self, seed: int | None) -> npt.NDArray[np.uint64]:
        """Return a key for each table, (N,): the first takes the seed, the others the next ones."""
        hash_seed(seed)  # refuses what is no seed
        seeds = [None if seed is None else int(seed) + row for row in range(len(self.games))]
        return np.concatenate([future_keys(one, 1) for one in seeds])

    def reseed(self, seed: int | None) -> None:
        """Give all that is still random another future; None takes fresh entropy."""
        self.games["key"] = self._future_keys(seed)

    def determinize(self, seat: Any, seed: int | None) -> None:
        """Deal anew all that a seat, or integers (N,), cannot see, and show it."""
        seats = checked_seats(seat, len(self.games), self.num_players)
        determinize_games(self.games, self._table, seats, self._future_keys(seed))
        self.renew_told(observations=True)
        self.play_on(show_all=True)

    def game(self, row: int) -> Game:
        """Return a copy of a table's game."""
        return Game.of(self.rules, self.num_players, self.games[row : row + 1])

    def illegal(self, row: int, action: Any) -> IllegalActionError:
        """Return the error for an action that is not legal at a table."""
        return IllegalActionError(f"game {row}: {self.game(row).illegal(action)}")

    def show(self, row: int, screen: Screen, reveal: bool) -> Any:
        """Show a table on a screen, with the learner's cards or with all of them."""
        game = self.game(row)
        viewer = None if reveal or game.over else int(self.learners["seat"][row])
        decides = bool(self.status[row] == DECIDES)
        return screen.show(game.table(viewer, playing=decides))


class NapVectorEnv(Cloneable, VectorEnv[Any, Any, npt.NDArray[Any]]):
    """Many tables of Nap, stepped by one call; at each of them one seat learns.

    Every row is what `nap_env.envs.single.NapEnv` is: the same arguments mean the same, and
    `reset(seed=k)` begins the games that single environments seeded k, k + 1, .. begin.

    Observations have a row for each table: int8 (N, K), and the mask int8 (N, 78). The info has
    `action_mask` int8 (N, 78), `seat`, `pool` and `earned` int64 (N,) and `scores` int64 (N, P),
    each beside its `_` mask of the rows that have it.

    An opponent is asked once for all tables where it is to move.

    Every array is new, unless `copy=False`: then the observation and its mask (the one in the info,
    too) belong to the environment and are overwritten by the next `step` or `reset`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's name and type
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    @names_arguments
    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Rules | Mapping[str, Any] = "standard",
        num_players: int = 4,
        opponents: Opponents | Sequence[Opponents] = "heuristic",
        seat: int | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        mask_in: str = "both",
        flat_obs: bool = False,
        illegal: str = "terminate",
        observation_layout: str = "fixed",
        threads: int = 1,
        render_mode: str | None = None,
        reveal: bool = False,
    ) -> None:
        """Set the tables; `reset` deals.

        Args:
            num_envs: N, number of tables.
            rules: a preset's name, or rules, or the mapping that an EnvSpec makes of rules.
            num_players: P, players at each table.
            opponents: a player or a mixture for all other seats, or a list of one for each,
                clockwise from the learner's left.
            seat: the learner's seat, None draws one for each match.
            options: changes to the rules, as in a deal record.
            autoreset_mode: `NextStep`, `SameStep` or `Disabled`.
            copy: whether the arrays that are returned are new.
            mask_in: where the action mask is: in the observation (`obs`), in the info, or `both`.
            flat_obs: the observation is the plain int8 array, and the mask is in the info only.
            illegal: what an illegal action does: `terminate` ends the episode at a price, at
                `random` a random legal action is played instead. Either warns once.
            observation_layout: `fixed` for these rules and players, or `full`, one for all.
            threads: play on so many threads, which pays from some thousand tables on. The games
                are the same with any number.
            render_mode: None, or what `render` returns of each table: `ansi` text, `svg` a picture
                for notebooks, `rgb_array` one of pixels.
            reveal: `render` shows all hands, not only the learners'.

        Raises:
            ValueError: an argument that is not allowed.
            ModuleNotFoundError: pictures are asked for, and pygame is not installed.
        """
        num_envs = whole("num_envs", num_envs, 1, MOST_GAMES)
        if not isinstance(autoreset_mode, AutoresetMode):
            one_of("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        self._screen = Screen(render_mode, RENDER_MODES)
        self._tables = Tables(
            num_envs,
            rules,
            num_players,
            opponents,
            seat,
            options,
            illegal,
            observation_layout,
            threads,
        )
        self._form = Form(self._tables.layout.size, mask_in, flat_obs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._copy = flag("copy", copy)
        self._reveal = flag("reveal", reveal)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.rules, self.num_players = self._tables.rules, self._tables.num_players
        self.layout = self._tables.layout
        self.num_envs = num_envs
        self._restarts = self.autoreset_mode is not AutoresetMode.DISABLED
        self._every = np.ones(self.num_envs, np.bool_)
        self.single_observation_space = self._form.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Deal the first deal of a new match at every table, or at some of them.

        Args:
            seed: of the first table, the others take the following ones; or a seed for each
                table. None: the random streams go on.
            options: `reset_mask`, bool (N,), the tables to reset.

        Raises:
            ValueError: a seed or an option that is not allowed. Nothing is changed.
            TypeError: a `reset_mask` that is not a boolean array.
            ResetNeeded: a `reset_mask` that leaves out rows which have never been reset.
        """
        rows = self._rows_to_reset(options)
        if seed is not None:
            self._seed(seed, rows)
        tables = self._tables
        tables.renew_told(observations=self._copy)
        tables.play(np.where(rows, BEGINS, tables.status), show_all=self._copy)
        return self._observation(), self._infos(rows)

    def _rows_to_reset(self, options: Mapping[str, Any] | None) -> Rows:
        if options is None or (isinstance(options, Mapping) and not options):
            return np.ones(self.num_envs, np.bool_)
        if not isinstance(options, Mapping) or list(options) != ["reset_mask"]:
            raise ValueError(
                f"options={options!r}: reset_mask is allowed; a given deal can be set up "
                "in a single environment"
            )
        rows = options["reset_mask"]
        if not isinstance(rows, np.ndarray) or rows.dtype != np.bool_:
            raise TypeError(f"reset_mask={rows!r}: a boolean array is needed")
        if rows.shape != (self.num_envs,) or not rows.any():
            raise ValueError(
                f"reset_mask={rows!r}: shape ({self.num_envs},) and at least one True are needed"
            )
        left = ~rows & (self._tables.status == WAITS)
        if left.any():
            raise ResetNeeded(f"reset_mask: rows {np.flatnonzero(left)} need a reset, too")
        return rows.copy()

    def _seed(self, seed: int | Sequence[int | None], rows: Rows) -> None:
        seeds: Sequence[int | None]
        if isinstance(seed, Sequence) or (isinstance(seed, np.ndarray) and seed.ndim):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed: {len(seed)} of them for num_envs={self.num_envs}")
            seeds = seed
        else:
            hash_seed(seed)
            super().reset(seed=int(seed))
            seeds = range(int(seed), int(seed) + self.num_envs)
        seeded = [row for row in np.flatnonzero(rows).tolist() if seeds[row] is not None]
        keys = [hash_seed(seeds[row]) for row in seeded]
        self._tables.seed(np.array(seeded, np.intp), np.array(keys, np.uint64))

    def step(
        self, actions: Any
    ) -> tuple[
        Any, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
    ]:
        """Let the learners take their actions, and play on until they are to move again.

        An illegal action ends its match and is paid for, and the row is terminated.

        Args:
            actions: integers (N,), of any integer type. That of a row which begins anew
                (`NextStep`) is ignored.

        Returns:
            Observations, rewards float64 (N,), terminated and truncated bool (N,), and infos.

        Raises:
            ResetNeeded: before `reset`, or where a match has ended (`Disabled`).
            ValueError: a wrong shape or type.
            IllegalActionError: an action outside the action space. So far nothing is changed; after
                an opponent's illegal action `reset` is needed.
        """
        tables = self._tables
        given = integers("actions", actions, (self.num_envs,))
        refused = tables.take(given, self._restarts)
        if refused >= 0:
            self._refuse(refused, actions)
        tables.renew_told(observations=self._copy)
        tables.play_on()
        told = tables.told
        infos: dict[str, Any] = {}
        rewards, terminated, truncated = told.rewards, told.terminated, told.truncated
        if (
            self.autoreset_mode is AutoresetMode.SAME_STEP
            and (ended := terminated | truncated).any()
        ):
            infos = self._final(ended)
            # What comes next is written over what has been told.
            rewards, terminated, truncated = rewards.copy(), terminated.copy(), truncated.copy()
            tables.play(np.where(ended, BEGINS, DECIDES))
        infos |= self._infos(self._every)
        return self._observation(), rewards, terminated, truncated, infos

    def _refuse(self, row: int, given: Any) -> NoReturn:
        """Raise the error for a step that is not possible at a row."""
        status = self._tables.status
        needed = (status == WAITS) | ((status == ENDED) & (not self._restarts))
        if needed.any():
            raise ResetNeeded(f"step: call reset() first, for rows {np.flatnonzero(needed)}")
        raise self._tables.illegal(row, int(given[row]))

    def _observation(self) -> Any:
        told = self._tables.told
        return self._form.of(told.observation, told.action_mask)

    def _numbers(self) -> dict[str, Any]:
        """Return what infos hold beside the mask."""
        told = self._tables.told
        return {"seat": told.seat, "scores": told.scores, "pool": told.pool, "earned": told.earned}

    def _infos(self, rows: Rows) -> dict[str, Any]:
        """Return what the learners of some rows are told, zero in the other rows."""
        infos = self._numbers()
        if self._form.mask_in_info:
            infos["action_mask"] = self._info_mask(rows)
        return infos | {f"_{key}": rows.copy() for key in infos}

    def _info_mask(self, rows: Rows) -> npt.NDArray[np.int8]:
        """Return the mask for the info, a second copy if the observation has the first one."""
        told = self._tables.told
        if not rows.all():
            return _mask_of(np.where(rows[:, None], told.dense_mask, 0))
        shared = not (self._copy and self._form.mask_in_obs)
        return told.action_mask if shared else _mask_of(told.dense_mask.copy())

    def _final(self, ended: Rows) -> dict[str, Any]:
        """Return the last observations and infos of the rows whose match is over."""
        told = self._tables.told
        rows = np.flatnonzero(ended)
        final = np.full(self.num_envs, None, object)
        observations = told.dense[rows].view(np.int8)
        masks = np.zeros((len(rows), NUM_ACTIONS), np.int8)  # nothing is legal any more
        for row, one in zip(rows.tolist(), map(self._form.of, observations, masks), strict=True):
            final[row] = one
        infos = {
            key: np.where(ended if value.ndim == 1 else ended[:, None], value, 0)
            for key, value in self._numbers().items()
        }
        if self._form.mask_in_info:
            infos["action_mask"] = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        return {
            "final_obs": final,
            "_final_obs": ended,
            "final_info": infos | {f"_{key}": ended.copy() for key in infos},
            "_final_info": ended.copy(),
        }

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return what each learner may do, bool (N, 78)."""
        return self._tables.action_masks()

    def reseed(self, seed: int | None) -> None:
        """Give all that is still random another future: later deals, and what opponents draw.

        Args:
            seed: of the first table, the others take the following ones; None: fresh entropy.
        """
        self._tables.reseed(seed)

    def determinize(self, seat: Any, seed: int | None = None) -> None:
        """Deal anew, at these tables, all that a seat cannot see, see `nap_env.Game.determinize`.

        Args:
            seat: a seat, or integers (N,): `infos["seat"]` for the learners.
            seed: as in `reseed`.
        """
        self._tables.determinize(seat, seed)

    def record(self, index: int) -> dict[str, Any]:
        """Return the deal that table `index` is playing, so far, as a record."""
        return self._tables.seen.record(index)

    def render(self) -> tuple[Any, ...] | None:
        """Return text (`ansi`, `svg`) or a picture (`rgb_array`) of every table.

        The learner's cards are shown, all hands once the deal is over, or if `reveal` is set.
        """
        if self.render_mode is None:
            warn_of_no_mode()
            return None
        rows = range(self.num_envs)
        return tuple(self._tables.show(row, self._screen, self._reveal) for row in rows)
