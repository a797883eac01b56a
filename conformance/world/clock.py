"""The clock of one scenario: seconds since it began, and by how much the suite itself was late."""

from __future__ import annotations

import time

from conformance.judging.observations import Elapsed
from conformance.world.lateness import Lateness


class Clock:
    """Counts seconds since it was created; the runner enters `lateness` around the scenario."""

    def __init__(self) -> None:
        self.lateness = Lateness()
        self._began = time.monotonic()

    @property
    def began(self) -> float:
        """When the scenario started, by the suite's monotonic clock."""
        return self._began

    @property
    def now(self) -> float:
        """Seconds since the scenario began."""
        return time.monotonic() - self._began

    @property
    def late(self) -> float:
        """By how many seconds the suite was late at worst."""
        return round(self.lateness.worst, 3)

    def at(self, moment: float) -> float:
        """Convert a moment of ``time.monotonic`` to seconds since the scenario started."""
        return round(moment - self._began, 6)

    def is_past(self, moment: float, since: float) -> bool:
        """Return whether a moment of ``time.monotonic`` is at or after `since` (seconds)."""
        return moment - self._began >= since

    def elapsed(self, since: str, began: float, until: str, ended: float) -> Elapsed:
        """Return the time between two events, each in seconds since the scenario started."""
        return Elapsed(
            since=since, until=until, seconds=round(ended - began, 6), lateness=self.late
        )
