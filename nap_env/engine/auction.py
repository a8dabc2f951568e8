"""The auction: one round of calls, looks at the widow, holding, and what follows if all pass."""

import numpy as np

from nap_env.actions import DECLINE, FIRST_BID, LOOK, NUM_BIDS, PASS, TAKE
from nap_env.actions import HOLD as HOLD_ACTION
from nap_env.engine.exchange import begin_after_auction, begin_marks, mark
from nap_env.engine.kernel import kernel
from nap_env.engine.settle import balance, pay_pool, settle_passed_out
from nap_env.engine.state import (
    AUCTION,
    DECLARER_FLAG,
    EXCHANGE,
    HOLD,
    LOOKED_FLAG,
    PASSED_CALL,
    TAKING,
    next_hand,
)

_PASS_MASK = 1 << PASS
_LOOK_MASK = 1 << LOOK
_TAKE_MASK = 1 << TAKE
_HOLD_MASK = 1 << HOLD_ACTION
_DECLINE_MASK = 1 << DECLINE


@kernel
def legal_calls(g, rules):
    """Write what the seat to speak may call: a pass, and every bid above the highest."""
    must_bid = rules["must_bid"] != 0 and g["contract"] < 0 and g["spoken"] == rules["hands"] - 1
    if g["contract"] >= 0:
        bids = rules["above"][g["contract"]]
    else:
        bids = rules["must_bid"] if must_bid else rules["bids"]
    bids = _allowed_bids(g, rules, bids)
    legal = np.int64(0) if must_bid else np.int64(_PASS_MASK)
    if rules["widow"] != 0:
        legal |= _widow_calls(g, rules, bids)
    g["legal"] = legal
    g["legal_bids"] = bids


@kernel
def _allowed_bids(g, rules, bids):
    """Return the bids without those that need another player's bid, or a look, not there yet."""
    seat = g["seat"]
    if bids & rules["conditional"]:
        others = np.int64(0)
        for other in range(rules["num_players"]):
            if other != seat:
                others |= g["calls"][other]
        for bid in range(NUM_BIDS):
            if (bids & rules["conditional"]) >> bid & 1 and not others & rules["over"][bid]:
                bids &= ~(np.int64(1) << bid)
    if bids & rules["look_bids"] and g["seen"][seat] & LOOKED_FLAG == 0:
        bids &= ~rules["look_bids"]
    return bids


@kernel
def _widow_calls(g, rules, bids):
    """Return the calls that concern the widow: looking at it once, taking the spare hand."""
    seat = g["seat"]
    calls = np.int64(0)
    can_pay = rules["chips"] == 0 or balance(g, rules, seat) >= rules["look_cost"]
    if rules["look"] != 0 and g["seen"][seat] & LOOKED_FLAG == 0 and can_pay:
        calls |= _LOOK_MASK
    if rules["take_bid"] >= 0 and bids >> rules["take_bid"] & 1:
        calls |= _TAKE_MASK
    return calls


@kernel
def call(g, rules, action):
    """Let the seat to speak call; a look is followed by a call, a take by its discards."""
    seat = g["seat"]
    if action == LOOK:
        pay_pool(g, rules, seat, rules["look_cost"])
        g["seen"][seat] |= LOOKED_FLAG
    elif action == TAKE:
        _take(g, rules, seat)
    else:
        if action == PASS:
            g["calls"][seat] |= PASSED_CALL
        else:
            _bid(g, seat, action - FIRST_BID)
        _speak_on(g, rules)


@kernel
def _bid(g, seat, bid):
    g["declarer"] = seat
    g["contract"] = bid
    g["calls"][seat] |= np.int64(1) << bid


@kernel
def _take(g, rules, seat):
    """Take the spare hand: a bid, and as many cards to put away."""
    _bid(g, seat, rules["take_bid"])
    g["taker"] = seat
    g["seen"][seat] |= LOOKED_FLAG
    g["hand"][seat] |= g["widow_left"]
    g["widow_left"] = 0
    g["phase"] = EXCHANGE
    g["exchange"] = TAKING
    begin_marks(g, seat, rules["widow"], np.int64(0))


@kernel
def discard_after_take(g, rules, action):
    """Put a card of the ten away; after the last the auction goes on."""
    if mark(g, action):
        g["phase"] = AUCTION
        _speak_on(g, rules)


@kernel
def _speak_on(g, rules):
    """Pass the word to the next hand, or close the auction after the last one."""
    g["spoken"] += 1
    g["seat"] = next_hand(g, rules, g["seat"])
    last = rules["hands"] - 1
    if (
        g["spoken"] == last
        and rules["hold"] != 0
        and g["seat"] == g["dealer"]
        and (g["contract"] >= 0)
    ):
        # With a bid to hold the dealer has nothing to say before he may hold it.
        g["spoken"] += 1
    if g["spoken"] == rules["hands"]:
        _close(g, rules)


@kernel
def _close(g, rules):
    """Let the dealer hold the highest bid, or do what the rules say if all have passed."""
    if g["contract"] < 0:
        if rules["imposed_bid"] < 0:
            settle_passed_out(g, rules)
            return
        _bid(g, next_hand(g, rules, g["dealer"]), rules["imposed_bid"])
    elif rules["hold"] != 0 and rules["dealer_out"] == 0 and g["declarer"] != g["dealer"]:
        g["phase"] = HOLD
        g["hold_turn"] = 0
        g["seat"] = g["dealer"]
        return
    _award(g, rules)


@kernel
def _award(g, rules):
    """Give the contract to the highest bidder."""
    g["seen"][g["declarer"]] |= DECLARER_FLAG
    begin_after_auction(g, rules)


@kernel
def legal_holds(g, rules):
    """Write what the dealer, or the player whose bid he holds, may answer."""
    g["legal_bids"] = _allowed_bids(g, rules, rules["above"][g["contract"]])
    g["legal"] = np.int64(_DECLINE_MASK)
    if g["hold_turn"] == 0 and _may_hold(g, rules):
        g["legal"] |= _HOLD_MASK


@kernel
def _may_hold(g, rules):
    """Return whether the dealer may take over the highest bid: one that needs a look needs his."""
    needs_look = rules["look_bids"] >> g["contract"] & 1 != 0
    return not needs_look or g["seen"][g["seat"]] & LOOKED_FLAG != 0


@kernel
def hold(g, rules, action):
    """Answer: the dealer declines, holds or raises for good; the held player declines or raises."""
    if action == DECLINE:
        _award(g, rules)
    elif action == HOLD_ACTION:
        held = g["declarer"]
        _bid(g, g["dealer"], g["contract"])
        g["seat"] = held
        g["hold_turn"] = 1
        if _allowed_bids(g, rules, rules["above"][g["contract"]]) == 0:
            _award(g, rules)
    elif g["hold_turn"] == 0:
        _bid(g, g["seat"], action - FIRST_BID)
        _award(g, rules)
    else:
        _bid(g, g["seat"], action - FIRST_BID)
        g["hold_turn"] = 0
        g["seat"] = g["dealer"]
