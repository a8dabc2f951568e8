"""From decision to decision: dispatch on the phase, nothing else."""

import numpy as np

from nap_env.actions import FIRST_BID
from nap_env.engine.auction import call, discard_after_take, hold, legal_calls, legal_holds
from nap_env.engine.deal import begin_deal, prepare_pack, start_match
from nap_env.engine.exchange import begin_before_auction, buy, exchange, legal_marks
from nap_env.engine.kernel import kernel
from nap_env.engine.play import legal_cards, legal_names, name_trumps, play_card
from nap_env.engine.settle import show_numbers
from nap_env.engine.state import (
    AUCTION,
    BUY,
    EVENT_SEAT,
    HOLD,
    NAME,
    OVER,
    PLAY,
    TAKING,
    draw,
    lowest_bit,
    popcount,
)


@kernel
def legal_mask(g, rules):
    """Write what the seat to move may do into `legal` and `legal_bids`."""
    if g["phase"] == PLAY:
        legal_cards(g, rules)
    elif g["phase"] == AUCTION:
        legal_calls(g, rules)
    elif g["phase"] == NAME:
        legal_names(g, rules)
    elif g["phase"] == HOLD:
        legal_holds(g, rules)
    else:
        legal_marks(g, rules)


@kernel
def is_legal(g, action):
    """Return whether the seat to move may take an action, 0..77."""
    in_bids = action >= FIRST_BID
    legal = g["legal_bids"] >> (action - FIRST_BID) if in_bids else g["legal"] >> action
    return legal & 1 != 0


@kernel
def step(g, rules, action):
    """Let the seat to move take a legal action, and show what may be done next."""
    g["events"][g["num_events"]] = EVENT_SEAT * g["seat"] + action
    g["num_events"] += 1
    if g["phase"] == PLAY:
        play_card(g, rules, action)
    else:
        _act_before_play(g, rules, action)
        show_numbers(g, rules)
    if g["phase"] != OVER:
        legal_mask(g, rules)


@kernel
def _act_before_play(g, rules, action):
    if g["phase"] == AUCTION:
        call(g, rules, action)
    elif g["phase"] == NAME:
        name_trumps(g, rules, action)
    elif g["phase"] == HOLD:
        hold(g, rules, action)
    elif g["phase"] == BUY:
        buy(g, rules, action)
    elif g["exchange"] == TAKING:
        discard_after_take(g, rules, action)
    else:
        exchange(g, rules, action)


@kernel
def advance(g, rules, action, skip_forced):
    """Drive a game on by one decision, and by the forced ones that follow it.

    Args:
        g: the game.
        rules: the rules.
        action: legal, of the seat to move; -1: nothing is done.
        skip_forced: moves with one legal action are played, too.

    Returns:
        Whether the deal is over: `reward_of` says what it has brought, `next_deal` goes on.
    """
    while action >= 0:
        step(g, rules, action)
        action = only_action(g) if skip_forced else np.int64(-1)
    return g["phase"] == OVER


@kernel
def next_deal(g, rules):
    """Deal again: the next deal of the match, or the first of a new one."""
    if g["match_over"] != 0:
        start_match(g, rules)
        prepare_pack(g, rules)
    else:
        prepare_pack(g, rules)  # from where the last dealer sits
        g["dealer"] = (g["dealer"] + 1) % rules["num_players"]
        for seat in range(rules["num_players"]):
            g["shares"][seat] = 0
        g["start_charge"] = 0
    g["deal_number"] += 1
    open_deal(g, rules)


@kernel
def open_deal(g, rules):
    """Deal the pack as it lies, up to the first decision."""
    begin_deal(g, rules)
    begin_before_auction(g, rules)
    show_numbers(g, rules)
    legal_mask(g, rules)


@kernel
def new_match(g, rules):
    """Deal the first deal of a new match, whatever came before."""
    g["match_over"] = 1
    next_deal(g, rules)


@kernel
def legal_action(g, number):
    """Return legal action number 0, 1, .., by increasing id."""
    mask = g["legal"]
    others = popcount(mask)
    first = np.int64(0)
    if number >= others:
        number -= others
        mask = g["legal_bids"]
        first = np.int64(FIRST_BID)
    # Clear the bits below the chosen one; as a rule these four do it, without a branch.
    for k in range(4):
        mask &= mask - np.int64(k < number)
    for _ in range(4, number):
        mask &= mask - 1
    return first + lowest_bit(mask)


@kernel
def random_action(g):
    """Return a uniformly random legal action, from the game's stream for play."""
    return legal_action(g, draw(g, popcount(g["legal"]) + popcount(g["legal_bids"])))


@kernel
def only_action(g):
    """Return the legal action if there is just one, else -1."""
    if popcount(g["legal"]) + popcount(g["legal_bids"]) != 1:
        return np.int64(-1)
    if g["legal"] != 0:
        return lowest_bit(g["legal"])
    return FIRST_BID + lowest_bit(g["legal_bids"])
