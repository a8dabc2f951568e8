"""One game stepped from Python: what records, environments and people at the table use."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nap_env.actions import (
    ACTIONS,
    BIDS,
    CALLS,
    FIRST_BID,
    NUM_ACTIONS,
    IllegalActionError,
    action_id,
)
from nap_env.cards import CARDS, SUIT_NAMES, SUITS, card_id, hand_cards
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import show_scores
from nap_env.engine.state import (
    EVENT_SEAT,
    OVER,
    PLAY,
    checked_games,
    future_key,
    lane,
    new_games,
    seed_game,
)
from nap_env.engine.step import advance, is_legal, new_match, next_deal, open_deal, random_action
from nap_env.observation import MAX_WORDS, VIEW, layout
from nap_env.presets import resolve
from nap_env.render import table_text, transcript
from nap_env.rules import PHASES, TABLE, Rules, integers, is_whole, rules_table, seated, whole
from nap_env.sight import MASK_BYTES, show
from nap_env.svg import svg
from nap_env.table import Table, read_table
from nap_env.words import did_you_mean, names_arguments

MOST_CHIPS = 2_000_000_000
"""Limit to the pool and the scores that a deal can be set up with."""


DESK = np.dtype(
    [
        ("rules", TABLE),
        ("view", VIEW),
        ("observation", np.uint64, (1, MAX_WORDS)),  # the bytes of int8
        ("mask", np.uint64, (1, MASK_BYTES)),  # the same
    ],
    align=True,
)
"""What the kernels below need beside the game: arguments of a compiled call cost more than its
work, so that all of it travels as one."""

DEAL_OVER, MATCH_OVER, CUT_OFF, ILLEGAL = -1, -2, -3, -4
"""What stands in place of a seat once the deal is over, and where an action was not legal."""


@kernel
def take(games, desk, action):
    """Take an action, show the next seat its view, and return that seat or a code above."""
    g = games[0]
    if not is_legal(g, action):
        return np.int64(ILLEGAL)
    return _next(g, desk[0], action)


@kernel
def open_table(games, desk):
    """Show the seat to move its view; return the seat, or how the deal has ended."""
    return _next(games[0], desk[0], np.int64(-1))


@kernel
def _next(g, d, action):
    if not advance(g, d["rules"], action, False):
        _show(g, d, g["seat"])
        return g["seat"]
    if g["match_over"] == 0:
        return np.int64(DEAL_OVER)
    return np.int64(CUT_OFF if g["truncated"] != 0 else MATCH_OVER)


@kernel
def look(games, desk, seat):
    """Show a seat its view."""
    _show(games[0], desk[0], seat)


@kernel
def _show(g, d, seat):
    show(g, d["rules"], seat, d["view"], d["observation"], d["mask"], 0)


@kernel
def _seed(games, seed):
    seed_game(games[0], seed, np.int64(0))


@kernel
def _new_match(games, desk):
    new_match(games[0], desk[0]["rules"])


@kernel
def _next_deal(games, desk):
    next_deal(games[0], desk[0]["rules"])


@kernel
def _deal_as_set_up(games, desk):
    """Begin a deal whose pack, dealer, pool, multiplier and scores are already written."""
    show_scores(games[0], desk[0]["rules"])
    open_deal(games[0], desk[0]["rules"])


@kernel
def _random_action(games):
    return random_action(games[0])


@kernel
def _future_keys(seed, keys):
    for i in range(len(keys)):
        keys[i] = future_key(seed, np.int64(i))


def future_keys(seed: int | None, count: int) -> npt.NDArray[np.uint64]:
    """Return what turns games 0, 1, .. to another future, uint64 (count,); None: fresh entropy.

    Raises:
        ValueError: a seed that is not a whole number from 0 on.
    """
    keys = np.empty(count, np.uint64)
    _future_keys(hash_seed(seed), keys)
    return keys


def checked_seats(seat: Any, count: int, num_players: int) -> npt.NDArray[np.int64]:
    """Return a seat for each of some games, int64 (count,), from one seat or so many.

    Raises:
        ValueError: there is no such seat; names it.
    """
    if is_whole(seat):
        return np.full(count, whole("seat", seat, 0, num_players - 1))
    seats = integers("seat", seat, (count,))
    for wrong in seats[(seats < 0) | (seats >= num_players)]:
        raise ValueError(f"seat={wrong}: 0 to {num_players - 1} are allowed")
    return seats


def determinize_games(
    games: npt.NDArray[np.void],
    table: npt.NDArray[np.void],
    seats: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
) -> None:
    """Deal anew what a seat of each game cannot see, see `Game.determinize`.

    Args:
        games: GAME (N,).
        table: TABLE (1,).
        seats: `checked_seats`.
        keys: `future_keys`, from which the cards and the future come.
    """
    from nap_env.agents.worlds import determinize  # an agent's knowledge; games do without it

    determinize(games, table, seats, keys)


def hash_seed(seed: int | None) -> np.uint64:
    """Return a seed hashed to 64 bits; None takes fresh entropy from the system.

    Raises:
        ValueError: a seed that is not a whole number from 0 on.
    """
    if seed is not None and not (is_whole(seed) and seed >= 0):
        raise ValueError(f"seed={seed!r}: a whole number from 0 on is allowed, or None")
    entropy = None if seed is None else int(seed)
    return np.uint64(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])


class Cloneable:
    """Games that can be copied for search: one meaning of copying for all that hold games."""

    def clone(self, seed: int | None = None) -> Self:
        """Return a copy; with a seed it has another future, see `reseed`."""
        other = copy.deepcopy(self)
        if seed is not None:
            other.reseed(seed)
        return other

    def reseed(self, seed: int | None) -> None:
        """Give what is still random another future: later deals, and draws of agents.

        Args:
            seed: of the future; None takes fresh entropy.

        Raises:
            ValueError: a seed that is not a whole number from 0 on.
        """
        raise NotImplementedError


class Game(Cloneable):
    """A match of Nap, one decision a step; a deal is over before the next one is asked for.

        game = Game("pub", num_players=5, seed=7)
        while not game.over:
            game.act(game.legal()[0])
        print(game.text(), game.rewards())

    `pickle` and `copy.deepcopy` keep the whole game, random streams included.

    Attributes:
        rules: the rules.
        num_players: players at the table; seats are 0 to num_players - 1, clockwise.
        layout: where the fields of its observations stand.
        games: GAME (1,), the engine's record. A copy of it is a copy of the game.
        desk: DESK (1,), what kernels need beside it.
    """

    DEAL_KEYS = ("dealer", "hands", "widow", "stock", "pool", "multiplier", "scores")
    """The keys of a record that `set_up` takes."""

    @names_arguments
    def __init__(
        self,
        rules: str | Rules = "standard",
        num_players: int = 4,
        seed: int | None = None,
        observation_layout: str = "fixed",
        *,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Deal the first deal of a match. The game is number 0 of its seed.

        Args:
            rules: a preset's name, or rules.
            num_players: players at the table.
            seed: of the random streams; None takes fresh entropy.
            observation_layout: `fixed` for these rules and players, or `full`, one for all.
            options: changes to the rules, as in a deal record.

        Raises:
            ValueError: a number of players that the rules cannot seat, or a bad rule or seed.
        """
        players = int(num_players) if is_whole(num_players) else num_players
        self._attach(resolve(rules, options), players, observation_layout, new_games(1))
        self.reset(hash_seed(seed))

    @classmethod
    def of(
        cls,
        rules: Rules,
        num_players: int,
        games: npt.NDArray[np.void],
        observation_layout: str = "fixed",
    ) -> "Game":
        """Return a copy of one record (GAME (1,)) of a batch as a game of its own.

        Raises:
            ValueError: it is something else, or no deal of these rules and players.
        """
        checked_games(games, rules_table(rules, num_players))
        if len(games) != 1:
            raise ValueError(f"games: {len(games)} of them, one is needed")
        game = cls.__new__(cls)
        game._attach(rules, num_players, observation_layout, games.copy())
        return game

    def _attach(
        self,
        rules: Rules,
        num_players: int,
        observation_layout: str,
        games: npt.NDArray[np.void],
    ) -> None:
        self.rules = rules
        self.num_players = num_players = seated(rules, num_players)
        self.observation_layout = observation_layout
        self.layout = layout(rules, num_players, observation_layout)
        self.games = games
        self.desk = np.zeros(1, DESK)
        self._table = self.desk["rules"] = rules_table(rules, num_players)
        self.desk["view"] = self.layout.new_view()
        # Views of single fields: reading them is several times faster than through the record.
        self.observation = self.desk["observation"][0].view(np.int8)[0, : self.layout.size]
        self.action_mask = self.desk["mask"][0].view(np.int8)[0, :NUM_ACTIONS]
        self._seat, self._phase = games["seat"], games["phase"]
        self._legal, self._legal_bids = games["legal"], games["legal_bids"]
        self._match_over, self._truncated = games["match_over"], games["truncated"]
        self._payments = games["payments"][0, :num_players]
        self._shares = games["shares"][0, :num_players]

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.rules, self.num_players, self.observation_layout, self.games.copy())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        rules, num_players, observation_layout, games = state
        self._attach(rules, num_players, observation_layout, games.copy())

    def reseed(self, seed: int | None) -> None:
        """Give all that is still random another future, see `Cloneable.reseed`."""
        self.games["key"] = future_keys(seed, 1)

    def determinize(self, seat: int, seed: int | None = None) -> None:
        """Deal anew, within this game, all that a seat cannot see, and give it another future.

        Hands, cards put away, widow and stock become one of the deals that agree with all that the
        seat knows, each with the same chance (`nap_env.agents.worlds`); so a search in clones does
        not see the one true deal. What the seat sees stays as it is.

        Args:
            seat: the seat.
            seed: of the cards and the future; None takes fresh entropy.

        Raises:
            ValueError: there is no such seat, or a seed that is not a whole number from 0 on.
        """
        seats = np.array([whole("seat", seat, 0, self.num_players - 1)])
        determinize_games(self.games, self._table, seats, future_keys(seed, 1))

    def reset(self, seed: int | np.uint64 | None = None) -> None:
        """Deal the first deal of a new match; a seed restarts the random streams.

        Args:
            seed: a whole number from 0 on, or what `hash_seed` has made of one (np.uint64).

        Raises:
            ValueError: another seed.
        """
        if seed is not None:
            _seed(self.games, seed if isinstance(seed, np.uint64) else hash_seed(seed))
        _new_match(self.games, self.desk)

    def next_deal(self) -> None:
        """Deal again: the match's next deal, or the first of a new match."""
        _next_deal(self.games, self.desk)

    def set_up(
        self,
        *,
        seed: int | np.uint64 | None = None,
        dealer: int | None = None,
        hands: Any = None,
        widow: Any = None,
        stock: Any = None,
        pool: int | None = None,
        multiplier: int | None = None,
        scores: Any = None,
    ) -> None:
        """Deal the first deal of a new match as given; what is not given comes from the stream.

        Args:
            seed: restarts the random streams, as in `reset`.
            dealer: a seat.
            hands: card texts, a list for each seat, empty for a dealer who sits out.
            widow: card texts.
            stock: the cards that are not dealt, in drawing order.
            pool: chips in the pool before the antes; `pool_start` is then taken as paid.
            multiplier: 1, or 2 where the rules can double the stakes.
            scores: chips of each seat before the deal.

        Raises:
            ValueError: values that no deal of these rules can have. The game is then unchanged.
        """
        rules = self.rules
        dealt = self.clone()
        dealt.reset(seed)
        g = dealt.games[0]
        if dealer is not None:
            g["dealer"] = whole("dealer", dealer, 0, self.num_players - 1)
        if any(cards is not None for cards in (hands, widow, stock)):
            g["pack"][: self._table["pack_size"][0]] = dealt._given_pack(hands, widow, stock)
        g["pool"] = rules.pool_start * self.num_players
        if pool is not None:
            most = MOST_CHIPS if rules.has_pool else 0
            g["pool"] = whole("pool", pool, 0, most)
            g["scores"][:] = 0
            g["shares"][:] = 0
            g["start_charge"] = 0
        if multiplier is not None:
            g["multiplier"] = whole("multiplier", multiplier, 1, 1 + rules.has_multiplier)
        if scores is not None:
            if not isinstance(scores, list | tuple) or len(scores) != self.num_players:
                raise ValueError(f"scores={scores!r}: one score for each of {self.num_players}")
            # A player has had at least what he started with to lose.
            lowest = MOST_CHIPS if rules.chips is None else rules.chips
            for seat, score in enumerate(scores):
                g["scores"][seat] = whole(f"scores[{seat}]", score, -lowest, MOST_CHIPS)
        _deal_as_set_up(dealt.games, self.desk)
        self.games[:] = dealt.games

    def set_up_as(self, seed: int | np.uint64 | None, options: Any) -> None:
        """Deal as the options of an environment's `reset` say.

        Args:
            seed: restarts the random streams, as in `reset`, or None.
            options: DEAL_KEYS, as `set_up` takes them, or `record`: a whole deal record of these
                rules and players, after whose events the game then stands. A key `options` is
                ignored: PettingZoo's own tests send one.

        Raises:
            ValueError: a key or a deal that is not possible.
            IllegalActionError: an event of the record is illegal; the events before it stand.
        """
        if not isinstance(options, Mapping):
            raise ValueError(f"options={options!r}: a mapping is allowed, or None")
        allowed = (*self.DEAL_KEYS, "record", "options")
        unknown = [key for key in options if key not in allowed]
        if unknown:
            raise ValueError(
                f"options: unknown {unknown!r}; allowed are {', '.join(allowed)}"
                f"{did_you_mean(unknown[0], allowed)}"
            )
        record = options.get("record", {})
        given = {key: options[key] for key in self.DEAL_KEYS if key in options}
        if "record" in options:
            if given:
                raise ValueError(f"options: {', '.join(given)} beside record, which has its own")
            self._check_record(record)
            given = {key: record[key] for key in self.DEAL_KEYS if key in record}
        self.set_up(seed=seed, **given)
        self.replay(record.get("events", ()))

    def _check_record(self, record: Any) -> None:
        """Refuse a record of other rules or players."""
        if not isinstance(record, Mapping):
            raise ValueError(f"record={record!r}: a deal record is a mapping")
        for key in ("rules", "num_players"):
            if key not in record:
                raise ValueError(f"record: the key {key!r} is missing")
        rules = resolve(record["rules"], record.get("options"))
        if rules != self.rules:
            raise ValueError(
                f"record of rules={rules.name!r}, options={rules.options}: "
                f"this table plays rules={self.rules.name!r}, options={self.rules.options}"
            )
        if not is_whole(record["num_players"]) or record["num_players"] != self.num_players:
            raise ValueError(
                f"record of num_players={record['num_players']!r}: "
                f"this table has {self.num_players}"
            )
        events = record.get("events", ())
        if not isinstance(events, list | tuple):
            raise ValueError(f"record: events={events!r}: a list of [seat, action name]")

    def _given_pack(self, hands: Any, widow: Any, stock: Any) -> list[int]:
        """Return the pack in dealing order; what is not given is filled from the drawn order."""
        pack = [int(card) for card in self.games["pack"][0][: self._table["pack_size"][0]]]
        order = self._dealing_order()
        size, spare = self.rules.hand_size, int(self._table["widow"][0])
        parts: list[list[int] | None] = [None for _ in range(len(order) + 2)]
        lengths = [size] * len(order) + [spare, len(pack) - len(order) * size - spare]
        if hands is not None:
            if not isinstance(hands, list | tuple) or len(hands) != self.num_players:
                raise ValueError(f"hands={hands!r}: one list for each of {self.num_players} seats")
            for seat, hand in enumerate(hands):
                cards = _cards(f"hands[{seat}]", hand, size if seat in order else 0)
                if seat in order:
                    parts[order.index(seat)] = cards
        if widow is not None:
            parts[-2] = _cards("widow", widow, spare)
        if stock is not None:
            parts[-1] = _cards("stock", stock, lengths[-1])
        given = [card for part in parts for card in part or ()]
        for card in given:
            if card not in pack:
                raise ValueError(f"card {CARDS[card]}: not in the pack of {self.rules.name}")
            if given.count(card) > 1:
                raise ValueError(f"card {CARDS[card]}: stands in {given.count(card)} places")
        rest = iter([card for card in pack if card not in given])
        return [
            card
            for part, length in zip(parts, lengths, strict=True)
            for card in (part if part is not None else [next(rest) for _ in range(length)])
        ]

    def _dealing_order(self) -> list[int]:
        """Return the seats that hold cards, from the dealer's left."""
        dealer = int(self.games["dealer"][0])
        order = [(dealer + 1 + step) % self.num_players for step in range(self.num_players)]
        return order[: self.rules.hands(self.num_players)]

    @property
    def over(self) -> bool:
        """Whether the deal is over; nobody is to move then."""
        return bool(self._phase[0] == OVER)

    @property
    def match_over(self) -> bool:
        """Whether the match is over with this deal."""
        return self.over and bool(self._match_over[0])

    @property
    def truncated(self) -> bool:
        """Whether the match was cut off at `max_deals`."""
        return self.match_over and bool(self._truncated[0])

    @property
    def seat(self) -> int | None:
        """The seat to move, None when the deal is over."""
        return None if self.over else int(self._seat[0])

    @property
    def phase(self) -> str:
        """One of `nap_env.rules.PHASES`."""
        return PHASES[self._phase[0]]

    @property
    def legal_bits(self) -> int:
        """What the seat to move may do: bit `action` is set for a legal action."""
        return int(self._legal[0]) | int(self._legal_bids[0]) << FIRST_BID

    def legal(self) -> list[str]:
        """Return the names of the legal actions, sorted as strings; empty when over."""
        return sorted(ACTIONS[action] for action in self.legal_actions())

    def legal_actions(self) -> list[int]:
        """Return the ids of the legal actions, lowest first; empty when over."""
        bits = self.legal_bits
        return [action for action in range(NUM_ACTIONS) if bits >> action & 1]

    def step(self, action: int) -> bool:
        """Let the seat to move take an action; return whether the deal is over.

        Raises:
            IllegalActionError: the action is not legal here. The game is unchanged.
        """
        number = int(action) if is_whole(action) else -1
        seat = take(self.games, self.desk, number) if 0 <= number < NUM_ACTIONS else ILLEGAL
        if seat == ILLEGAL:
            raise self.illegal(action)
        return bool(seat < 0)

    def act(self, name: str) -> bool:
        """Take an action by its name, as in records.

        Raises:
            ValueError: no action has that name.
            IllegalActionError: the action is not legal here.
        """
        return self.step(action_id(name))

    def replay(self, events: Iterable[Any]) -> None:
        """Let the events of a record happen.

        Args:
            events: [seat, action name] pairs.

        Raises:
            ValueError: something else than a pair, or an unknown action; says which event.
            IllegalActionError: an action that is not legal, or a seat that is not to move.
        """
        for number, event in enumerate(events):
            if not isinstance(event, list | tuple) or len(event) != 2:
                raise ValueError(f"event {number}: {event!r} is not [seat, action name]")
            seat, name = event
            if not self.over and not (is_whole(seat) and seat == self.seat):
                raise IllegalActionError(
                    f"event {number}: {event!r}, but seat {self.seat} is to move"
                )
            try:
                self.act(name)
            except ValueError as error:
                raise type(error)(f"event {number}: {error}") from None

    def random_action(self) -> int:
        """Return a uniformly random legal action from the game's own stream.

        Raises:
            ValueError: the deal is over.
        """
        if self.over:
            raise ValueError("random_action: the deal is over, nobody is to move")
        return int(_random_action(self.games))

    def observe(self, seat: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        """Return a seat's observation int8 (K,) and action mask int8 (A,), both new arrays.

        The mask of a seat that is not to move is all zero.

        Raises:
            ValueError: there is no such seat.
        """
        look(self.games, self.desk, whole("seat", seat, 0, self.num_players - 1))
        return self.observation.copy(), self.action_mask.copy()

    def rewards(self) -> list[int]:
        """Return what each seat's chips changed in the finished deal.

        The first deal of a match brings `pool_start` with it, the last one the shares of the pool.
        """
        rewards: list[int] = (self._payments + self._shares).tolist()
        return rewards

    def illegal(self, action: Any) -> IllegalActionError:
        """Return the error for an action that is not legal here: why, what is, and the deal.

        Its text tells what the seat to move may know.
        """
        seat = self.seat
        deal = f"deal: {transcript(self.table(seat))}"
        if seat is None:
            return IllegalActionError(f"action {action!r}: the deal is over; {deal}")
        if not is_whole(action) or not 0 <= action < NUM_ACTIONS:
            what = f"action {action!r}, which is not one of 0 to {NUM_ACTIONS - 1}"
        else:
            what = f"{ACTIONS[action]} but {self.duty()}"
        legal = " ".join(self.legal())
        return IllegalActionError(f"seat {seat} chose {what}; legal: {legal}; {deal}")

    def duty(self) -> str:
        """Return what the seat to move must do: its mask in the words of the rules."""
        names, contract = self.legal(), int(self.games["contract"][0])
        duties = [self._duty_of_cards()] if any(name in CARDS for name in names) else []
        duties += ["name trumps"] if any(name in SUIT_NAMES for name in names) else []
        duties += ["be done" if name == "done" else name for name in CALLS if name in names]
        if any(name in BIDS for name in names):
            duties.append(f"bid above {BIDS[contract]}" if contract >= 0 else "bid")
        return f"must {' or '.join(duties)}"

    def _duty_of_cards(self) -> str:
        """Return what must be done with the legal cards."""
        g = self.games[0]
        legal, hand = int(g["legal"]), int(g["hand"][g["seat"]])
        if g["phase"] != PLAY:
            return "put a card away"
        if g["in_trick"] and not legal & ~int(g["following"]):
            return f"follow {SUIT_NAMES[g['led_suit']]}"
        if legal == hand:
            return f"{'play' if g['in_trick'] else 'lead'} a card of the hand"
        return "trump" if g["in_trick"] else "lead a card that the contract allows"

    def record(self) -> dict[str, Any]:
        """Return the deal so far as a record; `result` is there once the deal is over."""
        g = self.games[0]
        players = self.num_players
        size = self.rules.hand_size
        pack = [CARDS[card] for card in g["pack"][: self._table["pack_size"][0]]]
        hands: list[list[str]] = [[] for _ in range(players)]
        order = self._dealing_order()
        stock_at = len(order) * size + int(self._table["widow"][0])
        for place, seat in enumerate(order):
            hands[seat] = pack[place * size : (place + 1) * size]
        record: dict[str, Any] = {
            "rules": self.rules.name,
            "options": self.rules.options,
            "num_players": players,
            "dealer": int(g["dealer"]),
            "hands": hands,
            "widow": pack[len(order) * size : stock_at],
            "stock": pack[stock_at:],
            "pool": int(g["first_pool"]),
            "multiplier": int(g["first_multiplier"]),
            "events": [
                [int(event) // EVENT_SEAT, ACTIONS[event % EVENT_SEAT]]
                for event in g["events"][: g["num_events"]]
            ],
        }
        scores = [int(score) for score in g["scores"][:players]]
        if self.over:  # before the deal: without its payments and the pool shared out after it
            shared = g["payments"] + g["shares"] + g["start_charge"]
            scores = [score - int(change) for score, change in zip(scores, shared, strict=False)]
        if any(scores):
            record["scores"] = scores
        if self.over:
            record["result"] = self._result()
        return record

    def table(self, viewer: int | None = None, *, playing: bool = True) -> Table:
        """Return what is seen of the game, for text, pictures and pages.

        Args:
            viewer: the seat whose cards and discards are shown; None shows those of all.
            playing: False where an environment has ended the game, so that nobody is to move.

        Raises:
            ValueError: there is no such seat.
        """
        if viewer is not None:
            viewer = whole("viewer", viewer, 0, self.num_players - 1)
        return read_table(self.games[0], self.rules, self.record(), viewer, playing)

    def text(self, viewer: int | None = None, *, playing: bool = True) -> str:
        """Return the table as text; the arguments are those of `table`."""
        return table_text(self.table(viewer, playing=playing))

    def svg(self, viewer: int | None = None, *, playing: bool = True) -> str:
        """Return the table as an SVG picture; the arguments are those of `table`."""
        return svg(self.table(viewer, playing=playing))

    def _repr_svg_(self) -> str:
        """Return what a notebook shows: the table as the seat to move sees it."""
        return self.svg(self.seat)

    def _result(self) -> dict[str, Any]:
        g = self.games[0]
        declarer, contract, trump = int(g["declarer"]), int(g["contract"]), int(g["trump_suit"])
        payments = [int(chips) for chips in g["payments"][: self.num_players]]
        return {
            "declarer": declarer if contract >= 0 else None,
            "contract": BIDS[contract] if contract >= 0 else None,
            "trump": SUITS[trump] if trump >= 0 else None,
            "made": bool(g["made"]) if contract >= 0 else None,
            "tricks": [int(lane(g["tricks"], seat)) for seat in range(self.num_players)],
            "payments": payments,
            "pool": int(g["first_pool"]) - sum(payments),
            "multiplier": int(g["multiplier"]),
        }

    def hand(self, seat: int) -> list[str]:
        """Return the cards that a seat holds, by increasing id.

        Raises:
            ValueError: there is no such seat.
        """
        return hand_cards(int(self.games["hand"][0][whole("seat", seat, 0, self.num_players - 1)]))


def _cards(name: str, cards: Any, length: int) -> list[int]:
    if not isinstance(cards, list | tuple) or len(cards) != length:
        raise ValueError(f"{name}={cards!r}: a list of {length} cards is needed")
    return [card_id(card) for card in cards]
