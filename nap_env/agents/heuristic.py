"""`heuristic`: plays by rules of thumb (RULES.md section 7), all of its numbers in tables.

It bids what is worth most chips: the price of each bid at the chance that the hand makes it,
beside what passing costs. The chances are logistic functions of a few facts about the hand, one
row a number of tricks. In the play it weighs for each card the chance that the declarer takes the
trick on the table against what the card would be worth later. It knows what its seat knows: its
own cards and discards, a widow that it has seen, and what is public. It draws no random numbers.

Compiled callers use `choose` on a game's record, everybody else `Heuristic`.

How the numbers came about, 30 November 2026. TRICKS and MISERE are logistic regressions on deals
in which the eldest hand bids, all others pass and all play as below to the end: 10,000 deals for
each bid, 2 to 7 players and packs of 24, 28, 32, 36, 40 and 52 cards (hands of three: 8 to 12
cards of two or three suits). That was done twice, for the play depends on TRICKS. Where the row
says 0.3 to 0.7, the mean error for a number of players with 28 or 52 cards was mostly below 0.1,
and 0.15 at most. The rest was tuned by trying other values on the same deals: contracts made in
20,000 for the play, chips of one seat against the others in 4,000 from every seat for the auction
and the exchanges, in `standard` and `parlett` with 3 to 5 players and in the presets that have the
phase. EXACTLY, DECLARER_RUFFS and PER_RANK are guesses.
"""

import math

import numpy as np
import numpy.typing as npt

from nap_env.actions import (
    DECLINE,
    DONE,
    FIRST_BID,
    FIRST_SUIT,
    HOLD,
    LOOK,
    NUM_BIDS,
    PASS,
    TAKE,
)
from nap_env.agents.agent import Ints, SeatedAgent
from nap_env.cards import NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine import state
from nap_env.engine.kernel import kernel, subroutine
from nap_env.engine.state import (
    AUCTION,
    BUY,
    EVENT_SEAT,
    LOOKED_FLAG,
    NAME,
    PASSED_CALL,
    PLAY,
    SWAPPING,
    VOID_BIT,
    lane,
    lowest_bit,
    next_hand,
    popcount,
)
from nap_env.engine.step import only_action
from nap_env.rules import (
    LEAD_ANY,
    LEAD_LOWEST_TRUMP,
    MAX_HAND,
    TRUMPS_LED,
)

# The log odds of taking at least so many tricks with the best trump suit, by cards in the hand:
# these weights times the facts of `_weigh_suit`, the share of the unseen cards that others hold,
# and the number of hands.
#   always, trumps, their tops, side tops, higher cards out, side suits, share, hands
TRICKS = np.array(
    [
        [-4.22, 2.11, 4.01, 1.39, -0.22, 0.29, 5.17, -1.08],  # 1 of 3
        [-6.63, 2.84, 2.26, 1.67, -0.48, 0.26, -0.09, 0.12],  # 2 of 3
        [-6.37, 2.30, 1.06, 1.95, -0.82, -0.93, -5.26, 1.50],  # 3 of 3
        [-3.22, 2.11, 2.57, 1.51, -0.07, -0.75, 1.82, 0.08],  # 1 of 5
        [-3.69, 1.76, 1.83, 1.49, -0.09, -0.52, 1.43, -0.10],  # 2 of 5
        [-4.11, 1.66, 1.41, 1.31, -0.11, -0.50, 0.88, -0.25],  # 3 of 5
        [-4.57, 1.59, 0.69, 1.63, -0.19, -0.74, 0.10, -0.20],  # 4 of 5
        [-2.83, 0.86, 0.62, 1.36, -0.23, -1.21, -0.41, -0.17],  # 5 of 5
        [-4.48, 2.17, 2.15, 2.79, -0.07, -0.63, 3.04, 0.10],  # 1 of 7
        [-3.08, 1.87, 1.88, 1.54, -0.08, -0.71, 2.05, -0.17],  # 2 of 7
        [-3.84, 1.73, 1.36, 1.19, -0.10, -0.36, 1.43, -0.33],  # 3 of 7
        [-4.95, 1.76, 0.93, 1.26, -0.12, -0.39, 0.94, -0.34],  # 4 of 7
        [-4.75, 1.55, 0.51, 1.27, -0.16, -0.55, 0.26, -0.27],  # 5 of 7
        [-3.92, 1.27, 0.25, 1.18, -0.22, -0.85, -0.09, -0.27],  # 6 of 7
        [-2.27, 0.73, 0.47, 1.12, -0.18, -1.53, -0.24, -0.35],  # 7 of 7
    ]
)
# Where the rows for hands of up to three, five and seven cards begin.
_THREE, _FIVE, _SEVEN = 0, 3, 8

# The log odds of taking no trick.
#   always, height, height of the lowest of each suit, suits, share, hands, trumps by the lead
MISERE = np.array([0.78, -0.97, -1.32, 0.05, -0.20, 0.44, -0.79])
EXACTLY = -1.0
"""Log odds more for exactly three tricks without trumps than for at least three."""

# Log odds more for the cards that are still to come: the maker's draw, the card on the table before
# the look, the spare hand before it is taken; and for each other hand that has passed.
DRAW_GAIN, LOOK_GAIN, TAKE_GAIN = 0.5, 0.8, 2.2
PASSED_GAIN = 0.1

MADE_BY_OTHERS = 0.7
"""Chance that another player makes the contract that stands."""

LEFT_TO_OTHERS = 0.3
"""Chips that a pass costs for each hand that has yet to speak, while nobody has bid."""

# An exchange puts cards away that are worth less than this (`_keeping`); more than BUY_MOST such
# cards are not worth buying others for.
KEEP_FROM = 0.3
BUY_MOST = 1

# How much a card's worth in later tricks counts against what it does in this one.
KEEP_NEEDING_ALL, KEEP_DECLARER, KEEP_DEFENDER = 0.3, 0.2, 0.3
KEEP_DUCKING_DECLARER, KEEP_DUCKING_DEFENDER = 0.2, 0.1

# What leading a trump is worth more while others may have some: to a declarer who needs all the
# tricks left, to another one, and to a defender if the declarer needs more than one trick.
DRAW_TRUMPS, SAVE_TRUMPS, DEFENDER_TRUMPS = 0.3, -0.5, -0.4

PARTNER_LEAVES = 0.7
"""Chance that a defender who plays after the declarer does not beat him."""

DECLARER_RUFFS = 0.3
"""What is left of a plain card's worth to a defender where the declarer is void."""

PER_RANK = 0.001
"""Of cards that are otherwise equal the lower one is spent, or the higher one in a misère."""

_ALL_SUITS = np.int64((1 << NUM_SUITS) - 1)
_EVERY_CARD = 9.0
"""Worth that no card reaches."""


@kernel
def _suit(number):
    """Return the cards of a suit by its number, as a mask."""
    return np.int64(SUIT_MASK) << (NUM_RANKS * number)


@kernel
def _suit_of(bit, trumps):
    """Return the cards of a card's suit, the trumps if it is one."""
    if bit & trumps:
        return trumps
    return _suit(lowest_bit(bit) // NUM_RANKS)


@kernel
def _above(bit):
    """Return the cards with higher ids than a card."""
    return ~((bit << 1) - 1)


@kernel
def _lowest_rank(rules):
    """Return the rank of the lowest cards of the pack."""
    suits = popcount(rules["suit_names"])
    return NUM_RANKS - (rules["pack_size"] - np.int64(rules["joker"] != 0)) // suits


@subroutine
def _unseen(g, rules, seat):
    """Return the cards of which the seat does not know where they are."""
    one_suit = np.int64(SUIT_MASK) & ~((np.int64(1) << _lowest_rank(rules)) - 1)
    pack = rules["joker"]
    for suit in range(popcount(rules["suit_names"])):
        pack |= one_suit << (NUM_RANKS * suit)
    known = g["hand"][seat]
    for other in range(rules["num_players"]):
        known |= g["seen"][other]
    if rules["exchanges"] != 0:
        known |= g["discards"][seat]
        if g["seen"][seat] & LOOKED_FLAG != 0:
            known |= g["widow_left"]
    return pack & ~known


@kernel
def _others_share(rules, unseen):
    """Return the share of the unseen cards with which the other hands begin the play."""
    return (rules["hands"] - 1) * rules["num_tricks"] / max(popcount(unseen), np.int64(1))


@kernel
def _absent(share, count):
    """Return the chance that none of `count` cards is in a share of the unseen ones."""
    chance = 1.0
    for _ in range(count):
        chance *= 1.0 - share
    return chance


@kernel
def _chance(log_odds):
    return 1.0 / (1.0 + math.exp(-log_odds))


@kernel
def _middle(rules):
    """Return the tricks by which hands are compared while the contract is open."""
    return (rules["num_tricks"] + 1) // 2


@kernel
def _weigh_suit(hand, trumps, unseen, share):
    """Return the facts that decide how many tricks a hand takes with these trumps.

    Returns:
        Trumps held; sums, over the trumps and over the other cards, of the chance that nobody
        holds a higher card of the suit; higher cards that others hold, over all cards; side suits.
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
        if bit & trumps:
            top += _absent(share, higher)
        else:
            side += _absent(share, higher)
            suits += np.float64(suit != last)
            last = suit
        out += share * higher
    return np.float64(popcount(hand & trumps)), top, side, out, suits


@kernel
def _trick_odds(rules, tricks, facts, share):
    """Return the log odds of taking at least so many tricks."""
    size = rules["num_tricks"]
    full, first = np.int64(MAX_HAND), np.int64(_SEVEN)
    if size <= 3:
        full, first = np.int64(3), np.int64(_THREE)
    elif size <= 5:
        full, first = np.int64(5), np.int64(_FIVE)
    # A hand of another size counts as one that is filled up with sure trumps.
    more = full - size
    row = TRICKS[first + tricks + more - 1]
    return (
        row[0]
        + row[1] * (facts[0] + more)
        + row[2] * (facts[1] + more)
        + row[3] * facts[2]
        + row[4] * facts[3]
        + row[5] * facts[4]
        + row[6] * share
        + row[7] * rules["hands"]
    )


@kernel
def _misere_odds(rules, bid, hand, unseen, share):
    """Return the log odds of a misère."""
    fewest = rules["fewest"][bid]
    if fewest > 0:
        facts = _weigh_suit(hand, rules["joker"], unseen, share)
        return _trick_odds(rules, fewest, facts, share) + EXACTLY
    if hand & rules["joker"] != 0:
        return -math.inf
    lowest_rank = _lowest_rank(rules)
    ranks = NUM_RANKS - lowest_rank
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


@subroutine
def _best_trumps(rules, hand, unseen, suits):
    """Return the number of the suit, out of a mask of suits, that makes the best trumps."""
    share = _others_share(rules, unseen)
    best = lowest_bit(suits)
    best_odds = -math.inf
    for suit in range(NUM_SUITS):
        trumps = _suit(suit) | rules["joker"]
        if suits >> suit & 1 != 0 and hand & trumps != 0:
            facts = _weigh_suit(hand, trumps, unseen, share)
            odds = _trick_odds(rules, _middle(rules), facts, share)
            if odds > best_odds:
                best_odds = odds
                best = np.int64(suit)
    return best


@kernel
def _lead_chance(rules, bid, hand, trumps, unseen, share):
    """Return the chance that the opening lead that a bid prescribes wins."""
    led = np.int64(0)
    if rules["lead"][bid] == LEAD_LOWEST_TRUMP:
        led = hand & trumps & -(hand & trumps)
    else:
        lowest = np.int64(NUM_RANKS)
        rest = hand & ~trumps
        while rest != 0:
            rank = lowest_bit(rest) % NUM_RANKS
            if rank < lowest:
                lowest = rank
                led = rest & -rest
            rest &= rest - 1
    if led == 0:
        return 1.0
    return _absent(share, popcount(unseen & _suit_of(led, trumps) & _above(led)))


@subroutine
def _bid_value(g, rules, bid, hand, suit, unseen, gain, taking):
    """Return the chips that a bid is worth as the contract, with the suit that is its best trumps.

    `gain` is added to the log odds; `taking` says that the spare hand goes with the bid.
    """
    share = _others_share(rules, unseen)
    trumps = _suit(suit) | rules["joker"]
    facts = _weigh_suit(hand, trumps, unseen, share)
    tricks = rules["tricks"][bid]
    extra = 0.0
    if tricks == 0:
        chance = _chance(_misere_odds(rules, bid, hand, unseen, share) + gain)
    else:
        chance = _chance(_trick_odds(rules, tricks, facts, share) + gain)
        if rules["lead"][bid] != LEAD_ANY:
            chance *= _lead_chance(rules, bid, hand, trumps, unseen, share)
        if rules["overtrick"][bid] != 0 or rules["undertrick"][bid] != 0:
            for number in range(1, rules["num_tricks"] + 1):
                taken = _chance(_trick_odds(rules, np.int64(number), facts, share) + gain)
                if number > tricks:
                    extra += rules["overtrick"][bid] * taken
                else:
                    extra -= rules["undertrick"][bid] * (1.0 - taken)
    stakes = rules["stake"] * g["multiplier"]
    lose = rules["lose"][bid]
    if taking:
        lose *= rules["garnet_fail"]
    price = chance * rules["win"][bid] - (1.0 - chance) * lose + extra
    value = price * stakes * (rules["num_players"] - 1)
    takes_pool = rules["takes_pool"][bid] != 0
    if takes_pool:
        value += chance * g["pool"]
    if takes_pool and rules["pool_double"] != 0:
        value -= (1.0 - chance) * g["pool"]
    elif rules["pool_fail"] != 0:
        value -= (1.0 - chance) * lose * stakes
    if taking:
        value -= (1.0 - chance) * rules["garnet_pool"] * stakes
    return value


@kernel
def _pass_value(g, rules):
    """Return the chips that a pass, or to decline, is worth."""
    stakes = np.float64(rules["stake"] * g["multiplier"])
    standing = g["contract"]
    if standing < 0:
        return -LEFT_TO_OTHERS * (rules["hands"] - 1 - g["spoken"]) * stakes
    win, lose = rules["win"][standing], rules["lose"][standing]
    return ((1.0 - MADE_BY_OTHERS) * lose - MADE_BY_OTHERS * win) * stakes


@kernel
def _gain(g, rules):
    """Return the log odds that the passes of others and the draw to come add to every bid."""
    gain = 0.0
    for other in range(rules["num_players"]):
        if other != g["seat"] and g["calls"][other] & PASSED_CALL != 0:
            gain += PASSED_GAIN
    if rules["draw_many"] != 0 or rules["draw_one"] != 0:
        gain += DRAW_GAIN
    return gain


@kernel
def _known_card(g, rules, seat):
    """Return the card on the table, as a mask, if the seat knows it, else 0."""
    if rules["widow"] == 1 and g["seen"][seat] & LOOKED_FLAG != 0:
        return g["widow_left"]
    return np.int64(0)


@kernel
def _keeping(bit, trumps, unseen, share, ducking):
    """Return what it is worth to keep a card: 0 to 1, and 1 more for a trump."""
    suit = _suit_of(bit, trumps)
    rank = PER_RANK * (lowest_bit(bit) % NUM_RANKS)
    if ducking:
        return _absent(share, popcount(unseen & suit & (bit - 1))) - rank
    top = _absent(share, popcount(unseen & suit & _above(bit)))
    return np.float64(bit & trumps != 0) + top + rank


@subroutine
def _worst_cards(rules, cards, trumps, unseen, ducking, most, limit):
    """Return up to `most` of the cards that are worth least to keep, and less than `limit`."""
    share = _others_share(rules, unseen)
    worst = np.int64(0)
    for _ in range(most):
        least = limit
        found = np.int64(0)
        rest = cards & ~worst
        while rest != 0:
            bit = rest & -rest
            rest ^= bit
            value = _keeping(bit, trumps, unseen, share, ducking)
            if value < least:
                least = value
                found = bit
        worst |= found
    return worst


@subroutine
def _call(g, rules):
    """Choose a call, or the answer where bids may be held: what is worth most chips."""
    seat = g["seat"]
    plain = g["hand"][seat]
    unseen = _unseen(g, rules, seat)
    plain_suit = _best_trumps(rules, plain, unseen, _ALL_SUITS)
    swapped, swapped_suit = plain, plain_suit
    card = _known_card(g, rules, seat)
    if card != 0:
        both = plain | card
        suit = _best_trumps(rules, both, unseen, _ALL_SUITS)
        trumps = _suit(suit) | rules["joker"]
        swapped = both & ~_worst_cards(rules, both, trumps, unseen, False, 1, _EVERY_CARD)
        swapped_suit = _best_trumps(rules, swapped, unseen, _ALL_SUITS)
    gain = _gain(g, rules)
    bids = g["legal_bids"]
    if g["legal"] >> HOLD & 1 != 0:
        bids |= np.int64(1) << g["contract"]
    can_look = g["legal"] >> LOOK & 1 != 0
    if can_look:
        above = rules["bids"] if g["contract"] < 0 else rules["above"][g["contract"]]
        bids |= rules["look_bids"] & above
    best = np.int64(PASS) if g["phase"] == AUCTION else np.int64(DECLINE)
    best_value = -math.inf
    if g["legal"] >> best & 1 != 0:
        best_value = _pass_value(g, rules)
    look_value = best_value
    for bid in range(NUM_BIDS):
        if bids >> bid & 1 == 0:
            continue
        needs_look = rules["look_bids"] >> bid & 1 != 0
        hand, suit = plain, plain_suit
        if needs_look or rules["swap"] != 0:
            hand, suit = swapped, swapped_suit
        if can_look:
            more = gain + LOOK_GAIN
            value = _bid_value(g, rules, np.int64(bid), hand, suit, unseen, more, False)
            look_value = max(look_value, value)
            if needs_look:
                continue
        value = _bid_value(g, rules, np.int64(bid), hand, suit, unseen, gain, False)
        if value > best_value:
            best_value = value
            best = np.int64(FIRST_BID + bid if g["legal_bids"] >> bid & 1 != 0 else HOLD)
    if g["legal"] >> TAKE & 1 != 0:
        more = gain + TAKE_GAIN
        bid = rules["take_bid"]
        if _bid_value(g, rules, bid, plain, plain_suit, unseen, more, True) > best_value:
            best = np.int64(TAKE)
    if can_look and look_value - rules["look_cost"] > best_value:
        best = np.int64(LOOK)
    return best


@kernel
def _marked(g):
    """Return the cards that the seat to move has marked in this turn."""
    cards = np.int64(0)
    for k in range(1, g["marks"] + 1):
        cards |= np.int64(1) << np.int64(g["events"][g["num_events"] - k] & (EVENT_SEAT - 1))
    return cards


@subroutine
def _exchange(g, rules):
    """Choose a card to put away, or be done."""
    seat = g["seat"]
    bid = g["contract"]
    unseen = _unseen(g, rules, seat)
    may_stop = g["legal"] >> DONE & 1 != 0
    swapping = g["phase"] != BUY and g["exchange"] == SWAPPING
    cards = g["hand"][seat]
    most = np.int64(1)
    limit = KEEP_FROM if may_stop else _EVERY_CARD
    if swapping:
        card = _known_card(g, rules, seat)
        if card != 0:
            cards |= card
            limit = _EVERY_CARD
    else:
        cards |= _marked(g)
        most = g["marks_most"] if may_stop else g["marks_due"]
    defending = bid >= 0 and g["declarer"] != seat
    for_misere = bid >= 0 and rules["most"][bid] < rules["num_tricks"]
    trumps = rules["joker"]
    if not for_misere and not defending:
        trumps |= _suit(_best_trumps(rules, cards, unseen, _ALL_SUITS))
    worst = _worst_cards(rules, cards, trumps, unseen, for_misere, most, limit)
    if g["phase"] == BUY and popcount(worst) > BUY_MOST:
        return np.int64(DONE)
    if worst & g["legal"] == 0:
        if may_stop:
            return np.int64(DONE)
        # One must go, though the worst ones are on the table or cannot be marked any more.
        worst = _worst_cards(rules, g["legal"], trumps, unseen, for_misere, 1, _EVERY_CARD)
    return lowest_bit(worst & g["legal"])


@kernel
def _is_void(g, seat, suit):
    """Return whether a seat has not followed a suit, by number; -1 is no suit."""
    return suit >= 0 and (g["seen"][seat] >> (VOID_BIT + suit)) & 1 != 0


@kernel
def _goes_over(g, other, share, unseen, following, led_suit, over, ducking):
    """Return the chance that a later hand goes over the best card: if it can, or if it must.

    The hand holds `share` of the unseen cards; the cards `following` follow suit, the cards `over`
    beat the best one; `ducking`: hands go over only if they must.
    """
    void = _is_void(g, other, led_suit)
    above = popcount(unseen & following & over)
    if ducking:
        if void:
            return 0.0
        below = popcount(unseen & following & ~over)
        return _absent(share, below) * (1.0 - _absent(share, above))
    ruff = 0.0
    ruffs = popcount(unseen & over & ~following)
    if not _is_void(g, other, g["trump_suit"]):
        ruff = 1.0 - _absent(share, ruffs)
    if void:
        return ruff
    return 1.0 - _absent(share, above) + _absent(share, popcount(unseen & following)) * ruff


@kernel
def _taken(g, rules, bit, unseen, share, ducking):
    """Return the chance that the declarer takes the trick if the seat to move plays a card."""
    trumps = g["trumps"]
    best, best_seat = bit, g["seat"]
    if g["in_trick"] == 0:
        following = _suit_of(bit, trumps)
        led_suit = g["trump_suit"] if bit & trumps else lowest_bit(bit) // NUM_RANKS
    else:
        following = g["following"]
        led_suit = g["led_suit"]
        beaten = np.int64(1) << (g["best_value"] & 63)
        follows = bit & following != 0 or bit & trumps != 0
        higher_class = np.int64(bit & trumps != 0) - np.int64(beaten & trumps != 0)
        wins = follows and (higher_class > 0 or (higher_class == 0 and bit > beaten))
        if not wins:
            best, best_seat = beaten, g["best_seat"]
    over = (_above(best) & following) | trumps
    if best & trumps:
        over = _above(best) & trumps
    chance = np.float64(best_seat == g["declarer"])
    declarer_played = False
    other = g["seat"]
    for _ in range(rules["hands"] - g["in_trick"] - 1):
        other = next_hand(g, rules, other)
        if other == g["declarer"]:
            declarer_played = True
            chance = _goes_over(g, other, share, unseen, following, led_suit, over, ducking)
        elif declarer_played and not ducking:
            chance *= PARTNER_LEAVES
        elif not declarer_played and chance != 0.0:
            chance *= 1.0 - _goes_over(g, other, share, unseen, following, led_suit, over, ducking)
    return chance


@kernel
def _worth(g, bit, unseen, share, ducking):
    """Return what a card is worth in later tricks to the seat to move, 0 to 1."""
    declaring = g["seat"] == g["declarer"]
    trumps = g["trumps"]
    suit = _suit_of(bit, trumps)
    higher = popcount(unseen & suit & _above(bit))
    lower = popcount(unseen & suit & (bit - 1))
    if ducking:
        return _absent(share, lower) if declaring else 1.0 - lower / (higher + lower + 1.0)
    worth = _absent(share, higher)
    plain = bit & trumps == 0
    if not declaring and plain and _is_void(g, g["declarer"], lowest_bit(bit) // NUM_RANKS):
        worth *= DECLARER_RUFFS
    return worth


@kernel
def _opening(g, rules):
    """Choose the lead that makes trumps: the highest card of the best suit that may be led."""
    seat = g["seat"]
    suit = _best_trumps(rules, g["legal"], _unseen(g, rules, seat), _ALL_SUITS)
    leads = g["legal"] & (_suit(suit) | rules["joker"])
    while leads & (leads - 1) != 0:
        leads &= leads - 1
    return lowest_bit(leads)


@subroutine
def _play(g, rules):
    """Choose a card."""
    bid = g["contract"]
    declaring = g["seat"] == g["declarer"]
    tricks = lane(g["tricks"], g["declarer"])
    for_tricks = rules["most"][bid] == rules["num_tricks"]
    if g["num_played"] == 0 and rules["trumps"][bid] == TRUMPS_LED and for_tricks:
        return _opening(g, rules)
    ducking = tricks == rules["most"][bid] and not for_tricks
    left = rules["num_tricks"] - g["tricks_played"]
    needed = rules["fewest"][bid] - tricks
    unseen = _unseen(g, rules, g["seat"])
    hidden = max(popcount(unseen), np.int64(1))
    share = left / hidden
    # Later tricks: the declarer is up against all other hands, they against his.
    against = share
    keep = KEEP_DUCKING_DEFENDER if ducking else KEEP_DEFENDER
    trump_lead = DEFENDER_TRUMPS if needed > 1 else 0.0
    if declaring:
        against = ((rules["hands"] - 1) * left - g["in_trick"]) / hidden
        keep = KEEP_NEEDING_ALL if needed >= left else KEEP_DECLARER
        trump_lead = DRAW_TRUMPS if needed >= left else SAVE_TRUMPS
        if ducking:
            keep = KEEP_DUCKING_DECLARER
    if ducking or g["in_trick"] != 0 or (declaring and unseen & g["trumps"] == 0):
        trump_lead = 0.0
    wants_it = 1.0 if declaring != ducking else -1.0
    spends = -PER_RANK if ducking else PER_RANK
    best = np.int64(0)
    best_value = -math.inf
    rest = g["legal"]
    while rest != 0:
        bit = rest & -rest
        rest ^= bit
        trump = np.int64(bit & g["trumps"] != 0)
        value = (
            wants_it * _taken(g, rules, bit, unseen, share, ducking)
            - keep * _worth(g, bit, unseen, against, ducking)
            - spends * (lowest_bit(bit) % NUM_RANKS + NUM_RANKS * trump)
            + trump_lead * trump
        )
        if value > best_value:
            best_value = value
            best = bit
    return lowest_bit(best)


@kernel
def _name(g, rules):
    """Choose the suit to name."""
    seat = g["seat"]
    suits = g["legal"] >> FIRST_SUIT
    return FIRST_SUIT + _best_trumps(rules, g["hand"][seat], _unseen(g, rules, seat), suits)


@kernel
def choose(g, rules):
    """Return the action of the seat to move, from what that seat may know.

    Args:
        g: the game, in which `legal` and `legal_bids` are up to date; not modified.
        rules: the rules' record.
    """
    action = only_action(g)
    if action >= 0:
        return action
    if g["phase"] == PLAY:
        return _play(g, rules)
    if g["phase"] == AUCTION or g["phase"] == state.HOLD:
        return _call(g, rules)
    if g["phase"] == NAME:
        return _name(g, rules)
    return _exchange(g, rules)


@kernel
def _choose_rows(games, table, rows, actions):
    for k in range(len(rows)):
        actions[k] = choose(games[rows[k]], table[0])


class Heuristic(SeatedAgent):
    """The player by rules of thumb."""

    def _choose(self, games: npt.NDArray[np.void], rows: Ints, actions: Ints) -> None:
        _choose_rows(games, self._table, rows, actions)
