"""Worlds: deals that agree with everything a seat knows, drawn with equal chances.

`know` reads from a game what a seat is sure of: its own cards, those it has put away, the widow if
it has looked, the cards played, how many cards lie where, and which cards a seat cannot hold: it
has not followed suit, has not trumped where it had to, or has led a card that had to be its
lowest. `deal_world` deals the cards that are left by this knowledge alone, so that the true place
of a card cannot show through. `determinize` makes a game such a world for good, its past and its
future included.

Calls are no such knowledge: whoever may bid four may hold anything. Nor are earlier deals: as in
the observation, what a seat has seen is forgotten when the next deal begins, also where the cards
are gathered and not shuffled.
"""

import numpy as np
import numpy.typing as npt

from nap_env.cards import JOKER_MASK, NUM_CARDS, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel, subroutine
from nap_env.engine.state import (
    BUY,
    EVENT_SEAT,
    EXCHANGE,
    LOOKED_FLAG,
    MAX_EVENTS,
    NAME,
    OVER,
    PLAY,
    SWAPPING,
    draw,
    lane,
    lowest_bit,
    next_hand,
    popcount,
)
from nap_env.engine.step import legal_mask
from nap_env.rules import LEAD_LOWEST_PLAIN, LEAD_LOWEST_TRUMP, MAX_SEATS, TRUMPS_LED

CARDS = (1 << NUM_CARDS) - 1
"""Mask of all cards."""

_TRIES = 1000
"""Deals begun before a world is taken that some others of its kind are likelier than."""

_I8 = np.int64
KNOWLEDGE = np.dtype(
    [
        ("seat", _I8),  # that knows it
        ("unseen", _I8),  # mask of the cards whose place is not known
        ("known", _I8, MAX_SEATS),  # by seat: cards known to be in its hand,
        ("held", _I8, MAX_SEATS),  # number of unseen cards in it,
        ("possible", _I8, MAX_SEATS),  # which of them it may hold,
        ("put_away", _I8, MAX_SEATS),  # number of unseen cards that it has put away
        ("widow", _I8),  # number of unseen cards on the table
        ("withheld", _I8),  # mask: whoever has revoked holds one of them; 0: nobody has
    ],
    align=True,
)
"""What a seat knows about the cards that it does not hold."""


@subroutine
def know(g, rules, me, knowledge):
    """Write what seat `me` of `g` knows into `knowledge`, a record of dtype KNOWLEDGE."""
    knowledge["seat"] = me
    seen = g["hand"][me] | g["discards"][me]
    for seat in range(rules["num_players"]):
        seen |= g["seen"][seat] & CARDS
    shown = np.int64(0)  # what others can see in the declarer's hand
    if g["phase"] == NAME and rules["trumps"][g["contract"]] == TRUMPS_LED:
        # He has led the joker, which waits for the suit that he names.
        shown = JOKER_MASK & ~seen
        seen |= JOKER_MASK
    knowledge["widow"] = popcount(g["widow_left"])
    if g["seen"][me] & LOOKED_FLAG:
        # What another seat has taken of the widow is in his hand: he cannot put it away.
        shown |= g["widow"] & ~g["widow_left"] & ~seen
        seen |= g["widow"]
        knowledge["widow"] = 0
    pack = np.int64(0)
    for place in range(rules["pack_size"]):
        pack |= np.int64(1) << np.int64(rules["pack"][place])
    unseen = pack & ~seen
    knowledge["unseen"] = unseen
    revoked = g["phase"] == OVER and g["in_trick"] > 0  # by the last card: no trick was finished
    knowledge["withheld"] = _withheld(g, rules) if revoked else np.int64(0)
    for seat in range(rules["num_players"]):
        known = shown if seat == g["declarer"] else np.int64(0)
        mine = seat == me
        knowledge["known"][seat] = g["hand"][me] if mine else known
        knowledge["held"][seat] = 0 if mine else popcount(g["hand"][seat]) - popcount(known)
        excluded = _excluded(g, rules, seat, g["num_played"] - np.int64(revoked))
        knowledge["possible"][seat] = unseen & ~excluded
        knowledge["put_away"][seat] = 0 if mine else popcount(g["discards"][seat])


@kernel
def _suit_of(card):
    """Return the thirteen cards of a card's suit as a mask; of the joker, itself."""
    suit = card // NUM_RANKS
    return np.int64(SUIT_MASK) << (NUM_RANKS * suit) if suit < NUM_SUITS else np.int64(JOKER_MASK)


@kernel
def _excluded(g, rules, seat, num_played):
    """Return the cards that a seat has shown not to hold, by the first cards played."""
    excluded = np.int64(0)
    following = np.int64(0)
    for place in range(num_played):
        card = lane(g["order"][place >> 3], place & 7)
        bit = np.int64(1) << card
        if place % rules["hands"] == 0:
            following = g["trumps"] if g["trumps"] & bit else _suit_of(card)
        elif g["seen"][seat] & bit and following & bit == 0:
            excluded |= following
            if rules["must_trump"] != 0 and g["trumps"] & bit == 0:
                excluded |= g["trumps"]
    if seat == g["declarer"] and num_played > 0:
        excluded |= _below_opening_lead(g, rules)
    return excluded


@kernel
def _withheld(g, rules):
    """Return the cards of which the seat that has revoked should have played one."""
    place = g["num_played"] - 1
    card = lane(g["order"][place >> 3], place & 7)
    if place == 0:
        return _below_opening_lead(g, rules)
    must_trump = rules["must_trump"] != 0 and g["trumps"] >> card & 1 == 0
    return g["following"] | (g["trumps"] if must_trump else np.int64(0))


@kernel
def _below_opening_lead(g, rules):
    """Return the cards that the declarer would have had to lead in place of his opening lead."""
    card = lane(g["order"][0], 0)
    bit = np.int64(1) << card
    lead = rules["lead"][g["contract"]]
    if lead == LEAD_LOWEST_TRUMP:
        return _suit_of(card) & (bit - 1)
    below = np.int64(0)
    if lead == LEAD_LOWEST_PLAIN and g["trumps"] & bit:
        below = ~g["trumps"]
    elif lead == LEAD_LOWEST_PLAIN:
        for suit in range(NUM_SUITS):
            ranks = (np.int64(1) << (card % NUM_RANKS)) - 1
            below |= (ranks << (NUM_RANKS * suit)) & ~g["trumps"]
    return below


@subroutine
def deal_world(g, rules, knowledge, world):
    """Deal the unseen cards anew, all deals that agree with the knowledge being equally likely.

    Args:
        g: the game; its stream for draws moves on, its cards are not looked at.
        rules: its rules.
        knowledge: what `know` has written for it.
        world: the game or a copy of it, of which hands, discards, widow and stock are dealt. The
            first hands in its `pack` and its `events` stay what they are: they are history, by
            which nothing is played.
    """
    left = _deal_hands(g, rules, knowledge, world)
    for seat in range(rules["num_players"]):
        if seat != knowledge["seat"]:
            put_away = _some_of(g, left, knowledge["put_away"][seat])
            left ^= put_away
            world["discards"][seat] = put_away
    if knowledge["widow"] > 0:
        widow = _some_of(g, left, knowledge["widow"])
        left ^= widow
        world["widow"] = widow
        world["widow_left"] = widow
    # Nothing is drawn in the play, nor from a pack whose end was never shuffled.
    in_order = g["phase"] == PLAY or rules["shuffled"] < rules["pack_size"]
    for place in range(world["stock_next"], rules["pack_size"]):
        card = left & -left if in_order else _nth(left, draw(g, popcount(left)))
        left ^= card
        world["pack"][place] = lowest_bit(card)


@kernel
def _nth(mask, n):
    """Return set bit number `n` of a mask, from the lowest, as a mask."""
    for _ in range(n):
        mask &= mask - 1
    return mask & -mask


@kernel
def _some_of(g, mask, count):
    """Return `count` of a mask's cards."""
    some = np.int64(0)
    for _ in range(count):
        some |= _nth(mask ^ some, draw(g, popcount(mask ^ some)))
    return some


@subroutine
def _deal_hands(g, rules, knowledge, world):
    """Deal the others' hands; return the unseen cards that are left.

    Each hand is drawn from all that it may hold, and all is dealt again if a card of it has gone
    elsewhere, or if whoever has revoked could not have done so: so every possible deal has the
    same chance. Cards that are sure to be gone by then need not be drawn.
    """
    attempt = np.int64(0)
    withheld = knowledge["withheld"]
    while True:
        attempt += 1
        left = _begin_hands(g, rules, knowledge, world, attempt)
        if left >= 0 and (withheld == 0 or world["hand"][g["seat"]] & withheld != 0):
            return left


@kernel
def _begin_hands(g, rules, knowledge, world, attempt):
    """Deal the hands once; return what is left, or -1 if a drawn card was gone."""
    unseen = knowledge["unseen"]
    left = unseen
    reached = np.int64(0)  # all that the hands dealt so far might have held
    dealt = np.int64(0)
    for free in range(2):
        for seat in range(rules["num_players"]):
            possible = knowledge["possible"][seat]
            if seat == knowledge["seat"] or (possible == unseen) != (free == 1):
                continue
            here = left & possible
            gone = max(np.int64(0), dealt - popcount(reached & ~possible))
            chances = popcount(possible) - gone if attempt < _TRIES else popcount(here)
            hand = knowledge["known"][seat]
            for _ in range(knowledge["held"][seat]):
                chosen = draw(g, chances) if chances > 0 else np.int64(0)
                if chosen >= popcount(here):
                    return np.int64(-1)
                card = _nth(here, chosen)
                here ^= card
                left ^= card
                hand |= card
                chances -= 1
            world["hand"][seat] = hand
            reached |= possible
            dealt += knowledge["held"][seat]
    return left


@subroutine
def redeal(g, rules, me, knowledge):
    """Deal anew, in place, what seat `me` cannot see, as if that had been dealt from the start.

    Args:
        g: the game; its stream for draws moves on.
        rules: its rules.
        me: any seat.
        knowledge: scratch, a record of dtype KNOWLEDGE.
    """
    know(g, rules, me, knowledge)
    deal_world(g, rules, knowledge, g)
    if rules["after_nap"] != 0:
        _shuffle_stock(g, rules)
    # What earlier deals have left here tells of hidden cards, too.
    for place in range(len(g["gathered"])):
        g["gathered"][place] = 0
    for event in range(g["num_events"], MAX_EVENTS):
        g["events"][event] = 0
    marked = np.int64(0)
    if g["phase"] != BUY and (g["phase"] != EXCHANGE or g["exchange"] == SWAPPING):
        g["last_mark"] = -1
    elif g["seat"] != me:
        marked = _mark_anew(g)
    dealt_at = np.int64(0)
    bought_at = rules["hands"] * rules["hand_size"] + rules["widow"]
    seat = g["dealer"]
    for _ in range(rules["hands"]):
        seat = next_hand(g, rules, seat)
        if seat != me:
            now = marked if seat == g["seat"] else np.int64(0)
            _retell(g, rules, me, seat, now, dealt_at, bought_at)
        dealt_at += rules["hand_size"]
        bought_at += lane(g["bought"], seat)
    _lay(g, g["widow"], dealt_at)
    if g["legal"] | g["legal_bids"] != 0:  # else nobody may go on, as after an illegal action
        legal_mask(g, rules)


@kernel
def _shuffle_stock(g, rules):
    """Put the stock in random order: it is gathered as it lies."""
    size = rules["pack_size"]
    for place in range(g["stock_next"], size):
        other = place + draw(g, size - place)
        card = g["pack"][other]
        g["pack"][other] = g["pack"][place]
        g["pack"][place] = card


@subroutine
def _mark_anew(g):
    """Choose what the seat to move has marked so far; return its marks as a mask.

    Marks rise, so those that are still due must find cards above: any of the lower cards may have
    been marked.
    """
    seat = g["seat"]
    put_away = g["discards"][seat]
    earlier = _some_of(g, put_away, popcount(put_away) - g["marks"])
    cards = g["hand"][seat] | (put_away ^ earlier)
    lower = popcount(cards) - max(np.int64(0), g["marks_due"] - g["marks"])
    marked = _some_of(g, cards & (_nth(cards, lower) - 1), g["marks"])
    g["hand"][seat] = cards ^ marked
    g["discards"][seat] = earlier | marked
    if marked != 0:
        g["last_mark"] = lowest_bit(_nth(marked, g["marks"] - 1))
    return marked


@subroutine
def _retell(g, rules, me, seat, marked, dealt_at, bought_at):
    """Choose how another seat has come to its cards, and write it into `pack` and `events`.

    From the last exchange back to the deal: the cards that came are some of those the seat had
    then, those it put away for them were in its hand before.

    Args:
        g: the game.
        rules: its rules.
        me: the seat that knows what has been kept.
        seat: the other one.
        marked: mask of the cards that it has marked in this turn.
        dealt_at: place in the pack of its first card.
        bought_at: place in the pack of the first card that it has bought.
    """
    hand = g["hand"][seat] | (g["seen"][seat] & CARDS)
    put_away = g["discards"][seat]
    earlier = put_away ^ marked
    surplus = _some_of(g, earlier, min(rules["discard"], popcount(earlier)))
    sold = _some_of(g, earlier ^ surplus, lane(g["bought"], seat))
    last = put_away ^ surplus ^ sold  # for the widow, or drawn cards; or marked in this turn
    takes = rules["take_bid"] >= 0
    owner = g["taker"] if takes else g["declarer"]
    if seat == owner and g["widow"] != 0 and g["widow_left"] == 0:
        if g["seen"][me] & LOOKED_FLAG == 0:
            g["widow"] = _some_of(g, hand | last if takes else hand, rules["widow"])
        came = g["widow"]
    else:
        came = _some_of(g, hand, lane(g["exchanged"], seat))
        if came != 0:
            _lay(g, came, _drawn_at(g, rules, seat))
    hand = (hand | last) ^ came
    bought = _some_of(g, hand, lane(g["bought"], seat))
    _lay(g, bought, bought_at)
    _lay(g, (hand ^ bought) | sold | surplus, dealt_at)
    event = 0
    while put_away != 0:  # a seat's first cards in the events
        action = g["events"][event] - EVENT_SEAT * seat
        if 0 <= action < NUM_CARDS:
            turn = surplus if surplus != 0 else sold if sold != 0 else last
            card = turn & -turn
            surplus &= ~card
            sold &= ~card
            last &= ~card
            put_away ^= card
            g["events"][event] = EVENT_SEAT * seat + lowest_bit(card)
        event += 1


@kernel
def _lay(g, cards, place):
    """Write the cards of a mask into the pack."""
    while cards != 0:
        g["pack"][place] = lowest_bit(cards)
        cards &= cards - 1
        place += 1


@kernel
def _drawn_at(g, rules, seat):
    """Return the place in the pack of the first card that a seat has drawn after the auction."""
    place = g["stock_next"] - lane(g["exchanged"], seat)
    other = next_hand(g, rules, seat)
    while other != g["declarer"]:
        place -= lane(g["exchanged"], other)
        other = next_hand(g, rules, other)
    return place


@subroutine
def _determinize(games, table, seats, keys, knowledge):
    for k in range(len(games)):
        g = games[k]
        g["key"] = keys[k]
        g["draws"] = 0
        redeal(g, table[0], seats[k], knowledge[0])


def determinize(
    games: npt.NDArray[np.void],
    table: npt.NDArray[np.void],
    seats: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
) -> None:
    """Make games worlds that a seat thinks possible, in place, each with another future.

    What the seat can see stays. All else is dealt anew, every deal that agrees with it being
    equally likely: other hands, cards put away face down, the widow unless the seat has looked,
    the stock. The record of the deal tells of the cards now dealt, nothing of those before.

    Args:
        games: GAME (N,).
        table: their rules, TABLE (1,).
        seats: int64 (N,), the seat that each game is made a world of.
        keys: uint64 (N,), hashed seeds, from which all that is still random comes: this deal,
            later ones, draws of players.

    Raises:
        ValueError: a seat that is not at the table, or not one seat and one key for each game.
    """
    if not len(games) == len(seats) == len(keys):
        raise ValueError(
            f"{len(seats)} seats and {len(keys)} keys: {len(games)} games need one of each"
        )
    players = int(table["num_players"][0])
    absent = seats[(seats < 0) | (seats >= players)]
    if len(absent):
        raise ValueError(f"seat={absent[0]}: 0 to {players - 1} are allowed")
    _determinize(games, table, seats, keys, np.zeros(1, KNOWLEDGE))
