"""How many scenarios run at once."""

from __future__ import annotations

import os

WORKERS_PER_CORE = 2
"""More workers than cores, as a scenario mostly waits for what its client has to give up.
On two cores, quiet: 75 s with three workers, 68 with four, 69 with five (python), and 81, 74 (go);
the suite is late by 0.4 s at most with four, by 0.5 with five."""


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs() -> int:
    """How many scenarios run at once unless the user says otherwise, beside those that wait."""
    return max(2, WORKERS_PER_CORE * cores())


def room_for(each: float | None) -> int | None:
    """How many clients that keep so much of a processor busy run well at once, if it is known."""
    return None if each is None else max(1, int(cores() / each))
