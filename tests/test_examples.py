"""The examples run as they say, for seconds."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SHORT = {
    "my_agent.py": ["--sets", "20"],
    "own_loop.py": ["--updates", "2"],
    "train_and_look.py": ["--minutes", "0.05"],
}
"""By file: the arguments that make it a matter of seconds."""


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "NUMBA_DISABLE_JIT": "0"},  # for speed
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SHORT}


def test_agents_of_your_own() -> None:
    lines = run("examples/my_agent.py", *SHORT["my_agent.py"]).splitlines()
    assert [line.split()[:3] for line in lines] == [
        [name, "against", other]
        for name in ("careful", "lowest")
        for other in ("passer", "heuristic")
        for _ in range(2)
    ]


def test_a_loop_of_your_own() -> None:
    assert len(run("examples/own_loop.py", *SHORT["own_loop.py"]).splitlines()) == 2


@pytest.mark.slow
def test_a_loop_of_your_own_learns() -> None:
    chips = [float(line.split()[2]) for line in run("examples/own_loop.py").splitlines()]
    assert chips[-1] > chips[0] + 200


def test_training_and_its_report(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    told = run("examples/train_and_look.py", *SHORT["train_and_look.py"], f"--run-dir={folder}")
    page = folder / "report.html"
    assert told.splitlines()[-1] == f"{page}"
    assert "<h2>On the way</h2>" in page.read_text(encoding="utf-8")


def test_the_notebook_runs_and_its_pictures_are_there() -> None:
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    short = [re.sub(r"^SECONDS = \d+$", "SECONDS = 2", source) for source in code]
    assert short != code
    run("-c", "\n".join(short))
    kinds = [{*output.get("data", ())} for cell in cells for output in cell.get("outputs", ())]
    assert any("image/svg+xml" in kind for kind in kinds)
    assert any("image/png" in kind for kind in kinds)
