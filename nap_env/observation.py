"""What a seat sees. FIELDS is the one description of it: every size and place comes from there.

Fields may change places within their group: `nap_env.sight`, which fills them in, takes the places
from this table as constants. Another table is another LAYOUT_VERSION.

Everything is seat-relative: seat 0 is the observer, then clockwise. Memory is perfect: what a seat
has once seen stays in the observation to the end of the deal. A seat without cards (a dealer who
sits out) sees the public part.

Two forms of the same 64-bit words:

* packed: `planes` uint64 (W,), bit fields, and `scalars` int8 (S,);
* dense: int8 (64 * W + S,): every bit of the planes as 0 or 1, lowest first, then the scalars.

Bits and scalars that no field names are 0.
"""

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_BIDS
from nap_env.cards import NUM_CARDS, NUM_SUITS
from nap_env.presets import resolve
from nap_env.rules import MAX_HAND, MAX_SEATS, PHASES, Rules, one_of, seated
from nap_env.words import did_you_mean

LAYOUT_VERSION = 1
WORD = 64


class Field(NamedTuple):
    """One row of the layout: `size` bits or int8 scalars, in `group`."""

    group: str
    name: str
    size: int
    meaning: str


FIELDS = (
    # The observer and the contract: one plane.
    Field("mine", "hand", NUM_CARDS, "cards I hold, by card id"),
    Field("mine", "phase", len(PHASES) - 1, f"one of {' '.join(PHASES[:-1])}; none when over"),
    Field("mine", "trump_suit", NUM_SUITS, "clubs diamonds hearts spades, once it is known"),
    Field("mine", "no_trumps", 1, "the contract is played without trumps"),
    # The trick on the table: one plane.
    Field("trick", "table", NUM_CARDS, "cards of the trick being played, by card id"),
    Field("trick", "led_suit", NUM_SUITS, "the suit to follow"),
    Field("trick", "trick", MAX_HAND, "number of the trick being played, from 0"),
    # What only the observer knows: two planes, where cards are exchanged.
    Field("discards", "discards", NUM_CARDS, "cards I have put away or marked, by card id"),
    Field("widow", "widow", NUM_CARDS, "cards of the widow, once I have seen them, by card id"),
    # Each seat: one plane.
    Field("seat", "played", NUM_CARDS, "cards the seat has played, by card id"),
    Field("seat", "dealer", 1, "the seat deals"),
    Field("seat", "declarer", 1, "the seat plays the contract"),
    Field("seat", "leader", 1, "the seat leads, or has led, the trick being played"),
    Field("seat", "winning", 1, "the seat's card is the best of the trick so far"),
    Field("seat", "looked", 1, "the seat has looked at the widow or taken it"),
    Field("seat", "exchanged", 1, "the seat has exchanged or bought a card"),
    Field("seat", "sits_out", 1, "the dealer holds no cards in this deal"),
    Field("seat", "void", NUM_SUITS, "suits that were led and that the seat did not follow"),
    # Each seat's calls: a quarter of a plane.
    Field("calls", "bids", NUM_BIDS, "bids the seat has made, by action id from `one` on"),
    Field("calls", "passed", 1, "the seat has passed"),
    # Numbers, saturated to int8.
    Field("scores", "scores", MAX_SEATS, "chips won in the match so far, by seat"),
    Field("tricks", "tricks", MAX_SEATS, "tricks won, by seat"),
    Field("numbers", "pool", 1, "chips in the pool"),
    Field("numbers", "multiplier", 1, "stakes count so many times"),
    Field("numbers", "contract_tricks", 1, "tricks of the highest bid, 0 a misère, -1 no bid"),
    Field("numbers", "win", 1, "chips it wins from each opponent when made"),
    Field("numbers", "lose", 1, "chips it pays to each opponent when lost"),
    Field("numbers", "deals_left", 1, "deals after this one, 0 if their number is not fixed"),
    Field("bought", "bought_cards", MAX_SEATS, "cards bought before the auction, by seat"),
    Field("exchanged", "exchanged_cards", MAX_SEATS, "cards swapped or drawn after it, by seat"),
    Field("order", "order", 8, "cards in the order of play, by card id, -1 for none yet"),
)
_BIT_GROUPS = ("mine", "trick", "discards", "widow", "seat", "calls")
_NUMBER_GROUPS = ("scores", "tricks", "numbers", "bought", "exchanged", "order")
_GROUPS = _BIT_GROUPS + _NUMBER_GROUPS
_PRIVATE_GROUPS = ("discards", "widow", "bought", "exchanged")
SIZES = {group: sum(field.size for field in FIELDS if field.group == group) for group in _GROUPS}
CALLS_PER_PLANE = WORD // SIZES["calls"]
ORDER_WORDS = -(-MAX_SEATS * MAX_HAND // 8)

LAYOUT_HASH = hashlib.sha256(repr([field[:3] for field in FIELDS]).encode()).hexdigest()[:16]
"""Names the table above without its prose: kept in files beside LAYOUT_VERSION."""


def places_of(group: str, *names: str) -> list[int]:
    """Return the first bits or bytes of fields within their group.

    Raises:
        ValueError: a field is not in this group.
    """
    fields = [field for field in FIELDS if field.group == group]
    listed = [field.name for field in fields]
    if not set(names) <= set(listed):
        raise ValueError(
            f"FIELDS: group {group!r} has {listed}; nap_env.sight looks for {names} there"
        )
    return [sum(field.size for field in fields[: listed.index(name)]) for name in names]


def _room(group: str) -> int:
    """Return the bits or bytes of a word; calls share planes."""
    return WORD if group in _BIT_GROUPS else 8


def _check_fields() -> None:
    """Refuse a table that the words of `VIEW` cannot hold, before anything is read from it."""
    groups = tuple(dict.fromkeys(field.group for field in FIELDS))
    if groups != _GROUPS:
        raise ValueError(
            f"FIELDS: groups {groups}; nap_env.sight writes {_GROUPS}, in this order: "
            "a new group needs words in VIEW and lines there"
        )
    names = [field.name for field in FIELDS]
    if len(set(names)) < len(names):
        raise ValueError(f"FIELDS: names {names}: each may stand there once")
    for group, size in SIZES.items():
        if size > _room(group):
            unit = "bits, a plane" if group in _BIT_GROUPS else "numbers, a word"
            raise ValueError(
                f"FIELDS: the fields of group {group!r} have {size} {unit} holds {_room(group)}: "
                "give a field a group of its own in nap_env.sight"
            )
    if WORD % SIZES["calls"]:
        raise ValueError(
            f"FIELDS: the fields of group 'calls' have {SIZES['calls']} bits, by which {WORD} "
            "cannot be divided"
        )


_check_fields()

_MAX_PLANES = 4 + MAX_SEATS + -(-MAX_SEATS // CALLS_PER_PLANE)
_MAX_SCALAR_WORDS = 5 + ORDER_WORDS
MAX_WORDS = 8 * _MAX_PLANES + _MAX_SCALAR_WORDS
"""Words of eight entries in the longest dense form."""

VIEW = np.dtype(
    [
        ("planes", np.int64, _MAX_PLANES),  # may use the sign bit
        ("scalars", np.uint64, _MAX_SCALAR_WORDS),
        # Sizes of the layout, in words of `planes` and of `scalars`:
        ("num_planes", np.int64),
        ("num_words", np.int64),
        ("private", np.int64),  # 1: what only the observer knows has words
        ("seat_planes", np.int64),
        ("order_words", np.int64),
    ],
    align=True,
)
"""Scratch into which `nap_env.sight.observe` writes one seat's view, `Layout.new_view` makes it."""


class Layout:
    """Where each field stands in the observations of given rules and players.

    Attributes:
        version: rises when the meaning of the layout changes; kept in checkpoints.
        num_planes: W, words of bits.
        num_bits: 64 * W, leading entries of the dense form.
        num_scalars: S, int8 entries that follow.
        size: K, entries of the dense form; always a multiple of 8.
    """

    version = LAYOUT_VERSION

    def __init__(self, rules: Rules, num_players: int, full: bool) -> None:
        """Lay the fields out, see `layout`."""
        cards = rules.hands(num_players) * rules.num_tricks
        self._private = int(full or rules.exchanges)
        self._seat_planes = MAX_SEATS if full else num_players
        self._order_words = ORDER_WORDS if full else -(-cards // 8)
        repeats = dict.fromkeys(_GROUPS, 1)
        repeats |= dict.fromkeys(_PRIVATE_GROUPS, self._private)
        repeats |= dict.fromkeys(("seat", "calls"), self._seat_planes)
        repeats["order"] = self._order_words
        self._slices: dict[tuple[str, int], slice] = {}
        at = 0
        for group in _GROUPS:
            if group == _NUMBER_GROUPS[0]:
                self.num_bits = at
            start = at
            stride = SIZES[group] if group == "calls" else _room(group)
            for index in range(repeats[group]):
                at = start + index * stride
                for field in (field for field in FIELDS if field.group == group):
                    self._slices[field.name, index] = slice(at, at + field.size)
                    at += field.size
            at += -at % _room(group)
        words = [self._slices.pop(("order", word)) for word in range(repeats["order"])]
        self._slices["order", 0] = slice(words[0].start, words[-1].stop)
        self.size = at
        self.num_planes = self.num_bits // WORD
        self.num_scalars = self.size - self.num_bits

    def new_view(self) -> npt.NDArray[np.void]:
        """Return VIEW (1,) for observations of this layout."""
        view = np.zeros(1, VIEW)
        view["num_planes"], view["num_words"] = self.num_planes, self.num_scalars // 8
        view["private"], view["seat_planes"] = self._private, self._seat_planes
        view["order_words"] = self._order_words
        return view

    def slice(self, name: str, seat: int = 0) -> slice:
        """Return where a field stands in the dense form.

        Args:
            name: a name of FIELDS.
            seat: for the fields of a seat, the relative seat.

        Raises:
            ValueError: there is no such field in this layout.
        """
        try:
            return self._slices[name, seat]
        except (KeyError, TypeError):
            names = sorted({field for field, _ in self._slices})
            raise ValueError(
                f"field {name!r} of seat {seat}: there are {', '.join(names)}"
                f"{did_you_mean(name, names)}"
            ) from None

    def describe(self) -> str:
        """Return the layout as a table: entries, name, meaning."""
        rows = []
        for (name, index), part in self._slices.items():
            field = next(field for field in FIELDS if field.name == name)
            seat = f" (seat {index})" if field.group in ("seat", "calls") else ""
            rows.append(f"{part.start:4d}-{part.stop - 1:4d}  {name + seat:24s}{field.meaning}")
        return "\n".join(rows)


def layout(rules: str | Rules, num_players: int, observation_layout: str = "fixed") -> Layout:
    """Return the layout for these rules and players, or the one that all share.

    Args:
        rules: a preset's name, or rules.
        num_players: players at the table.
        observation_layout: `fixed` for these rules and players, or `full`, one for all.

    Raises:
        ValueError: the rules cannot seat so many players, or there is no such layout.
    """
    rules = resolve(rules)
    players = seated(rules, num_players)
    one_of("observation_layout", observation_layout, ("fixed", "full"))
    return _layout(rules, players, observation_layout == "full")


_layout = functools.lru_cache(maxsize=256)(Layout)
