"""Records of deals with any JSON value at any place are refused, or played as they say."""

import json
from typing import Any

import pytest
from drawn import OPTIONS, RECORDS, accepted, as_json, changed, fuzz, json_values, options, values
from hypothesis import given
from hypothesis import strategies as st

from nap_env import Batch, nap_v0
from nap_env.game import Game
from nap_env.presets import resolve
from nap_env.records import check, replay


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Load here what every child would have to load again."""
    for record in RECORDS[:20]:
        nap_v0.raw_env(record["rules"], record["num_players"], options=record["options"]).reset(
            options={"record": record}
        )
    Batch("standard", 4, 1, seed=0).set_deals([RECORDS[0]])


@st.composite
def records(draw: Any, anything: Any) -> Any:
    """Draw a record of a deal with something else at some places."""
    record = draw(st.sampled_from(RECORDS))
    if draw(st.booleans()):
        record = {**record, "options": {**record["options"], **draw(options)}}
    return draw(changed(record, anything))


def assert_played(told: Any, played: dict[str, Any], *more: str) -> None:
    """Check that what has been played is what a record tells."""
    rules = resolve(played["rules"], played["options"])
    assert resolve(told["rules"], told.get("options")) == rules
    played = {"scores": [0] * played["num_players"], **played}
    for key in ("num_players", *Game.DEAL_KEYS, *more):
        if told.get(key) is not None:
            assert as_json(played[key]) == as_json(told[key]), key


@fuzz(4)
@given(record=records(json_values))
def test_a_record_of_anything_is_checked(record: Any) -> None:
    line = json.dumps(record)

    def checked() -> None:
        good = json.dumps(RECORDS[0])
        (number, well_formed, found), *more = check([line, good, line])
        assert number == 1
        assert [row[0] for row in more] == [2, 3]  # it goes on
        assert more[0][1:] == (True, [])
        assert well_formed or found[0].startswith("malformed: ")
        assert all(text.isprintable() for text in found), found
        if well_formed and not found:
            assert_played(record, replay(record).record(), "events")

    assert accepted(checked)


@fuzz(2)
@given(record=records(values))
def test_environments_take_no_record_of_anything(record: Any) -> None:
    def in_table() -> None:
        env = nap_v0.raw_env("standard", 4)
        env.reset(seed=0, options={"record": record})
        assert_played(record, env.record(), "events")

    def in_batch() -> None:
        games = Batch("standard", 4, 1, seed=0)
        games.set_deals([record])
        if "rules" in record:  # else any of a deal's keys
            assert_played(record, games.record(0))

    names = ("record", "rules", "option", "event", "num_players", *Game.DEAL_KEYS, "card", "bid")
    names += OPTIONS
    accepted(in_table, *names)
    accepted(in_batch, *names)
