"""What the documentation is given when it is built: texts of the repository, tables of the code.

A page says `{{ NAME }}` where one of TABLES is to stand.
"""

import ast
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from nap_env import nap_v0
from nap_env.command import COMMANDS
from nap_env.observation import FIELDS
from nap_env.presets import PRESETS, summary

ROOT = Path(__file__).resolve().parent.parent
INCLUDED = {
    "README.md": "index.md",
    "RULES.md": "clauses.md",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Texts of the repository, and the pages that they become."""


def _markdown(*rows: tuple[str, ...]) -> str:
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *rest])


def presets() -> str:
    """Return the table of presets."""
    heads = ("preset", "players", "pack", "bids: chips won from / lost to each opponent", "source")
    return _markdown(heads, *((f"`{name}`", *summary(name)) for name in PRESETS))


def fields() -> str:
    """Return the table of the observation."""
    rows = ((field.name, f"{field.size}", field.meaning) for field in FIELDS)
    return _markdown(("field", "size", "meaning"), *rows)


def commands() -> str:
    """Return what `nap` offers, each command with its help."""
    parts = []
    for name, (module, does) in COMMANDS.items():
        command = [sys.executable, "-m", module, "--help"]
        environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        parts.append(f"## nap {name}\n\nTo {does}.\n\n```text\n{done.stdout.rstrip()}\n```")
    return "\n\n".join(parts)


def page_of_nap_v0() -> str:
    """Return what `help(nap_v0)` prints of the environment."""
    return f"```text\n{nap_v0.__doc__}```"


def files() -> str:
    """Return a table of each folder: its modules, and the first lines of their docstrings."""
    parts = []
    folders = sorted({path.parent for name in ("nap_env", "training", "benchmarks", "examples")
                      for path in (ROOT / name).rglob("*.py")})  # fmt: skip
    for folder in folders:
        rows = []
        for path in sorted(folder.glob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            assert text is not None, path
            rows.append((f"`{path.name}`", text.splitlines()[0]))
        parts.append(f"## {folder.relative_to(ROOT)}\n\n{_markdown(('file', 'what'), *rows)}")
    return "\n\n".join(parts)


TABLES: dict[str, Callable[[], str]] = {
    "presets": presets,
    "fields": fields,
    "commands": commands,
    "nap_v0": page_of_nap_v0,
    "files": files,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are texts of the repository."""
    for source, page in INCLUDED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=linked(text, source)))
    return files


def linked(text: str, source: str) -> str:
    """Return a text of the repository with its links as they are between the pages.

    What is no page is only named: it is in the repository.
    """
    here = posixpath.dirname(_page_of(source) or "")

    def turned(match: re.Match[str]) -> str:
        label, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        page = _page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))
        if not target:
            return match[0]
        return (
            f"{label}({posixpath.relpath(page, here or '.')}{anchor})"
            if page
            else label.lstrip("!")[1:-1]
        )

    return re.sub(r"(!?\[[^\]]*\])\((?!http)([^)#]*)(#[^)]*)?\)", turned, text)


def _page_of(path: str) -> str | None:
    """Return which page, or picture, a path of the repository is in the documentation."""
    return path.removeprefix("docs/") if path.startswith("docs/") else INCLUDED.get(path)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put the tables in; let a link to a text of the repository lead to its page."""
    text = re.sub(r"\{\{ (\w+) \}\}", lambda match: TABLES[match[1]](), markdown)
    if page.file.generated_by is None:
        text = linked(text, f"docs/{page.file.src_uri}")
    return text
