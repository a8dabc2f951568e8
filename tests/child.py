"""Running something in a forked child, which may die or hang without taking the tests with it."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

SECONDS = 120
"""A child that tries one thing for so long hangs."""

ROOM = 4 << 30
"""Bytes of memory that a child may ask for, so that none fills the machine."""

_told: Path | None = None
"""Where a child tells what it tries, and what has failed."""


def trying(what: str) -> None:
    """Tell what is tried next, in case that this process does not survive it."""
    if _told:
        _told.write_text(what, encoding="utf-8", errors="backslashreplace")


def in_child(action: Callable[[], object]) -> None:
    """Do something in a child.

    Raises:
        AssertionError: it failed, or the child died or hung; with what it tried last.
    """
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told")
        told.touch()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
            child = os.fork()
        if child == 0:
            _run(action, told)
        how = "failed"
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.time() - told.stat().st_mtime > SECONDS:
                how = f"hung for {SECONDS} s"
                os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        if os.WIFSIGNALED(ended[1]) and how == "failed":
            how = f"died of {signal.Signals(os.WTERMSIG(ended[1])).name}"
        assert ended[1] == 0, f"{how}: {told.read_text(encoding='utf-8')}"


def _run(action: Callable[[], object], told: Path) -> None:
    """Do it and end this process."""
    global _told
    _told = told
    status = 1
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, resource.RLIM_INFINITY))
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
        sys.stderr = open(os.devnull, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        action()
        status = 0
    except BaseException:
        trying(traceback.format_exc())
    finally:
        os._exit(status)
