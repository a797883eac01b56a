"""Mutants of the clauses in data_errors.toml."""

import itertools
from collections.abc import Callable, Collection, Sequence

from client_under_test.reference.clusters.discovery import Cluster, Missing
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.data_rules import (
    DOES_NOT_EXIST_SECONDS,
    FAILS_ON_DATA_ERRORS,
    IGNORES_DELETION,
    read_server_features,
)
from client_under_test.reference.xds.rules import omission_deletes, requested_name

deletion_heeded = Mutant(
    clause="A53-DEL-01",
    broken="deleted resources are dropped, despite the server feature",
    xds={"deletion_removes": lambda _features: True},
)


class Forgotten:
    """Clusters that a response left out are never accepted again."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._present: set[str] = set()
        self._forgotten: set[str] = set()

    def requested_name(self, noun: str, name: str, wanted: Sequence[str]) -> str | None:
        """Handle each resource of a response."""
        self._present.add(name)
        return None if name in self._forgotten else requested_name(noun, name, wanted)

    def omission_deletes(self, noun: str) -> bool:
        """Handle the end of a response."""
        if noun == "Cluster":
            self._forgotten |= self._known - self._present
            self._known |= self._present
        self._present.clear()
        return omission_deletes(noun)


FORGOTTEN = Forgotten()


never_taken_again = Mutant(
    clause="A53-DEL-02",
    broken="a Cluster whose deletion was ignored takes no further update",
    xds={
        "requested_name": FORGOTTEN.requested_name,
        "omission_deletes": FORGOTTEN.omission_deletes,
    },
)


no_features_beside_odd_ones = Mutant(
    clause="A53-DEL-05",
    broken="if an entry of server_features is no string, none of them counts",
    xds={
        "read_server_features": lambda features: (
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
        "resource_timeout": lambda features: (
            (3600.0 if IGNORES_DELETION in features else DOES_NOT_EXIST_SECONDS),
            True,
        )
    },
)


VARIANT = "data-errors"


ABOUT_DELETION = (FAILS_ON_DATA_ERRORS, IGNORES_DELETION)


def only_of(noun: str) -> Callable[[str, Collection[str]], bool]:
    """Drop rejected resources of one type only, with the server feature."""
    return lambda kind, features: kind == noun and FAILS_ON_DATA_ERRORS in features


deletion_ignored = Mutant(
    clause="A88-DATA-01",
    broken="deleted resources stay in use, despite the server feature",
    xds={"deletion_removes": lambda _features: False},
    variant=VARIANT,
)


refused_clusters_stay = Mutant(
    clause="A88-DATA-02",
    broken="a Cluster stays in use when an update is rejected, despite the server feature",
    xds={"rejection_removes": only_of("ClusterLoadAssignment")},
    variant=VARIANT,
)


def first_of_the_two(features: Sequence[object]) -> frozenset[str]:
    """Read the server features; of those about deletion only the first counts."""
    read = list(read_server_features(features))
    first = next((name for name in features if name in ABOUT_DELETION), None)
    return frozenset(name for name in read if name == first or name not in ABOUT_DELETION)


first_feature_counts = Mutant(
    clause="A88-DATA-04",
    broken="ignore_resource_deletion has no effect only if it comes after fail_on_data_errors",
    xds={"read_server_features": first_of_the_two},
    variant=VARIANT,
)


def kept_below() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Keep the last valid version of a rejected cluster that is below an aggregate."""
    valid: dict[str, Cluster] = {}

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if cluster is not None and not isinstance(cluster, Missing):
            valid[name] = cluster
        stays = isinstance(cluster, Missing) and not cluster.is_gone and name != root
        return valid.get(name, cluster) if stays else cluster

    return rule


refused_leaves_stay = Mutant(
    clause="A88-DATA-02",
    broken="below an aggregate a rejected Cluster stays in use, despite the server feature",
    rules={"cluster_in_tree": kept_below()},
    variant=VARIANT,
)


refused_endpoints_stay = Mutant(
    clause="A88-DATA-03",
    broken="endpoints stay in use when an update is rejected, despite the server feature",
    xds={"rejection_removes": only_of("Cluster")},
    variant=VARIANT,
)


other_feature_read = Mutant(
    clause="A88-DATA-04",
    broken="ignore_resource_deletion keeps deleted resources in use",
    xds={
        "deletion_removes": lambda features: (
            FAILS_ON_DATA_ERRORS in features and IGNORES_DELETION not in features
        )
    },
    variant=VARIANT,
)


fifteen_seconds_all_the_same = Mutant(
    clause="A88-TIMER-01",
    broken="a resource is missing after 15 s, despite the server feature",
    xds={"resource_timeout": lambda _features: (DOES_NOT_EXIST_SECONDS, False)},
    variant=VARIANT,
)


def after_the_first() -> Callable[[Collection[str]], bool]:
    """Ignore the first deletion alone."""
    deletions = itertools.count()
    return lambda _features: next(deletions) > 0


second_deletion_heeded = Mutant(
    clause="A53-DEL-01",
    broken="only the first deletion is ignored",
    xds={"deletion_removes": after_the_first()},
)
