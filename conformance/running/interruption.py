"""Ends the command and all that it has started, at any moment.

Loads nothing but a little of the standard library, so that it is there before anything else.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

INTERRUPTED = 2


def end_at_once_when_told() -> None:
    """From now on SIGINT and SIGTERM leave nothing running, and exit code 2."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(_number: int, _frame: FrameType | None) -> None:
    end_everything_below()
    os._exit(INTERRUPTED)


def end_everything_below() -> None:
    """Kill workers, their clients and what those have started, in this order.

    Where there is no /proc, workers and clients end when their stdin does.
    """
    for pid in _below(os.getpid()):
        with suppress(OSError):
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGKILL)


def _below(ancestor: int) -> Iterator[int]:
    """The processes that descend from this one, parents first."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(path.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    generation = [ancestor]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, [])]
        yield from generation
