"""How many scenarios run at once."""

from __future__ import annotations

import os

WORKERS_PER_CORE = 1.5
"""More workers than cores, as a scenario also waits; with two for each core the suite takes as long
and every scenario longer."""


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs() -> int:
    """How many scenarios run at once unless the user says otherwise, beside those that wait."""
    return max(2, round(WORKERS_PER_CORE * cores()))


def room_for(each: float | None) -> int | None:
    """How many clients that keep so much of a processor busy run well at once, if it is known."""
    return None if each is None else max(1, int(cores() / each))
