"""What the documentation is given when it is built. CI runs this where mkdocs is installed."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from nap_env import nap_v0
from nap_env.command import COMMANDS
from nap_env.observation import FIELDS
from nap_env.presets import PRESETS, SOURCES

pytest.importorskip("mkdocs", reason="pip install -e .[docs]")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hook", ROOT / "docs" / "hook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_table_of_presets_has_all_of_them(hook: ModuleType) -> None:
    rows = cells(hook.presets())
    assert [(row[0], row[-1]) for row in rows] == [(f"`{n}`", SOURCES[n]) for n in PRESETS]
    standard = "three 3/3, misere 3/3, four 4/4, nap 10/5, wellington 10/10, blucher 10/20"
    assert rows[0][3] == standard


def test_table_of_the_observation_is_that_of_the_code(hook: ModuleType) -> None:
    assert cells(hook.fields()) == [[f.name, f"{f.size}", f.meaning] for f in FIELDS]


def test_every_command_is_described(hook: ModuleType) -> None:
    text = hook.commands()
    for name, (module, _) in COMMANDS.items():
        assert f"## nap {name}\n" in text and f"usage: python -m {module} " in text


def test_every_file_has_its_line(hook: ModuleType) -> None:
    text = hook.files()
    for path in (*ROOT.glob("nap_env/**/*.py"), *ROOT.glob("training/**/*.py")):
        section = text.split(f"## {path.parent.relative_to(ROOT)}\n")[1].split("\n## ")[0]
        assert f"| `{path.name}` | " in section


def test_every_table_has_its_place(hook: ModuleType) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    assert all(pages.count(f"{{{{ {name} }}}}") == 1 for name in hook.TABLES)
    assert nap_v0.__doc__ is not None and nap_v0.__doc__ in hook.page_of_nap_v0()


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        ("README.md", "[a](RULES.md#deal)", "[a](clauses.md#deal)"),
        ("README.md", "![t](docs/table.svg)", "![t](table.svg)"),
        ("README.md", "[l](LICENSE)", "l"),
        ("README.md", "[here](#there)", "[here](#there)"),
        ("docs/players.md", "[b](../benchmarks/README.md#training)", "[b](benchmarks.md#training)"),
        ("docs/api/games.md", "[r](../rules.md)", "[r](../rules.md)"),
        ("README.md", "[w](https://example.org/a.md)", "[w](https://example.org/a.md)"),
    ],
)
def test_links_lead_to_pages(hook: ModuleType, source: str, text: str, wanted: str) -> None:
    assert hook.linked(text, source) == wanted
