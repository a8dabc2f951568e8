"""One deal of every preset, noted down: read by eye once, compared ever after.

python tests/test_golden.py     # writes tests/golden/ again; read what changed
"""

from pathlib import Path

import pytest

from nap_env.game import Game
from nap_env.presets import PRESETS

GOLDEN = Path(__file__).parent / "golden"

# Seeds whose random deal shows what the preset is about.
SEEDS = {
    "standard": 30,
    "parlett": 32,
    "house": 18,
    "alt_scoring": 32,
    "draw": 41,
    "thirty": 55,
    "seven_card": 18,
    "ecarte": 95,
    "peep": 219,
    "sir_garnet": 73,
    "modern": 272,
    "floater": 43,
    "old_russian": 60,
    "pool_nap": 55,
    "britannica_1911": 32,
    "pub": 129,
    "dealer_must": 55,
    "peel": 44,
    "mini_2x4": 0,
    "mini_2x5": 1,
    "mini_3x4": 0,
    "mini_3p": 2,
    "mini_mix": 2,
}


def note_down(name: str) -> str:
    """Return the deal of a preset: the table before the first call and after the last card."""
    rules = PRESETS[name]
    players = min(4, rules.player_range[1])
    game = Game(rules, players, seed=SEEDS[name])
    lines = [game.text(), ""]
    while not game.over:
        game.step(game.random_action())
    return "\n".join([*lines, game.text(), ""])


@pytest.mark.parametrize("name", PRESETS)
def test_deal_of_the_preset_is_as_noted_down(name: str) -> None:
    assert name in SEEDS, f"choose a seed for {name}, write its deal by running this file, read it"
    assert note_down(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for preset in PRESETS:
        (GOLDEN / f"{preset}.txt").write_text(note_down(preset), encoding="utf-8")
