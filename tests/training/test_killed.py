"""Runs that are killed, whose disk fills up, or whose folder is not theirs: nothing is lost."""

import os
import random
import shutil
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
import yaml
from training_runs import Run, has_logged

from training.checkpoint import load_log, load_state, load_weights

FEW = int(os.environ.get("NAP_KILLS", "1"))
MANY = int(os.environ.get("NAP_KILLS", "20"))
"""Kills, in CI and in the slow run."""

kills = pytest.mark.parametrize("kills", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])

ARGUMENTS = (
    "--rules mini_3p --players 3 --num-games 16 --minibatches 1 --threads 1 --hidden 16 "
    "--eval-sets 20 --eval-times 2 --against passer --branch-share 0.2 --save-every 1"
).split()
LENGTH, UPDATES = 40_000, 400
"""Decisions of a run, and about how many updates they are, with a checkpoint after each."""


def go_on(folder: Path, room: int = 0, dies: bool = False) -> Run:
    begins = not (folder / "state.pt").exists()
    to = [*ARGUMENTS, "--run-dir", folder] if begins else ["--resume", folder]
    return Run(*to, "--total-decisions", LENGTH, room=room, dies=dies)


def finish(folder: Path) -> None:
    status, said = go_on(folder).end()
    assert status == 0, said


def updates_in(folder: Path) -> int:
    """Load every file of a run; return how many updates it has behind it."""
    for path in folder.rglob("*.safetensors"):
        load_weights(path)
    state = load_state(folder / "state.pt")
    assert yaml.safe_load((folder / "config.yaml").read_bytes())["hidden"] == [16]
    if (folder / "metrics.jsonl").exists():
        assert len(load_log(folder / "metrics.jsonl")) >= state["trainer"]["updates"] - 1
    return int(state["trainer"]["updates"])


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The state of a run that nothing has stopped, at its end."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    finish(folder)
    return load_state(folder / "state.pt")


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has been stopped after some updates."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    run = go_on(folder)
    run.wait_until(lambda: has_logged(folder, updates=5))
    run.process.terminate()
    assert run.end()[0] == 0 and updates_in(folder) > 0
    return folder


def assert_nothing_is_lost(folder: Path, straight: dict[str, object]) -> None:
    """Go on to the end: the run must be what it would have been without any stop."""
    finish(folder)
    ended = load_state(folder / "state.pt")
    assert plain(ended["trainer"]) == plain(straight["trainer"])
    decisions = [line["decisions"] for line in load_log(folder / "metrics.jsonl")]
    assert len(decisions) == len(set(decisions)) == ended["trainer"]["updates"]


def too_little(begun: Path) -> int:
    """Bytes that a state fits into, and the log of a whole run does not."""
    return int(1.2 * (begun / "state.pt").stat().st_size)


def plain(value: object) -> object:
    """Tensors as bytes, so that states can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "config"}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.numpy().tobytes() if hasattr(value, "numpy") else value


@kills
def test_a_run_that_is_killed_at_any_moment_goes_on(
    tmp_path: Path, straight: dict[str, object], kills: int
) -> None:
    folder, chance, done = tmp_path / "run", random.Random(kills), 0
    for _ in range(kills):
        run = go_on(folder)
        then = done + chance.randrange(1, UPDATES // (2 * kills))
        run.wait_until(partial(has_logged, folder, then))
        time.sleep(chance.uniform(0, 0.01))  # an update and its checkpoint take less
        run.process.kill()
        assert run.end()[0] == -signal.SIGKILL
        assert updates_in(folder) >= done
        done = updates_in(folder)
    assert_nothing_is_lost(folder, straight)


@kills
def test_a_run_that_dies_within_a_write_goes_on(
    tmp_path: Path, begun: Path, straight: dict[str, object], kills: int
) -> None:
    folder, chance, done = tmp_path / "run", random.Random(kills), updates_in(begun)
    shutil.copytree(begun, folder)
    for _ in range(kills):
        room = chance.randrange(1, too_little(begun))
        status, said = go_on(folder, room=room, dies=True).end()
        assert status == -signal.SIGXFSZ, said
        assert updates_in(folder) >= done
        done = updates_in(folder)
    assert_nothing_is_lost(folder, straight)


@kills
def test_a_run_whose_disk_is_full_says_so_and_goes_on(
    tmp_path: Path, begun: Path, straight: dict[str, object], kills: int
) -> None:
    folder, chance, done = tmp_path / "run", random.Random(kills), updates_in(begun)
    shutil.copytree(begun, folder)
    for _ in range(kills):
        room = chance.randrange(1, too_little(begun))
        status, said = go_on(folder, room=room).end()
        assert status in (1, 2), said
        assert f"File too large: '{folder}" in said and "give it room" in said
        assert not list(folder.rglob("*.new"))
        assert updates_in(folder) >= done
        done = updates_in(folder)
    assert_nothing_is_lost(folder, straight)


@pytest.mark.parametrize("resumes", [False, True])
def test_a_folder_of_somebody_else_is_told(begun: Path, resumes: bool) -> None:
    with tempfile.TemporaryDirectory() as place:  # unlike tmp_path, others may look into it
        Path(place).chmod(0o755)
        folder = Path(place, "run")
        shutil.copytree(begun, folder)
        folder.chmod(0o555)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        to = ["--resume", folder] if resumes else [*ARGUMENTS, "--run-dir", folder / "new"]
        status, said = Run(*to, "--total-decisions", LENGTH, as_nobody=True).end()
        assert status == 2, said
        assert f"Permission denied: '{folder}" in said and "give it room and rights" in said
        assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        folder.chmod(0o755)
