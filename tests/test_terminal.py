"""What commands say of their progress, and how they end, on terminals of all kinds."""

import io
import os
import re
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from nap_env import presets, records, terminal
from nap_env.command import COMMANDS
from nap_env.terminal import Progress, counted, run, tell

MODULES = [module for module, _ in COMMANDS.values()]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have progress told every hundredth of a second."""
    monkeypatch.setattr(terminal, "SECONDS_BETWEEN", 0.01)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("short")
def test_a_line_says_how_much_is_done_and_after_the_first_part_what_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress("measuring", 3000, "deals") as progress:
        time.sleep(0.05)
        progress.add(1000)
        time.sleep(0.05)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "measuring: 0 deals (0 %)"
    assert re.fullmatch(r"measuring: 1,000 deals \(33 %\), [\d,]+/s, 0:0\d left", lines[-1])


@pytest.mark.usefixtures("short")
def test_without_a_known_end_no_time_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("measuring", None, "deals") as progress:
        progress.add(4000)
        time.sleep(0.05)
    assert re.match(r"measuring: 4,000 deals, [\d,]+/s\n", capsys.readouterr().err)


def test_what_compiles_first_is_not_held_against_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(terminal, "perf_counter", lambda: now)
    progress = Progress("training", 5000, "decisions", done=1000)
    now = 20.0
    progress.add(1000)
    assert str(progress) == "2,000 decisions (40 %), 50/s, 1:00 left"
    now = 21.0
    progress.add(1000)
    assert str(progress) == "3,000 decisions (60 %), 1,000/s, 0:02 left"
    progress.add(2400)
    assert str(progress) == "5,400 decisions (100 %), 3,400/s, 0:00 left"


@pytest.mark.usefixtures("short")
def test_of_two_the_later_one_speaks(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("training", 1, "decisions"):
        with Progress("measuring", 1, "deals"):
            time.sleep(0.05)
        assert "training" not in capsys.readouterr().err
        time.sleep(0.05)
    assert "training" in capsys.readouterr().err


@pytest.mark.usefixtures("short")
def test_a_terminal_keeps_what_was_told_and_writes_over_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    for _ in counted(range(2), "w" * 100, "parts"):
        time.sleep(0.05)
    tell("done")
    told = screen.getvalue()
    assert told.endswith("done".ljust(terminal.WIDTH) + "\n") and told.count("\n") == 1
    assert {len(line) for line in told[:-1].split("\r")} == {terminal.WIDTH}


def test_nobody_need_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    tell("nobody reads this")


# Every command.


@pytest.mark.parametrize("module", MODULES)
def test_whoever_reads_may_stop(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run(import_module(module).main, ["--help"]) == 0
        assert not os.isatty(pipe.fileno())


@pytest.mark.parametrize("module", MODULES)
def test_both_spellings_are_run_so(module: str) -> None:
    source = Path(import_module(module).__file__ or "").read_text(encoding="utf-8")
    assert re.search(
        r'if __name__ == "__main__":\n    sys.exit\((terminal\.)?run\(main\)\)$', source
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_need_not_have_all_signs(
    encoding: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    screen = io.BytesIO()
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(screen, encoding, write_through=True)
        monkeypatch.setattr(sys, name, stream)
    assert run(presets.main, []) == run(presets.main, [*presets.PRESETS]) == 0
    told = screen.getvalue().decode(encoding)
    assert ("misère:" in told, "misere:" in told) == (encoding != "ascii", encoding == "ascii")
    tell("passer +12.3 ± 4.5")
    mark = "+-" if encoding == "ascii" else "±"
    assert screen.getvalue().decode(encoding).endswith(f"passer +12.3 {mark} 4.5\n")
    (tmp_path / "misère.jsonl").write_bytes(b"{}\n")
    assert run(records.main, ["check", str(tmp_path / "misère.jsonl")]) == 2
    screen.flush()


def test_ctrl_c_ends_a_command_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> int:
        raise KeyboardInterrupt

    assert run(main) == 130
    assert capsys.readouterr().err == "\nstopped\n"
