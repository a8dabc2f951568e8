"""Try every library that we plug into, each in an environment of its own.

    python -m tests.plugins.run                 # all, some minutes and GB for each the first time
    python -m tests.plugins.run rllib rlcard
    python -m tests.plugins.run --learn         # their examples must learn, too: five minutes each

Prints a table, then a line of JSON; ends with 1 if something has failed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent.parent
LIBRARIES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/requirements.txt"))
LEARN: dict[str, dict[str, list[str]]] = {
    "sb3": {"random": [], "passer": ["--opponents", "self"]},
    "torchrl": {"random": []},
    "rllib": {"random": []},
    "rlcard": {"random": []},
}
"""By library: against whom its example must win, and with what arguments."""


def environment(name: str, folder: Path) -> Path:
    """Make an environment with a library, unless it is there; return its Python."""
    requirements = ROOT / "tests" / "plugins" / name / "requirements.txt"
    python, ready = folder / name / "bin" / "python", folder / name / "ready"
    wanted = requirements.read_text(encoding="utf-8")
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        venv.create(folder / name, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--requirement", str(requirements)]
        subprocess.run([*pip, "--editable", f"{ROOT}[train]", "pytest", "hypothesis"], check=True)
        ready.write_text(wanted, encoding="utf-8")
    return python


def tried(name: str, python: Path, folder: Path) -> dict[str, Any]:
    """Run a library's tests, slow ones too; return its version, how many passed, what they told.

    `share` is the part of the paid chips that reached the rows of the seat that earned them,
    `speed` how many times as fast the many tables are as the library's own way to have them.
    """
    report = folder / f"{name}.xml"
    command = [str(python), "-m", "pytest", f"tests/plugins/{name}", "-m", "", "-q"]
    command += [f"--junitxml={report}", "--override-ini=junit_family=xunit1"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if not report.exists():
        raise RuntimeError(f"{name}: {done.stdout}{done.stderr}")
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    count = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    told = {one.get("name"): float(one.get("value", 0)) for one in suite.iterfind(".//property")}
    if passed < count["tests"]:
        print(done.stdout, file=sys.stderr)
    wanted = (ROOT / "tests" / "plugins" / name / "requirements.txt").read_text(encoding="utf-8")
    return {
        "version": wanted.splitlines()[0].split("==")[1],
        "passed": passed,
        "tests": count["tests"],
        "share": told.get("share"),
        "speed": told.get("speed"),
    }


def learned(name: str, python: Path, minutes: float) -> dict[str, Any]:
    """Run a library's example; return what it won of those whom it must beat."""
    found: dict[str, Any] = {}
    for other, arguments in LEARN.get(name, {}).items():
        command = [
            str(python),
            "-m",
            f"examples.plugins.{name}",
            f"--minutes={minutes}",
            *arguments,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
        line = json.loads(done.stdout.strip().splitlines()[-1])
        found[other] = line["chips_per_100"][other]
    return found


def row(result: dict[str, Any]) -> str:
    """Return a line of the table."""
    share = "" if result["share"] is None else f"{result['share']:.0%}"
    speed = "" if result["speed"] is None else f"{result['speed']:.0f} x"
    learns = ", ".join(
        f"{chips:+.0f} ± {half:.0f} {other}" for other, (chips, half) in result["learns"].items()
    )
    passed = f"{result['passed']}/{result['tests']}"
    return (
        f"{result['library']:12}{result['version']:9}{passed:>7}{share:>7}{speed:>7}"
        f"{result['seconds']:>9.0f}  {learns}"
    )


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", choices=[*LIBRARIES, []], help="all by default")
    parser.add_argument("--learn", action="store_true", help="run the examples to their end")
    parser.add_argument("--minutes", type=float, default=5.0, help="of each example")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "plugins")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ["RAY_DISABLE_METRICS_COLLECTION"] = "1"
    print(
        f"{'library':12}{'version':9}{'passed':>7}{'share':>7}{'speed':>7}{'seconds':>9}  learns",
        flush=True,
    )
    results = []
    for name in options.libraries or LIBRARIES:
        python = environment(name, options.folder)
        start = time.time()
        result = {"library": name, **tried(name, python, options.folder), "learns": {}}
        result["seconds"] = time.time() - start
        won = learned(name, python, options.minutes if options.learn else 0.05)
        if options.learn:
            result["learns"] = won
        results.append(result)
        print(row(result), flush=True)
    print(json.dumps(results))
    wins = [pair for one in results if one["library"] in LEARN for pair in one["learns"].values()]
    return (
        0
        if all(chips > half for chips, half in wins)
        and all(one["passed"] == one["tests"] for one in results)
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
