"""Deal records, one JSON object a line: replay, check and show them, sample random ones.

python -m nap_env.records check FILE
python -m nap_env.records html FILE
python -m nap_env.records svg FILE --events 6 --seat 0
python -m nap_env.records sample --rules pub --players 5 --deals 2000 --seed 1 --out F
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from nap_env.actions import IllegalActionError, action_id
from nap_env.engine.compiler import at_once
from nap_env.game import Game
from nap_env.page import page, replayed
from nap_env.presets import PRESETS, resolve
from nap_env.rules import Rules, is_whole, whole
from nap_env.terminal import Parser, Progress, counted, run

REQUIRED = (
    *("rules", "num_players", "dealer", "hands", "widow", "stock", "pool", "multiplier"),
    "events",
)
RESULT = (*("declarer", "contract", "trump", "made", "tricks", "payments", "pool", "multiplier"),)
SAMPLE_POOL = 20
"""Most chips in the pool before a sampled deal."""


class MalformedRecordError(ValueError):
    """Not a deal record: not an object, a key is missing, or no deal can be as it says."""


def read(line: str | bytes) -> Any:
    """Return the JSON value of a line.

    Raises:
        MalformedRecordError: there is none.
    """
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedRecordError(f"not JSON: {error}") from None


def open_record(record: Any) -> Game:
    """Return a game in which a record's deal is set up and nothing has happened yet.

    Raises:
        MalformedRecordError: says what is wrong.
    """
    if not isinstance(record, Mapping):
        raise MalformedRecordError("a record is a JSON object")
    for key in REQUIRED:
        if record.get(key) is None:
            what = "null" if key in record else "missing"
            raise MalformedRecordError(f"the key {key!r} is {what}")
    if not isinstance(record["rules"], str):
        raise MalformedRecordError(f"rules={record['rules']!r}: the name of a preset is needed")
    try:
        rules = resolve(record["rules"], record.get("options"))
        game = Game(rules, record["num_players"], seed=0)
        game.set_up(**{key: record[key] for key in Game.DEAL_KEYS if key in record})
        _check_shape(record)
    except ValueError as error:
        raise MalformedRecordError(str(error)) from None
    return game


def _check_shape(record: Mapping[str, Any]) -> None:
    """Raise ValueError where events, legal lists or result are not of a record's form."""
    events = record["events"]
    if not isinstance(events, list):
        raise ValueError(f"events={events!r}: a list of [seat, action name] is needed")
    for event in events:
        if not isinstance(event, list) or len(event) != 2:
            raise ValueError(f"event {event!r}: [seat, action name] is needed")
        if not is_whole(event[0]):
            raise ValueError(f"event of seat {event[0]!r}: a seat is a whole number")
        action_id(event[1])
    if "legal" in record:
        legal = record["legal"]
        if not isinstance(legal, list) or len(legal) != len(events):
            raise ValueError("legal: one list for each event is needed")
        for names in legal:
            if not isinstance(names, list):
                raise ValueError(f"legal: {names!r} is not a list of action names")
            for name in names:
                action_id(name)
    result = record.get("result", {})
    if not isinstance(result, Mapping) or not set(result) <= set(RESULT):
        raise ValueError(
            f"result={result!r}: an object with the keys {', '.join(RESULT)} is needed"
        )


def replay(record: Any) -> Game:
    """Return the game that a record describes, after its events.

    Raises:
        MalformedRecordError: not a deal record.
        IllegalActionError: an event of a seat that is not to move, or that is not legal.
    """
    game = open_record(record)
    game.replay(record["events"])
    return game


def differences(record: Any) -> list[str]:
    """Return where a record differs from what the engine does with its deal.

    Raises:
        MalformedRecordError: not a deal record.
    """
    game = open_record(record)
    found = []
    for number, (seat, name) in enumerate(record["events"]):
        if "legal" in record and sorted(record["legal"][number]) != game.legal():
            listed = " ".join(record["legal"][number])
            found.append(f"event {number}: legal {listed}; engine: {' '.join(game.legal())}")
        if seat != game.seat:
            found.append(f"event {number}: seat {seat}; engine: {game.seat}")
            return found
        try:
            game.act(name)
        except IllegalActionError as error:
            found.append(f"event {number}: {error}")
            return found
    if "result" in record:
        result = game.record().get("result")
        if result is None:
            found.append("result: given; engine: the deal is not over")
        else:
            for key, value in record["result"].items():
                # Compared as text, so that 1 is not true and 1.0 is not 1.
                if json.dumps(value) != json.dumps(result[key]):
                    found.append(f"result: {key} {value!r}; engine: {result[key]!r}")
    return found


def check(lines: Iterable[str | bytes]) -> Iterator[tuple[int, bool, list[str]]]:
    """Yield for each record its line number, whether it is well formed, and what is wrong."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield number, True, differences(read(line))
        except (MalformedRecordError, RecursionError) as error:
            yield number, False, [f"malformed: {error}"]


def sample(
    rules: str | Rules, num_players: int, deals: int, seed: int, *, legal: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield records of independent deals, played by uniformly random legal actions.

    The dealer is uniform; the pool before the deal is 0 to 20 chips where the rules have a pool,
    the multiplier 1 or 2 where the rules have one. Deal `k` depends on (seed, k) only.

    Args:
        rules: a preset's name, or rules.
        num_players: players at the table.
        deals: how many.
        seed: a whole number from 0 on.
        legal: also give the legal actions before each event.
    """
    whole("seed", seed, 0, sys.maxsize)
    whole("deals", deals, 0, sys.maxsize)
    rules = resolve(rules)
    game = Game(rules, num_players, seed=0)
    for deal in range(deals):
        table = np.random.default_rng([seed, deal])
        game.set_up(
            seed=np.uint64(table.integers(2**64, dtype=np.uint64)),
            dealer=int(table.integers(num_players)),
            pool=int(table.integers(SAMPLE_POOL + 1)) if rules.has_pool else 0,
            multiplier=1 + int(table.integers(2)) if rules.has_multiplier else 1,
        )
        lists = []
        while not game.over:
            if legal:
                lists.append(game.legal())
            game.step(game.random_action())
        record = game.record()
        result = record.pop("result")
        yield record | ({"legal": lists} if legal else {}) | {"result": result}


def _lines(path: Path) -> Iterator[bytes]:
    """Go through the lines of a file and tell how far."""
    return counted(path.read_bytes().split(b"\n"), "replaying", "lines")


def _check_command(path: Path) -> int:
    records = differing = malformed = 0
    for number, well_formed, found in check(_lines(path)):
        records += well_formed
        malformed += not well_formed
        differing += well_formed and bool(found)
        for difference in found:
            print(f"line {number}: {difference}")
    if malformed:
        print(f"{malformed} malformed lines")
    print(f"{records} records, {differing} differ")
    return 2 if malformed else 1 if differing else 0


def _write(record: Mapping[str, Any], file: TextIO) -> None:
    file.write(json.dumps(record, separators=(",", ":")) + "\n")


def _sample_command(arguments: argparse.Namespace) -> int:
    try:
        options = json.loads(arguments.options)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--options {arguments.options}: not JSON: {error}") from None
    rules = resolve(arguments.rules, options)
    records = sample(
        rules, arguments.players, arguments.deals, arguments.seed, legal=arguments.legal
    )

    if arguments.out is None:
        for record in records:
            _write(record, sys.stdout)
    else:
        with (
            arguments.out.open("w", encoding="utf-8") as file,
            Progress("playing", arguments.deals, "deals") as progress,
        ):
            for record in records:
                _write(record, file)
                progress.add(1)
    return 0


def _deals(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a file, each with the number of its line.

    Raises:
        ValueError: a line that is no record, or whose events cannot happen.
    """
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = read(line)
            replay(record)
        except (MalformedRecordError, IllegalActionError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        yield number, record


def _html_command(path: Path, out: Path | None) -> int:
    out = path.with_suffix(".html") if out is None else out
    deals = []
    for number, record in _deals(path):
        name = record.get("title", record.get("id", f"{record['rules']}, line {number}"))
        deals.append(replayed(open_record(record), record["events"], f"{name}"))
    out.write_text(page(deals), encoding="utf-8")
    print(f"{out}: {len(deals)} deal{'s' * (len(deals) != 1)}")
    return 0


def _svg_command(arguments: argparse.Namespace) -> int:
    path, out = arguments.file, arguments.out
    out = path.with_suffix(".svg") if out is None else out
    record = dict(_deals(path)).get(arguments.line)
    if record is None:
        raise ValueError(f"{path}: line {arguments.line} is no deal")
    events = record["events"]
    told = len(events) if arguments.events is None else arguments.events
    count = whole("events", told, 0, len(events))
    game = open_record(record)
    game.replay(events[:count])
    out.write_text(game.svg(arguments.seat), encoding="utf-8")
    print(f"{out}: after {count} of {len(events)} events")
    return 0


def _parser(prog: str) -> Parser:
    parser = Parser(prog=prog, description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    checker = commands.add_parser(
        "check", help="replay records and compare", description="Replay each record of a file and "
        "print where it differs from the engine. Exit status: 0 all agree, 1 some differ, 2 a line "
        "is malformed.",
    )  # fmt: skip
    checker.add_argument("file", type=Path, help="records, one JSON object a line")
    shower = commands.add_parser(
        "html", help="write a page that replays deals", description="Write a page for a browser "
        "that replays each deal of a file step by step, with any seat's view.",
    )  # fmt: skip
    shower.add_argument("file", type=Path, help="records, one JSON object a line")
    shower.add_argument("--out", type=Path, default=None, help="page to write, else FILE.html")
    drawer = commands.add_parser(
        "svg", help="draw the table of a deal", description="Draw the table of a deal as a picture "
        "for pages (SVG).",
    )  # fmt: skip
    drawer.add_argument("file", type=Path, help="records, one JSON object a line")
    drawer.add_argument("--line", type=int, default=1, help="the deal's line in the file")
    drawer.add_argument("--events", type=int, default=None, help="that have happened, else all")
    drawer.add_argument("--seat", type=int, default=None, help="whose cards are seen, else all")
    drawer.add_argument("--out", type=Path, default=None, help="picture to write, else FILE.svg")
    sampler = commands.add_parser(
        "sample", help="write random deals", description="Write independent deals, played by "
        "uniformly random legal actions.",
    )  # fmt: skip
    sampler.add_argument("--rules", default="standard", metavar="PRESET",
                         help=f"one of {', '.join(PRESETS)}")  # fmt: skip
    sampler.add_argument("--players", "--num-players", "--num_players", type=int, default=4,
                         help="players at the table")  # fmt: skip
    sampler.add_argument("--deals", type=int, default=10, help="how many")
    sampler.add_argument("--seed", type=int, default=0, help="deal k depends on (seed, k) only")
    sampler.add_argument("--legal", action="store_true", help="add the legal actions at each event")
    sampler.add_argument("--options", default="{}", help="changes to the rules, as JSON")
    sampler.add_argument("--out", type=Path, default=None, help="file to write, else to the screen")
    return parser


@at_once()
def main(arguments: Sequence[str] | None = None, prog: str = "python -m nap_env.records") -> int:
    """Run the command line; return the exit status."""
    parser = _parser(prog)
    parsed = parser.parse_args(arguments)
    try:
        if parsed.command == "check":
            return _check_command(parsed.file)
        if parsed.command == "html":
            return _html_command(parsed.file, parsed.out)
        if parsed.command == "svg":
            return _svg_command(parsed)
        return _sample_command(parsed)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        parser.refuse(error)


if __name__ == "__main__":
    sys.exit(run(main))
