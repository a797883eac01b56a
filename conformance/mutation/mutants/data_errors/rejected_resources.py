"""Mutants of the clauses in rejected_resources.toml."""

from collections.abc import Callable, Sequence
from typing import Any

from envoy.config.cluster.v3.cluster_pb2 import Cluster as ClusterMessage
from envoy.config.endpoint.v3.endpoint_pb2 import ClusterLoadAssignment

from client_under_test.reference.clusters.aggregates import ClusterRules as Rules
from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    PriorityNames,
    endpoints_without_data,
)
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Leaf,
    Missing,
    usable_leaves,
    usable_leaves_a74,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import FailingConfig
from client_under_test.reference.policies.interface import Update
from client_under_test.reference.resolving.dependency_rules import routes_are_usable
from client_under_test.reference.values import Status
from conformance.mutation.mutants.aggregate.tree import of_each
from conformance.mutation.mutants.trees import (
    for_ever,
    has_endpoints,
    instead,
    nothing_behind_in_the_middle,
    of_leaves,
)

Tree = Callable[[Aggregate | None, Leaves, PriorityNames, Rules], Update]


FAILED = Update(config=FailingConfig(status=Status.unavailable("there is trouble")))


def once_there_was_trouble() -> Callable[[Leaves], bool]:
    """Return a rule that is true once any tree had no endpoints."""
    troubled = False

    def remembered(leaves: Leaves) -> bool:
        nonlocal troubled
        troubled = troubled or not any(has_endpoints(found) for _, found in leaves)
        return troubled

    return remembered


trouble_spreads = Mutant(
    clause="A37-TROUBLE-35",
    broken="after a tree without endpoints later trees fail as well",
    rules={"policy_tree": instead(FAILED, once_there_was_trouble())},
)


# Rejected and deleted resources. Only the note of a rejected one says that a bad resource came.


def is_refused(found: LeafEndpoints) -> bool:
    """Return whether the endpoints of a leaf were rejected."""
    return found.note.startswith("a bad resource came")


def unless_refused(note: str) -> LeafEndpoints | None:
    """Wait for a valid resource after a rejected one."""
    return None if note.startswith("a bad resource came") else endpoints_without_data(note)


refused_endpoints_waited_for = Mutant(
    clause="A37-TROUBLE-25",
    broken="requests wait for rejected endpoints",
    rules={"endpoints_without_data": unless_refused},
)


refused_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-25",
    broken="leaves after a middle leaf whose endpoints were rejected are not used",
    rules={"policy_tree": of_leaves(nothing_behind_in_the_middle(is_refused))},
)


refused_endpoints_taken_away = Mutant(
    clause="A37-TROUBLE-26",
    broken="accepted endpoints are dropped when an update of them is rejected",
    xds={"rejection_removes": lambda _noun, _features: True},
)


def from_the_first_priority(message: Any) -> Any:
    """Return the assignment with its priorities from 0 on, and without drops."""
    if not isinstance(message, ClusterLoadAssignment):
        return None
    message.ClearField("policy")
    for locality in message.endpoints:
        locality.priority -= 1
    return message


refused_endpoints_used = Mutant(
    clause="A37-TROUBLE-26",
    broken="the endpoints of a rejected update are used",
    xds={"usable_part_of_rejected": from_the_first_priority},
)


refused_once_refused_for_good = Mutant(
    clause="A37-TROUBLE-31",
    broken="a leaf whose endpoints were rejected is never used again",
    rules={"policy_tree": of_leaves(for_ever(is_refused))},
)


Choice = tuple[Leaf, ...] | Status | None


Choose = Callable[[str, Sequence[Leaf | Missing], bool], Choice]


def passed_over_by_a37(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Skip missing clusters in an edition that fails the whole tree."""
    return usable_leaves_a74(root, found, in_force)


missing_passed_over = Mutant(
    clause="A37-TROUBLE-07",
    broken="a deleted leaf is skipped",
    rules={"usable_leaves": passed_over_by_a37},
    variant="seed",
)


deleted_one_fails_all = Mutant(
    clause="A37-TROUBLE-07",
    broken="when one leaf is deleted, the whole tree fails",
    rules={"usable_leaves": usable_leaves},
)


deletion_ignored = Mutant(
    clause="A37-TROUBLE-08",
    broken="a Cluster that a response leaves out stays in use",
    xds={"omission_deletes": lambda noun: noun == "Listener"},
)


refused_passed_over = Mutant(
    clause="A37-TROUBLE-11",
    broken="a rejected leaf is skipped",
    rules={"usable_leaves": passed_over_by_a37},
    variant="seed",
)


def stays(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait for a valid resource if the only one was rejected."""
    refused = len(found) == 1 and isinstance(found[0], Missing) and not found[0].is_gone
    return None if refused else usable_leaves_a74(root, found, in_force)


refused_cluster_waited_for = Mutant(
    clause="A37-TROUBLE-12",
    broken="requests wait for a rejected cluster of a route",
    rules={"usable_leaves": stays, "routes_are_usable": routes_are_usable},
)


def stays_without_endpoints(
    root: str,
    found: Sequence[Leaf | Missing],
    in_force: bool,  # noqa: FBT001 - a state
    /,
) -> Choice:
    """Wait for a valid resource if the only one was rejected because it lacks endpoints."""
    (first, *_) = found or (None,)
    lacks = isinstance(first, Missing) and "load_assignment" in first.status.details
    return (stays if lacks else usable_leaves_a74)(root, found, in_force)


refused_logical_dns_waited_for = Mutant(
    clause="A37-TROUBLE-12",
    broken="requests wait for a rejected LOGICAL_DNS cluster of a route",
    rules={"usable_leaves": stays_without_endpoints, "routes_are_usable": routes_are_usable},
)


refused_update_fails = Mutant(
    clause="A37-TROUBLE-13",
    broken="an accepted cluster is dropped when an update of it is rejected",
    xds={"rejection_removes": lambda _noun, _features: True},
)


def as_eds(message: Any) -> Any:
    """Return a rejected Cluster as one of type EDS, if it has an EDS service name."""
    if not isinstance(message, ClusterMessage) or not message.eds_cluster_config.service_name:
        return None
    message.type = ClusterMessage.EDS
    return message


refused_update_used = Mutant(
    clause="A37-TROUBLE-13",
    broken="the EDS service name of a rejected Cluster is used",
    xds={"usable_part_of_rejected": as_eds},
)


def once_missing(counts: Callable[[Missing], bool]) -> Choose:
    """Never use a cluster again that was missing for a matching reason."""
    lost: dict[str, Missing] = {}

    def known(leaf: Leaf | Missing) -> Leaf | Missing:
        if isinstance(leaf, Missing) and counts(leaf):
            lost[leaf.name] = leaf
        return lost.get(leaf.name, leaf)

    return of_each(known)


deleted_for_good = Mutant(
    clause="A37-TROUBLE-09",
    broken="a cluster that was deleted is never used again",
    rules={"usable_leaves": once_missing(lambda leaf: leaf.is_gone)},
)


refused_for_good = Mutant(
    clause="A37-TROUBLE-14",
    broken="a cluster that was rejected is never used again",
    rules={"usable_leaves": once_missing(lambda leaf: not leaf.is_gone)},
)


def as_before_deletion() -> Choose:
    """Use a cluster that is sent again as it was when it was deleted."""
    before: dict[str, Leaf] = {}
    deleted = set[str]()

    def known(leaf: Leaf | Missing) -> Leaf | Missing:
        if isinstance(leaf, Missing):
            deleted.add(leaf.name)
            return leaf
        if leaf.name not in deleted:
            before[leaf.name] = leaf
        return before.get(leaf.name, leaf)

    return of_each(known)


sent_again_as_before = Mutant(
    clause="A37-TROUBLE-09",
    broken="a deleted cluster that is sent again is used as it was before",
    rules={"usable_leaves": as_before_deletion()},
)
