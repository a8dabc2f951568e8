"""The tests of the game once more: with every index checked, and without the compiler."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_the_tests_pass_however_kernels_are_run(setting: str) -> None:
    tests = sorted(str(path) for path in FOLDER.glob("test_*.py") if path != Path(__file__))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *tests],
        env={**os.environ, setting: "1"},
        cwd=FOLDER.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
