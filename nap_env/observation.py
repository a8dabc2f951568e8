"""What a seat sees. FIELDS is the one description of the layout; sizes and offsets come from it.

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

from nap_env.actions import FIRST_BID, NUM_ACTIONS, NUM_BIDS
from nap_env.cards import NUM_CARDS, NUM_SUITS
from nap_env.engine.kernel import kernel
from nap_env.engine.state import (
    LEADER_FLAG,
    LOOKED_FLAG,
    OVER,
    PHASES,
    PLAY,
    WINNING_FLAG,
    lane,
)
from nap_env.rules import MAX_HAND, MAX_SEATS, TRUMPS_NONE, Rules, rules_table

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
LAYOUT_HASH = hashlib.sha256(
    repr([(field.group, field.name, field.size) for field in FIELDS]).encode()
).hexdigest()[:16]
"""Another layout has another one; kept in checkpoints beside the version."""

_BIT_GROUPS = ("mine", "trick", "discards", "widow", "seat", "calls")
_PRIVATE_GROUPS = ("discards", "widow", "bought", "exchanged")
_GROUPS = tuple(dict.fromkeys(field.group for field in FIELDS))
SIZES = {group: sum(field.size for field in FIELDS if field.group == group) for group in _GROUPS}
CALLS_PER_PLANE = WORD // SIZES["calls"]


def _bit(name: str) -> int:
    """Return the first bit of a field within its group."""
    at = next(k for k, field in enumerate(FIELDS) if field.name == name)
    return sum(field.size for field in FIELDS[:at] if field.group == FIELDS[at].group)


_PHASE, _TRUMP_SUIT, _NO_TRUMPS = _bit("phase"), _bit("trump_suit"), _bit("no_trumps")
_LED_SUIT, _TRICK = _bit("led_suit"), _bit("trick")
_CALLS = SIZES["calls"]
assert (1 << _bit("leader"), 1 << _bit("winning")) == (LEADER_FLAG, WINNING_FLAG)

MAX_PLANES = 4 + MAX_SEATS + MAX_SEATS // CALLS_PER_PLANE
MAX_SCALAR_WORDS = 5 + MAX_SEATS * MAX_HAND // 8
VIEW = np.dtype([("planes", np.int64, MAX_PLANES), ("scalars", np.uint64, MAX_SCALAR_WORDS)])
"""Scratch into which `observe` writes one seat's view; `planes` may use the sign bit."""


SIGHT = np.dtype(
    [
        ("view", VIEW),
        ("num_planes", np.int64),  # of the layout
        ("size", np.int64),  # of the layout
        ("observation", np.uint8, WORD * MAX_PLANES + 8 * MAX_SCALAR_WORDS),  # the bytes of int8
        ("mask", np.int8, NUM_ACTIONS),
    ],
    align=True,
)
"""What one seat sees in the dense form, as `show` writes it for a single game."""


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

    def __init__(self, rules: Rules, num_players: int, observation_layout: str = "fixed") -> None:
        row = rules_table(rules, num_players, observation_layout)[0]
        repeats = dict.fromkeys(_GROUPS, 1)
        repeats |= dict.fromkeys(_PRIVATE_GROUPS, int(row["private_planes"]))
        repeats |= dict.fromkeys(("seat", "calls"), int(row["seat_planes"]))
        repeats["order"] = int(row["order_words"])
        self._slices: dict[tuple[str, int], slice] = {}
        at = 0
        for group in _GROUPS:
            if group == "scores":
                self.num_bits = at
            start = at
            stride = SIZES[group] if group in ("calls", "order") else _padded(group)
            for index in range(repeats[group]):
                at = start + index * stride
                for field in (field for field in FIELDS if field.group == group):
                    self._slices[field.name, index] = slice(at, at + field.size)
                    at += field.size
            if repeats[group]:
                unit = WORD if group in _BIT_GROUPS else 8
                at += -at % unit
        words = [self._slices.pop(("order", word)) for word in range(repeats["order"])]
        self._slices["order", 0] = slice(words[0].start, words[-1].stop)
        self.size = at
        self.num_planes = self.num_bits // WORD
        self.num_scalars = self.size - self.num_bits

    def new_sight(self) -> npt.NDArray[np.void]:
        """Return SIGHT (1,) for observations of this layout."""
        sight = np.zeros(1, SIGHT)
        sight["num_planes"] = self.num_planes
        sight["size"] = self.size
        return sight

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
        except KeyError:
            names = sorted({field for field, _ in self._slices})
            raise ValueError(f"field {name!r} of seat {seat}: there are {names}") from None

    def describe(self) -> str:
        """Return the layout as a table: entries, name, meaning."""
        rows = []
        for (name, index), part in self._slices.items():
            field = next(field for field in FIELDS if field.name == name)
            seat = f" (seat {index})" if field.group in ("seat", "calls") else ""
            rows.append(f"{part.start:4d}-{part.stop - 1:4d}  {name + seat:24s}{field.meaning}")
        return "\n".join(rows)


def _padded(group: str) -> int:
    unit = WORD if group in _BIT_GROUPS else 8
    return SIZES[group] + -SIZES[group] % unit


@functools.lru_cache(maxsize=256, typed=True)
def layout(rules: Rules, num_players: int, observation_layout: str = "fixed") -> Layout:
    """Return the layout for these rules and players, or the one that all share (`full`)."""
    return Layout(rules, num_players, observation_layout)


_U = np.uint64


@kernel
def observe(g, rules, seat, view):
    """Write what `seat` sees of the game into `view`, a record of dtype VIEW."""
    planes = view["planes"]
    playing = g["phase"] == PLAY
    word = g["hand"][seat]
    if g["phase"] != OVER:
        word |= np.int64(1) << (_PHASE + g["phase"])
    if g["trump_suit"] >= 0:
        word |= np.int64(1) << (_TRUMP_SUIT + g["trump_suit"])
    elif playing and rules["trumps"][g["contract"]] == TRUMPS_NONE:
        word |= np.int64(1) << _NO_TRUMPS
    planes[0] = word
    word = g["table"]
    if playing:
        word |= np.int64(1) << (_TRICK + g["tricks_played"])
        if g["in_trick"] > 0 and g["led_suit"] >= 0:
            word |= np.int64(1) << (_LED_SUIT + g["led_suit"])
    planes[1] = word
    place = np.int64(2)
    if rules["private_planes"] != 0:
        looked = g["seen"][seat] & LOOKED_FLAG != 0
        planes[2] = g["discards"][seat]
        planes[3] = g["widow"] if looked else np.int64(0)
        view["scalars"][3] = _turned(g["bought"], seat, rules["num_players"])
        view["scalars"][4] = _turned(g["exchanged"], seat, rules["num_players"])
        place = np.int64(4)
    _observe_seats(g, rules, seat, view, place)
    _observe_scalars(g, rules, seat, view)


@kernel
def _observe_seats(g, rules, seat, view, place):
    """Write the planes of the seats and of their calls, from number `place` on."""
    planes = view["planes"]
    players = rules["num_players"]
    seat_planes = rules["seat_planes"]
    calls_place = place + seat_planes
    leader = g["leader"]
    winning = g["best_seat"] if g["in_trick"] > 0 else np.int64(-1)
    calls = np.int64(0)
    other = seat
    for relative in range(players):
        word = g["seen"][other]
        word |= np.int64(LEADER_FLAG) * np.int64(other == leader)
        word |= np.int64(WINNING_FLAG) * np.int64(other == winning)
        planes[place + relative] = word
        calls |= g["calls"][other] << (_CALLS * (relative & (CALLS_PER_PLANE - 1)))
        if relative == CALLS_PER_PLANE - 1:
            planes[calls_place] = calls
            calls_place += 1
            calls = np.int64(0)
        other = other + 1 if other + 1 < players else np.int64(0)
    if calls_place < place + seat_planes + (seat_planes + CALLS_PER_PLANE - 1) // CALLS_PER_PLANE:
        planes[calls_place] = calls
    for relative in range(players, seat_planes):
        planes[place + relative] = 0


@kernel
def _observe_scalars(g, rules, seat, view):
    """Write the numbers, eight to a word."""
    scalars = view["scalars"]
    players = rules["num_players"]
    scalars[0] = _turned(g["score_lanes"], seat, players)
    scalars[1] = _turned(g["tricks"], seat, players)
    scalars[2] = g["numbers"]
    place = 3 + 2 * rules["private_planes"]
    for word in range(rules["order_words"]):
        scalars[place + word] = g["order"][word]


@kernel
def _turned(word, seat, players):
    """Return a word with a byte a seat, turned so that `seat` comes first."""
    if seat == 0:
        return word
    low = word >> _U(8 * seat)
    high = word << _U(8 * (players - seat))
    return (low | high) & (_U(0xFFFFFFFFFFFFFFFF) >> _U(8 * (MAX_SEATS - players)))


@kernel
def show(g, rules, seat, sight):
    """Write what `seat` sees in the dense form; its mask is all zero if it is not to move.

    Args:
        g: the game.
        rules: the rules.
        seat: the observer.
        sight: a record of dtype SIGHT with the layout's sizes.
    """
    view = sight["view"]
    observation = sight["observation"]
    mask = sight["mask"]
    observe(g, rules, seat, view)
    place = 0
    for plane in range(sight["num_planes"]):
        bits = view["planes"][plane]
        for bit in range(WORD):
            observation[place + bit] = (bits >> bit) & 1
        place += WORD
    for entry in range(place, sight["size"]):
        observation[entry] = lane(view["scalars"][(entry - place) >> 3], entry & 7)
    mover = np.int64(seat == g["seat"])
    for action in range(FIRST_BID):
        mask[action] = (g["legal"] >> action) & mover
    for action in range(FIRST_BID, NUM_ACTIONS):
        mask[action] = (g["legal_bids"] >> (action - FIRST_BID)) & mover
