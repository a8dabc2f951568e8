"""The rules of a game of Nap as data: `Bid` rows, `Rules`, and the table that the engine reads.

`Rules` has a field for every option. What an option means stands beside its field; the presets
(`nap_env.presets`) are rows of these fields. A bid's price, trumps and lead are columns: the
engine never asks for the name of a preset or of a bid.
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.actions import BIDS, FIRST_SUIT, NUM_BIDS
from nap_env.cards import JOKER, JOKER_MASK, NUM_RANKS, NUM_SUITS, RANKS
from nap_env.words import did_you_mean

MAX_SEATS = 8
MAX_HAND = 7
POOL_CAP = 1_000_000

MATCH_LENGTH = ("deals", "target", "max_deals")
"""Options that decide only how many deals a match has."""

PHASES = ("buy", "auction", "hold", "exchange", "name", "play", "over")
"""The phases of a deal."""

# How a contract gets its trumps, and what its opening lead must be: codes in the engine's table.
TRUMPS_NONE, TRUMPS_LED, TRUMPS_NAMED = range(3)
LEADS = ("any", "lowest_trump", "lowest_plain")
LEAD_ANY, LEAD_LOWEST_TRUMP, LEAD_LOWEST_PLAIN = range(len(LEADS))

FLOATER = "+f"
"""What the name of a bid's floater form ends in."""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, of Python or numpy, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return a whole number from `low` to `high` as an int.

    Raises:
        ValueError: it is something else; names it.
    """
    if not is_whole(value) or not low <= value <= high:
        allowed = f"{low} is allowed" if low == high else f"{low} to {high} are allowed"
        if high > 2**30 and not (is_whole(value) and value > high):  # no limit that anybody meets
            allowed = f"a whole number from {low} on is allowed"
        raise ValueError(f"{name}={value!r}: {allowed}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return a truth value, of Python or numpy, as a bool.

    Raises:
        ValueError: it is something else; names it.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r}: True or False is allowed")
    return bool(value)


def as_array(values: Any) -> npt.NDArray[Any]:
    """Return values as an array: of objects, if they are lists of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(values, object)


def integers(name: str, values: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return integers of any type as int64 of a shape, contiguous: as a kernel takes them.

    Raises:
        ValueError: they are something else, or of another shape; names them.
    """
    array = values if type(values) is np.ndarray else as_array(values)
    if array.shape != shape or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name}: {array.dtype} {array.shape}, integers {shape} are needed")
    if array.dtype == np.int64 and array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array, np.int64)


def seated(rules: Any, num_players: Any) -> int:
    """Return the number of players as an int, if the rules seat so many.

    Raises:
        ValueError: they do not, or they are no rules.
    """
    if not isinstance(rules, Rules):
        raise ValueError(f"rules={rules!r}: a Rules object is needed, such as PRESETS['standard']")
    rules.check_players(num_players)
    return int(num_players)


def one_of(name: str, value: Any, allowed: Iterable[str]) -> Any:
    """Return one of some words.

    Raises:
        ValueError: it is something else; names it.
    """
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"{name}={value!r}: allowed are {', '.join(allowed) or 'none here'}"
            f"{did_you_mean(value, allowed)}"
        )
    return value


@dataclass(frozen=True)
class Bid:
    """One bid: what it undertakes and what it is worth.

    Attributes:
        name: one of `nap_env.actions.BIDS`.
        tricks: tricks to take, 0 for a misère. Five means all tricks of a smaller hand.
        win: chips from each opponent when made.
        lose: chips to each opponent when failed.
        lead: the opening lead: `any`, `lowest_trump` or `lowest_plain` (trumps are named first).
        overtrick: chips more from each opponent for each trick above a made bid.
        undertrick: chips more to each opponent for each trick missing from a failed bid.
    """

    name: str
    _: KW_ONLY
    tricks: int
    win: int
    lose: int
    lead: str = "any"
    overtrick: int = 0
    undertrick: int = 0

    def __post_init__(self) -> None:
        one_of("name of bid", self.name, BIDS)
        one_of(f"lead of {self.name}", self.lead, LEADS)
        whole(f"tricks of {self.name}", self.tricks, 0, MAX_HAND)
        for column in ("win", "lose", "overtrick", "undertrick"):
            whole(f"{column} of {self.name}", getattr(self, column), 0, 1000)


# The base tariff, chips from and to each opponent. Source: RULES 5; Six and Seven: RULES 4.2.
TARIFF = {
    bid.name: bid
    for bid in (
        Bid("one", tricks=1, win=1, lose=1),
        Bid("two", tricks=2, win=2, lose=2),
        Bid("three+f", tricks=3, win=3, lose=3),
        Bid("three", tricks=3, win=3, lose=3),
        Bid("misere", tricks=0, win=3, lose=3),
        Bid("four+f", tricks=4, win=4, lose=4),
        Bid("four", tricks=4, win=4, lose=4),
        Bid("five", tricks=5, win=5, lose=5),
        Bid("nap+f", tricks=5, win=10, lose=5),
        Bid("nap", tricks=5, win=10, lose=5),
        Bid("napoleon", tricks=5, win=10, lose=5),
        Bid("wellington", tricks=5, win=10, lose=10),
        Bid("blucher", tricks=5, win=10, lose=20),
        Bid("six", tricks=6, win=18, lose=9),
        Bid("seven", tricks=7, win=24, lose=12),
    )
}


def _alt_price(bid: Bid) -> Bid:
    """Return a bid at the prices of alternative scoring. Source: RULES 4.11.

    A bid of k tricks made wins 2k and 1 for each overtrick; failed it costs 2 for each trick
    missing and 1 for each of the five not taken, so 5 - k and 3 for each one missing. The source
    prices only Nap besides: every bid for five is worth as much, a misère twice its usual price.
    """
    tricks = bid.tricks
    if tricks == 0:
        return replace(bid, win=6, lose=6)
    if tricks >= 5:
        return replace(bid, win=15, lose=10)
    return replace(bid, win=2 * tricks, lose=5 - tricks, overtrick=1, undertrick=3)


ALT_TARIFF = {name: _alt_price(bid) for name, bid in TARIFF.items()}
TARIFFS = {"table": TARIFF, "alt": ALT_TARIFF}
# By scheme, the separately announced Napoleon. Source: RULES 4.9.
SEPARATE_NAPOLEON = {
    "table": Bid("napoleon", tricks=5, win=5, lose=5),
    "alt": ALT_TARIFF["napoleon"],
}

Deck = int | tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """One way to play Nap. Frozen, hashable, checked when built.

    The fields are the options of a deal record under the same names, except that `bids` holds
    whole `Bid` rows, into which a record's options `bids`, `pay`, `lead` and `scheme` are merged
    (`with_options`, and back again by `options`). `None` is written "none" in a record.

    Raises:
        ValueError: a value, or a combination of values, that makes no game; the text says which.
    """

    name: str = "standard"
    """The preset that these rules started from."""
    bids: tuple[Bid, ...]
    """The bids, low to high."""
    player_range: tuple[int, int] = (3, 7)
    """Fewest and most players."""
    deck: Deck = 52
    """Cards in the pack without the joker, from the ace down; or (players, cards) pairs."""
    suits: int = 4
    """Suits in the pack, counted from clubs upwards."""
    joker: bool = False
    """A joker is the highest trump, and the only trump of a misère without trumps (RULES 2.9)."""
    hand_size: int = 5
    """Cards each."""
    dealer_out_from: int | None = None
    """With so many players or more the dealer takes no cards but pays and receives."""
    first_dealer: str | int = "low_ace_low"
    """How the first dealer is found: low_ace_low, high, jack, random, or a seat (RULES 2.2).

    Drawing cards gives every player the same chance, like random; turning up a jack does not.
    """
    shuffle: str = "every"
    """Shuffle before every deal, or only after a made five-trick bid: every, after_nap."""
    packets: str = "3-2"
    """Cards dealt at a time; they matter with `shuffle="after_nap"` only."""
    first_bidder: str = "eldest"
    """Who speaks first: eldest (on the dealer's left) or dealer."""
    hold: bool = False
    """The dealer may hold or raise the highest bid after the round (RULES 4.9)."""
    all_pass: str = "next_dealer"
    """If nobody bids: next_dealer, dealer_one, eldest_one, double_next (RULES 2.6)."""
    wellington_over: str | None = None
    """The bid that another player must have made before Wellington may be bid."""
    blucher_over: str | None = None
    """The bid that another player must have made before Blücher may be bid."""
    wellington_min_players: int = 0
    """Wellington exists from so many players."""
    blucher_min_players: int = 0
    """Blücher exists from so many players."""
    misere_goal: str = "lose_all"
    """What a misère undertakes: lose_all, or exact3_nt (exactly three tricks, no trumps)."""
    misere_trump: str = "none"
    """Trumps of a misère: none, or lead (the suit of the opening lead)."""
    must_trump: bool = False
    """A player void in the led suit must play a trump if he has one."""
    early_stop: bool = True
    """Play stops once the bid is certainly made or lost; never where single tricks are paid."""
    allow_revoke: bool = False
    """Every card may be played; a broken rule is settled at once as a revoke (RULES 2.11)."""
    widow: str = "none"
    """What is dealt to the table: none, peep or floater (a card), garnet (a spare hand)."""
    look_cost: int = 0
    """Chips into the pool for a look at the widow."""
    look_needed: bool = True
    """In Peep Nap the maker may swap only if he has looked."""
    dealer_free_look: bool = False
    """The dealer has seen the floater for nothing."""
    buy: bool = False
    """Cards may be bought before the auction (RULES 4.4)."""
    buy_cost: int = 1
    """Chips for each card bought, into the pool."""
    draw: str = "none"
    """Exchange after the auction: none, maker_then_opponents (4.6), maker_one (4.9)."""
    scheme: str = "table"
    """The tariff that unlisted bids take: table, or alt, which pays single tricks (RULES 4.11)."""
    overtrick: int = 0
    """Chips from each opponent for each trick above a made bid for fewer than all the tricks."""
    stake: int = 1
    """Multiplies the settlement, `garnet_pool` and purchases."""
    transfer: str = "each"
    """each: a price is paid per opponent; split: shared by them, all scores times n - 1."""
    separate_call: bool = False
    """Five and Napoleon are two bids, and only Napoleon wins or doubles the pool (RULES 4.9)."""
    garnet_fail: int = 1
    """A failed contract with the spare hand costs so many times its price."""
    garnet_pool: int = 0
    """Stakes that such a failure also pays into the pool."""
    pool_start: int = 0
    """Chips from each player into the pool at the start of a match."""
    pool_each: int = 0
    """Chips from each player into the pool in every deal."""
    pool_dealer: int = 0
    """Chips from the dealer into the pool in every deal."""
    pool_fail: str = "none"
    """as_player: a maker who fails pays the pool like one more opponent."""
    pool_five_fail: str = "none"
    """double: a failed bid for all the tricks doubles the pool at the maker's cost."""
    pool_revoke: int = 0
    """Chips from a revoking player into the pool."""
    pool_end: str = "split"
    """What happens to the pool at the end of a match: split, shared equally."""
    discard_to: int | None = None
    """Each hand discards down to so many cards before the auction."""
    deals: int | None = 1
    """Deals in a match."""
    target: int | None = None
    """A score that ends the match."""
    chips: int | None = None
    """Chips that each player starts with; the match ends when one cannot pay."""
    max_deals: int = 1000
    """A match is cut off (truncated) after so many deals."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _frozen(field.name, getattr(self, field.name)))
        _check(self)

    def with_options(self, options: Mapping[str, Any]) -> "Rules":
        """Return these rules with a record's options laid over them.

        `bids` replaces the list (a bid that was not in it takes the base tariff's row), `scheme`
        chooses the tariff, `pay` and `lead` change single bids; every other option replaces a
        field. What holds for a bid holds for its floater form, too, unless that has its own. `None`
        and `"none"` are the same.

        Raises:
            ValueError: an unknown option, or a value or combination that makes no game.
        """
        names = {field.name for field in fields(self)} - {"name"}
        changes = {key: _from_json(key, value) for key, value in options.items()}
        for key in changes:
            if key not in names | {"pay", "lead"}:
                known = sorted(names | {"pay", "lead"})
                raise ValueError(
                    f"option {key!r} is not known; there are {', '.join(known)}"
                    f"{did_you_mean(key, known)}"
                )
        listed = changes.pop("bids", tuple(bid.name for bid in self.bids))
        merged = self._rows(listed, changes.get("scheme", self.scheme))
        for name, price in _by_bid("pay", changes.pop("pay", None), merged):
            if not isinstance(price, list | tuple) or len(price) != 2:
                raise ValueError(f"pay of {name}={price!r}: write [win from each, lose to each]")
            merged[name] = replace(merged[name], win=price[0], lose=price[1])
        for name, lead in _by_bid("lead", changes.pop("lead", None), merged):
            merged[name] = replace(merged[name], lead=lead)
        return replace(self, bids=tuple(merged.values()), **changes)

    def _rows(self, listed: Sequence[str], scheme: str) -> dict[str, Bid]:
        """Return the rows of a list of bids under a tariff: this one's own where it has them."""
        tariff = TARIFFS[one_of("scheme", scheme, TARIFFS)]
        rows = {bid.name: bid for bid in self.bids}
        for name in {f"{name}{FLOATER}" for name in rows} & set(BIDS) - set(rows):
            rows[name] = replace(rows[name.removesuffix(FLOATER)], name=name)
        if scheme != self.scheme:
            rows = {name: replace(tariff[name], lead=row.lead) for name, row in rows.items()}
        if not isinstance(listed, list | tuple):
            raise ValueError(f"bids={listed!r}: a list of names is needed")
        merged = {one_of("bids", name, BIDS): rows.get(name, tariff[name]) for name in listed}
        if len(listed) != len(merged):
            raise ValueError(f"bids={list(listed)}: each bid may stand in the list once")
        return merged

    @property
    def options(self) -> dict[str, Any]:
        """What differs from the preset `name`, as a record's options (JSON values)."""
        preset = PRESETS[self.name]
        result: dict[str, Any] = {
            field.name: _to_json(getattr(self, field.name))
            for field in fields(self)
            if field.name not in ("name", "bids")
            and getattr(self, field.name) != getattr(preset, field.name)
        }
        if [bid.name for bid in self.bids] != [bid.name for bid in preset.bids]:
            result["bids"] = [bid.name for bid in self.bids]
        both = preset._rows([bid.name for bid in self.bids], self.scheme).values(), self.bids
        pay = _changes(*({bid.name: [bid.win, bid.lose] for bid in bids} for bids in both))
        lead = _changes(*({bid.name: bid.lead for bid in bids} for bids in both))
        return result | ({"pay": pay} if pay else {}) | ({"lead": lead} if lead else {})

    @property
    def all_bids(self) -> tuple[Bid, ...]:
        """The bids, and the Napoleon that `separate_call` puts above them at a price of its own."""
        return self.bids + (SEPARATE_NAPOLEON[self.scheme],) * self.separate_call

    @property
    def stops_early(self) -> bool:
        """Whether play stops once the bid is certainly made or lost."""
        return self.early_stop and self.scheme == "table" and not self.overtrick

    @property
    def num_tricks(self) -> int:
        """Cards each in the play: tricks of a deal."""
        return self.discard_to or self.hand_size

    @property
    def has_pool(self) -> bool:
        """Whether chips can be in the pool."""
        return bool(
            self.pool_start or self.pool_each or self.pool_dealer or self.pool_revoke
            or self.look_cost or self.garnet_pool or (self.buy and self.buy_cost)
            or self.pool_fail != "none" or self.pool_five_fail != "none"
        )  # fmt: skip

    @property
    def has_multiplier(self) -> bool:
        """Whether stakes can be doubled."""
        return self.all_pass == "double_next"

    @property
    def exchanges(self) -> bool:
        """Whether cards can be looked at, taken, bought, drawn or discarded."""
        return bool(self.widow != "none" or self.buy or self.draw != "none" or self.discard_to)

    @property
    def widow_cards(self) -> int:
        """Cards dealt to the table."""
        return {"none": 0, "garnet": self.hand_size}.get(self.widow, 1)

    def pack_size(self, num_players: int) -> int:
        """Return the number of cards in the pack without the joker."""
        if isinstance(self.deck, int):
            return self.deck
        try:
            return dict(self.deck)[num_players]
        except KeyError:
            raise ValueError(f"deck={_to_json(self.deck)}: no pack for {num_players}") from None

    def hands(self, num_players: int) -> int:
        """Return the number of hands dealt: one fewer where the dealer sits out."""
        out = self.dealer_out_from is not None and num_players >= self.dealer_out_from
        return num_players - out

    def check_players(self, num_players: int) -> None:
        """Refuse a number of players that these rules cannot seat.

        Raises:
            ValueError: too few or too many players, or too few cards for them.
        """
        low, high = self.player_range
        if not is_whole(num_players) or not low <= num_players <= high:
            raise ValueError(f"num_players={num_players!r}: {self.name} seats {low} to {high}")
        cards = self.pack_size(num_players) + self.joker
        needed = self.hands(num_players) * self.hand_size + self.widow_cards
        if needed > cards:
            raise ValueError(
                f"num_players={num_players}: the deal needs {needed} cards, the pack has {cards}"
            )
        if isinstance(self.first_dealer, int) and self.first_dealer >= num_players:
            raise ValueError(f"first_dealer={self.first_dealer}: seats are 0 to {num_players - 1}")


CHOICES = {
    "shuffle": ("every", "after_nap"),
    "first_bidder": ("eldest", "dealer"),
    "all_pass": ("next_dealer", "dealer_one", "eldest_one", "double_next"),
    "misere_goal": ("lose_all", "exact3_nt"),
    "misere_trump": ("none", "lead"),
    "widow": ("none", "peep", "floater", "garnet"),
    "draw": ("none", "maker_then_opponents", "maker_one"),
    "scheme": tuple(TARIFFS),
    "transfer": ("each", "split"),
    "pool_fail": ("none", "as_player"),
    "pool_five_fail": ("none", "double"),
    "pool_end": ("split",),
}
FIRST_DEALERS = ("low_ace_low", "high", "jack", "random")

# Option: lowest and highest value. Options of OPTIONAL may also be none.
LIMITS = {
    "suits": (1, NUM_SUITS),
    "hand_size": (1, MAX_HAND),
    "dealer_out_from": (3, MAX_SEATS),
    "wellington_min_players": (0, MAX_SEATS),
    "blucher_min_players": (0, MAX_SEATS),
    "look_cost": (0, 1000),
    "buy_cost": (0, 1000),
    "overtrick": (0, 1000),
    "stake": (1, 1000),
    "garnet_fail": (1, 10),
    "garnet_pool": (0, 1000),
    "pool_start": (0, 1000),
    "pool_each": (0, 1000),
    "pool_dealer": (0, 1000),
    "pool_revoke": (0, 1000),
    "discard_to": (1, MAX_HAND - 1),
    "deals": (1, 1_000_000),
    "target": (1, 1_000_000),
    "chips": (1, 1_000_000),
    "max_deals": (1, 1_000_000),
}
OPTIONAL = ("dealer_out_from", "discard_to", "deals", "target", "chips")
FLAGS = (
    *("joker", "hold", "must_trump", "early_stop", "allow_revoke", "look_needed"),
    *("dealer_free_look", "buy", "separate_call"),
)

PRESETS: dict[str, Rules] = {}
"""The named rule sets; `nap_env.presets` fills it."""


def _from_json(key: str, value: Any) -> Any:
    """Turn a record's option into a field's value."""
    if isinstance(value, str) and value == "none" and key not in CHOICES:
        return None
    if value is None and "none" in CHOICES.get(key, ()):
        return "none"
    return value


def _by_bid(key: str, value: Any, listed: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return what an option says of each bid; unless it names them, floater forms follow theirs."""
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{key}={value!r}: a mapping from bids is needed")
    told = {one_of(f"bid in {key}", name, listed): what for name, what in (value or {}).items()}
    return (
        {name + FLOATER: told[name] for name in told if name + FLOATER in listed} | told
    ).items()


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an option must say so that `_by_bid` makes of `before` what is `now`."""
    plain = [name for name in now if not name.endswith(FLOATER)]
    told = {name: now[name] for name in plain if now[name] != before[name]}
    after = {**before, **dict(_by_bid("", told, now))}
    return told | {name: what for name, what in now.items() if what != after[name]}


def _players_key(text: Any) -> int:
    number = int(text) if isinstance(text, str) and re.fullmatch("[0-9]", text) else text
    return whole("deck: number of players", number, 2, MAX_SEATS)


def _to_json(value: Any) -> Any:
    """Turn a field's value into a record's option."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return {str(players): cards for players, cards in value}
    return list(value) if isinstance(value, tuple) else "none" if value is None else value


def _frozen(name: str, value: Any) -> Any:
    """Return a field's value as it is kept: numbers of Python, lists and tables as tuples."""
    if name == "deck" and isinstance(value, Mapping):
        value = [(_players_key(players), size) for players, size in value.items()]
        value.sort(key=lambda pair: pair[0])
    if isinstance(value, list | tuple):
        return tuple(
            tuple(map(_plain, item)) if isinstance(item, list | tuple) else _plain(item)
            for item in value
        )
    return _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.integer | np.bool_) else value


def _check(rules: Rules) -> None:
    """Raise ValueError for values and combinations that make no game."""
    for name, allowed in CHOICES.items():
        one_of(name, getattr(rules, name), allowed)
    for name, (low, high) in LIMITS.items():
        if getattr(rules, name) is not None or name not in OPTIONAL:
            whole(name, getattr(rules, name), low, high)
    if not isinstance(rules.name, str):
        raise ValueError(f"name={rules.name!r}: the name of a preset is needed")
    for name in FLAGS:
        if not isinstance(getattr(rules, name), bool):
            raise ValueError(f"{name}={getattr(rules, name)!r}: true or false is allowed")
    if isinstance(rules.first_dealer, str):
        one_of("first_dealer", rules.first_dealer, FIRST_DEALERS)
    else:
        whole("first_dealer", rules.first_dealer, 0, MAX_SEATS - 1)
    _check_pack(rules)
    _check_bids(rules)
    _check_combinations(rules)


def _check_pack(rules: Rules) -> None:
    low_high = rules.player_range
    if not isinstance(low_high, tuple) or len(low_high) != 2:
        raise ValueError(f"player_range={low_high!r}: write [fewest, most]")
    whole("player_range", low_high[0], 2, MAX_SEATS)
    whole("player_range", low_high[1], low_high[0], MAX_SEATS)
    packs: Any = ((2, rules.deck),) if is_whole(rules.deck) else rules.deck
    if not isinstance(packs, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in packs):
        raise ValueError(f"deck={rules.deck!r}: a number of cards, or a table by number of players")
    if len({_players_key(players) for players, _ in packs}) < len(packs):
        raise ValueError(f"deck={rules.deck!r}: each number of players may stand there once")
    for _, cards in packs:
        highest = rules.suits * NUM_RANKS
        if not is_whole(cards) or not rules.suits <= cards <= highest or cards % rules.suits:
            raise ValueError(
                f"deck={_to_json(rules.deck)}: {rules.suits} suits allow packs of up to {highest} "
                f"cards, a multiple of {rules.suits}"
            )
    packet_sizes(rules.packets)


def _check_bids(rules: Rules) -> None:
    if not isinstance(rules.bids, tuple) or not all(isinstance(bid, Bid) for bid in rules.bids):
        raise ValueError(f"bids={rules.bids!r}: a tuple of Bid rows is needed")
    if not rules.bids:
        raise ValueError("bids=(): at least one bid is needed")
    names = [bid.name for bid in rules.bids]
    if len(set(names)) != len(names):
        raise ValueError(f"bids={names}: each bid may stand in the list once")
    for bid in rules.bids:
        usual = TARIFFS[rules.scheme][bid.name]
        for column in ("tricks", "overtrick", "undertrick"):
            if getattr(bid, column) != getattr(usual, column):
                raise ValueError(
                    f"{column} of {bid.name}={getattr(bid, column)}: "
                    f"scheme={rules.scheme} has {getattr(usual, column)}"
                )
        if tricks_needed(bid, rules.num_tricks) > rules.num_tricks:
            raise ValueError(f"bid {bid.name}: {bid.tricks} tricks of {rules.num_tricks} cards")
        if bid.lead != "any" and trumps_of(bid, rules) == TRUMPS_NONE:
            raise ValueError(f"lead of {bid.name}={bid.lead!r}: this bid has no trumps")
        if bid.name.endswith(FLOATER) and rules.widow != "floater":
            raise ValueError(f"bid {bid.name}: needs widow=floater, not {rules.widow!r}")
    for name in ("wellington_over", "blucher_over"):
        if getattr(rules, name) is not None:
            one_of(name, getattr(rules, name), BIDS)


def _check_combinations(rules: Rules) -> None:
    """Refuse combinations that no rule text explains. Reasons stand in the messages."""
    alt = rules.scheme == "alt"
    names = [bid.name for bid in rules.bids]
    refusals = {
        "scheme=alt: its prices are written for hands of five cards": alt and rules.num_tricks != 5,
        "scheme=alt: it pays overtricks itself, so overtrick must be 0": alt and rules.overtrick,
        "misere_goal=exact3_nt: a hand of fewer than three cards cannot take three tricks": (
            rules.misere_goal == "exact3_nt" and rules.num_tricks < 3
        ),
        "widow and draw are not combined": rules.widow != "none" and rules.draw != "none",
        "separate_call: the list must have five and not napoleon": (
            rules.separate_call and ("five" not in names or "napoleon" in names)
        ),
        "widow=garnet: taking the spare hand bids nap, which is not in the list": (
            rules.widow == "garnet" and "nap" not in names
        ),
        "chips: each must have at least what pool_start takes": (
            rules.chips is not None and rules.chips < rules.pool_start
        ),
        f"look_cost={rules.look_cost}: there is no card to look at with widow={rules.widow}": (
            rules.look_cost and rules.widow not in ("peep", "floater")
        ),
        f"look_needed=False: only with widow=peep, not {rules.widow}": (
            not rules.look_needed and rules.widow != "peep"
        ),
        f"dealer_free_look=True: only with widow=floater, not {rules.widow}": (
            rules.dealer_free_look and rules.widow != "floater"
        ),
        f"garnet_fail and garnet_pool: only with widow=garnet, not {rules.widow}": (
            (rules.garnet_fail != 1 or rules.garnet_pool) and rules.widow != "garnet"
        ),
        f"buy_cost={rules.buy_cost}: only with buy": rules.buy_cost != 1 and not rules.buy,
        "transfer=split: a score sheet has no pool": rules.transfer == "split" and rules.has_pool,
        f"discard_to={rules.discard_to}: must be below hand_size={rules.hand_size}": (
            rules.discard_to is not None and rules.discard_to >= rules.hand_size
        ),
        "deals, target and chips: at least one must end the match": (
            rules.deals is None and rules.target is None and rules.chips is None
        ),
    }  # fmt: skip
    for reason, refused in refusals.items():
        if refused:
            raise ValueError(reason)


@functools.lru_cache(maxsize=256)
def same_deals(rules: Rules, other: Rules) -> bool:
    """Return whether rules differ in the length of a match at most."""
    return all(
        getattr(rules, field.name) == getattr(other, field.name)
        for field in fields(Rules)
        if field.name not in MATCH_LENGTH
    )


def packet_sizes(packets: str) -> list[int]:
    """Return the numbers of cards that `3-2` or `1x5` deals at a time, padded with zeros.

    Raises:
        ValueError: text of another form, or packets of more than seven cards.
    """
    if not isinstance(packets, str) or not re.fullmatch(
        r"[1-7](x[1-7])?(-[1-7](x[1-7])?)*", packets
    ):
        raise ValueError(f"packets={packets!r}: write 3-2, or 1x5 for five single cards")
    sizes: list[int] = []
    for part in packets.split("-"):
        size, _, times = part.partition("x")
        sizes += [int(size)] * int(times or 1)
    return (sizes + [0] * MAX_HAND)[:MAX_HAND]


def tricks_needed(bid: Bid, hand_size: int) -> int:
    """Return the tricks that a bid undertakes: five means all of a smaller hand."""
    return min(bid.tricks, hand_size) if bid.tricks == 5 else bid.tricks


def trumps_of(bid: Bid, rules: Rules) -> int:
    """Return how a contract gets its trumps: TRUMPS_NONE, TRUMPS_LED or TRUMPS_NAMED."""
    if bid.tricks == 0 and (rules.misere_goal == "exact3_nt" or rules.misere_trump == "none"):
        return TRUMPS_NONE
    return TRUMPS_NAMED if bid.lead == "lowest_plain" else TRUMPS_LED


_I8 = np.int64
TABLE = np.dtype(
    [
        ("num_players", _I8),
        ("hands", _I8),
        ("hand_size", _I8),
        ("dealer_out", _I8),
        ("first_dealer", _I8),  # a seat, or -1: any seat with equal chance
        ("pack", np.int8, 56),  # card ids, pack_size of them
        ("pack_size", _I8),
        ("shuffled", _I8),  # leading cards of the pack whose order can matter
        ("num_tricks", _I8),  # cards each in the play
        ("packets", _I8, MAX_HAND),  # cards dealt at a time, in turn, 0: begin again
        ("after_nap", _I8),  # 1: shuffle only before a match and after all tricks were made
        ("jacks", _I8),  # jacks in the pack if the first one turned up deals, else 0
        ("joker", _I8),  # mask
        ("suit_names", _I8),  # mask of the actions that name trumps
        ("dealer_first", _I8),
        ("bids", _I8),  # mask of the bids, by bid number (action - FIRST_BID)
        ("must_bid", _I8),  # mask of what the last speaker may bid, and may not pass; or 0
        ("imposed_bid", _I8),  # bid number that falls on the eldest hand, or -1
        ("conditional", _I8),  # mask of the bids with an overcall condition
        ("above", _I8, 16),  # by bid: mask of the bids that rank above it
        ("over", _I8, 16),  # by bid: mask of which another player must have bid one
        ("fewest", _I8, 16),  # by bid: fewest and most tricks with which it is made
        ("most", _I8, 16),
        ("trumps", _I8, 16),  # by bid: TRUMPS_*
        ("lead", _I8, 16),  # by bid: LEAD_*
        ("win", _I8, 16),
        ("lose", _I8, 16),
        ("overtrick", _I8, 16),
        ("undertrick", _I8, 16),
        ("takes_pool", _I8, 16),  # by bid: 1 if the pool is won by making it
        ("tricks", _I8, 16),  # by bid: tricks undertaken, 0 for a misère
        ("hold", _I8),
        ("exchanges", _I8),  # 1: cards can be looked at, taken, bought, drawn or discarded
        ("look_bids", _I8),  # mask of the bids that need a look at the widow
        ("widow", _I8),  # its number of cards
        ("look", _I8),  # 1: it may be looked at, for look_cost
        ("look_cost", _I8),
        ("dealer_looks", _I8),  # 1: the dealer has seen it
        ("swap", _I8),  # 1: a maker who has looked may swap its card in, 2: any maker may
        ("take_bid", _I8),  # bid number to which taking the spare hand commits, or -1
        ("garnet_fail", _I8),
        ("garnet_pool", _I8),
        ("buy", _I8),
        ("buy_cost", _I8),
        ("draw_one", _I8),
        ("draw_many", _I8),
        ("discard", _I8),  # surplus cards that each hand puts away before the auction
        ("must_trump", _I8),
        ("allow_revoke", _I8),
        ("early_stop", _I8),
        ("stake", _I8),
        ("double_next", _I8),
        ("pool_start", _I8),
        ("pool_each", _I8),
        ("pool_dealer", _I8),
        ("pool_fail", _I8),
        ("pool_double", _I8),
        ("pool_revoke", _I8),
        ("deals", _I8),  # deals in a match, or 0: no number ends it
        ("target", _I8),  # score that ends a match, or 0: none does
        ("chips", _I8),  # that each player starts with, 0: no limit to what he can pay
        ("max_deals", _I8),
        ("illegal_price", _I8),  # chips that an illegal action costs, where one ends the match
    ],
    align=True,
)


class _Range(NamedTuple):
    """Fewest and most tricks with which a bid is made."""

    fewest: int
    most: int


def _made_with(bid: Bid, rules: Rules) -> _Range:
    if bid.tricks:
        return _Range(tricks_needed(bid, rules.num_tricks), rules.num_tricks)
    return _Range(3, 3) if rules.misere_goal == "exact3_nt" else _Range(0, 0)


def rules_table(rules: Rules, num_players: int) -> npt.NDArray[np.void]:
    """Return the rules for `num_players` as the engine reads them: TABLE (1,), read-only.

    Raises:
        ValueError: the rules cannot seat so many players.
    """
    return _rules_table(rules, seated(rules, num_players))


@functools.lru_cache(maxsize=256)
def _rules_table(rules: Rules, num_players: int) -> npt.NDArray[np.void]:
    one_of("name of rules", rules.name, PRESETS)
    table = np.zeros(1, TABLE)
    row = table[0]
    hands = rules.hands(num_players)
    ranks = rules.pack_size(num_players) // rules.suits
    pack = [
        NUM_RANKS * suit + rank
        for suit in range(rules.suits)
        for rank in range(NUM_RANKS - ranks, NUM_RANKS)
    ] + [JOKER] * rules.joker
    row["num_players"] = num_players
    row["hands"] = hands
    row["hand_size"] = rules.hand_size
    row["dealer_out"] = num_players - hands
    row["first_dealer"] = rules.first_dealer if isinstance(rules.first_dealer, int) else -1
    row["pack"][: len(pack)] = pack
    row["pack_size"] = len(pack)
    row["num_tricks"] = rules.num_tricks
    widow = rules.widow_cards
    keeps_order = rules.shuffle == "after_nap" or rules.buy or rules.draw != "none"
    row["shuffled"] = len(pack) if keeps_order else hands * rules.hand_size + widow
    row["packets"] = packet_sizes(rules.packets)
    row["after_nap"] = rules.shuffle == "after_nap"
    if rules.first_dealer == "jack":
        row["jacks"] = sum(card < JOKER and card % NUM_RANKS == RANKS.index("J") for card in pack)
    row["widow"] = widow
    row["look"] = rules.widow in ("peep", "floater")
    row["look_cost"] = rules.look_cost
    row["dealer_looks"] = rules.widow == "floater" and rules.dealer_free_look
    row["swap"] = (1 if rules.look_needed else 2) * (rules.widow == "peep")
    row["take_bid"] = BIDS.index("nap") if rules.widow == "garnet" else -1
    row["garnet_fail"] = rules.garnet_fail
    row["garnet_pool"] = rules.garnet_pool
    row["buy"] = rules.buy
    row["buy_cost"] = rules.buy_cost
    row["draw_one"] = rules.draw == "maker_one"
    row["draw_many"] = rules.draw == "maker_then_opponents"
    row["discard"] = rules.hand_size - rules.num_tricks
    row["hold"] = rules.hold
    row["exchanges"] = rules.exchanges
    row["allow_revoke"] = rules.allow_revoke
    row["pool_revoke"] = rules.pool_revoke
    row["chips"] = rules.chips or 0
    row["joker"] = JOKER_MASK * rules.joker
    row["suit_names"] = ((1 << rules.suits) - 1) << FIRST_SUIT
    row["dealer_first"] = rules.first_bidder == "dealer"
    row["must_trump"] = rules.must_trump
    row["stake"] = rules.stake
    row["double_next"] = rules.has_multiplier
    row["pool_start"] = rules.pool_start
    row["pool_each"] = rules.pool_each
    row["pool_dealer"] = rules.pool_dealer
    row["pool_fail"] = rules.pool_fail == "as_player"
    row["pool_double"] = rules.pool_five_fail == "double"
    row["deals"] = rules.deals or 0
    row["target"] = (rules.target or 0) * (num_players - 1 if rules.transfer == "split" else 1)
    row["max_deals"] = rules.max_deals
    _fill_bids(row, rules, num_players)
    row["early_stop"] = rules.stops_early
    # As much as a bid can cost, else learners would find it cheaper than to play.
    row["illegal_price"] = max(bid.lose for bid in rules.all_bids) * rules.stake * (num_players - 1)
    table.flags.writeable = False
    return table


def _fill_bids(row: np.void, rules: Rules, num_players: int) -> None:
    """Write the columns of the bids into the engine's table."""
    fewest_players = {
        "wellington": rules.wellington_min_players,
        "blucher": rules.blucher_min_players,
    }
    condition = {"wellington": rules.wellington_over, "blucher": rules.blucher_over}
    bids = [bid for bid in rules.all_bids if num_players >= fewest_players.get(bid.name, 0)]
    listed = _bid_mask(bid.name for bid in bids)
    if not listed:
        raise ValueError(f"num_players={num_players}: no bid of {rules.name} is left for them")
    row["bids"] = listed
    row["look_bids"] = _bid_mask(bid.name for bid in bids if bid.name.endswith(FLOATER))
    row["imposed_bid"] = -1
    if rules.all_pass in ("dealer_one", "eldest_one"):
        one = next((bid for bid in rules.bids if bid.name == "one"), TARIFFS[rules.scheme]["one"])
        if one not in bids:
            bids = [one, *bids]
        if rules.all_pass == "dealer_one":
            row["must_bid"] = _bid_mask(bid.name for bid in bids)
        else:
            row["imposed_bid"] = BIDS.index("one")
    for rank, bid in enumerate(bids):
        number = BIDS.index(bid.name)
        made = _made_with(bid, rules)
        all_tricks = bid.tricks > 0 and made.fewest == rules.num_tricks
        over = condition.get(bid.name)
        if over is not None:
            row["conditional"] |= 1 << number
            row["over"][number] = _bid_mask({over, over + FLOATER} & set(BIDS))
        row["above"][number] = _bid_mask(higher.name for higher in bids[rank + 1 :])
        row["fewest"][number] = made.fewest
        row["most"][number] = made.most
        row["trumps"][number] = trumps_of(bid, rules)
        row["lead"][number] = LEADS.index(bid.lead)
        row["win"][number] = bid.win
        row["lose"][number] = bid.lose
        extra = rules.overtrick if bid.tricks and not all_tricks else 0
        row["overtrick"][number] = bid.overtrick + extra
        row["undertrick"][number] = bid.undertrick
        row["takes_pool"][number] = bid.name == "napoleon" if rules.separate_call else all_tricks
        row["tricks"][number] = made.fewest if bid.tricks else 0


def _bid_mask(names: Any) -> int:
    return sum(1 << BIDS.index(name) for name in names)


if NUM_BIDS > 16:
    raise ValueError(f"NUM_BIDS={NUM_BIDS}: the columns of TABLE hold sixteen bids; widen them")
