"""Deal records: replay, check, sample."""

import json
from pathlib import Path
from typing import Any

import pytest

from nap_env.actions import IllegalActionError
from nap_env.presets import PRESETS, resolve
from nap_env.records import MalformedRecordError, differences, main, replay, sample

EXAMPLES = Path(__file__).parent / "examples.jsonl"
RECORDS = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['id']}")
def test_worked_example_is_played_as_written(record: dict[str, Any]) -> None:
    assert differences(record) == []
    again = replay(record).record()
    assert {key: record[key] for key in again} == again


def test_check_agrees_with_all_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(EXAMPLES)]) == 0
    assert capsys.readouterr().out == "30 records, 0 differ\n"


def test_check_prints_each_difference_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    payments, legal, event, seat = (json.loads(json.dumps(RECORDS[0])) for _ in range(4))
    payments["result"]["payments"][0] = 8
    legal["legal"][1] = ["pass"]
    event["events"][5] = [1, "AH"]
    seat["events"][1][0] = 2
    path = tmp_path / "deals.jsonl"
    lines = [RECORDS[0], payments, legal, event, seat]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "line 2: result: payments [8, -3, -3, -3]; engine: [9, -3, -3, -3]"
    assert out[1] == "line 3: event 1: legal pass; engine: four misere nap pass"
    assert out[2].startswith(
        "line 4: event 5: seat 1 chose AH but must follow spades; legal: QS TS"
    )
    assert out[3] == "line 5: event 1: seat 2; engine: 1"
    assert out[-1] == "5 records, 4 differ"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in RECORDS[0].items() if name != key}


MALFORMED = [
    ("{", "malformed: not JSON"),
    ("[" * 100_000, "malformed: not JSON"),
    ("1" * 5000, "malformed: not JSON"),
    (
        json.dumps(RECORDS[0] | {"dealer": "nest"}).replace('"nest"', "[" * 900 + "]" * 900),
        "dealer=",
    ),
    (json.dumps(RECORDS[0] | {"num_players": [[]]}), "num_players=[[]]"),
    (json.dumps(RECORDS[0] | {"num_players": {}}), "num_players={}"),
    (
        json.dumps(RECORDS[0] | {"options": {"lead": {"x": 3}}}),
        "bid in lead='x': allowed are three",
    ),
    (json.dumps(RECORDS[0] | {"options": {"deck": [[{}, 28]]}}), "deck: number of players={}"),
    (json.dumps(RECORDS[0] | {"legal": [["\ud800"]] * 16}), "'\\ud800' is not an action"),
    ("[1]", "a record is a JSON object"),
    (json.dumps(without("dealer")), "the key 'dealer' is missing"),
    (json.dumps(without("stock")), "the key 'stock' is missing"),
    (json.dumps(RECORDS[0] | {"rules": "whist"}), "rules='whist'"),
    (json.dumps(RECORDS[0] | {"options": {"joke": 1}}), "option 'joke' is not known"),
    (json.dumps(RECORDS[0] | {"options": 3}), "options=3"),
    (json.dumps(RECORDS[0] | {"num_players": 12}), "num_players=12"),
    (json.dumps(RECORDS[0] | {"dealer": "3"}), "dealer='3'"),
    (json.dumps(RECORDS[0] | {"pool": 3}), "pool=3: 0 is allowed"),
    (json.dumps(RECORDS[0] | {"multiplier": 2}), "multiplier=2: 1 is allowed"),
    (json.dumps(RECORDS[0] | {"widow": ["2C"]}), "widow=['2C']: a list of 0 cards is needed"),
    (json.dumps(RECORDS[0] | {"hands": [[]] * 4}), "hands[0]=[]: a list of 5 cards is needed"),
    (json.dumps(RECORDS[0]).replace('"8D"', '"AS"', 1), "card AS: stands in 2 places"),
    (json.dumps(RECORDS[0]).replace('"8D"', '"2D"', 1), "card 2D: not in the pack"),
    (json.dumps(RECORDS[0]).replace('"8D"', '"1D"', 1), "'1D' is not a card"),
    (json.dumps(RECORDS[0]).replace('"three"]', '"thre"]', 1), "'thre' is not an action"),
    (json.dumps(RECORDS[0] | {"events": [[0]], "legal": [[]]}), "event [0]"),
    (json.dumps(RECORDS[0] | {"legal": []}), "legal: one list for each event"),
    (json.dumps(RECORDS[0] | {"scores": [1, 2]}), "scores=[1, 2]"),
    (json.dumps(RECORDS[0] | {"hands": None}), "the key 'hands' is null"),
    (json.dumps(RECORDS[0] | {"rules": {"bids": 5}}), "the name of a preset is needed"),
    (json.dumps(RECORDS[0] | {"options": {"deck": None}}), "deck=None"),
    (json.dumps(RECORDS[0] | {"options": {"pay": [1]}}), "pay=[1]: a mapping from bids"),
    (json.dumps(RECORDS[0] | {"options": {"packets": "3x0"}}), "packets='3x0'"),
    (json.dumps(RECORDS[0] | {"legal": [None] * 16}), "legal: None is not a list"),
    (json.dumps(RECORDS[0] | {"result": {"payements": []}}), "result={'payements': []}"),
    (json.dumps(RECORDS[0] | {"events": [[True, "pass"]], "legal": [[]]}), "event of seat True"),
]


def test_check_goes_on_after_malformed_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deals.jsonl"
    good = json.dumps(RECORDS[0])
    lines = [line.encode() for line, _ in MALFORMED] + [good.encode(), b"\xff"]
    deep = (good.replace('"dealer": 3', f'"dealer": {"[" * n}{"]" * n}') for n in range(400, 1000))
    lines += [line.encode() for line in deep]
    path.write_bytes(b"\n".join(lines))
    assert main(["check", str(path)]) == 2
    out = capsys.readouterr().out.splitlines()
    for number, (_, message) in enumerate(MALFORMED, start=1):
        assert out[number - 1].startswith(f"line {number}: malformed: ")
        assert message in out[number - 1]
    assert out[-1] == "1 records, 0 differ"


def test_check_of_a_missing_file_ends_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["check", "no-such-file"])
    assert end.value.code == 2
    assert "no-such-file" in capsys.readouterr().err


@pytest.mark.parametrize("name", PRESETS)
def test_sampled_deals_check(name: str, tmp_path: Path) -> None:
    path = tmp_path / "deals.jsonl"
    players = str(PRESETS[name].player_range[1])
    arguments = ["--rules", name, "--players", players, "--deals", "30", "--seed", "4", "--legal"]
    assert main(["sample", *arguments, "--out", str(path)]) == 0
    assert main(["check", str(path)]) == 0


def test_sampled_deal_depends_on_seed_and_number_only() -> None:
    rules = resolve("pub")
    few = list(sample(rules, 4, deals=3, seed=7))
    many = list(sample(rules, 4, deals=6, seed=7))
    assert many[:3] == few
    assert len({str(record["hands"]) for record in many}) == 6
    assert {record["pool"] for record in many} != {0}


def test_sample_takes_options(capsys: pytest.CaptureFixture[str]) -> None:
    main(["sample", "--rules", "standard", "--deals", "1", "--options", '{"must_trump": true}'])
    assert json.loads(capsys.readouterr().out)["options"] == {"must_trump": True}


def test_replay_refuses_an_illegal_event() -> None:
    with pytest.raises(IllegalActionError, match="event 0: seat 0 chose blucher"):
        replay(RECORDS[0] | {"events": [[0, "blucher"]], "legal": [[]]})
    with pytest.raises(IllegalActionError, match=r"event 0: \[2, 'pass'\], but seat 0 is to move"):
        replay(RECORDS[0] | {"events": [[2, "pass"]], "legal": [[]]})
    with pytest.raises(MalformedRecordError, match="key 'pool'"):
        replay(without("pool"))
