"""Worlds: deals that agree with everything the seat to move knows, drawn with equal chances.

`know` reads from a game what its seat to move is sure of: its own cards, those it has put away,
the widow if it has looked, the cards played, how many cards lie where, and which cards a seat
cannot hold: it has not followed suit, has not trumped where it had to, or has led a card that had
to be its lowest. `deal_world` deals the cards that are left by this knowledge alone, so that the
true place of a card cannot show through.

Calls are no such knowledge: whoever may bid four may hold anything.
"""

import numpy as np

from nap_env.cards import JOKER_MASK, NUM_CARDS, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel, subroutine
from nap_env.engine.state import LOOKED_FLAG, PLAY, VOID_BIT, draw, lane, lowest_bit, popcount
from nap_env.rules import LEAD_LOWEST_PLAIN, LEAD_LOWEST_TRUMP, MAX_SEATS

CARDS = (1 << NUM_CARDS) - 1
"""Mask of all cards."""

_TRIES = 1000
"""Deals begun before a world is taken that some others of its kind are likelier than."""

_I8 = np.int64
KNOWLEDGE = np.dtype(
    [
        ("unseen", _I8),  # mask of the cards whose place is not known
        ("known", _I8, MAX_SEATS),  # by seat: cards known to be in its hand,
        ("held", _I8, MAX_SEATS),  # number of unseen cards in it,
        ("possible", _I8, MAX_SEATS),  # which of them it may hold,
        ("put_away", _I8, MAX_SEATS),  # number of unseen cards that it has put away
        ("widow", _I8),  # number of unseen cards on the table
    ],
    align=True,
)
"""What the seat to move knows about the cards that it does not hold."""


@subroutine
def know(g, rules, knowledge):
    """Write what the seat to move of `g` knows into `knowledge`, a record of dtype KNOWLEDGE."""
    me = g["seat"]
    seen = g["hand"][me] | g["discards"][me]
    for seat in range(rules["num_players"]):
        seen |= g["seen"][seat] & CARDS
    taken = np.int64(0)
    knowledge["widow"] = popcount(g["widow_left"])
    if g["seen"][me] & LOOKED_FLAG:
        # What another seat has taken of the widow is in his hand: he cannot put it away.
        taken = g["widow"] & ~g["widow_left"] & ~seen
        seen |= g["widow"]
        knowledge["widow"] = 0
    pack = np.int64(0)
    for place in range(rules["pack_size"]):
        pack |= np.int64(1) << np.int64(rules["pack"][place])
    unseen = pack & ~seen
    knowledge["unseen"] = unseen
    for seat in range(rules["num_players"]):
        known = taken if seat == g["declarer"] else np.int64(0)
        mine = seat == me
        knowledge["known"][seat] = g["hand"][me] if mine else known
        knowledge["held"][seat] = 0 if mine else popcount(g["hand"][seat]) - popcount(known)
        knowledge["possible"][seat] = unseen & ~_excluded(g, rules, seat)
        knowledge["put_away"][seat] = 0 if mine else popcount(g["discards"][seat])


@kernel
def _suit_of(card):
    """Return the thirteen cards of a card's suit as a mask; of the joker, itself."""
    suit = card // NUM_RANKS
    return np.int64(SUIT_MASK) << (NUM_RANKS * suit) if suit < NUM_SUITS else np.int64(JOKER_MASK)


@kernel
def _excluded(g, rules, seat):
    """Return the cards that a seat has shown not to hold."""
    excluded = np.int64(0)
    for suit in range(NUM_SUITS):
        if g["seen"][seat] >> (VOID_BIT + suit) & 1:
            excluded |= g["trumps"] if suit == g["trump_suit"] else _suit_of(NUM_RANKS * suit)
    if rules["must_trump"] != 0 and _has_not_trumped(g, rules, seat):
        excluded |= g["trumps"]
    if seat == g["declarer"] and g["num_played"] > 0:
        excluded |= _below_opening_lead(g, rules)
    return excluded


@kernel
def _has_not_trumped(g, rules, seat):
    """Return whether a seat has played a card neither of the led suit nor of the trumps."""
    following = np.int64(0)
    for place in range(g["num_played"]):
        card = lane(g["order"][place >> 3], place & 7)
        bit = np.int64(1) << card
        if place % rules["hands"] == 0:
            following = g["trumps"] if g["trumps"] & bit else _suit_of(card)
        elif g["seen"][seat] & bit and bit & (following | g["trumps"]) == 0:
            return True
    return False


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
        g: the game; only its stream for draws is used, and moves on.
        rules: its rules.
        knowledge: what `know` has written for it.
        world: a copy of the game, of which hands, discards, widow and stock are dealt. The first
            hands in its `pack` and its `events` stay what they are: they are history, by which
            nothing is played.
    """
    left = _deal_hands(g, rules, knowledge, world)
    for seat in range(rules["num_players"]):
        if seat != g["seat"]:
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
    elsewhere: so every possible deal has the same chance. Cards that are sure to be gone by then
    need not be drawn.
    """
    attempt = np.int64(0)
    while True:
        attempt += 1
        left = _begin_hands(g, rules, knowledge, world, attempt)
        if left >= 0:
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
            if seat == g["seat"] or (possible == unseen) != (free == 1):
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
