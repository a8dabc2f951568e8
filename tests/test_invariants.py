"""What holds after every step of every game, checked in compiled code.

The checks count cards and chips anew from the record of a game; they call nothing of the engine
but what plays.
"""

import os
from time import perf_counter
from typing import Any

import numba
import numpy as np
import pytest
from test_observation import SPECIAL
from test_reference import TABLES

from nap_env import Batch
from nap_env.actions import FIRST_BID, FIRST_SUIT, NUM_BIDS, PASS
from nap_env.cards import NUM_CARDS
from nap_env.engine.kernel import kernel
from nap_env.engine.state import AUCTION, BUY, EXCHANGE, NAME, OVER, PLAY
from nap_env.engine.step import advance, next_deal, random_action
from nap_env.presets import resolve

FEW = 3_000 if numba.config.DISABLE_JIT else 300_000
MANY = int(os.environ.get("NAP_STEPS", "1000000000"))
"""Steps over all tables, in CI and in the slow run."""

GAMES = 64
"""At each table."""

SEAT, MASK, HAND, BIDS, PLACES, SIZES, CHIPS, DEBTS, TRICKS, STAKES = range(1, 11)
BROKEN = {
    SEAT: "the seat to move is one of the players, and holds cards",
    MASK: "it has something to do; at first it may pass",
    HAND: "it may play or mark only cards of its hand",
    BIDS: "it may bid only what the rules have",
    PLACES: "each card of the pack is in one place",
    SIZES: "in the play hands and cards played are as many as tricks",
    CHIPS: "scores, payments and pool sum to 0",
    DEBTS: "nobody is below what he started with",
    TRICKS: "tricks are as many as the cards played make",
    STAKES: "stakes are single or double",
}

ALL_CARDS = (1 << NUM_CARDS) - 1


@kernel
def count(mask):
    number = 0
    while mask != 0:
        mask &= mask - 1
        number += 1
    return number


@kernel
def broken_cards(g, rules):
    """Return which rule about cards is broken, or 0."""
    every = np.int64(0)
    found = np.int64(0)
    number = 0
    for k in range(rules["pack_size"]):
        every |= np.int64(1) << np.int64(rules["pack"][k])
        if k >= g["stock_next"]:
            found |= np.int64(1) << np.int64(g["pack"][k])
            number += 1
    found |= g["widow_left"]
    number += count(g["widow_left"])
    played = 0
    for seat in range(rules["num_players"]):
        out = g["seen"][seat] & ALL_CARDS
        for mask in (g["hand"][seat], g["discards"][seat], out):
            found |= mask
            number += count(mask)
        played += count(out)
        all_of_seat = count(g["hand"][seat]) + count(out)
        in_play = g["phase"] == PLAY or g["phase"] == NAME
        sits_out = rules["dealer_out"] != 0 and seat == g["dealer"]
        if in_play and all_of_seat != (0 if sits_out else rules["num_tricks"]):
            return SIZES
    if found != every or number != rules["pack_size"]:
        return PLACES
    won = 0
    for seat in range(8):
        won += (g["tricks"] >> np.uint64(8 * seat)) & np.uint64(255)
    if won != g["tricks_played"] or played != won * rules["hands"] + g["in_trick"]:
        return TRICKS
    return 0


@kernel
def broken_chips(g, rules):
    """Return which rule about chips is broken, or 0."""
    chips = g["pool"]
    for seat in range(rules["num_players"]):
        own = g["scores"][seat]
        if g["phase"] != OVER:  # then they are in the scores
            own += g["payments"][seat]
        chips += own
        if rules["chips"] > 0 and rules["chips"] + own < 0:
            return DEBTS
    if chips != 0 or g["pool"] < 0:
        return CHIPS
    return 0 if g["multiplier"] == 1 or g["multiplier"] == 2 else STAKES


@kernel
def broken_mask(g, rules):
    """Return which rule about the seat to move is broken, or 0."""
    seat = g["seat"]
    sits_out = rules["dealer_out"] != 0 and seat == g["dealer"]
    if not 0 <= seat < rules["num_players"] or sits_out:
        return SEAT
    if g["legal"] == 0 and g["legal_bids"] == 0:
        return MASK
    cards = g["legal"] & ALL_CARDS
    with_cards = g["phase"] == BUY or g["phase"] == EXCHANGE or g["phase"] == PLAY
    if cards & ~g["hand"][seat] or (cards != 0 and not with_cards):
        return HAND
    if g["phase"] == PLAY and g["legal"] != cards:
        return HAND
    bids = rules["bids"] | rules["must_bid"]
    if g["legal_bids"] & ~bids or g["legal_bids"] >> NUM_BIDS or g["legal"] >> FIRST_BID:
        return BIDS
    if g["phase"] == NAME and g["legal"] >> FIRST_SUIT == 0:
        return BIDS
    if g["phase"] == AUCTION and g["contract"] < 0 and rules["must_bid"] == 0:
        return 0 if g["legal"] >> PASS & 1 else MASK
    return 0


@kernel
def play(games, table, steps):
    """Play random steps in every game; return what was broken first, and in which game."""
    rules = table[0]
    for i in range(len(games)):
        g = games[i]
        for _ in range(steps):
            broken = broken_mask(g, rules)
            if broken == 0:
                over = advance(g, rules, random_action(g), False)
                broken = broken_cards(g, rules)
                if broken == 0:
                    broken = broken_chips(g, rules)
                if over and broken == 0:
                    next_deal(g, rules)
                    broken = broken_cards(g, rules)
            if broken != 0:
                return broken, i
    return 0, 0


def check(name: str, players: int, options: dict[str, Any], steps: int) -> int:
    """Play so many steps at a table; return how many were played."""
    games = Batch(name, players, GAMES, seed=players, options=options, observe="none")
    each = -(-steps // GAMES)
    broken, game = play(games.games, games._table, np.int64(each))
    assert broken == 0, f"{BROKEN[broken]}; game {game}: {games.record(game)}"
    return each * GAMES


AT_TABLES = [
    *((name, players, {}) for name, players in TABLES),
    *((name, players, {"deals": 3}) for name, players in TABLES),
    *((name, 4, {"player_range": [2, 8], "deck": 52, **options}) for name, options in SPECIAL),
    *(
        ("old_russian", players, {"separate_call": True, "chips": 20, "deals": 50})
        for players in (2, 5)
    ),
    ("pool_nap", 5, {"chips": 9, "deals": 100}),
    ("floater", 4, {"chips": 12, "pay": {"nap": [1000, 1000]}, "deals": 100}),
    ("pub", 5, {"shuffle": "after_nap", "deals": 30, "allow_revoke": True}),
]


@pytest.mark.parametrize("steps", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_what_holds_at_every_step(steps: int) -> None:
    start = perf_counter()
    share = -(-steps // len(AT_TABLES))
    played = sum(check(name, players, options, share) for name, players, options in AT_TABLES)
    assert played >= steps
    seconds = perf_counter() - start
    print(f"{played:,} steps at {len(AT_TABLES)} tables, {played / seconds:,.0f} a second")


def test_the_checks_see_what_is_broken() -> None:
    rules = resolve("ecarte")
    for field, value, broken in (
        ("seat", 9, SEAT),
        ("legal", 0, MASK),
        ("legal", 1 << 52, HAND),
        ("pool", 3, CHIPS),
        ("multiplier", 3, STAKES),
        ("widow_left", 1, PLACES),
        ("stock_next", 52, PLACES),
        ("tricks_played", 1, TRICKS),
    ):
        games = Batch(rules, 4, 3, seed=0)
        games.games[field][1] = value
        if field == "legal":
            games.games["legal_bids"][1] = 0
        found = play(games.games, games._table, np.int64(1))
        assert found[0] == broken, (field, BROKEN[found[0]])
        assert found[1] == 1
