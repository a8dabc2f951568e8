"""Deals as an HTML page: all in one file, and each step is what the engine makes of it."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nap_env.page import UNUSED, page, replayed
from nap_env.presets import PRESETS
from nap_env.records import main, open_record, sample
from nap_env.table import Table

EXAMPLES = Path(__file__).parent / "examples.jsonl"
RECORDS = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]


def embedded(html: str) -> Any:
    """Return the deals that a page has in it."""
    found = re.search(r'<script id="deals" type="application/json">(.*?)</script>', html, re.S)
    assert found is not None
    return json.loads(found[1])


def states(deal: Any) -> list[dict[str, Any]]:
    """Return each step of a deal as a whole, as the page makes it."""
    whole: list[dict[str, Any]] = []
    for step in deal["steps"]:
        whole.append({**(whole[-1] if whole else {}), **step})
    return whole


def made(record: Any, title: str = "a deal") -> dict[str, Any]:
    return replayed(open_record(record), record["events"], title)


@pytest.mark.parametrize("name", PRESETS)
def test_each_step_is_the_table_after_its_event(name: str) -> None:
    (record,) = sample(PRESETS[name], PRESETS[name].player_range[1], 1, seed=6)
    (deal,) = embedded(page([made(record)]))
    steps = states(deal)
    game = open_record(record)
    assert len(steps) == 1 + len(record["events"])
    for number, step in enumerate(steps):
        event, legal = step.pop("event"), step.pop("legal")
        if number:
            seat, action = record["events"][number - 1]
            played = game.phase == "play" and len(action) == 2
            game.replay([[seat, action]])
            assert event == [seat, action, len(action) == 2 and not played]
        else:
            assert event is None
        whole = json.loads(json.dumps(asdict(game.table())))
        assert step == {key: value for key, value in whole.items() if key not in UNUSED}
        assert legal == game.legal()


def test_a_later_step_has_only_what_has_changed() -> None:
    first, second = made(RECORDS[0])["steps"][:2]
    assert set(first) == {*Table.__dataclass_fields__, "event", "legal"} - {"events", "stock"}
    assert "hands" not in second and second["calls"] == [(0, "three")]


def test_the_page_is_one_file() -> None:
    html = page([made(record) for record in RECORDS[:2]])
    assert html.startswith("<!DOCTYPE html>") and html.rstrip().endswith("</html>")
    assert not re.search(r"https?:|\bsrc=|<link|@import|url\(|@DEALS@", html)
    for name in ("deal", "view", "first", "prev", "next", "last", "stage", "panel"):
        assert html.count(f'id="{name}"') == 1


def test_a_title_cannot_break_out_of_the_data() -> None:
    title = "</script><b>&'\" \u2660"
    html = page([made(RECORDS[0], title)])
    assert html.count("</script>") == 2
    assert embedded(html)[0]["title"] == title


def test_a_page_of_no_deals_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one deal"):
        page([])


def test_the_command_writes_a_page_beside_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deals.jsonl"
    nameless = {key: RECORDS[1][key] for key in RECORDS[1] if key not in ("id", "title")}
    lines = [json.dumps(RECORDS[0]), "", json.dumps(nameless)]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert main(["html", str(file)]) == 0
    out = tmp_path / "deals.html"
    assert capsys.readouterr().out == f"{out}: 2 deals\n"
    deals = embedded(out.read_text(encoding="utf-8"))
    assert [deal["title"] for deal in deals] == [RECORDS[0]["title"], "standard, line 3"]
    assert main(["html", str(file), "--out", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_text() == out.read_text()


def test_the_command_shows_a_deal_that_is_not_over(tmp_path: Path) -> None:
    file = tmp_path / "deals.jsonl"
    file.write_text(
        json.dumps(RECORDS[0] | {"events": RECORDS[0]["events"][:5], "legal": [[]] * 5})
    )
    assert main(["html", str(file)]) == 0
    (deal,) = embedded(file.with_suffix(".html").read_text(encoding="utf-8"))
    assert states(deal)[-1]["outcome"] is None and len(deal["steps"]) == 6


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON: Expecting property name"),
        ("[]", "line 2: a record is a JSON object"),
        (
            json.dumps(RECORDS[0] | {"events": [[0, "six"]], "legal": [[]]}),
            "line 2: event 0: seat 0 chose six",
        ),
    ],
)
def test_the_command_names_the_line_that_cannot_be_shown(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deals.jsonl"
    file.write_text(json.dumps(RECORDS[0]) + "\n" + line, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["html", str(file)])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not file.with_suffix(".html").exists()
