"""Mutants of the clauses in trouble.toml that are about what is never sent."""

from collections.abc import Callable, Sequence
from typing import Final

from client_under_test.reference.clusters.discovery import (
    Cluster,
    Leaf,
    Missing,
    all_or_nothing,
    those_that_exist,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import each_by_itself
from conformance.mutation.mutants.a37.trouble import (
    SHORT,
    Choice,
    for_ever,
    has_endpoints,
    has_localities,
    last_good,
    nothing_behind,
    nothing_behind_in_the_middle,
    of_leaves,
    once_missing,
    passed_over_by_a37,
)

SOON: Final = {"time_to_come": lambda _: (3.0, True)}
"""A shorter timer, which breaks none of these clauses, so that mutants run faster."""

never_sent_passed_over = Mutant(
    clause="A37-TROUBLE-01",
    broken="a leaf that is never sent is skipped",
    rules={"leaves": passed_over_by_a37},
    xds=SOON,
    edition="seed",
)

never_sent_fails_all = Mutant(
    clause="A37-TROUBLE-01",
    broken="when one leaf is never sent, the whole tree fails",
    rules={"leaves": all_or_nothing},
    xds=SOON,
)


def never_known_to_later_ones() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Wait for a missing cluster in each tree that did not wait for it before it was missing."""
    waited: set[tuple[str, str]] = set()

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if cluster is None:
            waited.add((root, name))
        is_news = isinstance(cluster, Missing) and (root, name) not in waited
        return None if is_news else cluster

    return rule


missing_unknown_to_later_ones = Mutant(
    clause="A37-TROUBLE-01",
    broken="an aggregate that comes after a leaf was missing waits for the leaf",
    rules={"cluster_as_known": never_known_to_later_ones()},
    xds=SOON,
    issue="https://github.com/grpc/grpc-go/pull/7853",
)


def while_none_exists(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait if all of several leaves are missing."""
    waits = len(found) > 1 and all(isinstance(leaf, Missing) for leaf in found)
    return None if waits else those_that_exist(root, found, in_force)


tree_without_leaves_waits = Mutant(
    clause="A37-TROUBLE-02",
    broken="requests wait for an aggregate without existing leaves",
    rules={"leaves": while_none_exists, "may_be_used": each_by_itself},
    xds=SOON,
)


def while_it_is_the_root(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait if a cluster of a route is missing."""
    waits = any(isinstance(leaf, Missing) and leaf.name == root for leaf in found)
    return None if waits else those_that_exist(root, found, in_force)


cluster_never_sent_waited_for = Mutant(
    clause="A37-TROUBLE-03",
    broken="requests wait for a cluster of a route that is never sent",
    rules={"leaves": while_it_is_the_root, "may_be_used": each_by_itself},
    xds=SOON,
)

missing_for_good = Mutant(
    clause="A37-TROUBLE-10",
    broken="a cluster that was once missing is never used",
    rules={"leaves": once_missing(lambda leaf: leaf.is_gone)},
    xds=SOON,
)

endpoints_never_sent_end_the_list = Mutant(
    clause="A37-TROUBLE-19",
    broken="leaves after one whose endpoints are never sent are not used",
    rules={"tree": of_leaves(nothing_behind(lambda found: not has_localities(found)))},
    xds=SOON,
)

never_sent_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-19",
    broken="leaves after a middle leaf whose endpoints are never sent are not used",
    rules={
        "tree": of_leaves(nothing_behind_in_the_middle(lambda found: not has_localities(found)))
    },
    xds=SOON,
)

endpoints_never_sent_waited_for = Mutant(
    clause="A37-TROUBLE-20",
    broken="requests wait for endpoints that are never sent",
    rules={"nothing_found": lambda _: None},
    xds=SOON,
)

old_service_stays = Mutant(
    clause="A37-TROUBLE-28",
    broken="a leaf keeps the endpoints of its old service name while the new one has none",
    rules={"tree": of_leaves(last_good())},
    xds=SOON,
)

new_service_missed = Mutant(
    clause="A37-TROUBLE-28",
    broken="endpoints of a new service name that do not come at once count as missing",
    xds=SHORT,
)

endpoints_missing_for_good = Mutant(
    clause="A37-TROUBLE-30",
    broken="a leaf whose endpoints were once missing is never used",
    rules={"tree": of_leaves(for_ever(lambda found: not has_endpoints(found)))},
    xds=SOON,
)
