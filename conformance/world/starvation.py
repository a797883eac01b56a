"""For how long a client had to wait for a processor: what it did late then says nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from regular_files import read_bytes, read_text

PROC = Path("/proc")
GROUP = 2
"""The index of the process group among the fields that follow the name in /proc/PID/stat."""
WAITED = 1
"""The index of the nanoseconds on a run queue among the fields of schedstat."""


def starved(
    group: int, *, since: Mapping[str, int] = MappingProxyType({}), proc: Path = PROC
) -> float:
    """Return for how many seconds the most starved thread has waited for a processor.

    Args:
        group: the process group of the client.
        since: the earlier result of `waited`; by default it counts from each thread's start.
        proc: the mount point of procfs. Without procfs the result is 0.
    """
    found = waited(group, proc=proc)
    return max((time - since.get(thread, 0) for thread, time in found.items()), default=0) / 1e9


def waited(group: int, *, proc: Path = PROC) -> dict[str, int]:
    """Return the nanoseconds that each thread of a process group has waited for a processor."""
    found: dict[str, int] = {}
    for process in proc.glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            of = read_bytes(process / "stat").decode("utf-8", "replace").rpartition(")")[2].split()
            if int(of[GROUP]) == group:
                for thread in (process / "task").iterdir():
                    told = read_text(thread / "schedstat").split()
                    found[thread.name] = int(told[WAITED])
    return found
