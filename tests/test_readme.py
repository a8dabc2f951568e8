"""README.md and docs/ say what is so: their code runs, their commands are CI's, links lead on."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"{p.relative_to(ROOT)}" for p in ROOT.glob("docs/**/*.md")),
]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Python, and what it prints where a block of text follows.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
EXAMPLES = [
    pytest.param(*found.groups(), id=f"{name}-{number}")
    for name in TEXTS
    for number, found in enumerate(EXAMPLE.finditer((ROOT / name).read_text(encoding="utf-8")))
]
LINK = re.compile(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)")


def test_texts_have_examples() -> None:
    for name in ("README.md", "docs/ways-in.md", "docs/players.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert len(EXAMPLE.findall(text)) == text.count("```python") > 0


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_python_runs_and_prints_what_follows(code: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if output:
        assert done.stdout == output


def test_ci_runs_the_commands_of_the_readme_in_fresh_checkouts() -> None:
    """Word for word, each by itself: what a person pastes."""
    (block,) = re.findall(r"^```sh\n(.*?)^```\n", README, re.M | re.S)
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = re.findall(r"^step \"[^\"]+\" fresh \w+ '([^']+)'$", ci, re.M)
    assert block.splitlines() == steps
    assert [line.split(" && ")[0] for line in steps] == ["python3 -m venv .venv"] * 2


def test_the_first_screen_is_short() -> None:
    assert len(README.splitlines()) < 150
    assert README.index("```sh") < README.index("![") < README.index("```python")


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_linked_to_exists(name: str) -> None:
    text, folder = (ROOT / name).read_text(encoding="utf-8"), (ROOT / name).parent
    for path, anchor in LINK.findall(text):
        target = folder / path if path else ROOT / name
        if path == "contributing.md" or path.endswith("/contributing.md"):
            target = ROOT / "CONTRIBUTING.md"  # what it is made of
        assert target.exists(), (name, path)
        if anchor and target.name != "commands.md":
            heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
            assert anchor in [head.strip().lower().replace(" ", "-") for head in heads], anchor
    paths = re.findall(r"`([\w./]+/[\w./]+\.(?:py|yaml|jsonl|md|ipynb))`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_picture_of_a_table_is_what_the_command_draws(tmp_path: Path) -> None:
    out = tmp_path / "table.svg"
    command = ["-m", "nap_env.records", "svg", "tests/examples.jsonl", "--events", "10"]
    subprocess.run(
        [sys.executable, *command, "--seat", "0", "--out", str(out)], cwd=ROOT, check=True
    )
    assert out.read_bytes() == (ROOT / "docs" / "table.svg").read_bytes()
