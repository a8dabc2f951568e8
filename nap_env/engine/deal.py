"""Dealing: the start of a match, the chips due before the cards, the cards."""

import numpy as np

from nap_env.engine.kernel import kernel
from nap_env.engine.settle import pay_pool, show_scores
from nap_env.engine.state import (
    DEALER_FLAG,
    LOOKED_FLAG,
    SITS_OUT_FLAG,
    below,
    deal_stream,
    lane,
    lowest_bit,
    next_hand,
)
from nap_env.observation import ORDER_WORDS
from nap_env.rules import MAX_HAND

_NONE_PLAYED = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def start_match(g, rules):
    """Begin a match: no scores, the first pool, the first dealer of the next deal's stream."""
    players = rules["num_players"]
    for seat in range(players):
        g["scores"][seat] = -rules["pool_start"]
        g["shares"][seat] = -rules["pool_start"]
    g["start_charge"] = rules["pool_start"]
    show_scores(g, rules)
    g["pool"] = rules["pool_start"] * players
    g["multiplier"] = 1
    g["deals_played"] = 0
    g["match_over"] = 0
    g["truncated"] = 0
    g["dealer"] = rules["first_dealer"]
    if g["dealer"] < 0:
        g["dealer"] = _first_dealer(g, rules)


@kernel
def _first_dealer(g, rules):
    """Return who wins the draw for the deal.

    Drawing the highest or the lowest card gives every player the same chance, whatever card he
    draws: one number decides. The first jack turned up favours those who are dealt to first.
    """
    stream = deal_stream(g)
    players = rules["num_players"]
    if rules["jacks"] == 0:
        return below(stream, 0, players)
    turned = np.int64(0)
    left = rules["pack_size"]
    while below(stream, 64 + turned, left) >= rules["jacks"]:
        turned += 1
        left -= 1
    return turned % players


@kernel
def prepare_pack(g, rules):
    """Put the pack in the order in which it is dealt: shuffled, or gathered and cut."""
    shuffle_due = (
        rules["after_nap"] == 0
        or g["deals_played"] == 0
        or (g["made"] == 1 and rules["tricks"][g["contract"]] == rules["num_tricks"])
    )
    if shuffle_due:
        _shuffle(g, rules)
    else:
        _gather(g, rules)
        _cut_and_deal_packets(g, rules)


@kernel
def _shuffle(g, rules):
    """Put the whole pack in random order, as far as its order can matter."""
    stream = deal_stream(g)
    size = rules["pack_size"]
    pack = g["pack"]
    for k in range(56):
        pack[k] = rules["pack"][k]
    for k in range(rules["shuffled"]):
        other = k + below(stream, k + 1, size - k)
        card = pack[other]
        pack[other] = pack[k]
        pack[k] = card


@kernel
def _gather(g, rules):
    """Gather the last deal's cards: as they were played, then hands, discards, widow, stock.

    Hands and discards from the dealer's left, each by increasing card id.
    """
    count = np.int64(0)
    for place in range(g["num_played"]):
        g["gathered"][count] = lane(g["order"][place >> 3], place & 7)
        count += 1
    seat = g["dealer"]
    for _ in range(rules["hands"]):
        seat = next_hand(g, rules, seat)
        count = _gather_mask(g, g["hand"][seat], count)
    for _ in range(rules["hands"]):
        seat = next_hand(g, rules, seat)
        count = _gather_mask(g, g["discards"][seat], count)
    count = _gather_mask(g, g["widow_left"], count)
    for place in range(g["stock_next"], rules["pack_size"]):
        g["gathered"][count] = g["pack"][place]
        count += 1


@kernel
def _gather_mask(g, mask, count):
    while mask != 0:
        g["gathered"][count] = lowest_bit(mask)
        mask &= mask - 1
        count += 1
    return count


@kernel
def _cut_and_deal_packets(g, rules):
    """Cut the gathered cards, each part at least four, and deal them packet by packet."""
    size = rules["pack_size"]
    least = min(np.int64(4), size // 2)
    card = least + below(deal_stream(g), size, size - 2 * least + 1)
    hands = rules["hands"]
    dealt = np.int64(0)
    packet = np.int64(0)
    while dealt < rules["hand_size"]:
        if packet == MAX_HAND or rules["packets"][packet] == 0:
            packet = np.int64(0)
        count = min(rules["packets"][packet], rules["hand_size"] - dealt)
        packet += 1
        for hand in range(hands):
            for k in range(count):
                g["pack"][hand * rules["hand_size"] + dealt + k] = g["gathered"][card % size]
                card += 1
        dealt += count
    for place in range(hands * rules["hand_size"], size):
        g["pack"][place] = g["gathered"][card % size]
        card += 1


@kernel
def begin_deal(g, rules):
    """Deal the pack as it lies and collect what is due before the cards."""
    players = rules["num_players"]
    dealer = g["dealer"]
    for seat in range(players):
        g["hand"][seat] = 0
        g["seen"][seat] = 0
        g["calls"][seat] = 0
        g["payments"][seat] = 0
    g["seen"][dealer] = DEALER_FLAG | (SITS_OUT_FLAG * rules["dealer_out"])
    card = 0
    seat = dealer
    for _ in range(rules["hands"]):
        seat = next_hand(g, rules, seat)
        hand = np.int64(0)
        for _ in range(rules["hand_size"]):
            hand |= np.int64(1) << np.int64(g["pack"][card])
            card += 1
        g["hand"][seat] = hand
    g["widow"] = 0
    for _ in range(rules["widow"]):
        g["widow"] |= np.int64(1) << np.int64(g["pack"][card])
        card += 1
    g["widow_left"] = g["widow"]
    g["stock_next"] = card
    if rules["exchanges"] != 0:
        for seat in range(players):
            g["discards"][seat] = 0
        g["bought"] = np.uint64(0)
        g["exchanged"] = np.uint64(0)
        g["taker"] = -1
        if rules["dealer_looks"] != 0:
            g["seen"][dealer] |= LOOKED_FLAG
    g["num_events"] = 0
    g["spoken"] = 0
    g["declarer"] = -1
    g["contract"] = -1
    g["trump_suit"] = -1
    g["trumps"] = rules["joker"]
    for word in range(ORDER_WORDS):
        g["order"][word] = _NONE_PLAYED
    g["num_played"] = 0
    g["tricks"] = np.uint64(0)
    g["tricks_played"] = 0
    g["in_trick"] = 0
    g["table"] = 0
    g["leader"] = -1
    g["best_seat"] = -1
    g["made"] = -1
    g["first_pool"] = g["pool"]
    g["first_multiplier"] = g["multiplier"]
    for seat in range(players):
        pay_pool(g, rules, seat, rules["pool_each"])
    pay_pool(g, rules, dealer, rules["pool_dealer"])
