"""Mutants of the clauses in data_errors.toml."""

from collections.abc import Callable, Collection, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.data_rules import (
    DOES_NOT_EXIST_SECONDS,
    FAILS_ON_DATA_ERRORS,
    IGNORES_DELETION,
)
from client_under_test.reference.xds.rules import left_out_is_deleted, the_very_name

deletion_heeded = Mutant(
    clause="A53-DEL-01",
    broken="deleted resources are dropped, despite the server feature",
    xds={"deletion_counts": lambda _features: True},
)


class Forgotten:
    """Clusters that a response left out are never accepted again."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._present: set[str] = set()
        self._forgotten: set[str] = set()

    def taken_for(self, name: str, wanted: Sequence[str]) -> str | None:
        """Handle each resource of a response."""
        self._present.add(name)
        return None if name in self._forgotten else the_very_name(name, wanted)

    def left_out_is_deleted(self, noun: str) -> bool:
        """Handle the end of a response."""
        if noun == "Cluster":
            self._forgotten |= self._known - self._present
            self._known |= self._present
        self._present.clear()
        return left_out_is_deleted(noun)


FORGOTTEN = Forgotten()


never_taken_again = Mutant(
    clause="A53-DEL-02",
    broken="a Cluster whose deletion was ignored takes no further update",
    xds={
        "taken_for": FORGOTTEN.taken_for,
        "left_out_is_deleted": FORGOTTEN.left_out_is_deleted,
    },
)


no_features_beside_odd_ones = Mutant(
    clause="A53-DEL-05",
    broken="if an entry of server_features is no string, none of them counts",
    xds={
        "features_read": lambda features: (
            frozenset(features)
            if all(isinstance(feature, str) for feature in features)
            else frozenset()
        )
    },
    issue="https://github.com/grpc/grpc-java/commit/e8ff6da2cf57a39a62497e9f317e6976b5bfb98c",
)


waited_for_in_vain = Mutant(
    clause="A53-DEL-03",
    broken="with the server feature, requests wait forever for a Cluster that never existed",
    xds={
        "time_to_come": lambda features: (
            (3600.0 if IGNORES_DELETION in features else DOES_NOT_EXIST_SECONDS),
            True,
        )
    },
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
