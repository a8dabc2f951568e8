import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType

import numba
import numpy as np
import pytest
from child import in_child

import nap_env
from nap_env.engine.cache import DiskCache
from nap_env.engine.kernel import kernel, prefetch, subroutine

ROOT = Path(nap_env.__file__).parent.parent
IGNORED = shutil.ignore_patterns("__pycache__")
compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="without the JIT")

# A kernel and what it is made of, in two files of a package of their own.
CALLER = """
from typing import NamedTuple
import numpy as np
from nap_env.engine.kernel import kernel
import package.helper as helper
from package.helper import FACTORS, PAIR, Point, emit, plus, scaled, twice
from package.other import UNUSED

@kernel
def ask(point, start=1):
    return twice(start) + FACTORS[1] + PAIR[1][0] + helper.NUMBER + emit() + plus(0) + point.x

def answer():
    return ask(Point(np.int64(100), np.int64(200)))
"""
HELPER = """
from typing import NamedTuple
import numpy as np
from numba import types
from nap_env.engine.kernel import compiled_as, kernel, subroutine

FACTORS = np.array([10, 20])
PAIR = (3, (4, 5))
NUMBER = 6
EMITTED = 7

class Point(NamedTuple):
    x: int
    y: int

def emit():
    return EMITTED

@compiled_as(emit)
def constant(context):
    def generate(context, builder, signature, arguments):
        return context.get_constant(types.int64, EMITTED)
    return types.int64(), generate

def adder(number):
    @kernel
    def add(x):
        return x + number
    return add

plus = adder(8)

@kernel
def scaled(x):
    return x * 2

@subroutine
def twice(x):
    '''Double a number.'''
    return scaled(x)
"""
OTHER = "UNUSED = 1\n"
FRESH = "2 + 20 + 4 + 6 + 7 + 8 + 100"


class Package:
    """The two files in a folder, which can be edited and run again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "package"
        self.folder.mkdir()
        for name, text in (
            ("__init__", ""), ("caller", CALLER), ("helper", HELPER), ("other", OTHER),
        ):  # fmt: skip
            (self.folder / f"{name}.py").write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / f"{name}.py"
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def caller(self) -> ModuleType:
        """Import the package as a new process would."""
        for name in [name for name in sys.modules if name.partition(".")[0] == "package"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module("package.caller")

    def run(self) -> tuple[int, int]:
        """Return what the kernel answers, and how many times its code came from disk."""
        caller = self.caller()
        return caller.answer(), sum(caller.ask.stats.cache_hits.values())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits are faster than a file's clock
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(DiskCache, "has_warned", False)
    yield Package(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "package"]:
        del sys.modules[name]


@compiled
@pytest.mark.parametrize(
    ("name", "old", "new", "change"),
    [
        ("helper", "x * 2", "x * 3", 1),
        ("helper", "return scaled(x)", "return scaled(x) + 1", 1),
        ("helper", "[10, 20]", "[10, 21]", 1),
        ("helper", "(4, 5)", "(5, 5)", 1),
        ("helper", "NUMBER = 6", "NUMBER = 7", 1),
        ("helper", "EMITTED = 7", "EMITTED = 8", 1),
        ("helper", "types.int64, EMITTED", "types.int64, EMITTED + 1", 1),
        ("helper", "adder(8)", "adder(9)", 1),
        ("helper", "x: int\n    y: int", "y: int\n    x: int", 100),
        ("caller", "start=1", "start=2", 2),
        ("helper", "@subroutine", "@kernel", 0),
    ],
)
def test_an_edit_of_what_a_kernel_depends_on_compiles_it_anew(
    package: Package, name: str, old: str, new: str, change: int
) -> None:
    assert package.run() == (eval(FRESH), 0)
    package.edit(name, old, new)
    assert package.run() == (eval(FRESH) + change, 0)
    assert package.run() == (eval(FRESH) + change, 1)


@compiled
def test_an_edit_of_anything_else_loads_what_was_compiled(package: Package) -> None:
    assert package.run() == (eval(FRESH), 0)
    package.edit("other", "1", "2")
    package.edit("helper", "Double a number.", "Multiply a number by two.")
    package.edit("helper", "FACTORS =", "ADDED = 5\n\n\ndef added():\n    pass\n\n\nFACTORS =")
    package.edit("caller", "@kernel\ndef ask", "# A comment.\n@kernel\ndef ask")
    package.edit("caller", "def answer():", "def answer(unused=0):")
    assert package.run() == (eval(FRESH), 1)


@compiled
def test_an_edit_leaves_no_old_code_behind(package: Package) -> None:
    package.run()
    files = list(package.folder.parent.rglob("*.nbc"))
    package.edit("helper", "x * 2", "x * 3")
    package.run()
    assert len(list(package.folder.parent.rglob("*.nbc"))) == len(files)


@compiled
@pytest.mark.parametrize("changed", ["numba", "llvmlite", "numpy", "BOUNDSCHECK"])
def test_other_versions_and_flags_have_code_of_their_own(
    package: Package, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    assert package.run() == (eval(FRESH), 0)
    with monkeypatch.context() as patch:
        if changed == "BOUNDSCHECK":
            patch.setattr(numba.config, "BOUNDSCHECK", not numba.config.BOUNDSCHECK)
        else:
            patch.setitem(sys.modules["nap_env.engine.cache"]._LIBRARIES, changed, "0.0")
        assert package.run() == (eval(FRESH), 0)
        assert package.run() == (eval(FRESH), 1)
    assert package.run() == (eval(FRESH), 1)


@compiled
@pytest.mark.parametrize("damage", [b"", b"\0" * 1000, None])
def test_a_damaged_file_is_compiled_anew(package: Package, damage: bytes | None) -> None:
    package.run()
    for path in package.folder.parent.rglob("*.nbc"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert package.run() == (eval(FRESH), 0)
    assert package.run() == (eval(FRESH), 1)


@compiled
def test_where_nothing_can_be_written_a_single_warning_names_the_variable(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package.folder / "file").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(package.folder / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as warned:
        assert package.run() == (eval(FRESH), 0)
        assert package.run() == (eval(FRESH), 0)
    assert len(warned) == 1


def run(
    program: str,
    folder: Path,
    command: Sequence[str] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return what a Python program prints, errors and warnings too, in a fresh process."""
    ended = subprocess.run(
        [*command, sys.executable, "-c", program],
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        | environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


ASK = """
from package.caller import answer, ask
print(answer(), sum(ask.stats.cache_hits.values()))
"""


@compiled
def test_every_kernel_has_the_same_recipe_in_each_process_and_place(tmp_path: Path) -> None:
    """What differs by chance, such as an address, would be compiled at each start."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in ("nap_env", "training")
        for path in sorted((ROOT / name).rglob("*.py"))
        if "import kernel" in path.read_text(encoding="utf-8")
    ]
    program = f"""
import importlib
from numba.core.dispatcher import Dispatcher
for name in {modules}:
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, Dispatcher) and value.__module__ == name:
            print(value.__qualname__, value._cache.recipe)
"""
    for name in ("nap_env", "training"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in tmp_path.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text("# A comment.\n" + text, encoding="utf-8")
    recipes = run(program, ROOT)
    assert run(program, tmp_path) == recipes
    assert len(recipes.splitlines()) > 200


@compiled
def test_a_package_keeps_its_code_when_it_is_moved(package: Package, tmp_path: Path) -> None:
    assert run(ASK, tmp_path) == f"{eval(FRESH)} 0\n"
    package.folder.rename(tmp_path / "moved")
    (tmp_path / "place").mkdir()
    (tmp_path / "moved").rename(tmp_path / "place" / "package")
    assert run(ASK, tmp_path / "place") == f"{eval(FRESH)} 1\n"


@compiled
def test_eight_processes_at_once_compile_the_right_code(package: Package, tmp_path: Path) -> None:
    program = """
import sys
import numpy as np
from package.helper import twice
kinds = [np.int8, np.int64, np.float32, np.float64]
for kind in kinds[int(sys.argv[1]) % 4:] + kinds:
    print(twice(kind(21)) == 42 and twice(kind(21)).__class__.__name__)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(number)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(8)
    ]
    said = [process.communicate()[0].splitlines() for process in processes]
    assert all(lines[-4:] == ["int", "int", "float", "float"] for lines in said), said
    assert not [path for path in tmp_path.rglob("*.nbc.*")]
    program += "print(sum(twice.stats.cache_hits.values()))"
    flags = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    told = run(program.replace("sys.argv[1]", "0"), tmp_path, environment=flags)
    assert told.splitlines()[-1] == "4"


@compiled
def test_no_space_while_code_is_written_costs_only_the_code(
    package: Package, tmp_path: Path
) -> None:
    """With Numba's own cache the index would name the file of the code before the edit."""
    resource = pytest.importorskip("resource")
    full = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, {resource.RLIM_INFINITY}))
"""
    environment = {"XDG_CACHE_HOME": str(tmp_path / "user")}
    assert run(ASK, tmp_path, environment=environment) == f"{eval(FRESH)} 0\n"
    package.edit("helper", "x * 2", "x * 3")
    said = run(full + ASK, tmp_path, environment=environment)
    assert said.startswith(f"{eval(FRESH) + 1} 0\n")
    assert said.count("File too large") and said.count("NUMBA_CACHE_DIR") == 1
    assert not [path for path in tmp_path.rglob("*.nbc.*")]
    assert run(ASK, tmp_path, environment=environment) == f"{eval(FRESH) + 1} 0\n"
    assert run(ASK, tmp_path, environment=environment) == f"{eval(FRESH) + 1} 1\n"


SOMEBODY = ["--reuid=54321", "--regid=54321", "--clear-groups"]
READER = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]


@pytest.fixture
def somebody() -> list[str]:
    """The start of a command that runs as a user who may read all of root's files, write none."""
    if os.name != "posix":
        pytest.skip("folders are made read-only in POSIX's way")
    if os.geteuid() != 0:
        return []  # is somebody already
    command = ["setpriv", *SOMEBODY, *READER]
    if not shutil.which("setpriv") or subprocess.run([*command, "true"]).returncode:
        pytest.skip("root cannot become another user here: setpriv is missing or not allowed")
    return command


@compiled
def test_another_user_without_a_home_plays_from_a_read_only_install(somebody: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(ROOT / "nap_env", folder / "nap_env", ignore=IGNORED)
        package = Package(folder)
        play = "import nap_env.nap_v0\n" + ASK
        home = {} if somebody else {"HOME": "/nowhere"}  # unset, a user's home is still known
        chmod(folder, 0o555)
        for _ in range(2):
            said = run(play, folder, somebody, environment=home)
            assert said.startswith(f"{eval(FRESH)} 0\n")
            assert said.count("NUMBA_CACHE_DIR") == 1
        chmod(folder, 0o755)
        assert run(play, folder) == f"{eval(FRESH)} 0\n", "the owner can write"
        chmod(folder, 0o555)
        assert run(play, folder, somebody) == f"{eval(FRESH)} 1\n", "the other can read it"
        chmod(folder, 0o755)
        package.edit("helper", "x * 2", "x * 3")
        chmod(folder, 0o555)
        with tempfile.TemporaryDirectory() as cache:
            Path(cache).chmod(0o777)
            for hits in (0, 1):
                said = run(play, folder, somebody, environment={"NUMBA_CACHE_DIR": cache})
                assert said == f"{eval(FRESH) + 1} {hits}\n"
        chmod(folder, 0o755)


def chmod(folder: Path, mode: int) -> None:
    """Let only the owner write in a folder and those within it, or not even the owner."""
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(mode)


@compiled
def test_the_package_works_from_a_zip(tmp_path: Path) -> None:
    package = Package(tmp_path)
    with zipfile.ZipFile(tmp_path / "nap.zip", "w") as file:
        for path in sorted((ROOT / "nap_env").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, path.relative_to(ROOT))
        for path in sorted(package.folder.rglob("*.py")):
            file.write(path, path.relative_to(tmp_path))
    (tmp_path / "empty").mkdir()
    play = (
        "from nap_env import agents, nap_v0\n"
        "assert '.zip' in nap_v0.__file__\n"
        "agents.make('ppo-standard-4')\n"
    ) + ASK
    environment = {
        "PYTHONPATH": str(tmp_path / "nap.zip"),
        "XDG_CACHE_HOME": str(tmp_path / "user"),
    }
    deal = "from nap_env.play import main; main('--watch --opponents ppo-standard-4'.split())"
    assert "chips after 1 deal" in run(deal, tmp_path / "empty", environment=environment)
    for hits in (0, 1):
        said = run(play, tmp_path / "empty", environment=environment)
        assert said == f"{eval(FRESH)} {hits}\n"


def test_without_the_jit_numbers_wrap_round_and_numpy_warns_of_others() -> None:
    program = """
import warnings
import numpy as np
from nap_env import Batch
from nap_env.engine.state import popcount
from nap_env.agents import make
warnings.simplefilter("error")
games = Batch(num_games=2, seed=0)
agents = [make(name, games.rules, 4) for name in ("heuristic", "pimc-1", "ppo-standard-4")]
for _ in range(30):
    actions = [agent(games, np.arange(2)) for agent in agents]
    games.step(actions[2])
try:
    np.int64(2**62) * np.int64(2)
except RuntimeWarning:
    print(popcount(np.int64(2**62 - 1)))
"""
    assert run(program, ROOT, environment={"NUMBA_DISABLE_JIT": "1"}) == "62\n"


@compiled
def test_only_what_python_calls_is_compiled_for_it(package: Package) -> None:
    package.run()
    (file,) = package.folder.parent.rglob("*.nbc")
    assert file.name.startswith("caller.ask-")


LONG_WAIT = """
from nap_env.engine.compiler import _Start
_Start.patience = 0.0
"""


@compiled
def test_a_long_wait_is_told_once_and_only_when_something_is_compiled(
    package: Package, tmp_path: Path
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "user")}
    again = "from package.helper import Point\nprint(ask(Point(1.5, 2)))"
    said = run(LONG_WAIT + ASK + again, tmp_path, environment=environment)
    assert said.count("nap_env: kernels are compiled") == 1
    assert run(ASK, tmp_path, environment=environment) == f"{eval(FRESH)} 1\n"


AT_ONCE = """
import warnings
from nap_env.engine.compiler import at_once
warnings.simplefilter("error")
from nap_env.engine.state import popcount
from package.caller import answer, ask
with at_once(1000):
    print(answer(), popcount(-2), sum(ask.stats.cache_hits.values()), len(ask.signatures))
"""


@compiled
def test_at_once_runs_what_is_not_on_disk_in_python_and_loads_the_rest(
    package: Package, tmp_path: Path
) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(AT_ONCE, tmp_path, environment=environment) == f"{eval(FRESH)} 63 0 0\n"
    assert not list(tmp_path.rglob("*.nbc"))
    for patience, hits in ((0, 0), (1000, 1)):
        program = AT_ONCE.replace("1000", str(patience))
        said = run(program, tmp_path, environment=environment)
        assert said == f"{eval(FRESH)} 63 {hits} 1\n"


@compiled
@pytest.mark.parametrize("agent", ["heuristic", "pimc-2", "ppo-standard-4"])
def test_a_deal_is_watched_at_once_and_is_the_same_deal(tmp_path: Path, agent: str) -> None:
    watch = f"from nap_env.play import main\nmain('--watch --seed 1 --opponents {agent}'.split())"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    said = run("import warnings\nwarnings.simplefilter('error')\n" + watch, ROOT, (), environment)
    assert not list(tmp_path.rglob("*.nbc"))
    assert run(watch.replace("main(", "main.__wrapped__("), ROOT).startswith(said)


@compiled
def test_functions_that_numba_compiles_in_its_own_way_may_call_kernels(package: Package) -> None:
    caller = package.caller()
    ask, point = caller.ask, caller.Point(1, 2.5)
    assert numba.njit(lambda point: ask(point) + ask(point, 2))(point) == 2 * ask(point) + 2


@compiled
def test_parts_share_what_they_are_made_of() -> None:
    """`low` is used by what is linked first and, as nothing of it is left there, needed again."""
    low = kernel(lambda x: min(x, 3))
    middle = kernel(lambda x: low(x) * 0 + x)
    high = subroutine(lambda x: low(x) + middle(x))
    assert kernel(lambda x: middle(x) + high(x))(5) == 5 + 3 + 5
    assert numba.njit(lambda x: middle(x) + high(x))(5) == 5 + 3 + 5


@subroutine
def factorial(number):
    return 1 if number <= 1 else number * factorial(number - 1)


@subroutine
def is_even(number):
    return number == 0 or is_odd(number - 1)


@subroutine
def is_odd(number):
    return number != 0 and is_even(number - 1)


@compiled
def test_functions_that_numba_compiles_in_its_own_way_share_no_code_with_kernels() -> None:
    """In a kernel that was optimised, what others would call may lack arguments."""

    def call() -> None:
        assert kernel(lambda number: factorial(number) + 1)(4) == 25
        assert numba.njit(lambda number: factorial(number))(4) == 24

    in_child(call)


@compiled
def test_kernels_that_call_themselves_by_way_of_others_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="is_odd: calls itself by way of another"):
        is_even(4)


@compiled
def test_what_is_needed_soon_is_loaded_ahead_and_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # code from disk tells nothing

    @kernel
    def look_ahead(rows):
        for row in range(len(rows) + 1000):
            prefetch(rows, row, 64)

    rows = np.arange(64).reshape(4, 16)
    look_ahead(rows)
    assert np.array_equal(rows, np.arange(64).reshape(4, 16))
    (code,) = look_ahead.inspect_asm().values()
    assert "prefetch" in code
