"""Mutants of the clauses in outlier_detection.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.cluster_rules import (
    duration_is_accepted,
    percentage_is_accepted,
)
from conformance.mutation.mutants.findings import overlooking, refusing

LONGEST = 315_576_000_000


NANOS = 1_000_000_000


negative_seconds = Mutant(
    clause="A50-CDS-01",
    broken="the seconds of a duration may be negative",
    xds={
        "duration_is_accepted": lambda field, seconds, nanos: duration_is_accepted(
            field, abs(seconds), nanos
        )
    },
)


negative_nanos = Mutant(
    clause="A50-CDS-01",
    broken="the nanoseconds of a duration may be negative",
    xds={
        "duration_is_accepted": lambda field, seconds, nanos: duration_is_accepted(
            field, seconds, abs(nanos)
        )
    },
)


last_time_unchecked = Mutant(
    clause="A50-CDS-01",
    broken="max_ejection_time is not validated",
    xds={
        "duration_is_accepted": lambda field, seconds, nanos: (
            field == "max_ejection_time" or duration_is_accepted(field, seconds, nanos)
        )
    },
)


seconds_without_end = Mutant(
    clause="A50-CDS-02",
    broken="seconds have no upper limit",
    xds={"duration_is_accepted": lambda _field, seconds, nanos: seconds >= 0 <= nanos < NANOS},
)


nanos_without_end = Mutant(
    clause="A50-CDS-02",
    broken="nanoseconds have no upper limit",
    xds={
        "duration_is_accepted": lambda _field, seconds, nanos: (
            0 <= seconds <= LONGEST and nanos >= 0
        )
    },
)


ejection_percent_unchecked = Mutant(
    clause="A50-CDS-03",
    broken="max_ejection_percent is not validated",
    xds={"cluster_errors": overlooking("max_ejection_percent")},
)


success_rate_unchecked = Mutant(
    clause="A50-CDS-04",
    broken="enforcing_success_rate is not validated",
    xds={"cluster_errors": overlooking("enforcing_success_rate")},
)


threshold_unchecked = Mutant(
    clause="A50-CDS-05",
    broken="the enforcing percentage is validated instead of the threshold",
    xds={"cluster_errors": overlooking("failure_percentage_threshold")},
)


failure_percentage_unchecked = Mutant(
    clause="A50-CDS-06",
    broken="enforcing_failure_percentage is not validated",
    xds={"cluster_errors": overlooking("enforcing_failure_percentage")},
)


a_hundred_is_too_much = Mutant(
    clause="A50-CDS-07",
    broken="percentages must be below 100",
    xds={
        "percentage_is_accepted": lambda field, percent: percentage_is_accepted(field, percent + 1)
    },
)


zero_is_no_duration = Mutant(
    clause="A50-CDS-07",
    broken="durations of zero are rejected",
    xds={
        "duration_is_accepted": lambda field, seconds, nanos: (
            bool(seconds or nanos) and duration_is_accepted(field, seconds, nanos)
        )
    },
)


milliseconds_overflow = Mutant(
    clause="A50-CDS-10",
    broken="durations whose nanoseconds need more than 63 bits are rejected",
    xds={
        "duration_is_accepted": lambda field, seconds, nanos: (
            duration_is_accepted(field, seconds, nanos) and seconds * NANOS < 2**63
        )
    },
    reports="refused",
)


nothing_set_refused = Mutant(
    clause="A50-CDS-08",
    broken="an empty outlier_detection is an error",
    xds={
        "cluster_errors": refusing(
            lambda cluster: (
                cluster.HasField("outlier_detection") and not cluster.outlier_detection.ListFields()
            )
        )
    },
)


what_is_not_enforced_is_ignored = Mutant(
    clause="A50-CDS-09",
    broken="a threshold that is not enforced is not validated",
    xds={"cluster_errors": overlooking("failure_percentage_threshold")},
    reports="accepted",
)
