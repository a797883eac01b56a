"""The interface for progress reports during a run."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judging.evidence import Record
from conformance.judging.verdicts import BAD, Decision

Known = Callable[[str, Decision], bool]
"""A function that returns whether the baseline lists a failure of a scenario."""


def nobody_knows(_scenario: str, _decision: Decision) -> bool:
    """Return False: without a baseline, no failure is known."""
    return False


def has_new_failure(record: Record, known: Known) -> bool:
    """Return whether a scenario has a failure or an error that the baseline does not list."""
    return any(
        decision.verdict in BAD and not known(record.scenario, decision)
        for decision in record.decisions
    )


class Progress:
    """Receive the progress of a run; the console derives from this class."""

    def planned(self, count: int, what: str = "") -> None:
        """Receive the number of scenarios that will run; of more than before, what those do."""

    def finished(self, record: Record) -> None:
        """Receive the record of a finished scenario."""
