"""Trying things in a child process, which may die or hang without taking the tests with it."""

import os
import pickle
import resource
import select
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

SECONDS = 60
"""After so long a child hangs."""

ROOM = 4 << 30
"""Bytes of memory that a child may ask for; so nothing can fill the machine."""


class Outcome(NamedTuple):
    """What became of a try."""

    value: Any = None
    """What it returned."""
    error: str | None = None
    """What it raised, as `Type: text`,"""
    kinds: tuple[str, ...] = ()
    """and the names of that type and of its bases."""


def in_child(action: Callable[[], Any]) -> Outcome:
    """Do something in a forked child.

    Raises:
        AssertionError: the child died or hung, or an assertion in it failed.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        os.close(read)
        _report(action, write)
    os.close(write)
    told = b""
    while True:
        if not select.select([read], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            raise AssertionError(f"hangs: nothing after {SECONDS} s")
        part = os.read(read, 1 << 16)
        if not part:
            break
        told += part
    os.close(read)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise AssertionError(f"dies of {signal.Signals(os.WTERMSIG(status)).name}")
    outcome: Outcome = pickle.loads(told)
    if "AssertionError" in outcome.kinds and "OutOfBoundsError" not in outcome.kinds:
        raise AssertionError(outcome.error)
    return outcome


def _report(action: Callable[[], Any], write: int) -> None:
    """Do it, write the outcome into a pipe, and end this process."""
    try:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, resource.RLIM_INFINITY))
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the end
        try:
            outcome = Outcome(value=action())
            told = pickle.dumps(outcome)
        except BaseException as error:
            kinds = tuple(kind.__name__ for kind in type(error).__mro__)
            told = pickle.dumps(Outcome(error=f"{type(error).__name__}: {error}", kinds=kinds))
        while told:
            told = told[os.write(write, told) :]
    finally:
        os._exit(0)
