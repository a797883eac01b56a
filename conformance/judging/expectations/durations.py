"""Expect a time between two events."""

from __future__ import annotations

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Elapsed, Observation


class Duration(TimeDependent, frozen=True, tag="takes", kw_only=True):
    """The time between two events lies between `least` and `most` seconds.

    Clauses: A42-FAIL-02, A42-FAIL-04, A42-FAIL-06, A42-FAIL-07, A42-FAIL-10, A42-PICK-22,
    A56-TIMER-01, A56-TIMER-02, A57-TIMER-01, A57-TIMER-04, A37-TROUBLE-24,
    A37-FAILOVER-03, A37-FAILOVER-04, A88-TIMER-01, A27-LRS-07, A27-LRS-08, A27-LRS-25,
    A27-LRS-27, A50-EJECT-07, A50-TIME-06.
    """

    least: float = 0.0
    most: float
    allowance: float
    """Seconds of lateness up to which the time is believed; beyond them a miss is doubtful."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh a time."""
        if not isinstance(seen, Elapsed):
            raise WrongKind(f"a time is expected here, not {type(seen).__name__}")
        wanted = f"{self.least:g} to {self.most:g} s from {seen.since} to {seen.until}"
        holds = self.least <= seen.seconds <= self.most
        saw = f"{seen.seconds:.3f} s (the suite was {seen.lateness:.3f} s late at worst)"
        late = seen.lateness > self.allowance
        return Finding(holds, wanted, saw, doubtful=late, seconds=seen.seconds)
