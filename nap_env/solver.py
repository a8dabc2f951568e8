"""Double dummy: exact play with open cards, the declarer against all others as one team.

A position is searched by alpha-beta with one yes-or-no question at a time: does the declarer end
with a number of tricks out of a given set, his `goal`? A goal is a mask over the tricks that he
takes from here on: at least k, none at all and exactly three are all such masks. Prices follow
from a few of these questions (`_find_best`). Nobody revokes.

What makes it fast: a position is relabelled so that the cards in play stand side by side, trumps
on top; cards of one hand that no live card parts are one choice; tricks that are sure or lost
whatever is played end the search; positions at the start of a trick are remembered, and two of
them are one if each suit's cards lie in the same hands from the lowest to the highest.

Compiled callers use `solve_position`, `solve_actions`, `solve_suits` and `solve_deal` on a record
`w` of dtype WORK (`new_work()[0]`, one a thread), everybody else `Solver`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nap_env.actions import ACTIONS, FIRST_BID, FIRST_SUIT, NUM_BIDS
from nap_env.cards import JOKER, JOKER_MASK, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel, subroutine
from nap_env.engine.play import begin_play, opening_leader, right_cards
from nap_env.engine.settle import price_of
from nap_env.engine.state import (
    NAME,
    PLAY,
    checked_games,
    lane,
    lowest_bit,
    next_hand,
    popcount,
)
from nap_env.game import Game
from nap_env.rules import (
    LEAD_ANY,
    MAX_HAND,
    MAX_SEATS,
    TRUMPS_LED,
    TRUMPS_NONE,
    Rules,
    rules_table,
    whole,
)

NODE_CAP = 50_000_000
"""Default for the nodes of one call: a second or so."""

MOST_NODES = 2**62

if MAX_HAND > 7 or MAX_SEATS > 8:
    raise ValueError(
        f"MAX_HAND={MAX_HAND}, MAX_SEATS={MAX_SEATS}: a position's key has 7 bits for a goal and 3 "
        "for a hand, an answer 3 for the tricks left; widen them in `_search` and `_remember`"
    )

MADE, PRICE, TRICKS, NEAR = range(4)
"""What a value counts: 1 or 0; chips from each opponent; tricks (in a misère, the fewest); tricks
as far as they matter to the price if it may be one trick more or less."""

UNKNOWN = -(1 << 40)
"""The value where the node cap was hit."""

NO_VALUE = UNKNOWN + 1
"""The value of an action that is not legal."""

_MOST_BITS = 22
SLOTS = 1 << _MOST_BITS
"""Places in the table of positions; a deal uses as many as its number of cards suggests."""

_UP, _DOWN, _OTHER = 1, -1, 0
"""Kinds of goals: more tricks never hurt, fewer never hurt, neither."""

_ONLY_JOKER = NUM_SUITS
"""The suit number of a joker without a trump suit."""

_I8 = np.int64
WORK = np.dtype(
    [
        ("keys", _I8, SLOTS),  # a position at the start of a trick and a goal,
        ("answers", _I8, SLOTS),  # and generation << 4 | tricks left << 1 | answer
        ("generation", _I8),  # number of the relabelled deal: older answers are not for it
        ("slots", _I8),  # mask of the places that this deal uses
        ("cap", _I8),
        ("nodes", _I8),
        ("capped", _I8),
        # The relabelled deal. Hands are numbered clockwise from the declarer, who is 0. A card's
        # place is a bit; suits are parted by a bit that no card has; trumps stand on top.
        ("hands", _I8),
        ("must_trump", _I8),
        ("shown", _I8),  # the cards in play as they are: all hands and the winning card
        ("cards", _I8),  # the same as places
        ("trumps", _I8),  # their mask, the joker on top
        ("num_plain", _I8),
        ("plain", _I8, NUM_SUITS),  # masks of the other suits in play
        ("suit_masks", _I8, NUM_SUITS + 1),  # by suit
        ("bases", _I8, NUM_SUITS + 1),  # by suit: the place of its lowest card
        ("suit_at", _I8, 64),  # by place: the mask of its suit
        ("owner_at", _I8, 64),  # by place: the hand it started in
        ("first", _I8, MAX_SEATS),  # cards that each hand started with
        ("hand", _I8, MAX_SEATS),  # cards that it has now
        # The decision at the root.
        ("seat", _I8),
        ("placed", _I8),  # cards on the table
        ("suit", _I8),  # mask of the led suit
        ("best", _I8),  # the winning card on the table, a bit, and whose it is
        ("winner", _I8),
        ("left", _I8),  # tricks still to take, the one on the table among them
        ("kind", _I8),  # of the goal being asked for: _UP, _DOWN or _OTHER
        # What the outcomes are worth, from low to high, and the goal of reaching each.
        ("num_levels", _I8),
        ("level", _I8, MAX_HAND + 1),
        ("goal", _I8, MAX_HAND + 1),
        # Results of solve_actions and solve_deal.
        ("values", _I8, FIRST_BID),
        ("suit_tricks", _I8, NUM_SUITS),
        ("bid_made", _I8, NUM_BIDS),
    ],
    align=True,
)


def new_work(node_cap: int = NODE_CAP) -> npt.NDArray[np.void]:
    """Return WORK (1,). Most of its memory is touched only by large deals."""
    work = np.zeros(1, WORK)
    work["cap"] = node_cap
    return work


@kernel
def _highest(x):
    """Return the highest set bit of a non-negative int64 as a mask."""
    x |= x >> 1
    x |= x >> 2
    x |= x >> 4
    x |= x >> 8
    x |= x >> 16
    x |= x >> 32
    return x ^ (x >> 1)


@kernel
def _distinct(hand, gone):
    """Return the lowest card of each run of a hand that only gone cards interrupt."""
    run = hand | gone
    starts = run & ~(run << 1)
    # Adding carries from the start of a run over the gone cards to the first card that is not.
    return (((gone + (starts & gone)) & ~gone) | starts) & hand


@kernel
def _sure_tricks(mine, live, trumps):
    """Return how many tricks the declarer's trumps take whatever is played.

    A trump that is played wins, unless a higher one beats it, and that one beats no other.
    """
    sure = np.int64(0)
    beaters = np.int64(0)
    rest = live & trumps
    while rest != 0:
        card = _highest(rest)
        rest ^= card
        if card & mine == 0:
            beaters += 1
        elif beaters > 0:
            beaters -= 1
        else:
            sure += 1
    return sure


@kernel
def _lost_trumps(w, trumps, my_trumps):
    """Return how many trumps above all of the declarer's one opponent has; he loses as many."""
    above = trumps
    if my_trumps != 0:
        above &= -(_highest(my_trumps) << 1)
    lost = np.int64(0)
    for other in range(1, w["hands"]):
        lost = max(lost, popcount(w["hand"][other] & above))
    return lost


@kernel
def _leads_drawing_trumps(w, mine, theirs):
    """Return whether the declarer, on lead, can draw all trumps with higher ones of his own."""
    their_trumps = theirs & w["trumps"]
    longest = np.int64(0)
    for other in range(1, w["hands"]):
        longest = max(longest, popcount(w["hand"][other] & their_trumps))
    masters = mine & w["trumps"]
    if their_trumps != 0:
        masters &= -(_highest(their_trumps) << 1)
    return popcount(masters) >= longest


@kernel
def _plain_winners(w, mine, theirs, drawn):
    """Return how many plain cards the declarer, on lead, can cash one after another.

    A master is safe while every opponent with a trump must follow; all are once trumps are drawn.
    """
    winners = np.int64(0)
    for k in range(w["num_plain"]):
        suit = w["plain"][k]
        masters = mine & suit
        if masters == 0:
            continue
        held = popcount(masters)
        if theirs & suit != 0:
            masters &= -(_highest(theirs & suit) << 1)
        count = popcount(masters)
        if count == 0:
            continue
        longest = np.int64(0)
        shortest = np.int64(MAX_HAND)
        for other in range(1, w["hands"]):
            length = popcount(w["hand"][other] & suit)
            longest = max(longest, length)
            if w["hand"][other] & w["trumps"]:
                shortest = min(shortest, length)
        if count >= longest:
            count = held
        winners += count if drawn else min(count, shortest)
    return winners


@kernel
def _beats_declarer(w, hand, mine):
    """Return the cards of an opponent on lead with which the declarer loses the trick."""
    beating = np.int64(0)
    ruffs = mine & w["trumps"] != 0
    rest = hand
    while rest != 0:
        card = rest & -rest
        rest ^= card
        followers = mine & w["suit_at"][lowest_bit(card)]
        if card > followers and (followers != 0 or not ruffs):
            beating |= card
    return beating


@kernel
def _goes_below(w, hand, mine):
    """Return the cards of an opponent on lead below all that the declarer has of their suit."""
    low = np.int64(0)
    rest = hand
    while rest != 0:
        card = rest & -rest
        rest ^= card
        followers = mine & w["suit_at"][lowest_bit(card)]
        if followers & -followers > card:
            low |= card
    return low


@kernel
def _ducks_all(w, mine, theirs):
    """Return whether the declarer, not on lead and without trumps, can stay under every trick.

    He can where his lowest card of a suit is below the opponents' lowest, his second lowest below
    their second lowest, and so on: to a lead he plays his highest card below it.
    """
    for k in range(w["num_plain"]):
        suit = w["plain"][k]
        low = mine & suit
        high = theirs & suit
        while low != 0 and high != 0:
            if low & -low > high & -high:
                return False
            low &= low - 1
            high &= high - 1
    return True


@kernel
def _position_code(w, live):
    """Return one mask for all positions whose suits lie in the same hands from low to high.

    It has for each live card the lowest card of the same hand above the one taken before.
    """
    code = np.int64(0)
    above = np.int64(-1)
    rest = live
    while rest != 0:
        place = lowest_bit(rest)
        rest &= rest - 1
        card = w["first"][w["owner_at"][place]] & w["suit_at"][place] & above
        card &= -card
        code |= card
        above = -(card << 1)
    return code


@kernel
def _slot(w, key):
    """Return the first of the two places for a key."""
    # The products stay below 2**63: overflow would warn without the JIT.
    mixed = ((key & 0x7FFFFFFF) * 0x2545F491) ^ ((key >> 31) * 0x1B873593)
    return (mixed >> 15) & w["slots"]


@kernel
def _remember(w, slot, key, left, answer):
    """Keep an answer: the first place prefers many tricks left, the second what came last."""
    there = w["answers"][slot]
    if there >> 4 == w["generation"] and (there >> 1) & 7 > left:
        slot += 1
    w["keys"][slot] = key
    w["answers"][slot] = (w["generation"] << 4) | (left << 1) | answer


@subroutine
def _search(w, seat, placed, suit, best, winner, left, goal, live):
    """Return 1 if the declarer reaches his goal from here, else 0.

    Args:
        w: the work area; its hands are as before when the function returns.
        seat: the hand to move.
        placed: cards on the table.
        suit: mask of the led suit.
        best: the winning card on the table.
        winner: the hand that has played it.
        left: tricks still to take, the one on the table among them.
        goal: mask of the numbers of them that the declarer is content with.
        live: mask of the cards in all hands.
    """
    hands = w["hands"]
    trumps = w["trumps"]
    kind = w["kind"]
    if placed == hands:
        if winner == 0:
            goal >>= 1
        left -= 1
        seat = winner
        placed = np.int64(0)
    w["nodes"] += 1
    hand = w["hand"][seat]
    key = np.int64(-1)
    slot = np.int64(0)
    if placed == 0:
        every = (np.int64(2) << left) - 1
        goal &= every
        if goal == 0:
            return np.int64(0)
        if goal == every:
            return np.int64(1)
        mine = w["hand"][0]
        theirs = live ^ mine
        if left == 1:
            follow = w["suit_at"][lowest_bit(hand)] | trumps
            return (goal >> np.int64((mine & follow) > (theirs & follow))) & 1
        if w["nodes"] > w["cap"]:
            w["capped"] = 1
            return np.int64(0)
        my_trumps = mine & trumps
        sure = _sure_tricks(mine, live, trumps)
        lost = _lost_trumps(w, trumps, my_trumps)
        possible = ((np.int64(2) << (left - lost)) - 1) & -(np.int64(1) << sure)
        if goal & possible == 0:
            return np.int64(0)
        if goal & possible == possible:
            return np.int64(1)
        first = np.int64(0)
        if kind == _UP and seat == 0:
            drawn = _leads_drawing_trumps(w, mine, theirs)
            tricks = popcount(my_trumps) if drawn else sure
            tricks += _plain_winners(w, mine, theirs, drawn)
            if (goal >> tricks) & 1:
                return np.int64(1)
        elif kind == _UP:
            first = _beats_declarer(w, hand, mine)
            if first != 0:
                # A plain trick comes on top of the trumps, unless those are pulled into it.
                if first & ~trumps != 0 and w["must_trump"] == 0:
                    lost = min(left, lost + 1)
                if (goal >> (left - max(lost, np.int64(1)))) & 1 == 0:
                    return np.int64(0)
        elif kind == _DOWN and seat != 0:
            if my_trumps == 0 and _ducks_all(w, mine, theirs):
                return np.int64(1)
            first = _goes_below(w, hand, mine)
        # 53 places, 3 bits for a hand, 7 for a goal: no more than six tricks are left here.
        key = (((_position_code(w, live) << 3) | seat) << 7) | goal
        slot = _slot(w, key)
        for place in range(slot, slot + 2):
            if w["keys"][place] == key and w["answers"][place] >> 4 == w["generation"]:
                return w["answers"][place] & 1
        options = _distinct(hand, w["cards"] & ~live)
        first &= options
        highest_first = kind == _UP and seat == 0
    else:
        follow = hand & suit
        options = hand
        if follow != 0:
            options = follow
        elif w["must_trump"] != 0 and hand & trumps != 0:
            options = hand & trumps
        options &= _distinct(hand, w["cards"] & ~(live | best))
        winning = options & (suit | trumps) & -(best << 1)
        has_played = seat != 0 and placed >= seat
        if has_played and winner != 0:
            # The declarer has lost this trick.
            later = (np.int64(1) << left) - 1
            if goal & later == 0:
                return np.int64(0)
            if goal & later == later:
                return np.int64(1)
        takes = winner == 0 if has_played else seat == 0
        first = winning if takes and kind != _DOWN else options & ~winning
        highest_first = kind == _DOWN and seat == 0
    after = seat + 1
    if after == hands:
        after = np.int64(0)
    rest = options & ~first
    wanted = np.int64(seat == 0)
    answer = 1 - wanted
    for group in range(2):
        cards = first if group == 0 else rest
        while cards != 0 and answer != wanted:
            card = _highest(cards) if highest_first else cards & -cards
            cards ^= card
            w["hand"][seat] = hand ^ card
            leads = placed == 0
            wins = leads or (card > best and card & (suit | trumps) != 0)
            answer = _search(
                w,
                after,
                placed + 1,
                w["suit_at"][lowest_bit(card)] if leads else suit,
                card if wins else best,
                seat if wins else winner,
                left,
                goal,
                live ^ card,
            )
    w["hand"][seat] = hand
    if key >= 0 and w["capped"] == 0:
        _remember(w, slot, key, left, answer)
    return answer


@kernel
def _suit_of(suit):
    """Return a suit's thirteen cards as a mask of real cards."""
    return np.int64(SUIT_MASK) << (NUM_RANKS * suit)


@kernel
def _place_suit(w, suit, base, count):
    """Give the next places to a suit."""
    mask = ((np.int64(1) << count) - 1) << base
    w["bases"][suit] = base
    w["suit_masks"][suit] = mask
    w["cards"] |= mask
    for place in range(base, base + count):
        w["suit_at"][place] = mask


@subroutine
def _relabel(w, g, rules, trump):
    """Relabel the cards in play for a trump suit, -1 for none, and the decision at the root."""
    best = np.int64(0)
    if g["in_trick"] != 0:
        best = np.int64(1) << (g["best_value"] & 63)
    live = np.int64(0)
    for seat in range(rules["num_players"]):
        live |= g["hand"][seat]
    shown = live | best
    w["shown"] = shown
    cards_before = w["cards"]
    w["cards"] = 0
    base = np.int64(0)
    plain = np.int64(0)
    for suit in range(NUM_SUITS):
        count = popcount(shown & _suit_of(suit))
        w["suit_masks"][suit] = 0
        if suit != trump and count != 0:
            _place_suit(w, suit, base, count)
            w["plain"][plain] = w["suit_masks"][suit]
            plain += 1
            base += count + 1
    w["num_plain"] = plain
    joker = shown >> JOKER
    top = trump if trump >= 0 else np.int64(_ONLY_JOKER)
    count = joker
    if trump >= 0:
        count += popcount(shown & _suit_of(trump))
    _place_suit(w, top, base, count)
    w["bases"][_ONLY_JOKER] = base + count - joker
    same = w["cards"] == cards_before and w["trumps"] == w["suit_masks"][top]
    same = same and w["hands"] == rules["hands"] and w["must_trump"] == rules["must_trump"]
    w["trumps"] = w["suit_masks"][top]
    w["hands"] = rules["hands"]
    w["must_trump"] = rules["must_trump"]
    seat = g["declarer"]
    for k in range(rules["hands"]):
        hand = _relabelled(w, g["hand"][seat])
        same = same and w["first"][k] == hand
        w["first"][k] = hand
        w["hand"][k] = hand
        while hand != 0:
            w["owner_at"][lowest_bit(hand)] = k
            hand &= hand - 1
        if seat == g["seat"]:
            w["seat"] = k
        if seat == g["best_seat"]:
            w["winner"] = k
        seat = next_hand(g, rules, seat)
    w["placed"] = g["in_trick"]
    w["left"] = rules["num_tricks"] - g["tricks_played"]
    w["best"] = 0
    w["suit"] = 0
    if g["in_trick"] != 0:
        w["best"] = _relabelled(w, best)
        w["suit"] = w["suit_masks"][g["led_suit"]] if g["led_suit"] >= 0 else w["trumps"]
    if not same:
        # What is remembered of the same deal under the same trumps stays true.
        w["generation"] += 1
    # Measured: more places than this cost more time in memory than they save in nodes.
    bits = min(np.int64(_MOST_BITS), 2 * popcount(live) // 5 + 5)
    # An even place begins a pair.
    w["slots"] = (np.int64(1) << bits) - 2


@kernel
def _relabelled(w, cards):
    """Return a mask of real cards in play as places."""
    places = np.int64(0)
    while cards != 0:
        card = cards & -cards
        cards ^= card
        suit = lowest_bit(card) // NUM_RANKS
        below = w["shown"] & (card - 1) & (np.int64(SUIT_MASK) << (NUM_RANKS * suit))
        places |= np.int64(1) << (w["bases"][suit] + popcount(below))
    return places


@subroutine
def _set_levels(w, g, rules, count):
    """Write what the possible outcomes are worth, low to high, and the goals to reach them.

    Args:
        w: the work area.
        g: the game.
        rules: the rules.
        count: what is counted: MADE, PRICE or TRICKS.
    """
    left = rules["num_tricks"] - g["tricks_played"]
    w["num_levels"] = 0
    for _ in range(left + 1):
        # The lowest worth above the last level.
        lowest = np.int64(1) << 40
        goal = np.int64(0)
        for more in range(left + 1):
            worth = _worth(g, rules, count, lane(g["tricks"], g["declarer"]) + more)
            if w["num_levels"] == 0 or worth > w["level"][w["num_levels"] - 1]:
                goal |= np.int64(1) << more
                lowest = min(lowest, worth)
        if goal != 0:
            w["level"][w["num_levels"]] = lowest
            w["goal"][w["num_levels"]] = goal
            w["num_levels"] += 1


@kernel
def _worth(g, rules, count, tricks):
    """Return what it is worth to the declarer to end with so many tricks."""
    bid = g["contract"]
    most = rules["most"][bid]
    fewest = rules["fewest"][bid]
    if count == NEAR and rules["overtrick"][bid] == 0 and rules["undertrick"][bid] == 0:
        if most == 0:
            tricks = min(tricks, np.int64(2))
        elif most == rules["num_tricks"]:
            tricks = min(max(tricks, fewest - 2), fewest)
    if count >= TRICKS:
        return -tricks if most == 0 else tricks
    made = fewest <= tricks and tricks <= most
    if count == MADE:
        return np.int64(made)
    price = price_of(g, rules, made, tricks)
    return price if made else -price


@subroutine
def _is_reached(w, options, goal):
    """Return whether the declarer reaches a goal when the seat to move has these options."""
    every = (np.int64(2) << w["left"]) - 1
    if goal == every:
        return True
    w["kind"] = _OTHER
    if (goal << 1) & every & ~goal == 0:
        w["kind"] = _UP
    elif (goal >> 1) & ~goal == 0:
        w["kind"] = _DOWN
    seat = w["seat"]
    hand = w["hand"][seat]
    live = np.int64(0)
    for k in range(w["hands"]):
        live |= w["hand"][k]
    # Of each run that has an option its lowest card stands for it, as in the search.
    lowest = _distinct(hand, w["cards"] & ~(live | w["best"]))
    runs = np.int64(0)
    while options != 0:
        card = options & -options
        options ^= card
        runs |= _highest(lowest & ((card << 1) - 1))
    after = seat + 1 if seat + 1 < w["hands"] else np.int64(0)
    reached = np.int64(seat != 0)
    while runs != 0 and reached == np.int64(seat != 0):
        card = _highest(runs) if w["kind"] == _UP and seat == 0 else runs & -runs
        runs ^= card
        w["hand"][seat] = hand ^ card
        leads = w["placed"] == 0
        wins = leads or (card > w["best"] and card & (w["suit"] | w["trumps"]) != 0)
        reached = _search(
            w,
            after,
            w["placed"] + 1,
            w["suit_at"][lowest_bit(card)] if leads else w["suit"],
            card if wins else w["best"],
            seat if wins else w["winner"],
            w["left"],
            goal,
            live ^ card,
        )
    w["hand"][seat] = hand
    return reached != 0


@subroutine
def _find_best(w, options, low):
    """Return the highest level that the declarer reaches, `low` if none above it."""
    high = w["num_levels"] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _is_reached(w, options, w["goal"][middle]):
            low = middle
        else:
            high = middle - 1
        if w["capped"] != 0:
            return low
    return low


@subroutine
def _options(g, rules, trump):
    """Return the cards that the seat to move may play under a trump suit (or -1), real cards.

    Before the opening lead the trump suit is a choice: the card led, or the joker's or the
    contract's naming, must agree with it.
    """
    named = trump >= 0 and (rules["suit_names"] >> (FIRST_SUIT + trump)) & 1 != 0
    if g["phase"] == NAME:
        if not named:
            return np.int64(0)
        if rules["trumps"][g["contract"]] == TRUMPS_LED:
            return np.int64(JOKER_MASK)
        before = g["trumps"]
        g["trumps"] = _suit_of(trump) | rules["joker"]
        leads = right_cards(g, rules)
        g["trumps"] = before
        return leads
    cards = right_cards(g, rules)
    if trump == g["trump_suit"]:
        return cards
    return cards & (_suit_of(trump) | (np.int64(JOKER_MASK) if named else np.int64(0)))


@kernel
def _fixes_trumps(g, rules):
    """Return whether trumps are still a choice of the declarer."""
    return g["trump_suit"] < 0 and rules["trumps"][g["contract"]] != TRUMPS_NONE


@kernel
def _begin(w):
    w["nodes"] = 0
    w["capped"] = 0


@subroutine
def solve_position(w, g, rules, count):
    """Return what the position is worth to the declarer with best play, UNKNOWN if capped.

    Args:
        w: a work area; `nodes` tells how many nodes were searched.
        g: a game in the naming or playing phase; it is as before when the function returns.
        rules: its rules.
        count: MADE (1 or 0), PRICE (chips from each opponent; below 0: to each of them) or TRICKS
            (the most the declarer can take; minus the fewest, if the contract is to take none), or
            NEAR (the same, but two short stands for any more, and what makes it for any better).
    """
    _begin(w)
    _set_levels(w, g, rules, count)
    return _solve_position(w, g, rules)


@subroutine
def _solve_position(w, g, rules):
    """Return the position's worth at levels that are set."""
    low = np.int64(0)
    first = np.int64(0) if _fixes_trumps(g, rules) else g["trump_suit"]
    last = np.int64(NUM_SUITS - 1) if _fixes_trumps(g, rules) else g["trump_suit"]
    for trump in range(first, last + 1):
        options = _options(g, rules, trump)
        if options != 0 and low < w["num_levels"] - 1:
            _relabel(w, g, rules, trump)
            low = _find_best(w, _relabelled(w, options), low)
    return np.int64(UNKNOWN) if w["capped"] != 0 else w["level"][low]


@subroutine
def solve_actions(w, g, rules, count):
    """Write what the position is worth after each action of the seat to move into `values`.

    `values` is by action, cards and suit names; NO_VALUE where an action is not legal (or is a
    revoke), UNKNOWN from the moment on when the cap is hit. Arguments as in `solve_position`.
    """
    _begin(w)
    _set_levels(w, g, rules, count)
    for action in range(FIRST_BID):
        w["values"][action] = NO_VALUE
    first = np.int64(0) if _fixes_trumps(g, rules) else g["trump_suit"]
    last = np.int64(NUM_SUITS - 1) if _fixes_trumps(g, rules) else g["trump_suit"]
    for trump in range(first, last + 1):
        options = _options(g, rules, trump)
        if options == 0:
            continue
        _relabel(w, g, rules, trump)
        if g["phase"] == NAME:
            _put_value(w, FIRST_SUIT + trump, _relabelled(w, options))
            continue
        while options != 0:
            card = options & -options
            options ^= card
            _put_value(w, lowest_bit(card), _relabelled(w, card))


@subroutine
def _put_value(w, action, options):
    """Write an action's value: the declarer's best of the options that it leaves."""
    # A joker that is led has been here before, with another suit named.
    known = w["values"][action]
    low = _find_best(w, options, np.int64(0))
    value = np.int64(UNKNOWN) if w["capped"] != 0 else w["level"][low]
    w["values"][action] = value if w["capped"] != 0 else max(known, value)


@subroutine
def solve_suits(w, g, rules, seat):
    """Write how many tricks a seat can take as declarer into `suit_tricks`, by trump suit.

    The opening lead is free but for fixing trumps; NO_VALUE where the seat cannot lead the suit,
    UNKNOWN where the cap, for the whole call, was hit. Arguments as in `solve_deal`.
    """
    _begin(w)
    _solve_suits(w, g, rules, seat)


@subroutine
def _solve_suits(w, g, rules, seat):
    """Write `suit_tricks`."""
    was_seat, was_declarer = g["seat"], g["declarer"]
    g["declarer"] = seat
    g["seat"] = opening_leader(g)
    hand = g["hand"][g["seat"]]
    w["num_levels"] = rules["num_tricks"] + 1
    for tricks in range(rules["num_tricks"] + 1):
        w["level"][tricks] = tricks
        w["goal"][tricks] = (np.int64(2) << rules["num_tricks"]) - (np.int64(1) << tricks)
    joker = hand & JOKER_MASK
    for suit in range(NUM_SUITS):
        options = hand & _suit_of(suit)
        if (rules["suit_names"] >> (FIRST_SUIT + suit)) & 1:
            options |= joker
        w["suit_tricks"][suit] = NO_VALUE
        if options != 0:
            _relabel(w, g, rules, suit)
            tricks = _find_best(w, _relabelled(w, options), np.int64(0))
            w["suit_tricks"][suit] = np.int64(UNKNOWN) if w["capped"] != 0 else tricks
    g["seat"], g["declarer"] = was_seat, was_declarer


@subroutine
def solve_deal(w, g, rules, seat):
    """Write what a seat can do as declarer in a deal that has not been played into the work area.

    `suit_tricks` as in `solve_suits`. `bid_made`, by bid: 1 if its contract can be made under its
    trumps and lead restriction, 0 if not, NO_VALUE if there is no such bid. UNKNOWN where the
    cap, for the whole call, was hit.

    Args:
        w: a work area.
        g: a game before the play, each hand with its cards for the play; unchanged afterwards.
        rules: its rules.
        seat: a seat that holds cards.
    """
    _begin(w)
    _solve_suits(w, g, rules, seat)
    best = np.int64(NO_VALUE)
    for suit in range(NUM_SUITS):
        best = max(best, w["suit_tricks"][suit])
    was_seat, was_declarer, was_contract = g["seat"], g["declarer"], g["contract"]
    was_phase, was_suit, was_trumps = g["phase"], g["trump_suit"], g["trumps"]
    was_leader = g["leader"]
    g["declarer"] = seat
    g["trump_suit"] = -1
    g["trumps"] = rules["joker"]
    bids = rules["bids"] | rules["must_bid"]
    if rules["imposed_bid"] >= 0:
        bids |= np.int64(1) << rules["imposed_bid"]
    for bid in range(NUM_BIDS):
        w["bid_made"][bid] = NO_VALUE
        if (bids >> bid) & 1 == 0:
            continue
        g["contract"] = bid
        begin_play(g, rules)
        upward = rules["most"][bid] == rules["num_tricks"]
        if upward and rules["trumps"][bid] == TRUMPS_LED and rules["lead"][bid] == LEAD_ANY:
            made = np.int64(best >= rules["fewest"][bid])
            w["bid_made"][bid] = np.int64(UNKNOWN) if w["capped"] != 0 else made
        else:
            _set_levels(w, g, rules, np.int64(MADE))
            w["bid_made"][bid] = _solve_position(w, g, rules)
    g["seat"], g["declarer"], g["contract"] = was_seat, was_declarer, was_contract
    g["phase"], g["trump_suit"], g["trumps"] = was_phase, was_suit, was_trumps
    g["leader"] = was_leader


SOLVED, CAPPED, NOT_IN_PLAY = range(3)
"""Status of a solution: exact; the node cap was hit; there is no contract to play (yet)."""

RESULT = np.dtype(
    [
        ("status", _I8),
        ("made", _I8),  # 1: the contract is made with best play, 0: it is not
        ("price", _I8),  # chips from each opponent, or below 0 to each of them
        ("tricks", _I8),  # the most the declarer can take in all; in a misère the fewest
        ("nodes", _I8),
        ("prices", _I8, FIRST_BID),  # the same after each action: cards and suit names
        ("action_tricks", _I8, FIRST_BID),
    ],
    align=True,
)
"""A position's solution; UNKNOWN where the cap was hit, NO_VALUE for what is not legal."""

DEAL_RESULT = np.dtype(
    [
        ("suit_tricks", _I8, (MAX_SEATS, NUM_SUITS)),
        ("bid_made", _I8, (MAX_SEATS, NUM_BIDS)),
    ],
    align=True,
)
"""What each seat can do as declarer, see `solve_deal`; NO_VALUE for a seat without cards."""


@kernel
def _count_tricks(worth):
    """Return a worth in TRICKS as tricks: in a misère they count against the declarer."""
    return worth if worth < -MAX_HAND else abs(worth)


@subroutine
def _solve_game(w, g, rules, result):
    result["nodes"] = 0
    if g["phase"] != PLAY and g["phase"] != NAME:
        result["status"] = NOT_IN_PLAY
        result["made"] = result["price"] = result["tricks"] = NO_VALUE
        for action in range(FIRST_BID):
            result["prices"][action] = NO_VALUE
            result["action_tricks"][action] = NO_VALUE
        return
    capped = np.int64(0)
    result["made"] = solve_position(w, g, rules, np.int64(MADE))
    result["nodes"] += w["nodes"]
    capped |= w["capped"]
    result["price"] = solve_position(w, g, rules, np.int64(PRICE))
    result["nodes"] += w["nodes"]
    capped |= w["capped"]
    result["tricks"] = _count_tricks(solve_position(w, g, rules, np.int64(TRICKS)))
    result["nodes"] += w["nodes"]
    capped |= w["capped"]
    solve_actions(w, g, rules, np.int64(PRICE))
    result["nodes"] += w["nodes"]
    capped |= w["capped"]
    for action in range(FIRST_BID):
        result["prices"][action] = w["values"][action]
    solve_actions(w, g, rules, np.int64(TRICKS))
    result["nodes"] += w["nodes"]
    capped |= w["capped"]
    for action in range(FIRST_BID):
        result["action_tricks"][action] = _count_tricks(w["values"][action])
    result["status"] = CAPPED if capped != 0 else SOLVED


@subroutine
def _solve_games(work, games, table, results):
    for i in range(len(games)):
        _solve_game(work[0], games[i], table[0], results[i])


@subroutine
def _solve_deals(work, games, table, results):
    rules = table[0]
    for i in range(len(games)):
        g = games[i]
        result = results[i]
        for seat in range(MAX_SEATS):
            for suit in range(NUM_SUITS):
                result["suit_tricks"][seat, suit] = NO_VALUE
            for bid in range(NUM_BIDS):
                result["bid_made"][seat, bid] = NO_VALUE
        seat = g["dealer"]
        for _ in range(rules["hands"]):
            seat = next_hand(g, rules, seat)
            solve_deal(work[0], g, rules, seat)
            for suit in range(NUM_SUITS):
                result["suit_tricks"][seat, suit] = work[0]["suit_tricks"][suit]
            for bid in range(NUM_BIDS):
                result["bid_made"][seat, bid] = work[0]["bid_made"][bid]


class Value(NamedTuple):
    """What a position is worth to the declarer with best play on both sides."""

    price: int | None
    """Chips from each opponent; below 0: to each of them. None: the node cap was hit."""
    tricks: int | None
    """The most he can take in all; the fewest, if the contract is to take none."""


@dataclass(frozen=True)
class Solution:
    """A position solved: None stands for what the node cap left unknown."""

    made: bool | None
    """Whether the contract is made."""
    price: int | None
    """Chips that the declarer gets from each opponent; below 0: pays to each of them."""
    tricks: int | None
    """The most tricks he can take in all; the fewest, if the contract is to take none."""
    values: dict[str, Value]
    """The same after each legal action of the seat to move that is no revoke."""
    nodes: int
    capped: bool


class Solver:
    """Solves positions; keeps one work area, so it belongs to one thread.

    Prices are those of the settlement: pools, and chips that a player does not have, are left out.
    """

    def __init__(self, node_cap: int = NODE_CAP) -> None:
        """Allocate the work area.

        Args:
            node_cap: most nodes searched for one question: each of price, tricks and `made` of
                a position, or a seat of a deal.

        Raises:
            ValueError: a cap below 1.
        """
        self._work = new_work(whole("node_cap", node_cap, 1, MOST_NODES))

    def solve(self, game: Game) -> Solution:
        """Solve the position of a game in the naming or playing phase, hands as they are.

        Raises:
            ValueError: a game in another phase.
        """
        result = self.solve_games(game.games, game.rules, game.num_players)[0]
        if result["status"] == NOT_IN_PLAY:
            raise ValueError(f"phase {game.phase}: only naming trumps and playing can be solved")
        made = _known(result["made"])
        return Solution(
            made=None if made is None else bool(made),
            price=_known(result["price"]),
            tricks=_known(result["tricks"]),
            values={
                ACTIONS[action]: Value(_known(price), _known(result["action_tricks"][action]))
                for action, price in enumerate(result["prices"])
                if price != NO_VALUE
            },
            nodes=int(result["nodes"]),
            capped=bool(result["status"] == CAPPED),
        )

    def solve_games(
        self, games: npt.NDArray[np.void], rules: Rules, num_players: int
    ) -> npt.NDArray[np.void]:
        """Return RESULT (N,) for the records GAME (N,) of a batch, such as `batch.games`.

        Raises:
            ValueError: rules that cannot seat so many players, or records of something else.
        """
        table = rules_table(rules, num_players)
        results = np.zeros(len(checked_games(games, table)), RESULT)
        _solve_games(self._work, games, table, results)
        return results

    def solve_deals(
        self, games: npt.NDArray[np.void], rules: Rules, num_players: int
    ) -> npt.NDArray[np.void]:
        """Return DEAL_RESULT (N,): what each seat could do as declarer with the hands it holds.

        Raises:
            ValueError: rules that cannot seat so many players, a game whose play has begun, or
                hands that still have to discard.
        """
        table = rules_table(rules, num_players)
        begun = np.flatnonzero(checked_games(games, table)["num_played"])
        if len(begun):
            raise ValueError(f"game {begun[0]}: its play has begun")
        for index, hands in enumerate(games["hand"][:, :num_players]):
            held = sorted(int(hand).bit_count() for hand in hands)[-rules.hands(num_players) :]
            if held != [rules.num_tricks] * len(held):
                raise ValueError(f"game {index}: hands of {held}, {rules.num_tricks} are played")
        results = np.zeros(len(games), DEAL_RESULT)
        _solve_deals(self._work, games, table, results)
        return results


def _known(value: Any) -> int | None:
    return None if value == UNKNOWN else int(value)
