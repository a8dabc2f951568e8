"""Counts of positions a number of decisions after a deal; the referee counts the same."""

import pytest
import reference

from nap_env.game import Game
from nap_env.presets import PRESETS, resolve

WHOLE_DEAL = 99

# Preset, players, seed, decisions, positions.
COUNTS = [
    ("mini_2x4", 2, 1, WHOLE_DEAL, 77),
    ("mini_2x5", 2, 1, WHOLE_DEAL, 127),
    ("mini_3x4", 2, 1, WHOLE_DEAL, 45),
    ("mini_3p", 3, 1, 6, 214),
    ("mini_mix", 2, 1, WHOLE_DEAL, 181),
    ("standard", 4, 1, 6, 644),
    ("pub", 4, 1, 6, 1803),
    ("parlett", 5, 1, 5, 582),
    ("modern", 4, 5, 5, 879),
    ("dealer_must", 5, 1, 5, 1650),
    ("house", 2, 1, 5, 877),
    ("seven_card", 3, 1, 5, 1053),
    ("ecarte", 3, 1, 4, 250),
    ("peep", 3, 1, 5, 918),
    ("sir_garnet", 3, 1, 4, 371),
    ("floater", 3, 1, 5, 989),
    ("old_russian", 3, 1, 5, 986),
    ("draw", 3, 1, 5, 1661),
    ("peel", 3, 1, 5, 663),
    ("thirty", 3, 1, 5, 588),
    ("alt_scoring", 3, 1, 4, 416),
    ("britannica_1911", 3, 1, 5, 450),
    ("pool_nap", 3, 1, 5, 396),
]


def positions(game: Game, decisions: int) -> int:
    if decisions == 0 or game.over:
        return 1
    count = 0
    for action in game.legal():
        after = game.clone()
        after.act(action)
        count += positions(after, decisions - 1)
    return count


def referee_positions(record: dict, decisions: int) -> int:
    deal = reference.ReferenceDeal(record)
    for _, action in record["events"]:
        deal.act(action)
    if decisions == 0 or deal.seat is None:
        return 1
    return sum(
        referee_positions(
            record | {"events": [*record["events"], [deal.seat, action]]}, decisions - 1
        )
        for action in deal.legal()
    )


@pytest.mark.parametrize(("name", "players", "seed", "decisions", "expected"), COUNTS)
def test_number_of_positions(
    name: str, players: int, seed: int, decisions: int, expected: int
) -> None:
    game = Game(resolve(name), players, seed=seed)
    assert positions(game, decisions) == expected
    assert referee_positions(game.record(), decisions) == expected


def test_every_preset_is_counted() -> None:
    assert {name for name, *_ in COUNTS} == set(PRESETS)
