"""Mutants of the clauses in a74.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.discovery import (
    Cluster,
    Leaf,
    Missing,
    all_or_nothing,
    those_that_exist,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import each_by_itself
from conformance.mutation.mutants.a37.trouble import Choice
from conformance.mutation.mutants.a37.trouble_absence import SOON

each_route_by_itself = Mutant(
    clause="A74-CONFIG-01",
    broken="requests of a route are sent before the resources of other routes came",
    rules={"may_be_used": each_by_itself},
)

new_routes_at_once = Mutant(
    clause="A74-CONFIG-02",
    broken="routes to a new cluster are used before its resources came",
    rules={"may_be_used": each_by_itself},
)

old_routes_watched = Mutant(
    clause="A74-CONFIG-02",
    broken="a cluster without a route stays subscribed",
    rules={"let_go": lambda _watched, _needed: frozenset()},
)

new_routes_in_part = Mutant(
    clause="A74-CONFIG-03",
    broken="routes to a new cluster are used while its resources may still be missing",
    rules={"may_be_used": each_by_itself},
)


def wait_for_it(_root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
    """Wait for a missing cluster."""
    return None if isinstance(cluster, Missing) else cluster


missing_waited_for = Mutant(
    clause="A74-CONFIG-03",
    broken="routes to a cluster with missing resources are never used",
    rules={"cluster_as_known": wait_for_it},
    xds=SOON,
)


def passed_over_once() -> Callable[[str, Sequence[Leaf | Missing], bool], Choice]:
    """Skip a missing cluster in the first tree that has it, and in no other."""
    met: dict[str, str] = {}

    def broken(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
        elsewhere = {leaf.name for leaf in found if met.setdefault(leaf.name, root) != root}
        fails = any(isinstance(leaf, Missing) and leaf.name in elsewhere for leaf in found)
        return (all_or_nothing if fails else those_that_exist)(root, found, in_force)

    return broken


passed_over_in_one_tree = Mutant(
    clause="A74-CONFIG-04",
    broken="a missing cluster is skipped in one tree only",
    rules={"leaves": passed_over_once()},
    xds=SOON,
)

one_name_alone = Mutant(
    clause="A74-CONFIG-07",
    broken="only one of several LOGICAL_DNS clusters is resolved again",
    rules={"resolved_again": lambda names: sorted(names)[:1]},
)
