"""What a network sees of a game: the entries of the observation that are not 0, suits in order.

Suits have no names for a network: every observation is turned into the same one of the 24 that
differ in nothing but which suit is which, and actions are turned with it. Trumps come first, then
the suits by what the seat was dealt of them, the longest first, equal lengths by the ranks; what is
still equal by the ranks that it has seen elsewhere. So the order stays while cards are played.
"""

import numpy as np
import numpy.typing as npt

from nap_env.actions import FIRST_BID, FIRST_SUIT, NUM_ACTIONS
from nap_env.cards import JOKER, NUM_RANKS, NUM_SUITS, SUIT_MASK
from nap_env.engine.kernel import kernel, wrapping
from nap_env.engine.state import LOOKED_FLAG, lane, lowest_bit, popcount
from nap_env.observation import FIELDS, WORD, Layout
from nap_env.rules import MAX_SEATS
from nap_env.sight import observe

CHIPS_SCALE = 1 / 16
"""Factor for counts and chips, so that they are about as large as bits."""

IN_SUITS = ("hand", "table", "discards", "widow", "played")
"""Fields with an entry a card,"""

BY_SUIT = ("trump_suit", "led_suit", "void")
"""and with an entry a suit."""

LEFT_OUT = ("order",)
"""Who played what when is in the bits, too."""

ENTRY = np.dtype(
    [
        ("place", np.int16),  # of the feature, for the suit that comes first
        ("suit", np.int8),  # 0..3, -1: the entry does not belong to a suit
        ("step", np.int8),  # from a suit's feature to that of the next one
        ("factor", np.float32),  # what the value is multiplied by; 0 leaves it out
    ],
    align=True,
)
"""What becomes of one entry of an observation."""


def entries(layout: Layout) -> npt.NDArray[np.void]:
    """Return ENTRY (K,): what becomes of each entry of an observation. There are K features."""
    table = np.zeros(layout.size, ENTRY)
    table["place"] = np.arange(layout.size)
    table["suit"] = -1
    table["factor"][: layout.num_bits] = 1
    table["factor"][layout.num_bits :] = CHIPS_SCALE
    for field in FIELDS:
        for seat in range(MAX_SEATS):
            try:
                part = layout.slice(field.name, seat)
            except ValueError:
                continue
            if field.name in LEFT_OUT:
                table["factor"][part] = 0
            if field.name in IN_SUITS + BY_SUIT:
                step = NUM_RANKS if field.name in IN_SUITS else 1
                for suit in range(NUM_SUITS):
                    for index in range(suit * step, suit * step + step):
                        entry = table[part.start + index]
                        entry["suit"], entry["step"] = suit, step
                        entry["place"] -= suit * step
    return table


@kernel
def turned_suit(turn, suit):
    """Return the place of a suit in the order `turn`."""
    return (turn >> (2 * suit)) & 3


AS_THEY_ARE = sum(suit << (2 * suit) for suit in range(NUM_SUITS))
"""The order of suits that leaves everything where it is."""


@kernel
def suit_order(g, rules, seat, in_order):
    """Return the places of the four suits for what `seat` sees, two bits a suit.

    Without `in_order` the suits stay as they are.
    """
    if not in_order:
        return np.int64(AS_THEY_ARE)
    cards = np.int64((1 << JOKER) - 1)
    dealt = (g["hand"][seat] | g["seen"][seat] | g["discards"][seat]) & cards
    played = np.int64(0)  # and the widow, once it has been seen
    for other in range(rules["num_players"]):
        played |= g["seen"][other] & cards
    if g["seen"][seat] & LOOKED_FLAG != 0:
        played |= g["widow"] & cards
    turn = np.int64(0)
    for suit in range(NUM_SUITS):
        place = np.int64(0)
        mine = _rank_of(g, dealt, played, suit)
        for other in range(NUM_SUITS):
            others = _rank_of(g, dealt, played, other)
            place += np.int64(others > mine or (others == mine and other < suit))
        turn |= place << (2 * suit)
    return turn


@kernel
def _rank_of(g, dealt, played, suit):
    """Return a number by which suits are ordered, the highest first."""
    mine = (dealt >> (NUM_RANKS * suit)) & SUIT_MASK
    key = np.int64(g["trump_suit"] == suit) << 40
    key |= (popcount(mine) << (2 * NUM_RANKS)) | (mine << NUM_RANKS)
    return key | ((played >> (NUM_RANKS * suit)) & SUIT_MASK)


@kernel
def turned_action(turn, action):
    """Return the action that stands for `action` where the suits are in order."""
    if action < JOKER:
        suit = action // NUM_RANKS
        return action + NUM_RANKS * (turned_suit(turn, suit) - suit)
    if FIRST_SUIT <= action < FIRST_BID:
        return FIRST_SUIT + turned_suit(turn, action - FIRST_SUIT)
    return action


@kernel
@wrapping  # planes may use the sign bit
def write_features(g, rules, seat, turn, table, view, places, values, at):
    """Write what a seat sees as a list of features.

    Args:
        g: the game.
        rules: the rules.
        seat: the observer.
        turn: the order of the suits, `suit_order`.
        table: ENTRY (K,), `entries`.
        view: a record of `Layout.new_view`, scratch.
        places: uint16, their numbers are written from `at` on,
        values: int8, and here what they are worth, before their factor.
        at: where to write; there is room for K.

    Returns:
        Where the list ends.
    """
    observe(g, rules, seat, view)
    num_planes = view["num_planes"]
    for plane in range(num_planes):
        bits = view["planes"][plane]
        while bits != 0:
            entry = table[WORD * plane + lowest_bit(bits)]
            bits &= bits - 1
            place = np.int64(entry["place"])
            if entry["suit"] >= 0:
                place += entry["step"] * turned_suit(turn, np.int64(entry["suit"]))
            places[at] = place
            values[at] = 1
            at += 1
    for index in range(WORD * num_planes, len(table)):
        entry = table[index]
        if entry["factor"] != 0:
            number = index - WORD * num_planes
            value = lane(view["scalars"][number >> 3], number & 7)
            if value != 0:
                places[at] = entry["place"]
                values[at] = value if value < 128 else value - 256
                at += 1
    return at


@kernel
def write_actions(g, turn, actions, at):
    """Write the legal actions of the seat to move, as a network knows them, from `at` on.

    Returns:
        Where the list, in the order of `nap_env.engine.step.legal_action`, ends.
    """
    mask = g["legal"]
    while mask != 0:
        actions[at] = turned_action(turn, lowest_bit(mask))
        mask &= mask - 1
        at += 1
    mask = g["legal_bids"]
    while mask != 0:
        actions[at] = FIRST_BID + lowest_bit(mask)
        mask &= mask - 1
        at += 1
    return at


@kernel
def write_decision(
    g, rules, in_order, table, view, places, values, at, actions, action_at
):  # fmt: skip
    """Write what the seat to move sees from `at` on, and what it may do from `action_at` on.

    Returns:
        Where the list of features ends, and that of actions.
    """
    turn = suit_order(g, rules, g["seat"], in_order)
    at = write_features(g, rules, g["seat"], turn, table, view, places, values, at)
    return at, write_actions(g, turn, actions, action_at)


assert np.iinfo(np.uint8).max >= NUM_ACTIONS
