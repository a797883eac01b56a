"""For how long a client had to wait for a processor: what it did late then says nothing of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from regular_files import read_bytes, read_text

PROC = Path("/proc")
GROUP = 2
"""Of the fields that follow the name in /proc/PID/stat: the process group."""
WAITED = 1
"""Of the fields of schedstat: nanoseconds on a run queue."""


def starved(group: int, *, proc: Path = PROC) -> float:
    """Seconds that the thread which waited longest for a processor did so, since it began.

    Args:
        group: the process group of the client.
        proc: where the kernel tells of processes. Where none does, nobody has waited.
    """
    longest = 0
    for process in proc.glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            of = read_bytes(process / "stat").decode("utf-8", "replace").rpartition(")")[2].split()
            if int(of[GROUP]) == group:
                for thread in (process / "task").iterdir():
                    told = read_text(thread / "schedstat").split()
                    longest = max(longest, int(told[WAITED]))
    return longest / 1e9
