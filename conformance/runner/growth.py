"""More workers while processors are idle: a scenario that fails waits for its deadlines.

A client that does little of what it is asked keeps every worker waiting and no processor busy. So
workers are added as long as processors are idle and the suite is in time, and taken away when not.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from time import monotonic as now
from typing import Final, NamedTuple

from conformance import timing
from conformance.runner.jobs import cores

MOST_PER_CORE: Final = 32
"""Workers, with those that only wait. One whose scenarios all fail needs some 0.012 of a processor:
32 workers kept 0.4 of two processors busy, with a grpc-go that fails most scenarios."""

KEPT_FREE: Final = 0.25
"""What stays idle of each processor, for a burst of starts: the suite would be late."""

AT_ONCE: Final = 8
"""Workers to add from one sample to the next: their start takes processor time."""

LEAST_SHARE: Final = 0.02
"""What a worker is taken to need of a processor, even if all of them sleep for a while."""

MEMORY_LEFT: Final = 2 * 2**30
"""Bytes that stay available, or no worker is added: some eight workers with clients in Java."""

STAT, MEMINFO = Path("/proc/stat"), Path("/proc/meminfo")
IDLE, WAITING_FOR_DISK = 4, 5
"""Columns of the lines of /proc/stat, behind the name of the processor (proc_stat(5))."""


class Sample(NamedTuple):
    """For how long processors had been idle at a moment."""

    at: float
    """By the monotonic clock."""
    idle: float
    """Seconds, summed over the processors that this process may use."""


def growth(
    before: Sample, after: Sample, *, workers: int, left: int, late: float, processors: int
) -> int:
    """Return how many workers to add, or, below zero, to take away.

    Args:
        before: an earlier sample.
        after: the newest.
        workers: how many there are.
        left: scenarios that no worker has yet.
        late: by how many seconds the suite was late at worst in between.
        processors: those that the suite may use.
    """
    spare = (after.idle - before.idle) / (after.at - before.at)
    if late > timing.LATE / 4 or spare < processors * KEPT_FREE / 4:
        return -1
    needed = max((processors - spare) / workers, LEAST_SHARE)
    room = int((spare - processors * KEPT_FREE) / needed)
    most = min(MOST_PER_CORE * processors, left) - workers
    return max(0, min(room, AT_ONCE, most))


def sample() -> Sample | None:
    """Look at the processors; None if this system does not tell, or memory is short."""
    try:
        idle = _idle(
            STAT.read_text("utf-8"), {f"cpu{number}" for number in os.sched_getaffinity(0)}
        )
        available = _available(MEMINFO.read_text("utf-8"))
    except (AttributeError, OSError, ValueError):
        return None
    return Sample(now(), idle) if available > MEMORY_LEFT else None


def _idle(stat: str, names: Collection[str]) -> float:
    """Return the seconds for which processors of these names were idle, from /proc/stat.

    Raises:
        ValueError: the text has no such line.
    """
    rows = [line.split() for line in stat.splitlines()]
    ticks = [
        int(row[IDLE]) + int(row[WAITING_FOR_DISK]) for row in rows if row[:1] and row[0] in names
    ]
    if len(ticks) < len(names):
        raise ValueError(stat)
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def _available(meminfo: str) -> int:
    """Return the bytes that are available, from /proc/meminfo.

    Raises:
        ValueError: the text does not tell.
    """
    for line in meminfo.splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    raise ValueError(meminfo)


class Growing:
    """Decides as a run goes on.

    Args:
        enabled: False keeps the number of workers.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._before = sample() if enabled else None
        self._late = 0.0

    def was_late(self, seconds: float) -> None:
        """Note by how many seconds the suite was late in a scenario."""
        self._late = max(self._late, seconds)

    def change(self, *, workers: int, left: int) -> int:
        """Return how many workers to add, or, below zero, to take away, at most once a while."""
        if self._before is None or now() < self._before.at + timing.SAMPLED:
            return 0
        taken = sample()
        if taken is None:
            return 0
        by = growth(
            self._before, taken, workers=workers, left=left, late=self._late, processors=cores()
        )
        self._before, self._late = taken, 0.0
        return by
