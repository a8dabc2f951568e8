"""How commands speak with whoever called them: their errors, their progress, their end."""

import argparse
import codecs
import os
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from threading import Event, Thread
from time import perf_counter
from types import TracebackType
from typing import Any, NoReturn, Self, TextIO, TypeVar

from nap_env.words import did_you_mean

_Item = TypeVar("_Item")

WIDTH = 79
"""Columns of a line that is written over: one that fills a terminal of 80 would begin another."""

SECONDS_BETWEEN = 5.0
"""Between two lines of progress."""

SECONDS_OF_SILENCE = 2.0
"""Before a line about long work whose end nobody knows."""


def run(main: Callable[..., int | None], *arguments: Any, **named: Any) -> int:
    """Run a command on whatever terminal there is, and return its exit status.

    What the terminal has no signs for is written in simpler ones, as `misere`. Whoever reads the
    output may stop, and Ctrl-C ends the command without a traceback.
    """
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, _SIMPLER), (sys.stderr, _SIMPLER)):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=errors)
    try:
        try:
            return main(*arguments, **named) or 0
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _leave_unread(sys.stdout)
        return 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


_SIMPLER = "nap_env.simpler"


def _simpler(error: UnicodeError) -> tuple[str, int]:
    """Return signs of ASCII in place of others: letters without accents, +- for ±."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].replace("±", "+-")
    letters = unicodedata.normalize("NFKD", text.replace("æ", "ae"))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(_SIMPLER, _simpler)


def _leave_unread(stream: TextIO) -> None:
    """Let what is still to be written go nowhere, instead of failing at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Help that tells defaults which say something, and leaves names with hyphens whole."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if default is None or default is False:
            return action.help
        if isinstance(default, list):
            return f"{action.help} (default: {' '.join(default)})"
        return super()._get_help_string(action)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """A parser that says which option was meant by one that there is not."""

    def __init__(self, *, formatter_class: Any = _Help, **settings: Any) -> None:
        super().__init__(formatter_class=formatter_class, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read a command line, of which everything must be known."""
        told, unknown = super().parse_known_args(args, namespace)
        if unknown:
            meant = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return told, unknown

    def refuse(self, error: Exception) -> NoReturn:
        """End the command with status 2 and an error's text."""
        self.exit(2, f"{self.prog}: {error}\n")


class Progress:
    """How far a command is, told on standard error every few seconds, whoever reads it.

    On a terminal the next line is written over such a line; what is told with `tell` stays. Of two
    that go on at a time, the one that began later speaks.
    """

    def __init__(self, what: str, total: int | None, unit: str, *, done: int = 0) -> None:
        """Begin, with so much done before.

        Args:
            what: is done, as it stands before the numbers.
            total: units until the end; None if nobody knows.
            unit: of what is counted.
            done: of them, before this.
        """
        self.done = done
        self._what, self._total, self._unit = what, total, unit
        self._begun = (perf_counter(), done)
        self._first: tuple[float, int] | None = None  # when the first part was done
        self._ended = Event()
        self._thread = Thread(target=self._tell_now_and_then, daemon=True)

    def __enter__(self) -> Self:
        _going_on.append(self)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        _going_on.remove(self)
        if _is_terminal():
            _write(f"{'':{WIDTH}}\r")

    def add(self, count: int) -> None:
        """Count so many units."""
        self.done += count
        if self._first is None:
            self._first = (perf_counter(), self.done)

    @property
    def rate(self) -> float:
        """Units a second; without those of the first part, which may compile, if there are more."""
        time, before = self._begun
        if self._first and self.done > self._first[1]:
            time, before = self._first
        return (self.done - before) / max(perf_counter() - time, 1e-9)

    @property
    def share(self) -> str:
        """How much is done, in percent."""
        return f"{min(100, 100 * self.done // max(self._total or 0, 1))} %"

    def __str__(self) -> str:
        parts = [f"{self.done:,} {self._unit}"]
        if self._total is not None:
            parts[0] += f" ({self.share})"
        if self._first:
            parts.append(f"{self.rate:,.0f}/s" if self.rate >= 10 else f"{self.rate:.2f}/s")
            if self._total is not None and self.rate:
                seconds = max(self._total - self.done, 0) / self.rate
                parts.append(f"{_clock(seconds)} left")
        return ", ".join(parts)

    def _tell_now_and_then(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN):
            if _going_on[-1] is not self:
                continue
            line = f"{self._what}: {self}"
            _write(f"{line[:WIDTH]:{WIDTH}}\r" if _is_terminal() else f"{line}\n")


_going_on: list[Progress] = []


def tell(text: str) -> None:
    """Write a line to standard error that stays there; it is no error if nobody reads it."""
    _write(f"{text:{WIDTH if _is_terminal() else 0}}\n")


class NowAndThen:
    """Lines on standard error about long work, one every few seconds at most."""

    def __init__(self) -> None:
        """Say nothing yet."""
        self._said = perf_counter()

    def __call__(self, text: str) -> None:
        """Say a line, if it is time for one."""
        if perf_counter() - self._said > SECONDS_OF_SILENCE:
            tell(text)
            self._said = perf_counter()


def counted(items: Collection[_Item], what: str, unit: str) -> Iterator[_Item]:
    """Go through items and tell how far."""
    with Progress(what, len(items), unit) as progress:
        for item in items:
            yield item
            progress.add(1)


def _clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds: 1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_terminal() -> bool:
    """Return whether somebody watches standard error."""
    return bool(sys.stderr) and not sys.stderr.closed and sys.stderr.isatty()


def _write(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # nobody reads it, or it is closed or none
        sys.stderr.write(text)
        sys.stderr.flush()
