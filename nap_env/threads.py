"""Threads among which the games of a batch are shared out."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

from nap_env.rules import whole

MOST_THREADS = 1024
FEWEST_GAMES = 1024
"""In a part: with fewer of them a thread takes longer to wake up than to step them."""

_Result = TypeVar("_Result")


class Threads:
    """Threads that share calls of a kernel, the caller's own among them.

    A part of the games does not belong to a thread. A thread that another program keeps waiting
    leaves its parts to the others, and a step never waits for one that has not begun.
    """

    def __init__(self, threads: Any) -> None:
        """Start none yet.

        Raises:
            ValueError: not a number from 1 on.
        """
        self.count = whole("threads", threads, 1, MOST_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Threads, (self.count,)

    def parts(self, num_games: int) -> list[slice]:
        """Share out games: two parts for each thread, fewer of few games."""
        most = 1 if self.count == 1 else 2 * self.count
        count = max(1, min(most, num_games // FEWEST_GAMES))
        ends = [part * num_games // count for part in range(count + 1)]
        return [slice(start, end) for start, end in pairwise(ends)]

    def call(
        self, kernel: Callable[..., _Result], calls: Sequence[tuple[Any, ...]]
    ) -> list[_Result]:
        """Call a kernel with each of some tuples of arguments, and return all results.

        They come in any order.
        """
        left = deque(calls)
        results: list[_Result] = []

        def work(take: Callable[[], tuple[Any, ...]]) -> None:
            while True:
                try:
                    arguments = take()
                except IndexError:
                    return
                results.append(kernel(*arguments))

        # The caller begins at the front, the others at the back: so a part is mostly stepped where
        # it lies in the cache.
        helpers = [
            self._workers().submit(work, left.pop) for _ in range(min(self.count, len(calls)) - 1)
        ]
        try:
            work(left.popleft)
        finally:
            for helper in helpers:
                if not helper.cancel():
                    helper.result()
        return results

    def _workers(self) -> ThreadPoolExecutor:
        if self._pool is None or self._process != os.getpid():  # a fork has no threads
            self._process = os.getpid()
            self._pool = ThreadPoolExecutor(self.count - 1, "nap_env")
        return self._pool
