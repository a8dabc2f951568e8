"""The tests of this folder once more, with more tries and other ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_many_more_tries() -> None:
    """Half an hour, or as NAP_FUZZ_TRIES says."""
    tries = os.environ.get("NAP_FUZZ_TRIES", "4000")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(Path(__file__).parent)],
        env={**os.environ, "NAP_FUZZ_TRIES": tries, "CI": ""},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
