"""The record of one game, and its random numbers.

Kernels take a record `g` of dtype GAME (`games[i]`) and the rules' record `rules` (`table[0]`, see
`nap_env.rules.TABLE`). Fields are int64 because they are shifted and added: the same code must
give the same numbers without the JIT. Bid numbers are `action - FIRST_BID`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from nap_env.actions import NUM_ACTIONS, NUM_BIDS
from nap_env.cards import NUM_CARDS, NUM_SUITS
from nap_env.engine.kernel import kernel, prefetch, wrapping
from nap_env.observation import ORDER_WORDS
from nap_env.rules import MAX_SEATS, PHASES

BUY, AUCTION, HOLD, EXCHANGE, NAME, PLAY, OVER = range(len(PHASES))

DISCARDING, TAKING, SWAPPING, DRAWING = range(4)

# Public facts about a seat, above the 53 bits of the cards that it has played. The void flags
# (four bits, by suit) say that the seat did not follow when that suit was led. Two bits are left
# free, where an observation has what is true of one seat only: so it takes them all by one mask.
DEALER_FLAG = 1 << NUM_CARDS
DECLARER_FLAG = 1 << (NUM_CARDS + 1)
LOOKED_FLAG = 1 << (NUM_CARDS + 4)
EXCHANGED_FLAG = 1 << (NUM_CARDS + 5)
SITS_OUT_FLAG = 1 << (NUM_CARDS + 6)
VOID_BIT = NUM_CARDS + 7

if VOID_BIT + NUM_SUITS > 64:
    raise ValueError(f"seen: {VOID_BIT + NUM_SUITS} cards and flags of a seat, 64 bits hold them")

PASSED_CALL = 1 << NUM_BIDS
"""Marks a pass among a seat's calls, above its bids."""

# The bytes of `numbers`.
POOL_LANE, MULTIPLIER_LANE, TRICKS_LANE, WIN_LANE, LOSE_LANE, DEALS_LANE = range(6)

MAX_EVENTS = 256
EVENT_SEAT = 128

_I8 = np.int64
_LINE = 64
_FIELDS = [
    # What nearly every step reads or writes stands first, in as few cache lines as it fits.
    ("key", np.uint64),  # of the random streams: a hash of (seed, game)
    ("draws", _I8),  # numbers drawn so far from the stream that is not for deals
    ("legal", _I8),  # what the seat to move may do: mask of the actions 0..62,
    ("legal_bids", _I8),  # and mask of the bids, by bid number
    ("seat", _I8),  # to move
    ("phase", _I8),
    ("num_events", _I8),
    ("contract", _I8),  # bid number of the contract, or the highest bid so far; -1: none
    ("declarer", _I8),  # or the highest bidder so far; -1: nobody
    ("leader", _I8),  # of the trick being played
    ("in_trick", _I8),  # number of cards on the table
    ("table", _I8),  # the same as a mask
    ("following", _I8),  # mask of the cards that follow the led suit
    ("led_suit", _I8),  # 0..3, -1: a joker without trumps
    ("best_seat", _I8),
    ("best_value", _I8),
    ("trumps", _I8),  # mask of the trumps, the joker among them
    ("trump_suit", _I8),  # 0..3, -1: none or not known yet
    ("num_played", _I8),
    ("tricks_played", _I8),
    ("tricks", np.uint64),  # tricks won, a byte a seat
    ("score_lanes", np.uint64),  # scores as the observation shows them, a byte a seat
    ("numbers", np.uint64),  # pool, stakes and contract as the observation shows them
    ("pool", _I8),
    ("multiplier", _I8),
    ("hand", _I8, MAX_SEATS),  # cards held
    ("seen", _I8, MAX_SEATS),  # cards played, and the seat's public flags
    ("calls", _I8, MAX_SEATS),  # bids made, by bid number, and PASSED_CALL
    ("order", np.uint64, ORDER_WORDS),  # the cards played, a byte each, 255: none yet
    ("dealer", _I8),
    ("spoken", _I8),  # hands that have called
    ("deal_number", _I8),  # deals made since the game was seeded
    ("deals_played", _I8),  # in this match
    ("start_charge", _I8),  # what each seat has paid in this deal for `pool_start`
    ("first_pool", _I8),  # before the antes of this deal
    ("first_multiplier", _I8),  # that of this deal
    ("hold_turn", _I8),  # 0: the dealer may hold, 1: the held player answers
    # Exchanges: only rules that have them read these.
    ("exchange", _I8),  # which exchange is going on: DISCARDING, TAKING, SWAPPING or DRAWING
    ("widow", _I8),  # the widow's cards, as dealt
    ("widow_left", _I8),  # those still on the table
    ("stock_next", _I8),  # place in the pack of the next card of the stock
    ("taker", _I8),  # the seat that has taken the spare hand, -1: nobody
    ("marks", _I8),  # cards that the seat to move has marked
    ("marks_due", _I8),  # exact number it must mark, 0: any number up to marks_most
    ("marks_most", _I8),
    ("last_mark", _I8),  # card marked last, -1: none
    ("draw_most", _I8),  # cards that one seat may draw
    ("turns_left", _I8),  # seats that have still to exchange, the one to move included
    ("bought", np.uint64),  # cards bought before the auction, a byte a seat
    ("exchanged", np.uint64),  # cards swapped or drawn after it, a byte a seat
    ("discards", _I8, MAX_SEATS),  # cards put away
    ("made", _I8),  # 1 made, 0 failed, -1 no contract or not settled
    ("match_over", _I8),
    ("truncated", _I8),
    ("scores", _I8, MAX_SEATS),  # chips in this match, `pool_start` among them from the start
    ("payments", _I8, MAX_SEATS),  # chips moved in this deal,
    ("shares", _I8, MAX_SEATS),  # and what else its reward holds: `pool_start`, pool shared out
    ("gathered", np.int8, 56),  # the cards of the last deal on their way to the next one
    ("pack", np.int8, 56),  # hands from the dealer's left, widow, stock, as card ids
    ("events", np.int16, MAX_EVENTS),  # EVENT_SEAT * seat + action
]


def _padded(fields: list[tuple[Any, ...]]) -> np.dtype[np.void]:
    """Return the fields as a dtype of an odd number of cache lines.

    Games an even number of lines apart would share few sets of the cache.
    """
    lines = -(-np.dtype(fields, align=True).itemsize // _LINE) | 1
    padding = lines * _LINE - np.dtype(fields, align=True).itemsize
    return np.dtype([*fields, ("padding", np.int8, padding)], align=True)


GAME = _padded(_FIELDS)


def new_games(count: int) -> npt.NDArray[np.void]:
    """Return GAME (count,), zero, its first record at the start of a cache line."""
    raw = np.zeros(count * GAME.itemsize + _LINE, np.int8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + count * GAME.itemsize].view(GAME)


_places: Any = GAME.fields
_STEP_BYTES = _places["exchange"][1]  # what nearly every step needs, before the events
_EVENTS = _places["events"][1]
_AHEAD = 4  # measured: 2 is little slower, 8 no faster


@kernel
def prefetch_step(games, i):
    """Load, while game `i` is stepped, what a step needs of a game a few places behind it."""
    for byte in range(0, _STEP_BYTES, _LINE):
        prefetch(games, i + _AHEAD, byte)
    for byte in range(_EVENTS, _EVENTS + 2 * _LINE, _LINE):
        prefetch(games, i + _AHEAD, byte)


_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)
_OTHER = _U(0xD1342543DE82EF95)


@kernel
@wrapping
def mix(x):
    """Hash 64 bits to 64 bits (the finaliser of splitmix64, Steele et al. 2014)."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@kernel
@wrapping
def seed_game(g, seed, game):
    """Start the streams of game number `game` under a 64-bit seed; nothing is dealt yet."""
    g["key"] = mix(mix(seed) + _GOLDEN * _U(game + 1))
    g["deal_number"] = 0
    g["draws"] = 0


@kernel
@wrapping
def future_key(seed, game):
    """Return a `key` that turns the streams of game number `game` to others, where they stand.

    No seed leads back to the streams of `seed_game`: a search must not meet the true future.
    """
    return mix(mix(seed ^ _OTHER) + _GOLDEN * _U(game + 1))


@kernel
@wrapping
def deal_stream(g):
    """Return the start of the random stream of the deal that `deal_number` names."""
    return mix(g["key"] + _OTHER * _U(g["deal_number"] + 1))


@kernel
@wrapping
def below(stream, index, n):
    """Return draw number `index` of a stream: 0..n-1. Its bias is below n / 2**32."""
    high = mix(stream + _GOLDEN * _U(index + 1)) >> _U(32)
    return np.int64((high * _U(n)) >> _U(32))


@kernel
def draw(g, n):
    """Return 0..n-1 from the game's own stream for everything that is not a deal."""
    g["draws"] += 1
    return below(g["key"], g["draws"], n)


@kernel
@wrapping
def popcount(x):
    """Return the number of set bits of a non-negative int64."""
    x = x - ((x >> 1) & 0x5555555555555555)
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return np.int64((_U(x) * _U(0x0101010101010101)) >> _U(56))


@kernel
def lowest_bit(x):
    """Return the number of the lowest set bit of a non-negative, non-zero int64."""
    return popcount((x & -x) - 1)


@kernel
def next_hand(g, rules, seat):
    """Return the next seat clockwise that holds cards."""
    seat = seat + 1
    if seat >= rules["num_players"]:
        seat = np.int64(0)
    if rules["dealer_out"] != 0 and seat == g["dealer"]:
        seat = seat + 1
        if seat >= rules["num_players"]:
            seat = np.int64(0)
    return seat


@kernel
def lanes(value, seat):
    """Return a value 0..255 in the byte of a seat."""
    return _U(value) << _U(8 * seat)


@kernel
def lane(word, seat):
    """Return the byte of a seat: 0..255."""
    return np.int64((word >> _U(8 * seat)) & _U(255))


@kernel
def _is_possible(g, rules):
    """Return whether a game's numbers are in their ranges, and each card is in one place."""
    players = rules["num_players"]
    size = rules["pack_size"]
    if not (
        0 <= g["seat"] < players
        and 0 <= g["dealer"] < players
        and -1 <= g["declarer"] < players
        and -1 <= g["leader"] < players
        and -1 <= g["best_seat"] < players
        and -1 <= g["taker"] < players
        and 0 <= g["turns_left"] <= players
        and 0 <= g["spoken"] <= rules["hands"] - np.int64(g["phase"] == AUCTION)
        and -1 <= g["contract"] < NUM_BIDS
        and -1 <= g["trump_suit"] < NUM_SUITS
        and -1 <= g["led_suit"] < NUM_SUITS
        and -1 <= g["last_mark"] < NUM_CARDS
        and 0 <= g["marks"] <= size
        and 0 <= g["marks_due"] <= size
        and 0 <= g["in_trick"] <= rules["hands"]
        and 0 <= g["tricks_played"] <= rules["num_tricks"]
        and g["num_played"] == g["tricks_played"] * rules["hands"] + g["in_trick"]
        and g["num_played"] <= rules["hands"] * rules["num_tricks"]
        and 0 <= g["stock_next"] <= size
        and 0 <= g["num_events"] < MAX_EVENTS
        and 0 <= g["phase"] <= OVER
        and 0 <= g["exchange"] <= DRAWING
    ):
        return False
    for place in range(g["num_events"]):
        event = np.int64(g["events"][place])
        if not (0 <= event < EVENT_SEAT * players and event % EVENT_SEAT < NUM_ACTIONS):
            return False
    for place in range(g["num_played"]):
        if lane(g["order"][place >> 3], place & 7) >= NUM_CARDS:
            return False
    return g["deal_number"] == 0 or _is_whole_pack(g, rules)


@kernel
def _is_whole_pack(g, rules):
    """Return whether each card is in one place, and in the play as many belong to each hand."""
    found = g["widow_left"]
    twice = np.int64(0)
    for seat in range(MAX_SEATS):
        cards = popcount(g["hand"][seat]) + popcount(g["seen"][seat] & (DEALER_FLAG - 1))
        if (
            cards != 0
            and cards != rules["num_tricks"]
            and (g["phase"] == NAME or g["phase"] == PLAY)
        ):
            return False
        for mask in (g["hand"][seat], g["discards"][seat], g["seen"][seat] & (DEALER_FLAG - 1)):
            twice |= found & mask
            found |= mask
    every = np.int64(0)
    for place in range(rules["pack_size"]):
        every |= np.int64(1) << np.int64(rules["pack"][place])
        card = np.int64(g["pack"][place])
        if not 0 <= card < NUM_CARDS:
            return False
        if place >= g["stock_next"]:
            twice |= found & (np.int64(1) << card)
            found |= np.int64(1) << card
    return found == every and twice == 0


@kernel
def _first_impossible(games, table):
    """Return the number of the first game that cannot be, or -1."""
    for i in range(len(games)):
        if not _is_possible(games[i], table[0]):
            return i
    return -1


def checked_games(games: Any, table: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return games that kernels can take: deals of these rules, or not dealt yet.

    Args:
        games: GAME (N,), contiguous and writable.
        table: TABLE (1,), the rules.

    Raises:
        ValueError: they are something else.
    """
    if not isinstance(games, np.ndarray) or games.dtype != GAME or games.ndim != 1:
        raise ValueError("games: a one-dimensional array of dtype GAME is needed")
    if not games.flags.carray:
        raise ValueError("games: contiguous and writable ones are needed, such as a copy")
    wrong = _first_impossible(games, table)
    if wrong >= 0:
        players = table["num_players"][0]
        raise ValueError(f"games: game {wrong} is no deal of {players} players under these rules")
    return games
