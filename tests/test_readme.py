"""README.md says what is so: its code runs, its commands are CI's, its lists are complete."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nap_env.observation import FIELDS
from nap_env.presets import table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
# Python, and what it prints where a block of text follows.
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", README, re.M | re.S)
COMMANDS = [
    line.split("  #")[0].rstrip()
    for block in re.findall(r"^```sh\n(.*?)^```\n", README, re.M | re.S)
    for line in block.splitlines()
]


def test_readme_has_examples() -> None:
    assert len(EXAMPLES) == README.count("```python") > 0


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_python_runs_and_prints_what_follows(code: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if output:
        assert done.stdout == output


@pytest.mark.parametrize("start", ["pip install", "python -m pytest"])
def test_ci_runs_the_commands_of_the_readme(start: str) -> None:
    command = next(line for line in COMMANDS if line.startswith(start))
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert any(re.fullmatch(rf'step "[^"]+" {re.escape(command)}', line) for line in ci)


def test_sections_that_are_linked_to_exist() -> None:
    for path, anchor in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", README):
        text = (ROOT / path).read_text() if path else README
        heads = [
            head.strip().lower().replace(" ", "-") for head in re.findall(r"^#+ (.*)$", text, re.M)
        ]
        assert anchor in heads, (path, anchor)


def test_links_and_paths_exist() -> None:
    paths = re.findall(r"\]\((?!http)([^)#]+)", README)
    paths += re.findall(r"`([\w./]+\.(?:py|yaml|jsonl|md))`", README)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_file_tree_is_complete() -> None:
    tree = README.split("## Files")[1].split("```")[1].splitlines()[1:]
    listed, folders = set(), [ROOT]
    for line in tree:
        depth = (len(line) - len(line.lstrip())) // 2
        path = folders[depth] / line.split()[0]
        folders[depth + 1 :] = [path]
        listed.add(path)
    assert [str(path) for path in listed if not path.exists()] == []
    files = {*ROOT.glob("nap_env/**/*.py"), *ROOT.glob("training/**/*.py")}
    unlisted = {path for path in files - listed if path.name != "__init__.py"}
    assert unlisted == set(), "a line each in README.md, Files"


def test_table_of_presets_is_that_of_the_code() -> None:
    assert table() in README


def test_table_of_the_observation_is_that_of_the_code() -> None:
    wanted = [f"| {field.name} | {field.size} | {field.meaning} |" for field in FIELDS]
    assert re.findall(r"^\| \w+ \| \d+ \| .*", README, re.M) == wanted
