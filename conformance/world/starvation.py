"""For how long a client had to wait for a processor: what it did late then says nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from regular_files import read_bytes, read_text

PROC = Path("/proc")
GROUP = 2
"""Of the fields that follow the name in /proc/PID/stat: the process group."""
WAITED = 1
"""Of the fields of schedstat: nanoseconds on a run queue."""


def starved(
    group: int, *, since: Mapping[str, int] = MappingProxyType({}), proc: Path = PROC
) -> float:
    """Seconds that the thread which waited longest for a processor did so.

    Args:
        group: the process group of the client.
        since: what `waited` returned at the beginning; else it counts from the threads' own.
        proc: where the kernel tells of processes. Where none does, nobody has waited.
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
