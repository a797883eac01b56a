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
    """What is refused is used no more by the feature, if it is of this type."""
    return lambda kind, features: kind == noun and FAILS_ON_DATA_ERRORS in features


deletion_ignored = Mutant(
    clause="A88-DATA-01",
    broken="what is deleted stays in use, whatever the server feature says",
    xds={"deletion_counts": lambda _features: False},
    edition=EDITION,
)

refused_clusters_stay = Mutant(
    clause="A88-DATA-02",
    broken="a Cluster stays in use when an update is refused, whatever the server feature says",
    xds={"refusal_counts": only_of("ClusterLoadAssignment")},
    edition=EDITION,
)

refused_endpoints_stay = Mutant(
    clause="A88-DATA-03",
    broken="endpoints stay in use when an update is refused, whatever the server feature says",
    xds={"refusal_counts": only_of("Cluster")},
    edition=EDITION,
)

other_feature_read = Mutant(
    clause="A88-DATA-04",
    broken="by ignore_resource_deletion, what is deleted stays in use",
    xds={
        "deletion_counts": lambda features: (
            FAILS_ON_DATA_ERRORS in features and IGNORES_DELETION not in features
        )
    },
    edition=EDITION,
)

fifteen_seconds_all_the_same = Mutant(
    clause="A88-TIMER-01",
    broken="a resource is missing after 15 s, whatever the server feature says",
    xds={"time_to_come": lambda _features: (DOES_NOT_EXIST_SECONDS, False)},
    edition=EDITION,
)
