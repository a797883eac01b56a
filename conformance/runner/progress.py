"""What is told while a run goes on, and what it is told to."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision

Known = Callable[[str, Decision], bool]
"""Whether a failure is known, by its scenario and what was seen there."""


def nobody_knows(_scenario: str, _decision: Decision) -> bool:
    """That of a client without a baseline."""
    return False


class Progress:
    """What is told while a run goes on; the console derives from it."""

    def planned(self, count: int) -> None:
        """So many scenarios will run."""

    def finished(self, record: Record) -> None:
        """A scenario is over."""
