"""The alarm that ends a scenario which never does by itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from conformance import timing


class ScenarioTimeout(Exception):
    """A scenario did not end: a mistake of the suite."""


@contextmanager
def bounded() -> Iterator[None]:
    """Have what runs inside end in time, though it spin or wait for ever.

    Raises:
        Endless: it did neither end nor fail by itself.
    """

    def end(_number: int, _frame: object) -> None:
        raise ScenarioTimeout(
            f"the scenario went on for more than {timing.SCENARIO:g} s; please report it"
        )

    before = signal.signal(signal.SIGALRM, end)
    # Again each second: an event loop may keep the first to itself, if it hit another task.
    signal.setitimer(signal.ITIMER_REAL, timing.SCENARIO, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
