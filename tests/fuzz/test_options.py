"""Options with any value are refused by name, or make a game that can be played and written."""

import json
from typing import Any

import pytest
from drawn import OPTIONS, accepted, as_json, fuzz, json_values, options, values
from hypothesis import given
from hypothesis import strategies as st

from nap_env.game import Game
from nap_env.presets import PRESETS, resolve
from nap_env.records import main


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load here what every child would have to load again."""
    for rules in PRESETS.values():
        game = Game(rules, rules.player_range[1], seed=0)
        while not game.over:
            game.step(game.random_action())


TELLING = (*OPTIONS, "option", "scheme", "bid", "no bid", "the deal needs", "seats", "option")


@fuzz(4)
@given(
    rules=st.sampled_from(sorted(PRESETS)),
    changes=options | st.dictionaries(st.sampled_from(OPTIONS), values, max_size=2),
    players=st.integers(2, 8),
)
def test_options_of_anything(rules: str, changes: dict[Any, Any], players: int) -> None:
    def played() -> None:
        chosen = resolve(rules, changes)
        written = json.loads(json.dumps(chosen.options))
        assert resolve(rules, written) == chosen
        hash(chosen)
        for name, value in changes.items():
            if name not in ("pay", "lead", "bids", "deck", "player_range"):
                kept = getattr(chosen, name)
                none = ['"none"', "null"] * (kept in (None, "none"))
                assert as_json(value) in (as_json(kept), *none), name
        game = Game(chosen, players, seed=0)
        for _ in range(3):
            while not game.over:
                game.step(game.random_action())
            game.next_deal()

    accepted(played, *TELLING)


@fuzz()
@given(changes=json_values | st.text())
def test_options_of_the_command_line(changes: Any) -> None:
    text = changes if isinstance(changes, str) else json.dumps(changes)

    def sampled() -> None:
        try:
            main(["sample", "--deals", "1", "--options", text])
        except SystemExit as end:
            assert end.code == 2, end.code

    assert accepted(sampled)
