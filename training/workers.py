"""Who measures: threads of this process, and other processes that `torchrun` has started."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from training.team import Team  # at run time only where torchrun calls: it brings torch

_Desk = TypeVar("_Desk")


def cores() -> int:
    """Return how many cores this process may use, its share where torchrun started several."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))


@dataclass(frozen=True)
class Job(Generic[_Desk]):
    """Something to do at a desk: whose desk it is makes no difference to the result."""

    do: Callable[[_Desk], Any]
    deals: int  # that it takes


class Workers(Generic[_Desk]):
    """Threads, each at a desk of its own, which share jobs with those of the other processes."""

    def __init__(self, desks: Sequence[_Desk], team: "Team | None" = None) -> None:
        """Hire one for each desk.

        Args:
            desks: what a job needs for itself.
            team: the processes; each must ask for the same jobs.
        """
        self._free: SimpleQueue[_Desk] = SimpleQueue()
        for desk in desks:
            self._free.put(desk)
        self._count = len(desks)
        self._team = team

    def results(self, jobs: Sequence[Job[_Desk]], add: Callable[[int], None]) -> Iterator[Any]:
        """Yield the results of jobs, in their order.

        Args:
            jobs: to be done.
            add: is called with the number of deals that have been done since.
        """
        rank, size = (self._team.rank, self._team.size) if self._team else (0, 1)
        mine = jobs[rank::size]
        own = self._own_results(mine)
        if not self._team:
            for job, result in zip(mine, own, strict=True):
                add(job.deals)
                yield result
            return
        results = []
        for job, result in zip(mine, own, strict=True):
            add(size * job.deals)
            results.append(result)
        of_all = self._team.gather_objects(results)
        for place in range(len(jobs)):
            yield of_all[place % size][place // size]

    def _own_results(self, jobs: Sequence[Job[_Desk]]) -> Iterator[Any]:
        if self._count == 1:
            yield from map(self._do, jobs)
            return
        with ThreadPool(self._count) as pool:  # daemons: Ctrl-C does not wait for their kernels
            yield from pool.imap(self._do, jobs)

    def _do(self, job: Job[_Desk]) -> Any:
        desk = self._free.get()
        try:
            return job.do(desk)
        finally:
            self._free.put(desk)
