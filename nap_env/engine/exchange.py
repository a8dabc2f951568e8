"""Exchanges: discarding the surplus, buying, the spare hand's discards, swapping, drawing.

Cards are marked one by one, by increasing id, and leave the hand at once; new ones come together
when the seat is done. A swap is one card.
"""

import numpy as np

from nap_env.actions import DONE
from nap_env.engine.kernel import kernel
from nap_env.engine.play import begin_play
from nap_env.engine.settle import balance, pay_pool
from nap_env.engine.state import (
    AUCTION,
    BUY,
    DISCARDING,
    DRAWING,
    EXCHANGE,
    EXCHANGED_FLAG,
    LOOKED_FLAG,
    SWAPPING,
    lanes,
    next_hand,
    popcount,
)

_DONE_MASK = 1 << DONE


@kernel
def begin_before_auction(g, rules):
    """Let each hand discard its surplus or buy, from the dealer's left; else open the auction."""
    if rules["discard"] > 0:
        g["phase"] = EXCHANGE
        g["exchange"] = DISCARDING
        _begin_round(g, rules)
    elif rules["buy"] != 0:
        g["phase"] = BUY
        _begin_round(g, rules)
    else:
        _open_auction(g, rules)


@kernel
def _open_auction(g, rules):
    g["phase"] = AUCTION
    g["seat"] = next_hand(g, rules, g["dealer"])
    if rules["dealer_first"] != 0 and rules["dealer_out"] == 0:
        g["seat"] = g["dealer"]


@kernel
def _begin_round(g, rules):
    g["turns_left"] = rules["hands"]
    _begin_turn(g, rules, next_hand(g, rules, g["dealer"]))


@kernel
def _begin_turn(g, rules, seat):
    """Give a seat its turn to mark: how many it may, or must."""
    stock = rules["pack_size"] - g["stock_next"]
    most = min(popcount(g["hand"][seat]), stock)
    due = np.int64(0)
    if g["phase"] == BUY:
        price = rules["buy_cost"] * rules["stake"]
        if rules["chips"] > 0 and price > 0:
            most = min(most, balance(g, rules, seat) // price)
    elif g["exchange"] == DISCARDING:
        due = rules["discard"]
    elif g["exchange"] == DRAWING:
        most = min(most, g["draw_most"])
    begin_marks(g, seat, due, most)


@kernel
def begin_marks(g, seat, due, most):
    """Let a seat mark `due` cards, or any number up to `most` if none are due."""
    g["seat"] = seat
    g["marks"] = 0
    g["marks_due"] = due
    g["marks_most"] = most
    g["last_mark"] = -1


@kernel
def legal_marks(g, rules):
    """Write which cards may be marked or swapped, and whether the seat may be done."""
    hand = g["hand"][g["seat"]]
    g["legal_bids"] = 0
    if g["phase"] == EXCHANGE and g["exchange"] == SWAPPING:
        has_card = g["widow_left"] != 0 or g["stock_next"] < rules["pack_size"]
        g["legal"] = hand if has_card else np.int64(0)
        if (rules["look_bids"] >> g["contract"]) & 1 == 0:
            g["legal"] |= _DONE_MASK
        return
    higher = hand & ~((np.int64(1) << (g["last_mark"] + 1)) - 1)
    if g["marks_due"] > 0:
        # A card may be marked only if enough higher ones remain for the marks to come.
        for _ in range(popcount(higher) - (g["marks_due"] - g["marks"] - 1), popcount(higher)):
            higher &= ~_highest(higher)
        g["legal"] = higher
    elif g["marks"] < g["marks_most"]:
        g["legal"] = higher | _DONE_MASK
    else:
        g["legal"] = _DONE_MASK


@kernel
def _highest(mask):
    """Return the highest set bit of a non-zero mask, as a mask."""
    while mask & (mask - 1):
        mask &= mask - 1
    return mask


@kernel
def mark(g, action):
    """Mark a card or be done; return whether the seat has marked all it will."""
    if action == DONE:
        return True
    seat = g["seat"]
    _put_away(g, seat, action)
    g["marks"] += 1
    g["last_mark"] = action
    return g["marks"] == g["marks_due"]


@kernel
def _put_away(g, seat, card):
    bit = np.int64(1) << card
    g["hand"][seat] &= ~bit
    g["discards"][seat] |= bit


@kernel
def _draw_cards(g, seat, count):
    """Give a seat the next cards of the stock."""
    for _ in range(count):
        g["hand"][seat] |= np.int64(1) << np.int64(g["pack"][g["stock_next"]])
        g["stock_next"] += 1
    if count > 0:
        g["seen"][seat] |= EXCHANGED_FLAG


@kernel
def buy(g, rules, action):
    """Mark cards to buy others, or be done; the auction follows the last hand."""
    seat = g["seat"]
    if mark(g, action):
        pay_pool(g, rules, seat, g["marks"] * rules["buy_cost"] * rules["stake"])
        _draw_cards(g, seat, g["marks"])
        g["bought"] += lanes(g["marks"], seat)
        g["turns_left"] -= 1
        if g["turns_left"] > 0:
            _begin_turn(g, rules, next_hand(g, rules, seat))
        else:
            _open_auction(g, rules)


@kernel
def begin_after_auction(g, rules):
    """Let the declarer exchange if his contract and the rules allow it; else begin the play."""
    maker = g["declarer"]
    looked = (g["seen"][maker] & LOOKED_FLAG) != 0
    must_swap = (rules["look_bids"] >> g["contract"]) & 1 != 0
    may_swap = rules["swap"] == 2 or (rules["swap"] == 1 and looked)
    g["turns_left"] = 1
    g["phase"] = EXCHANGE
    if must_swap or may_swap or rules["draw_one"] != 0:
        g["exchange"] = SWAPPING
        g["seat"] = maker
    elif rules["draw_many"] != 0:
        g["exchange"] = DRAWING
        g["draw_most"] = rules["num_tricks"]
        _begin_turn(g, rules, maker)
    else:
        begin_play(g, rules)


@kernel
def exchange(g, rules, action):
    """Go on with an exchange: discards before the auction, the declarer's swap, the draw."""
    seat = g["seat"]
    if g["exchange"] == SWAPPING:
        if action != DONE:
            _swap(g, seat, action)
        begin_play(g, rules)
    elif mark(g, action):
        g["turns_left"] -= 1
        if g["exchange"] == DISCARDING:
            if g["turns_left"] > 0:
                _begin_turn(g, rules, next_hand(g, rules, seat))
            elif rules["buy"] != 0:
                g["phase"] = BUY
                _begin_round(g, rules)
            else:
                _open_auction(g, rules)
        else:
            _drawn(g, rules, seat)


@kernel
def _swap(g, seat, card):
    """Put a card away for the one on the table, or for the next one of the stock."""
    _put_away(g, seat, card)
    if g["widow_left"] != 0:
        g["hand"][seat] |= g["widow_left"]
        g["widow_left"] = 0
        g["seen"][seat] |= LOOKED_FLAG | EXCHANGED_FLAG
    else:
        _draw_cards(g, seat, np.int64(1))
    g["exchanged"] += lanes(1, seat)


@kernel
def _drawn(g, rules, seat):
    """Give new cards; the opponents follow if the declarer has exchanged any; then the play."""
    _draw_cards(g, seat, g["marks"])
    g["exchanged"] += lanes(g["marks"], seat)
    if seat == g["declarer"] and g["marks"] > 0:
        g["draw_most"] = g["marks"]
        g["turns_left"] = rules["hands"] - 1
    if g["turns_left"] > 0:
        _begin_turn(g, rules, next_hand(g, rules, seat))
    else:
        begin_play(g, rules)
