"""The named rule sets. A preset is a row: what differs from the row it starts from, and its source.

Chips are from and to each opponent. Sources are the tags of the rule texts: S0 the English
Wikipedia article, S1 a Russian encyclopedia, S2/HSW the 30-point game, EB Britannica (Parlett),
EB1911, Peel (*Round Games with Cards*), PW (a US encyclopedia of games), Bicycle, pagat.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nap_env.rules import ALT_TARIFF, PRESETS, TARIFF, Bid, Rules

__all__ = ["PRESETS", "resolve"]

ONE, TWO, THREE, MISERE, FOUR, FIVE = (
    TARIFF[name] for name in ("one", "two", "three", "misere", "four", "five")
)
THREE_F, FOUR_F, NAP_F = (TARIFF[name] for name in ("three+f", "four+f", "nap+f"))
NAP, NAPOLEON, WELLINGTON, BLUCHER, SIX, SEVEN = (
    TARIFF[name] for name in ("nap", "napoleon", "wellington", "blucher", "six", "seven")
)

# Packs by number of players.
DECK_S0 = ((2, 28), (3, 28), (4, 28), (5, 36), (6, 36), (7, 52))
DECK_PUB = ((2, 24), (3, 24), (4, 28), (5, 32), (6, 36), (7, 52))
DECK_32 = ((2, 32), (3, 32), (4, 32), (5, 52), (6, 52), (7, 52), (8, 52))


def _priced(bid: Bid, win: int, lose: int) -> Bid:
    return replace(bid, win=win, lose=lose)


def _add(rules: Rules) -> Rules:
    PRESETS[rules.name] = rules
    return rules


# Source: S0. Wellington only over a Nap, leading its lowest trump; Blücher only over Wellington.
STANDARD = _add(
    Rules(
        name="standard",
        bids=(THREE, MISERE, FOUR, NAP, replace(WELLINGTON, lead="lowest_trump"), BLUCHER),
        deck=DECK_S0,
        dealer_out_from=6,
        wellington_over="nap",
        blucher_over="wellington",
    )
)

# Source: S1 with the tariff of EB: everything above Nap doubles.
_add(
    Rules(
        name="parlett",
        player_range=(2, 8),
        bids=(
            *(ONE, TWO, THREE, MISERE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=40, lose=20),
        ),
        wellington_over="nap",
        blucher_over="wellington",
        wellington_min_players=5,
        blucher_min_players=7,
        first_dealer="high",
        packets="1x5",
    )
)

# Source: variants of S1.
_add(
    Rules(
        name="house",
        player_range=(2, 8),
        bids=(ONE, TWO, THREE, _priced(MISERE, win=7, lose=5), FOUR, NAP),
        deck=DECK_32,
        must_trump=True,
        overtrick=1,
        pool_fail="as_player",
        early_stop=False,
    )
)

# Source: S1, the scheme that pays single tricks.
_add(
    Rules(
        name="alt_scoring",
        player_range=(2, 8),
        bids=tuple(ALT_TARIFF[bid.name] for bid in (ONE, TWO, THREE, MISERE, FOUR, NAP)),
        early_stop=False,
    )
)

# Source: S1, exchange after the auction.
_add(
    Rules(
        name="draw",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, MISERE, FOUR, NAP),
        draw="maker_then_opponents",
    )
)

# Source: S2 and HSW, a match to thirty points.
_add(
    Rules(
        name="thirty",
        player_range=(2, 6),
        bids=(THREE, MISERE, FOUR, NAP, WELLINGTON, BLUCHER),
        deals=None,
        target=30,
    )
)

# Source: S0. Nap is five of the seven tricks; misère, six and seven cost half when lost.
_add(
    Rules(
        name="seven_card",
        bids=(THREE, FOUR, NAP, _priced(MISERE, win=10, lose=5), SIX, SEVEN),
        hand_size=7,
        packets="3-2-2",
    )
)

# Source: S0, cards are bought before the auction.
_add(
    Rules(
        name="ecarte",
        player_range=(3, 4),
        bids=(THREE, MISERE, FOUR, NAP),
        buy=True,
    )
)

# Source: S0, one card on the table that may be looked at for a chip.
_add(
    Rules(
        name="peep",
        bids=(THREE, MISERE, FOUR, NAP),
        widow="peep",
        look_cost=1,
    )
)

# Source: S0, a spare hand for whoever will play a Nap with it.
_add(
    Rules(
        name="sir_garnet",
        bids=(THREE, MISERE, FOUR, NAP),
        widow="garnet",
    )
)

# Source: the bid list of S0; S1 names the game.
_add(
    Rules(
        name="modern",
        bids=(
            *(THREE, MISERE, FOUR, NAP),
            replace(NAPOLEON, lead="lowest_trump"),
            replace(WELLINGTON, lead="lowest_plain"),
        ),
        deck=DECK_S0,
        dealer_out_from=6,
    )
)

# Source: S0 and Panter.
_add(
    Rules(
        name="floater",
        bids=(THREE_F, THREE, FOUR_F, FOUR, NAP_F, NAP),
        deck=DECK_S0,
        widow="floater",
        look_cost=1,
        dealer_free_look=True,
        pool_each=1,
        all_pass="double_next",
    )
)

# Source: S1 and shram, the old Russian game.
_add(
    Rules(
        name="old_russian",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, FOUR, FIVE),
        deck=36,
        first_bidder="dealer",
        hold=True,
        draw="maker_one",
        must_trump=True,
        pool_dealer=1,
        pool_fail="as_player",
        pool_five_fail="double",
    )
)

# Source: Bicycle.
_add(
    Rules(
        name="pool_nap",
        player_range=(2, 6),
        bids=(ONE, TWO, THREE, FOUR, NAP),
        pool_start=2,
        pool_dealer=2,
        pool_five_fail="double",
        pool_revoke=5,
    )
)

# Source: EB1911.
_add(
    Rules(
        name="britannica_1911",
        bids=(
            *(TWO, THREE, _priced(MISERE, win=3, lose=6), FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=30, lose=15),
        ),
        wellington_over="nap",
        blucher_over="wellington",
    )
)

# Source: EB as printed, pagat; the joker and the antes from S0.
_add(
    Rules(
        name="pub",
        bids=(
            *(TWO, THREE, MISERE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=20),
            _priced(BLUCHER, win=40, lose=40),
        ),
        deck=DECK_PUB,
        joker=True,
        pool_each=1,
        shuffle="after_nap",
        wellington_over="nap",
        blucher_over="wellington",
    )
)

# Source: PW and EB-old, the dealer must bid at least One when all have passed.
_add(
    Rules(
        name="dealer_must",
        player_range=(2, 6),
        bids=(TWO, THREE, MISERE, FOUR, NAP, WELLINGTON, BLUCHER),
        all_pass="dealer_one",
        dealer_out_from=5,
    )
)

# Source: Peel. Misère below Three and with trumps; the first caller stands for One.
_add(
    Rules(
        name="peel",
        player_range=(2, 6),
        bids=(
            *(ONE, TWO, MISERE, THREE, FOUR, NAP),
            _priced(WELLINGTON, win=20, lose=10),
            _priced(BLUCHER, win=30, lose=15),
        ),
        misere_trump="lead",
        all_pass="eldest_one",
        wellington_over="nap",
        blucher_over="wellington",
        first_dealer="jack",
        packets="1x5",
        pool_dealer=1,
        dealer_out_from=6,
    )
)

# Small games for exact study (own).
MINI = _add(
    Rules(
        name="mini_2x4",
        player_range=(2, 2),
        bids=(ONE, TWO, _priced(NAP, win=6, lose=3)),
        deck=8,
        suits=2,
        hand_size=3,
    )
)
_add(replace(MINI, name="mini_2x5", deck=10))
_add(replace(MINI, name="mini_3x4", deck=12, suits=3))
_add(replace(MINI, name="mini_3p", deck=10, player_range=(3, 3)))


def resolve(rules: str | Rules, options: Mapping[str, Any] | None = None) -> Rules:
    """Return the rules that a name or `Rules` object and a record's options mean.

    Raises:
        ValueError: an unknown preset, or options that make no game.
    """
    if isinstance(rules, Rules):
        chosen = rules
    elif isinstance(rules, str) and rules in PRESETS:
        chosen = PRESETS[rules]
    else:
        raise ValueError(f"rules={rules!r}: a Rules object or one of {', '.join(PRESETS)}")
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}: a mapping of option names to values")
    return chosen.with_options(options) if options else chosen
