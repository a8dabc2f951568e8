"""Runs of training in processes of their own, forked from one that has loaded what takes long."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from training import ppo
from training.config import parse
from training.trainer import Trainer

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["training.ppo", "torch._dynamo"])


class Run:
    """`python -m training.ppo` with some arguments, begun at once.

    Args:
        arguments: of the command.
        room: bytes that a file may have, if not 0: then a write fails.
        dies: the write that has no room ends the process.
        as_nobody: it trains as another user.
    """

    def __init__(
        self, *arguments: object, room: int = 0, dies: bool = False, as_nobody: bool = False
    ) -> None:
        self._stderr, stderr = FORKS.Pipe(duplex=False)
        told = (stderr, list(map(str, arguments)), room, dies, as_nobody)
        self.process = FORKS.Process(target=_train, args=told)
        self.process.start()
        stderr.close()

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened, which must be before its end."""
        while not happened():
            assert self.process.exitcode is None
            time.sleep(0.002)

    def end(self) -> tuple[int | None, str]:
        """Wait for its end; return the exit status and what it has said as an error."""
        with open(self._stderr.fileno(), encoding="utf-8", closefd=False) as stderr:
            said = stderr.read()
        self.process.join(300)
        return self.process.exitcode, said


def has_logged(folder: Path, updates: int) -> bool:
    """Whether the log of a run tells of so many updates."""
    log = folder / "metrics.jsonl"
    return log.exists() and log.read_text("utf-8").count("\n") >= updates


def _train(
    stderr: Connection, arguments: list[str], room: int, dies: bool, as_nobody: bool
) -> None:
    os.dup2(stderr.fileno(), 2)
    stderr.close()
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    if as_nobody:
        Trainer(parse(arguments))  # loads what another user may not read
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
    if dies:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    ppo.main(arguments)
