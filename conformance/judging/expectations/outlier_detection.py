"""Expect which endpoints requests no longer reach because they are ejected (A50)."""

from __future__ import annotations

from collections import Counter

from conformance.judging.expectations.durations import Duration
from conformance.judging.expectations.finding import (
    BINOMIAL_BOUNDS,
    Finding,
    calls_of,
    counts_text,
)
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Observation
from conformance.spec.oracles.outlier_detection import (
    Detection,
    Results,
    ejection_seconds,
    ejections,
)
from conformance.spec.oracles.statistics import interval


class EjectsOutliers(TimeDependent, frozen=True, tag="ejects_outliers"):
    """Calls reach each endpoint but those that a sweep ejects, whatever their statuses.

    Clauses: A50-COUNT-01, A50-COUNT-02, A50-CONFIG-04, A50-CONFIG-05, A50-CONFIG-06, A50-XDS-01,
    A50-XDS-02, A50-XDS-03, A50-XDS-04, A50-XDS-05, A50-XDS-06, A50-XDS-07, A50-RATE-01,
    A50-RATE-02, A50-RATE-03, A50-RATE-04, A50-RATE-05, A50-RATE-06, A50-FAIL-01,
    A50-FAIL-02, A50-FAIL-03, A50-FAIL-04, A50-FAIL-05, A50-MAX-01, A50-MAX-02, A50-MAX-03.
    """

    detection: Detection
    results: dict[str, Results]
    """The calls of the interval before, by endpoint; each endpoint of the cluster is there."""
    connected: tuple[str, ...]
    """The endpoints that calls can reach."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        expected = ejections(self.detection, self.results)
        calls = calls_of(seen)
        reached = Counter(call.endpoint or call.status for call in calls)
        ready = set(self.connected)
        missing = ready - reached.keys()
        holds = (
            reached.keys() <= ready
            and missing <= expected.outliers
            and len(missing) == expected.count
        )
        wanted = "calls at every endpoint"
        if expected.count:
            which = ", ".join(sorted(expected.outliers))
            wanted += f" but {expected.count} of these: {which}"
        return Finding(holds, wanted, counts_text(reached), oracle="A50's algorithms, in fractions")


class EjectsByChance(TimeDependent, frozen=True, tag="ejects_by_chance"):
    """Calls do not reach some of these outliers, and as many as one sweep draws at most.

    Clauses: A50-ENFORCE-01, A50-ENFORCE-02.
    """

    outliers: tuple[str, ...]
    percentage: int
    """The enforcement: the chance, in percent, that an outlier is ejected."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        reached = {call.endpoint for call in calls_of(seen)}
        missing = sum(address not in reached for address in self.outliers)
        most = interval(len(self.outliers), self.percentage / 100).high
        wanted = f"1 to {most} of {len(self.outliers)} outliers without calls"
        return Finding(1 <= missing <= most, wanted, f"{missing} of them", BINOMIAL_BOUNDS)


class EjectionLasts(TimeDependent, frozen=True, tag="ejection_lasts"):
    """An ejection of an endpoint lasts as long as the number of ejections says.

    It begins at a sweep after the last call, and ends at the first sweep after the ejection time.

    Clauses: A50-TIME-01, A50-TIME-02, A50-TIME-03, A50-TIME-04, A50-TIME-05, A50-TIME-07,
    A50-CONFIG-02.
    """

    detection: Detection
    times: int
    allowance: float
    """Seconds of lateness of the client and the suite, and between two calls."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh a time."""
        least = ejection_seconds(self.detection, self.times)
        most = least + self.detection.interval + self.allowance
        return Duration(least=least, most=most, allowance=self.allowance).finding(seen)
