"""What a seat sees, written down: in packed words, and in these unpacked to int8.

Kernels take the places of `nap_env.observation.FIELDS` as constants. The engine packs some of it
in an order of its own; where both orders are one, the compiler makes the shifts below vanish.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from nap_env.actions import FIRST_BID, NUM_ACTIONS, NUM_BIDS
from nap_env.cards import NUM_CARDS, NUM_SUITS
from nap_env.engine.kernel import compiled_as, kernel
from nap_env.engine.state import (
    DEALER_FLAG,
    DEALS_LANE,
    DECLARER_FLAG,
    EXCHANGED_FLAG,
    LOOKED_FLAG,
    LOSE_LANE,
    MULTIPLIER_LANE,
    OVER,
    PASSED_CALL,
    PLAY,
    POOL_LANE,
    SITS_OUT_FLAG,
    TRICKS_LANE,
    VOID_BIT,
    WIN_LANE,
    lane,
    lanes,
)
from nap_env.observation import CALLS_PER_PLANE, SIZES, places_of
from nap_env.rules import MAX_SEATS, TRUMPS_NONE

_U = np.uint64
_CALLS = SIZES["calls"]
_BIDS_MASK = (1 << NUM_BIDS) - 1
_CARDS_MASK = (1 << NUM_CARDS) - 1
_SUITS_MASK = (1 << NUM_SUITS) - 1

# The places of the fields within their groups, by the fields' names.
_HAND, _PHASE, _TRUMP_SUIT, _NO_TRUMPS = places_of(
    "mine", "hand", "phase", "trump_suit", "no_trumps"
)
_TABLE, _LED_SUIT, _TRICK = places_of("trick", "table", "led_suit", "trick")
(_DISCARDS,), (_WIDOW,) = places_of("discards", "discards"), places_of("widow", "widow")
_PLAYED, _DEALER, _DECLARER, _LEADER, _WINNING, _LOOKED, _EXCHANGED, _SITS_OUT, _VOID = places_of(
    *("seat", "played", "dealer", "declarer", "leader", "winning", "looked"),
    *("exchanged", "sits_out", "void"),
)
_BIDS, _PASSED = places_of("calls", "bids", "passed")
_POOL, _MULTIPLIER, _TRICKS, _WIN, _LOSE, _DEALS_LEFT = places_of(
    "numbers", "pool", "multiplier", "contract_tricks", "win", "lose", "deals_left"
)


@kernel
def observe(g, rules, seat, view):
    """Write what `seat` sees of the game into `view`, a record of `Layout.new_view`."""
    planes = view["planes"]
    playing = g["phase"] == PLAY
    word = g["hand"][seat] << _HAND
    if g["phase"] != OVER:
        word |= np.int64(1) << (_PHASE + g["phase"])
    if g["trump_suit"] >= 0:
        word |= np.int64(1) << (_TRUMP_SUIT + g["trump_suit"])
    elif playing and rules["trumps"][g["contract"]] == TRUMPS_NONE:
        word |= np.int64(1) << _NO_TRUMPS
    planes[0] = word
    word = g["table"] << _TABLE
    if playing:
        word |= np.int64(1) << (_TRICK + g["tricks_played"])
        if g["in_trick"] > 0 and g["led_suit"] >= 0:
            word |= np.int64(1) << (_LED_SUIT + g["led_suit"])
    planes[1] = word
    place = np.int64(2)
    if view["private"] != 0:
        looked = g["seen"][seat] & LOOKED_FLAG != 0
        planes[2] = g["discards"][seat] << _DISCARDS
        planes[3] = g["widow"] << _WIDOW if looked else np.int64(0)
        view["scalars"][3] = _turned(g["bought"], seat, rules["num_players"])
        view["scalars"][4] = _turned(g["exchanged"], seat, rules["num_players"])
        place = np.int64(4)
    _observe_seats(g, rules, seat, view, place)
    _observe_numbers(g, rules, seat, view)


@kernel
def _flag(is_set, place):
    return np.int64(is_set) << place


@kernel
def _observe_seats(g, rules, seat, view, place):
    """Write the planes of the seats and of their calls, from number `place` on."""
    planes = view["planes"]
    players = rules["num_players"]
    seat_planes = view["seat_planes"]
    calls_place = place + seat_planes
    leader = g["leader"]
    winning = g["best_seat"] if g["in_trick"] > 0 else np.int64(-1)
    calls = np.int64(0)
    other = seat
    for relative in range(players):
        seen = g["seen"][other]
        word = (seen & _CARDS_MASK) << _PLAYED
        word |= _flag(seen & DEALER_FLAG != 0, _DEALER)
        word |= _flag(seen & DECLARER_FLAG != 0, _DECLARER)
        word |= _flag(seen & LOOKED_FLAG != 0, _LOOKED)
        word |= _flag(seen & EXCHANGED_FLAG != 0, _EXCHANGED)
        word |= _flag(seen & SITS_OUT_FLAG != 0, _SITS_OUT)
        word |= ((seen >> VOID_BIT) & _SUITS_MASK) << _VOID
        word |= _flag(other == leader, _LEADER)
        word |= _flag(other == winning, _WINNING)
        planes[place + relative] = word
        word = (g["calls"][other] & _BIDS_MASK) << _BIDS
        word |= _flag(g["calls"][other] & PASSED_CALL != 0, _PASSED)
        calls |= word << (_CALLS * (relative & (CALLS_PER_PLANE - 1)))
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
def _observe_numbers(g, rules, seat, view):
    """Write the numbers, eight to a word."""
    scalars = view["scalars"]
    players = rules["num_players"]
    numbers = g["numbers"]
    scalars[0] = _turned(g["score_lanes"], seat, players)
    scalars[1] = _turned(g["tricks"], seat, players)
    scalars[2] = (
        lanes(lane(numbers, POOL_LANE), _POOL)
        | lanes(lane(numbers, MULTIPLIER_LANE), _MULTIPLIER)
        | lanes(lane(numbers, TRICKS_LANE), _TRICKS)
        | lanes(lane(numbers, WIN_LANE), _WIN)
        | lanes(lane(numbers, LOSE_LANE), _LOSE)
        | lanes(lane(numbers, DEALS_LANE), _DEALS_LEFT)
    )
    place = 3 + 2 * view["private"]
    for word in range(view["order_words"]):
        scalars[place + word] = g["order"][word]


@kernel
def _turned(word, seat, players):
    """Return a word with a byte a seat, turned so that `seat` comes first."""
    if seat == 0:
        return word
    low = word >> _U(8 * seat)
    high = word << _U(8 * (players - seat))
    return (low | high) & (_U(0xFFFFFFFFFFFFFFFF) >> _U(8 * (MAX_SEATS - players)))


MASK_BYTES = -(-NUM_ACTIONS // 8)
"""Words of eight entries in a row of masks."""

# By value of a byte: the eight bytes that its bits unpack to, lowest bit first.
_UNPACKED = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(
    np.uint64
)[:, 0]


def _store_bits(rows, row, word, bits):
    """Write 64 bits as 64 bytes, 0 or 1, at words `word` to `word + 7` of a row."""
    for byte in range(8):
        rows[row, word + byte] = _UNPACKED[(bits >> (8 * byte)) & 255]


@compiled_as(_store_bits)
def _store_at_once(_context, rows, row, word, bits):
    """Write them in one store.

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


@kernel
def show(g, rules, seat, view, dense, dense_mask, row):
    """Write what `seat` sees as a row of int8, and what it may do: nothing if it is not to move.

    Args:
        g: the game.
        rules: the rules.
        seat: the observer.
        view: a record of `Layout.new_view`.
        dense: uint64 (N, at least K / 8), the bytes of the observations.
        dense_mask: uint64 (N, MASK_BYTES), the bytes of the masks.
        row: which of N.
    """
    observe(g, rules, seat, view)
    unpack(view, dense, row)
    write_mask(g, -np.int64(seat == g["seat"]), dense_mask, row)


@kernel
def unpack(view, dense, row):
    """Write a view as a row of int8 observations, uint64 (N, at least K / 8)."""
    place = np.int64(0)
    for plane in range(view["num_planes"]):
        _store_bits(dense, row, place, view["planes"][plane])
        place += 8
    for word in range(view["num_words"]):
        dense[row, place + word] = view["scalars"][word]


@kernel
def write_mask(g, wanted, dense_mask, row):
    """Write those of the legal actions that `wanted` (-1: all, 0: none) keeps as a row of masks."""
    bids = g["legal_bids"] & wanted
    _store_bits(dense_mask, row, 0, (g["legal"] & wanted) | (bids << FIRST_BID))
    high = bids >> (64 - FIRST_BID)
    for byte in range(8, MASK_BYTES):
        dense_mask[row, byte] = _UNPACKED[(high >> (8 * (byte - 8))) & 255]
