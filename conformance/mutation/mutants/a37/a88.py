"""Mutants of the clauses in a88.toml."""

from collections.abc import Callable, Collection

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.data_rules import (
    DOES_NOT_EXIST_SECONDS,
    FAILS_ON_DATA_ERRORS,
    IGNORES_DELETION,
)

EDITION = "data-errors"


def only_of(noun: str) -> Callable[[str, Collection[str]], bool]:
    """Drop rejected resources of one type only, with the server feature."""
    return lambda kind, features: kind == noun and FAILS_ON_DATA_ERRORS in features


deletion_ignored = Mutant(
    clause="A88-DATA-01",
    broken="deleted resources stay in use, despite the server feature",
    xds={"deletion_counts": lambda _features: False},
    edition=EDITION,
)

refused_clusters_stay = Mutant(
    clause="A88-DATA-02",
    broken="a Cluster stays in use when an update is rejected, despite the server feature",
    xds={"refusal_counts": only_of("ClusterLoadAssignment")},
    edition=EDITION,
)

refused_endpoints_stay = Mutant(
    clause="A88-DATA-03",
    broken="endpoints stay in use when an update is rejected, despite the server feature",
    xds={"refusal_counts": only_of("Cluster")},
    edition=EDITION,
)

other_feature_read = Mutant(
    clause="A88-DATA-04",
    broken="ignore_resource_deletion keeps deleted resources in use",
    xds={
        "deletion_counts": lambda features: (
            FAILS_ON_DATA_ERRORS in features and IGNORES_DELETION not in features
        )
    },
    edition=EDITION,
)

fifteen_seconds_all_the_same = Mutant(
    clause="A88-TIMER-01",
    broken="a resource is missing after 15 s, despite the server feature",
    xds={"time_to_come": lambda _features: (DOES_NOT_EXIST_SECONDS, False)},
    edition=EDITION,
)
