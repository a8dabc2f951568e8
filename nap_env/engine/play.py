"""The play: the opening lead and trumps, following suit, taking tricks, when play stops."""

import numpy as np

from nap_env.actions import FIRST_SUIT
from nap_env.cards import JOKER, JOKER_MASK, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import settle
from nap_env.engine.state import NAME, PLAY, VOID_BIT, lane, lanes, next_hand
from nap_env.rules import LEAD_LOWEST_PLAIN, LEAD_LOWEST_TRUMP, TRUMPS_LED, TRUMPS_NAMED

_BY_TRUMP = 64
"""A trump's value in a trick is this much above its id; a losing card has value -1."""

_ONE_RANK = sum(1 << (NUM_RANKS * suit) for suit in range(NUM_SUITS))
"""The four twos as a mask; shifted by a rank the four cards of that rank."""


@kernel
def opening_leader(g):
    """Return the seat that leads to the first trick."""
    return g["declarer"]


@kernel
def begin_play(g, rules):
    """Give the declarer the lead, after he has named trumps where the contract says so."""
    g["seat"] = opening_leader(g)
    g["leader"] = g["seat"]
    g["phase"] = NAME if rules["trumps"][g["contract"]] == TRUMPS_NAMED else PLAY


@kernel
def legal_names(g, rules):
    """Write which suits may be named as trumps."""
    g["legal"] = rules["suit_names"]
    g["legal_bids"] = 0


@kernel
def name_trumps(g, rules, action):
    """Fix trumps; a joker that waits for it as the opening lead is played now."""
    _fix_trumps(g, rules, action - FIRST_SUIT)
    g["phase"] = PLAY
    if rules["trumps"][g["contract"]] == TRUMPS_LED:
        play_card(g, rules, np.int64(JOKER))


@kernel
def _fix_trumps(g, rules, suit):
    g["trump_suit"] = suit
    g["trumps"] = (np.int64(SUIT_MASK) << (NUM_RANKS * suit)) | rules["joker"]


@kernel
def legal_cards(g, rules):
    """Write which cards the seat to move may play: any where revokes are allowed."""
    g["legal"] = g["hand"][g["seat"]]
    g["legal_bids"] = 0
    if rules["allow_revoke"] == 0:
        g["legal"] = right_cards(g, rules)


@kernel
def right_cards(g, rules):
    """Return the cards that the seat to move may play without a revoke."""
    hand = g["hand"][g["seat"]]
    cards = hand
    if g["in_trick"] != 0:
        following = hand & g["following"]
        trumps = hand & g["trumps"]
        if following != 0:
            cards = following
        elif rules["must_trump"] != 0 and trumps != 0:
            cards = trumps
    elif g["num_played"] == 0:
        cards = _opening_leads(g, rules, hand)
    return cards


@kernel
def _opening_leads(g, rules, hand):
    """Return the cards that the contract's lead restriction leaves of the declarer's hand."""
    lead = rules["lead"][g["contract"]]
    if lead == LEAD_LOWEST_TRUMP:
        lowest = np.int64(0)
        for suit in range(NUM_SUITS):
            held = hand & (np.int64(SUIT_MASK) << (NUM_RANKS * suit))
            lowest |= held & -held
        # The joker may not be led, unless it is the only card of a one-card hand.
        return lowest if lowest != 0 else hand
    if lead == LEAD_LOWEST_PLAIN:
        for rank in range(NUM_RANKS):
            lowest = hand & ~g["trumps"] & (np.int64(_ONE_RANK) << rank)
            if lowest != 0:
                return lowest
    return hand


@kernel
def play_card(g, rules, card):
    """Play a card; the opening lead fixes trumps; a full trick goes to the best card."""
    seat = g["seat"]
    bit = np.int64(1) << card
    revoked = rules["allow_revoke"] != 0 and right_cards(g, rules) & bit == 0
    fixes_trumps = rules["trumps"][g["contract"]] == TRUMPS_LED and g["trump_suit"] < 0
    if g["num_played"] == 0 and fixes_trumps:
        if bit != JOKER_MASK:
            _fix_trumps(g, rules, card // NUM_RANKS)
        elif not revoked:
            g["phase"] = NAME
            return
    g["hand"][seat] &= ~bit
    g["seen"][seat] |= bit
    _remember(g, card)
    trump = (g["trumps"] & bit) != 0
    if g["in_trick"] == 0:
        g["table"] = 0
        g["leader"] = seat
        if trump:
            g["led_suit"] = g["trump_suit"]
            g["following"] = g["trumps"]
        else:
            suit = card // NUM_RANKS
            g["led_suit"] = suit
            g["following"] = np.int64(SUIT_MASK) << (NUM_RANKS * suit)
        g["best_value"] = -1
    value = np.int64(-1)
    if g["following"] & bit:
        value = card
    elif g["led_suit"] >= 0:
        g["seen"][seat] |= np.int64(1) << (VOID_BIT + g["led_suit"])
    if trump:
        value = card + _BY_TRUMP
    if value > g["best_value"]:
        g["best_value"] = value
        g["best_seat"] = seat
    g["table"] |= bit
    g["in_trick"] += 1
    if revoked:
        settle(g, rules, lane(g["tricks"], g["declarer"]), seat)
    elif g["in_trick"] < rules["hands"]:
        g["seat"] = next_hand(g, rules, seat)
    else:
        _take_trick(g, rules)


@kernel
def _remember(g, card):
    """Append a card to the order of play."""
    place = g["num_played"]
    g["order"][place >> 3] ^= lanes(card ^ 255, place & 7)
    g["num_played"] = place + 1


@kernel
def _take_trick(g, rules):
    """Give the trick to its best card, and stop play where nothing more can change."""
    winner = g["best_seat"]
    g["tricks"] += lanes(1, winner)
    g["tricks_played"] += 1
    g["in_trick"] = 0
    g["table"] = 0
    g["leader"] = winner
    g["seat"] = winner
    tricks = lane(g["tricks"], g["declarer"])
    left = rules["num_tricks"] - g["tricks_played"]
    if left == 0 or (rules["early_stop"] != 0 and _is_decided(g, rules, tricks, left)):
        settle(g, rules, tricks, np.int64(-1))


@kernel
def _is_decided(g, rules, tricks, left):
    """Return whether the contract is certainly made or certainly lost."""
    fewest = rules["fewest"][g["contract"]]
    most = rules["most"][g["contract"]]
    lost = tricks > most or tricks + left < fewest
    return lost or (tricks >= fewest and tricks + left <= most)
