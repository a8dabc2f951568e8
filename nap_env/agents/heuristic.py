"""`heuristic`: plays by rules of thumb (RULES.md section 7), all of its numbers in tables.

It bids what is worth most chips: the price of each bid at the chance that the hand makes it,
beside what passing costs. The chances are logistic functions of a few facts about the hand, one
row a number of tricks. In the play it weighs for each card the chance that the declarer takes the
trick on the table against what the card would be worth later. It knows what its seat knows: its
own cards and discards, a widow that it has seen, and what is public.

Compiled callers use `choose` on a game's record, everybody else `heuristic`.
"""

import math

import numpy as np
import numpy.typing as npt

from nap_env.actions import DECLINE, DONE, FIRST_BID, FIRST_SUIT, LOOK, NUM_BIDS, PASS, TAKE
from nap_env.actions import HOLD as HOLD_ACTION
from nap_env.agents.agent import Agent
from nap_env.batch import Batch
from nap_env.cards import NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel, subroutine
from nap_env.engine.state import AUCTION as AUCTION_PHASE
from nap_env.engine.state import (
    BUY,
    EVENT_SEAT,
    LOOKED_FLAG,
    NAME,
    PASSED_CALL,
    PLAY,
    SWAPPING,
    TAKING,
    VOID_BIT,
    lane,
    lowest_bit,
    next_hand,
    popcount,
)
from nap_env.engine.state import HOLD as HOLD_PHASE
from nap_env.engine.step import only_action
from nap_env.rules import (
    LEAD_ANY,
    LEAD_LOWEST_TRUMP,
    MAX_HAND,
    TRUMPS_LED,
    Rules,
    rules_table,
)

# The log odds of taking so many tricks with the best trump suit: these weights times the facts of
# `_weigh_suit`. First row: one trick.
#   always, trumps, their tops, side tops, higher cards out, side suits, share out, hands
TRICKS = np.array(
    [
        [-4.41, 2.28, 2.84, 0.84, -0.08, -0.39, 2.06, 0.12],  # 1 of 5
        [-6.05, 2.31, 1.71, 1.39, -0.11, -0.01, 1.03, -0.04],  # 2 of 5
        [-7.76, 2.42, 1.25, 1.69, -0.14, -0.12, 0.88, -0.05],  # 3 of 5
        [-5.80, 1.61, 0.74, 1.78, -0.18, -0.60, 0.47, -0.06],  # 4 of 5
        [-2.59, 0.73, 0.62, 1.57, -0.20, -1.33, -0.12, -0.19],  # 5 of 5
        [-4.61, 2.32, 3.96, 1.02, -0.08, -0.62, 3.01, 0.16],  # 1 of 7
        [-5.93, 2.15, 1.74, 1.55, -0.09, -0.13, 1.85, 0.01],  # 2 of 7
        [-6.96, 2.16, 1.19, 1.41, -0.12, 0.04, 1.41, -0.11],  # 3 of 7
        [-7.32, 1.95, 0.75, 1.49, -0.13, -0.09, 1.05, -0.10],  # 4 of 7
        [-6.35, 1.54, 0.46, 1.48, -0.15, -0.38, 0.54, -0.06],  # 5 of 7
        [-4.50, 1.04, 0.39, 1.24, -0.19, -0.74, 0.14, -0.08],  # 6 of 7
        [-2.37, 0.74, 0.44, 1.19, -0.16, -1.46, -0.02, -0.46],  # 7 of 7
    ]
)
# The log odds of a misère.
#   always, height, height of each suit's lowest card, suits, share out, hands, trumps
MISERE = np.array([0.77, -0.96, -1.34, 0.06, -0.18, 0.44, -0.79])

# Log odds more for what is still to come: a draw, a look, the spare hand; and for other calls.
DRAW_GAIN, LOOK_GAIN, TAKE_GAIN = 0.5, 0.5, 2.0
PASS_GAIN, BID_LOSS = 0.0, 0.0
MADE_BY_OTHERS = 0.6
PASS_COST = 0.0
EXACT_LOSS = 1.0
KEEP_CUT, BUY_CUT = 0.5, 0.5

PAR = np.array([0.3, 0.1, 0.3, 0.2, 0.1, 0.5, 1.0, 0.3, 0, 0, 0, 0])

_ALL_SUITS = np.int64((1 << NUM_SUITS) - 1)


@kernel
def _suit(number):
    return np.int64(SUIT_MASK) << (NUM_RANKS * number)


@kernel
def _suit_of(bit, trumps):
    """Return the cards of a card's suit, all trumps if it is one."""
    if bit & trumps:
        return trumps
    return _suit(lowest_bit(bit) // NUM_RANKS)


@kernel
def _above(bit):
    """Return the cards of higher ids."""
    return ~((bit << 1) - 1)


@kernel
def _lowest_rank(rules):
    suits = popcount(rules["suit_names"])
    return NUM_RANKS - (rules["pack_size"] - np.int64(rules["joker"] != 0)) // suits


@subroutine
def _unseen(g, rules, seat):
    """Return the cards whose place the seat does not know."""
    one_suit = np.int64(SUIT_MASK) & ~((np.int64(1) << _lowest_rank(rules)) - 1)
    pack = rules["joker"]
    for suit in range(popcount(rules["suit_names"])):
        pack |= one_suit << (NUM_RANKS * suit)
    known = g["hand"][seat]
    for other in range(rules["num_players"]):
        known |= g["seen"][other]
    if rules["private_planes"] != 0:
        known |= g["discards"][seat]
        if g["seen"][seat] & LOOKED_FLAG != 0:
            known |= g["widow_left"]
    return pack & ~known


@kernel
def _absent(share, count):
    """Return the chance that none of `count` cards is among a share of the unseen ones."""
    chance = 1.0
    for _ in range(count):
        chance *= 1.0 - share
    return chance


@kernel
def _odds(x):
    return 1.0 / (1.0 + math.exp(-x))


# ---- the auction


@kernel
def _weigh_suit(hand, trumps, unseen, share):
    """Return the facts that decide how many tricks a hand takes with these trumps.

    Returns:
        trumps held; sums, over the trumps and over the other cards, of the chance that no higher
        card of the suit is out; higher cards out, over all cards; side suits held.
    """
    top = 0.0
    side = 0.0
    out = 0.0
    suits = 0.0
    last = np.int64(0)
    rest = hand
    while rest != 0:
        bit = rest & -rest
        rest ^= bit
        suit = _suit_of(bit, trumps)
        higher = popcount(unseen & suit & _above(bit))
        chance = _absent(share, higher)
        if bit & trumps:
            top += chance
        else:
            side += chance
            if suit != last:
                suits += 1.0
                last = suit
        out += share * higher
    return np.float64(popcount(hand & trumps)), top, side, out, suits


@kernel
def _trick_odds(rules, tricks, length, top, side, out, suits, share):
    """Return the log odds of taking so many tricks."""
    size = rules["num_tricks"]
    full = np.int64(5) if size <= 5 else np.int64(MAX_HAND)
    # A shorter hand is as good as one that is filled up with sure trumps.
    more = full - size
    row = TRICKS[tricks + more - 1 + (0 if size <= 5 else 5)]
    return (
        row[0]
        + row[1] * (length + more)
        + row[2] * (top + more)
        + row[3] * side
        + row[4] * out
        + row[5] * suits
        + row[6] * share
        + row[7] * rules["hands"]
    )


@kernel
def _misere_odds(rules, bid, hand, unseen, share):
    """Return the log odds of a misère."""
    if rules["fewest"][bid] > 0:
        length, top, side, out, suits = _weigh_suit(hand, rules["joker"], unseen, share)
        fewest = rules["fewest"][bid]
        return _trick_odds(rules, fewest, length, top, side, out, suits, share) - EXACT_LOSS
    if hand & rules["joker"] != 0:
        return -9.0
    lowest_rank = _lowest_rank(rules)
    ranks = np.float64(NUM_RANKS - lowest_rank)
    height = 0.0
    low = 0.0
    suits = 0.0
    last = np.int64(-1)
    rest = hand
    while rest != 0:
        card = lowest_bit(rest)
        rest &= rest - 1
        rank = (card % NUM_RANKS - lowest_rank) / ranks
        height += rank
        if card // NUM_RANKS != last:
            low += rank
            suits += 1.0
            last = card // NUM_RANKS
    return (
        MISERE[0]
        + MISERE[1] * height
        + MISERE[2] * low
        + MISERE[3] * suits
        + MISERE[4] * share
        + MISERE[5] * rules["hands"]
        + MISERE[6] * np.float64(rules["trumps"][bid] == TRUMPS_LED)
    )


@kernel
def _others_share(rules, unseen):
    """Return the share of the unseen cards that the other hands will play with."""
    return (rules["hands"] - 1) * rules["num_tricks"] / np.float64(max(popcount(unseen), 1))


@subroutine
def _best_trumps(g, rules, hand, unseen, tricks, suits):
    """Return the number of the suit, of a mask of suits, that takes so many tricks most surely."""
    share = _others_share(rules, unseen)
    best = lowest_bit(suits)
    best_odds = -1e9
    for suit in range(NUM_SUITS):
        trumps = _suit(suit) | rules["joker"]
        if suits >> suit & 1 != 0 and hand & trumps != 0:
            length, top, side, out, sides = _weigh_suit(hand, trumps, unseen, share)
            odds = _trick_odds(rules, tricks, length, top, side, out, sides, share)
            if odds > best_odds:
                best_odds = odds
                best = np.int64(suit)
    return best


@kernel
def _lead_chance(g, rules, bid, hand, suit, unseen, share):
    """Return the chance that the opening lead that a bid prescribes wins."""
    trumps = _suit(suit) | rules["joker"]
    if rules["lead"][bid] == LEAD_LOWEST_TRUMP:
        led = hand & _suit(suit)
        led &= -led
    else:
        led = np.int64(0)
        lowest = np.int64(NUM_RANKS)
        rest = hand & ~trumps
        while rest != 0:
            card = lowest_bit(rest)
            if card % NUM_RANKS < lowest:
                lowest = card % NUM_RANKS
                led = rest & -rest
            rest &= rest - 1
    if led == 0:
        return 1.0
    return _absent(share, popcount(unseen & _suit_of(led, trumps) & _above(led)))


@subroutine
def _bid_value(g, rules, bid, hand, suit, unseen, share, gain, taking):
    """Return the chips that a bid is worth if it becomes the contract."""
    trumps = _suit(suit) | rules["joker"]
    length, top, side, out, suits = _weigh_suit(hand, trumps, unseen, share)
    tricks = rules["tricks"][bid]
    extra = 0.0
    if tricks == 0:
        chance = _odds(_misere_odds(rules, bid, hand, unseen, share) + gain)
    else:
        chance = _odds(_trick_odds(rules, tricks, length, top, side, out, suits, share) + gain)
        if rules["lead"][bid] != LEAD_ANY:
            chance *= _lead_chance(g, rules, bid, hand, suit, unseen, share)
        for other in range(1, rules["num_tricks"] + 1):
            if other > tricks and rules["overtrick"][bid] != 0:
                odds = _trick_odds(rules, other, length, top, side, out, suits, share) + gain
                extra += rules["overtrick"][bid] * _odds(odds)
            elif other <= tricks and rules["undertrick"][bid] != 0:
                odds = _trick_odds(rules, other, length, top, side, out, suits, share) + gain
                extra -= rules["undertrick"][bid] * (1.0 - _odds(odds))
    stakes = rules["stake"] * g["multiplier"]
    lose = rules["lose"][bid] * (rules["garnet_fail"] if taking else np.int64(1))
    price = chance * rules["win"][bid] - (1.0 - chance) * lose + extra
    value = price * stakes * (rules["num_players"] - 1)
    if rules["all_tricks"][bid] != 0:
        value += chance * g["pool"]
    if rules["all_tricks"][bid] != 0 and rules["pool_double"] != 0:
        value -= (1.0 - chance) * g["pool"]
    elif rules["pool_fail"] != 0:
        value -= (1.0 - chance) * lose * stakes
    if taking:
        value -= (1.0 - chance) * rules["garnet_pool"] * stakes
    return value


@kernel
def _keeping(rules, bit, trumps, unseen, share, tricks):
    """Return what it is worth to keep a card for a contract: more than 1 for trumps."""
    suit = _suit_of(bit, trumps)
    if tricks == 0:
        return _absent(share, popcount(unseen & suit & (bit - 1)))
    chance = _absent(share, popcount(unseen & suit & _above(bit)))
    return 1.0 + chance if bit & trumps else chance


@subroutine
def _worst_cards(g, rules, cards, unseen, tricks, most, cut):
    """Return up to so many of the cards that are worth least and less than `cut`."""
    share = _others_share(rules, unseen)
    trumps = np.int64(0)
    if tricks > 0:
        suit = _best_trumps(g, rules, cards, unseen, tricks, _ALL_SUITS)
        trumps = _suit(suit) | rules["joker"]
    worst = np.int64(0)
    for _ in range(most):
        least = cut
        found = np.int64(0)
        rest = cards & ~worst
        while rest != 0:
            bit = rest & -rest
            rest ^= bit
            value = _keeping(rules, bit, trumps, unseen, share, tricks)
            value += 0.001 * (lowest_bit(bit) % NUM_RANKS) * (1.0 if tricks > 0 else -1.0)
            if value < least:
                least = value
                found = bit
        worst |= found
    return worst


@kernel
def _known_card(g, rules, seat):
    """Return the card on the table if the seat knows it and may come to swap it in, as a mask."""
    if rules["widow"] == 1 and g["seen"][seat] & LOOKED_FLAG != 0:
        return g["widow_left"]
    return np.int64(0)


@subroutine
def _call(g, rules):
    """Choose what to call, or what to answer when bids may be held."""
    seat = g["seat"]
    plain = g["hand"][seat]
    unseen = _unseen(g, rules, seat)
    share = _others_share(rules, unseen)
    middle = (rules["num_tricks"] + 1) // 2
    card = _known_card(g, rules, seat)
    swapped = plain
    if card != 0:
        swapped = (plain | card) & ~_worst_cards(
            g, rules, plain | card, unseen, middle, np.int64(1), 9.0
        )
    gain = 0.0
    for other in range(rules["num_players"]):
        if other != seat:
            if g["calls"][other] & PASSED_CALL != 0:
                gain += PASS_GAIN
            elif g["calls"][other] != 0:
                gain -= BID_LOSS
    if rules["draw_many"] != 0 or rules["draw_one"] != 0:
        gain += DRAW_GAIN
    can_look = g["legal"] >> LOOK & 1 != 0
    bids = g["legal_bids"]
    if g["legal"] >> HOLD_ACTION & 1 != 0:
        bids |= np.int64(1) << g["contract"]
    if can_look:
        above = rules["bids"] if g["contract"] < 0 else rules["above"][g["contract"]]
        bids |= rules["look_bids"] & above
    best = np.int64(PASS) if g["phase"] == AUCTION_PHASE else np.int64(DECLINE)
    best_value = -1e9
    if g["legal"] >> best & 1 != 0:
        best_value = 0.0
        if g["contract"] >= 0:
            standing = g["contract"]
            price = MADE_BY_OTHERS * rules["win"][standing]
            price -= (1.0 - MADE_BY_OTHERS) * rules["lose"][standing]
            best_value = -price * rules["stake"] * g["multiplier"]
    look_value = best_value
    plain_suit = _best_trumps(g, rules, plain, unseen, middle, _ALL_SUITS)
    swapped_suit = plain_suit
    if swapped != plain:
        swapped_suit = _best_trumps(g, rules, swapped, unseen, middle, _ALL_SUITS)
    for bid in range(NUM_BIDS + 1):
        taking = bid == NUM_BIDS
        number = np.int64(bid)
        more = gain
        if taking:
            if g["legal"] >> TAKE & 1 == 0:
                break
            number = rules["take_bid"]
            more += TAKE_GAIN
        elif bids >> bid & 1 == 0:
            continue
        needs_look = rules["look_bids"] >> number & 1 != 0
        swaps = needs_look or rules["swap"] != 0
        hand = swapped if swaps else plain
        suit = swapped_suit if swaps else plain_suit
        for look in range(1 + np.int64(can_look)):
            if look:
                more += LOOK_GAIN
            value = _bid_value(g, rules, number, hand, suit, unseen, share, more, taking)
            if look:
                look_value = max(look_value, value - rules["look_cost"])
            elif value > best_value and not (needs_look and can_look):
                best_value = value
                best = np.int64(FIRST_BID) + number
                if taking:
                    best = np.int64(TAKE)
                elif g["legal_bids"] >> number & 1 == 0:
                    best = np.int64(HOLD_ACTION)
    if can_look and look_value > best_value:
        best = np.int64(LOOK)
    return best


# ---- exchanges


@kernel
def _marked(g):
    """Return the cards that the seat to move has marked in this turn."""
    cards = np.int64(0)
    for k in range(g["marks"]):
        cards |= np.int64(1) << (g["events"][g["num_events"] - 1 - k] & (EVENT_SEAT - 1))
    return cards


@subroutine
def _exchange(g, rules):
    """Choose the next card to put away, or be done."""
    seat = g["seat"]
    unseen = _unseen(g, rules, seat)
    swapping = g["phase"] != BUY and g["exchange"] == SWAPPING
    tricks = (rules["num_tricks"] + 1) // 2
    if g["contract"] >= 0 and g["declarer"] == seat:
        tricks = rules["tricks"][g["contract"]]
        if g["exchange"] == TAKING:
            tricks = rules["num_tricks"]
    if swapping:
        card = _known_card(g, rules, seat)
        cut = 9.0 if card != 0 or g["legal"] >> DONE & 1 == 0 else KEEP_CUT
        worst = _worst_cards(g, rules, g["hand"][seat] | card, unseen, tricks, np.int64(1), cut)
        if worst & g["legal"] != 0:
            return lowest_bit(worst)
        if g["legal"] >> DONE & 1 != 0:
            return np.int64(DONE)
        return lowest_bit(_worst_cards(g, rules, g["hand"][seat], unseen, tricks, np.int64(1), 9.0))
    cards = g["hand"][seat] | _marked(g)
    most = g["marks_due"]
    cut = 9.0
    if most == 0:
        most = g["marks_most"]
        cut = BUY_CUT if g["phase"] == BUY else KEEP_CUT
    worst = _worst_cards(g, rules, cards, unseen, tricks, most, cut) & g["legal"]
    return lowest_bit(worst) if worst != 0 else np.int64(DONE)


# ---- the play


@kernel
def _is_void(g, seat, suit):
    return suit >= 0 and (g["seen"][seat] >> (VOID_BIT + suit)) & 1 != 0


@kernel
def _goes_over(g, other, share, unseen, following, led_suit, over, ducking):
    """Return the chance that a later hand goes over the best card: if it can, or if it must."""
    void = _is_void(g, other, led_suit)
    above = popcount(unseen & following & over)
    if ducking:
        if void:
            return 0.0
        below = popcount(unseen & following & ~over)
        return _absent(share, below) * (1.0 - _absent(share, above))
    ruffs = unseen & over & ~following
    ruff = 0.0
    if ruffs != 0 and not _is_void(g, other, g["trump_suit"]):
        ruff = 1.0 - _absent(share, popcount(ruffs))
    if void:
        return ruff
    return 1.0 - _absent(share, above) + _absent(share, popcount(unseen & following)) * ruff


@kernel
def _taken(g, rules, seat, bit, unseen, share, ducking):
    """Return the chance that the declarer takes the trick if the seat plays a card."""
    trumps = g["trumps"]
    declarer = g["declarer"]
    best_seat = seat
    best = bit
    if g["in_trick"] == 0:
        following = _suit_of(bit, trumps)
        led_suit = g["trump_suit"] if bit & trumps else lowest_bit(bit) // NUM_RANKS
    else:
        following = g["following"]
        led_suit = g["led_suit"]
        beaten = np.int64(1) << (g["best_value"] & 63)
        if not (bit & trumps and (beaten & trumps == 0 or bit > beaten)) and not (
            bit & following and beaten & trumps == 0 and bit > beaten
        ):
            best = beaten
            best_seat = g["best_seat"]
    over = _above(best) & trumps if best & trumps else (_above(best) & following) | trumps
    chance = 1.0 if best_seat == declarer else 0.0
    declarer_played = False
    other = seat
    for _ in range(rules["hands"] - g["in_trick"] - 1):
        other = next_hand(g, rules, other)
        if other == declarer:
            declarer_played = True
            chance = _goes_over(g, other, share, unseen, following, led_suit, over, ducking)
        elif declarer_played:
            chance *= PAR[5] if not ducking else PAR[6]
        elif chance != 0.0:
            chance *= 1.0 - _goes_over(g, other, share, unseen, following, led_suit, over, ducking)
    return chance


@kernel
def _worth(g, rules, seat, bit, unseen, share, ducking):
    """Return what a card is worth later to the seat that keeps it, 0 to 1."""
    trumps = g["trumps"]
    suit = _suit_of(bit, trumps)
    higher = popcount(unseen & suit & _above(bit))
    lower = popcount(unseen & suit & (bit - 1))
    if ducking:
        if seat == g["declarer"]:
            return _absent(share, lower)
        return 1.0 - lower / (higher + lower + 1.0)
    chance = _absent(share, higher)
    if (
        seat != g["declarer"]
        and bit & trumps == 0
        and _is_void(g, g["declarer"], lowest_bit(bit) // NUM_RANKS)
    ):
        chance *= 0.3
    return chance


@subroutine
def _play(g, rules):
    """Choose a card."""
    seat = g["seat"]
    declarer = g["declarer"]
    bid = g["contract"]
    unseen = _unseen(g, rules, seat)
    tricks = lane(g["tricks"], declarer)
    legal = g["legal"]
    may_take_all = rules["most"][bid] == rules["num_tricks"]
    if g["num_played"] == 0 and rules["trumps"][bid] == TRUMPS_LED and may_take_all:
        suit = _best_trumps(g, rules, legal, unseen, rules["tricks"][bid], _ALL_SUITS)
        legal = legal & (_suit(suit) | rules["joker"])
        while legal & (legal - 1) != 0:
            legal &= legal - 1
        return lowest_bit(legal)
    ducking = tricks == rules["most"][bid] and not may_take_all
    left = rules["num_tricks"] - g["tricks_played"]
    hidden = np.float64(max(popcount(unseen), 1))
    share = left / hidden
    others = ((rules["hands"] - 1) * left - g["in_trick"]) / hidden
    reach = others if seat == declarer else share
    sign = 1.0 if (seat == declarer) != ducking else -1.0
    need = rules["fewest"][bid] - tricks
    if ducking:
        keep = PAR[3] if seat == declarer else PAR[4]
    elif seat == declarer:
        keep = PAR[0] if need >= left else PAR[1]
    else:
        keep = PAR[2] if need > 1 else PAR[7]
    best_value = -9.0
    best = np.int64(0)
    while legal != 0:
        bit = legal & -legal
        legal ^= bit
        rank = lowest_bit(bit) % NUM_RANKS + 13 * np.int64(bit & g["trumps"] != 0)
        value = (
            sign * _taken(g, rules, seat, bit, unseen, share, ducking)
            - keep * _worth(g, rules, seat, bit, unseen, reach, ducking)
            - 0.001 * rank * (-1.0 if ducking else 1.0)
        )
        if value > best_value:
            best_value = value
            best = bit
    return lowest_bit(best)


@kernel
def choose(g, rules):
    """Return the action that the seat to move takes."""
    action = only_action(g)
    if action >= 0:
        return action
    if g["phase"] == PLAY:
        return _play(g, rules)
    if g["phase"] == AUCTION_PHASE or g["phase"] == HOLD_PHASE:
        return _call(g, rules)
    if g["phase"] == NAME:
        seat = g["seat"]
        tricks = max(rules["tricks"][g["contract"]], 1)
        unseen = _unseen(g, rules, seat)
        suits = g["legal"] >> FIRST_SUIT
        return FIRST_SUIT + _best_trumps(g, rules, g["hand"][seat], unseen, tricks, suits)
    return _exchange(g, rules)


@kernel
def _choose(games, table, rows, actions):
    for k in range(len(rows)):
        actions[k] = choose(games[rows[k]], table[0])


def heuristic(rules: Rules, num_players: int) -> Agent:
    """Return the player by rules of thumb for these rules; see the top of the module."""
    table = rules_table(rules, num_players)

    def act(games: Batch, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        actions = np.empty(len(rows), np.int64)
        _choose(games.games, table, np.ascontiguousarray(rows, np.int64), actions)
        return actions

    return act
