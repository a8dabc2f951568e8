"""The command `nap`, and what the commands say where an extra is not installed."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import training
from nap_env import __version__
from nap_env.command import COMMANDS, main

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_TRAINING = [name for name, (module, _) in COMMANDS.items() if module.startswith("training")]


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
"""A terminal that has no other signs."""


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


def nap(*arguments: str) -> list[str]:
    """Return `nap` as pip's script calls it: the current folder is not on the path."""
    called = f"import sys; sys.path[0] = {str(ROOT)!r}; sys.argv[0] = 'nap'"
    script = "from nap_env.command import main; sys.exit(main())"
    return [sys.executable, "-c", f"{called}; {script}", *arguments]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_both_spellings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, does = COMMANDS[name]
    helps = []
    for arguments in ([*nap(name), "--help"], [sys.executable, "-m", module, "--help"]):
        done = run(arguments, ROOT, **ASCII, COLUMNS="80")
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
        helps.append(" ".join(done.stdout.split()))
    assert f"nap {name} " in helps[0]
    assert helps[0].replace(f"nap {name} ", f"python -m {module} ")[:60] == helps[1][:60]
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert re.search(rf"^  {name} +{module} +{does}$", told, re.M)
    assert max(map(len, told.splitlines())) <= 80


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"nap_env {__version__}\n")


def test_a_command_that_there_is_not_is_refused() -> None:
    with pytest.raises(SystemExit) as end:
        main(["whist"])
    assert end.value.code == 2


def test_ctrl_c_ends_a_command_that_is_still_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    assert main(["train"]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr().err
    assert all(f"\n  {name} " in told for name in COMMANDS)


@pytest.mark.parametrize("command", [nap("presets"), [sys.executable, "-m", "nap_env.presets"]])
def test_whoever_reads_the_output_may_stop(command: list[str]) -> None:
    pipe = f"{shlex.join([*command, *['peep'] * 2000])} | head -1"
    done = run(["sh", "-c", pipe], ROOT, **ASCII)
    assert (done.stdout[:5], done.stderr) == ("peep,", "")


def test_status_of_the_command_is_that_of_its_module(tmp_path: Path) -> None:
    assert main(["presets", "peep"]) == 0
    assert run(nap("records", "check", "none.jsonl"), tmp_path).returncode == 2


def test_pip_installs_it() -> None:
    assert PROJECT["scripts"] == {"nap": "nap_env.command:main"}


@pytest.mark.parametrize("name", OF_TRAINING)
def test_a_folder_with_a_training_of_its_own_is_no_hindrance(name: str, tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "__init__.py").write_text("raise RuntimeError('of another project')")
    done = run(nap(name, "--help"), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


# Extras.


def test_what_training_needs_is_what_its_extra_installs() -> None:
    extra = {re.split("[>=<]", line)[0] for line in PROJECT["optional-dependencies"]["train"]}
    distributions = packages_distributions()
    needed = {distributions[name][0].lower() for name in training.NEEDED}
    assert needed == extra


@pytest.mark.parametrize("missing", ["torch", "tyro"])
@pytest.mark.parametrize("name", OF_TRAINING)
def test_a_missing_extra_is_told_in_a_line(name: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules[{missing!r}] = None")
    told = f'training needs {missing}: pip install "nap_env[train]"\n'
    module = [sys.executable, "-m", COMMANDS[name][0], "--help"]
    for command, line in ((nap(name, "--help"), f"nap {name}: {told}"), (module, told)):
        done = run(command, ROOT, PYTHONPATH=str(tmp_path))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_a_missing_extra_is_an_error_to_those_who_import(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; import training.evaluate"
    done = run([sys.executable, "-c", code], ROOT)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        'ModuleNotFoundError: training needs torch: pip install "nap_env[train]"'
    )


@pytest.mark.parametrize("name", ["play", "records", "presets", "warmup"])
def test_other_commands_need_no_extra(name: str, tmp_path: Path) -> None:
    blocked = "".join(f"sys.modules[{missing!r}] = None; " for missing in training.NEEDED)
    (tmp_path / "sitecustomize.py").write_text(f"import sys; {blocked}")
    done = run(nap(name, "--help"), ROOT, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
