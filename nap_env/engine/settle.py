"""The settlement of a deal: who pays whom, what the pool does, whether the match is over."""

import numpy as np

from nap_env.engine.kernel import kernel
from nap_env.engine.state import (
    DEALS_LANE,
    LOSE_LANE,
    MULTIPLIER_LANE,
    OVER,
    POOL_LANE,
    TRICKS_LANE,
    WIN_LANE,
    lanes,
)
from nap_env.rules import POOL_CAP


@kernel
def balance(g, rules, seat):
    """Return the chips a seat has left to pay with, where players start with a number of chips."""
    return rules["chips"] + g["scores"][seat] + g["payments"][seat]


@kernel
def _payable(g, rules, seat, chips):
    """Return how much of a sum a seat can pay."""
    if rules["chips"] == 0:
        return chips
    return max(np.int64(0), min(chips, balance(g, rules, seat)))


@kernel
def _pay(g, rules, payer, receiver, chips):
    """Move chips from seat to seat, as far as the payer has them."""
    chips = _payable(g, rules, payer, chips)
    g["payments"][payer] -= chips
    g["payments"][receiver] += chips


@kernel
def pay_pool(g, rules, seat, chips):
    """Move chips from a seat into the pool, as far as the seat has them."""
    chips = _payable(g, rules, seat, chips)
    g["payments"][seat] -= chips
    g["pool"] += chips


@kernel
def settle(g, rules, tricks, offender):
    """Settle a contract of which the declarer took `tricks`; a revoking seat pays for all.

    Args:
        g: the game.
        rules: the rules.
        tricks: tricks that count for the declarer.
        offender: the seat that has revoked, or -1.
    """
    maker = g["declarer"]
    bid = g["contract"]
    fewest = rules["fewest"][bid]
    if offender >= 0:
        # What is due to the other side is due in full.
        made = offender != maker
        tricks = max(tricks, fewest) if made else min(tricks, fewest - 1)
    else:
        made = tricks >= fewest and tricks <= rules["most"][bid]
    g["made"] = np.int64(made)
    price = price_of(g, rules, made, tricks)
    players = rules["num_players"]
    seat = maker
    for _ in range(players - 1):
        seat = seat + 1 if seat + 1 < players else np.int64(0)
        if not made:
            _pay(g, rules, maker, seat, price)
        else:
            _pay(g, rules, seat if offender < 0 else offender, maker, price)
    _settle_pool(g, rules, made, price)
    if offender >= 0:
        pay_pool(g, rules, offender, rules["pool_revoke"])
    if made:
        g["multiplier"] = 1
    _end_deal(g, rules)


@kernel
def price_of(g, rules, made, tricks):
    """Return what the contract moves between the declarer and each opponent."""
    bid = g["contract"]
    fewest = rules["fewest"][bid]
    if made:
        price = rules["win"][bid] + rules["overtrick"][bid] * (tricks - fewest)
    else:
        price = rules["lose"][bid] + rules["undertrick"][bid] * (fewest - tricks)
        if rules["take_bid"] >= 0 and g["taker"] == g["declarer"]:
            price *= rules["garnet_fail"]
    return price * rules["stake"] * g["multiplier"]


@kernel
def _settle_pool(g, rules, made, price):
    """Let the declarer take, double or feed the pool."""
    maker = g["declarer"]
    takes_pool = rules["takes_pool"][g["contract"]] != 0
    if made:
        if takes_pool:
            g["payments"][maker] += g["pool"]
            g["pool"] = 0
        return
    if takes_pool and rules["pool_double"] != 0:
        pay_pool(g, rules, maker, max(np.int64(0), min(g["pool"], POOL_CAP - g["pool"])))
    elif rules["pool_fail"] != 0:
        pay_pool(g, rules, maker, price)
    if rules["take_bid"] >= 0 and g["taker"] == maker:
        pay_pool(g, rules, maker, rules["garnet_pool"] * rules["stake"] * g["multiplier"])


@kernel
def reward_of(g, seat):
    """Return what a seat's chips changed in the finished deal, `pool_start` and shares included."""
    return g["payments"][seat] + g["shares"][seat]


@kernel
def settle_passed_out(g, rules):
    """Settle a deal in which nobody has bid: nothing is paid, and stakes may double."""
    if rules["double_next"] != 0:
        g["multiplier"] = 2
    _end_deal(g, rules)


@kernel
def _end_deal(g, rules):
    """Close the deal: count scores, and end the match where its length is reached."""
    g["phase"] = OVER
    g["legal"] = 0
    g["legal_bids"] = 0
    g["deals_played"] += 1
    reached = False
    for seat in range(rules["num_players"]):
        g["scores"][seat] += g["payments"][seat]
        reached = reached or (rules["target"] > 0 and g["scores"][seat] >= rules["target"])
        # Whoever has nothing left cannot pay.
        reached = reached or (rules["chips"] > 0 and rules["chips"] + g["scores"][seat] <= 0)
    over = reached or (rules["deals"] > 0 and g["deals_played"] >= rules["deals"])
    cut = not over and g["deals_played"] >= rules["max_deals"]
    g["match_over"] = np.int64(over or cut)
    g["truncated"] = np.int64(cut)
    if g["match_over"] != 0 and g["pool"] > 0:
        _share_pool(g, rules)
    show_scores(g, rules)
    show_numbers(g, rules)


@kernel
def _share_pool(g, rules):
    """Share the pool equally, odd chips one each from the dealer's left."""
    players = rules["num_players"]
    each = g["pool"] // players
    odd = g["pool"] % players
    for step in range(players):
        seat = (g["dealer"] + 1 + step) % players
        share = each + np.int64(step < odd)
        g["shares"][seat] += share
        g["scores"][seat] += share
    g["pool"] = 0


@kernel
def show_scores(g, rules):
    """Refresh the scores that the observation shows: saturated to int8, a byte a seat."""
    shown = np.uint64(0)
    for seat in range(rules["num_players"]):
        score = max(np.int64(-128), min(np.int64(127), g["scores"][seat]))
        shown |= lanes(score & 255, seat)
    g["score_lanes"] = shown


@kernel
def show_numbers(g, rules):
    """Refresh the other numbers that the observation shows; they stand still during the play."""
    win = np.int64(0)
    lose = np.int64(0)
    tricks = np.int64(-1)
    if g["contract"] >= 0:
        stake = rules["stake"] * g["first_multiplier"]
        win = rules["win"][g["contract"]] * stake
        lose = rules["lose"][g["contract"]] * stake
        tricks = rules["tricks"][g["contract"]]
    this_deal = np.int64(g["phase"] != OVER)
    deals_left = max(np.int64(0), rules["deals"] - g["deals_played"] - this_deal)
    g["numbers"] = (
        lanes(min(g["pool"], 127), POOL_LANE)
        | lanes(g["multiplier"], MULTIPLIER_LANE)
        | lanes(tricks & 255, TRICKS_LANE)
        | lanes(min(win, 127), WIN_LANE)
        | lanes(min(lose, 127), LOSE_LANE)
        | lanes(min(deals_left, 127), DEALS_LANE)
    )
