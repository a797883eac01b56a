"""Mutants of the clauses in rejected_resources.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.aggregates import ClusterRules as Rules
from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    PriorityNames,
    nothing_found,
)
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Leaf,
    Missing,
    all_or_nothing,
    those_that_exist,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import FailingConfig
from client_under_test.reference.policies.interface import Update
from client_under_test.reference.resolving.dependency_rules import each_by_itself
from client_under_test.reference.values import Status
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
    rules={"tree": instead(FAILED, once_there_was_trouble())},
)


# Rejected and deleted resources. Only the note of a rejected one says that a bad resource came.


def is_refused(found: LeafEndpoints) -> bool:
    """Return whether the endpoints of a leaf were rejected."""
    return found.note.startswith("a bad resource came")


def unless_refused(note: str) -> LeafEndpoints | None:
    """Wait for a valid resource after a rejected one."""
    return None if note.startswith("a bad resource came") else nothing_found(note)


refused_endpoints_waited_for = Mutant(
    clause="A37-TROUBLE-25",
    broken="requests wait for rejected endpoints",
    rules={"nothing_found": unless_refused},
)


refused_in_the_middle_end_the_list = Mutant(
    clause="A37-TROUBLE-25",
    broken="leaves after a middle leaf whose endpoints were rejected are not used",
    rules={"tree": of_leaves(nothing_behind_in_the_middle(is_refused))},
)


refused_endpoints_taken_away = Mutant(
    clause="A37-TROUBLE-26",
    broken="accepted endpoints are dropped when an update of them is rejected",
    xds={"refusal_counts": lambda _noun, _features: True},
)


refused_once_refused_for_good = Mutant(
    clause="A37-TROUBLE-31",
    broken="a leaf whose endpoints were rejected is never used again",
    rules={"tree": of_leaves(for_ever(is_refused))},
)


Choice = tuple[Leaf, ...] | Status | None


Choose = Callable[[str, Sequence[Leaf | Missing], bool], Choice]


def passed_over_by_a37(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Skip missing clusters in an edition that fails the whole tree."""
    return those_that_exist(root, found, in_force)


missing_passed_over = Mutant(
    clause="A37-TROUBLE-07",
    broken="a deleted leaf is skipped",
    rules={"leaves": passed_over_by_a37},
    edition="seed",
)


deleted_one_fails_all = Mutant(
    clause="A37-TROUBLE-07",
    broken="when one leaf is deleted, the whole tree fails",
    rules={"leaves": all_or_nothing},
)


deletion_ignored = Mutant(
    clause="A37-TROUBLE-08",
    broken="a Cluster that a response leaves out stays in use",
    xds={"left_out_is_deleted": lambda noun: noun == "Listener"},
)


refused_passed_over = Mutant(
    clause="A37-TROUBLE-11",
    broken="a rejected leaf is skipped",
    rules={"leaves": passed_over_by_a37},
    edition="seed",
)


def of_known(change: Callable[[list[Leaf | Missing]], list[Leaf | Missing]]) -> Choose:
    """Choose among clusters that are changed first."""

    def broken(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
        return those_that_exist(root, change(list(found)), in_force)

    return broken


def stays(root: str, found: Sequence[Leaf | Missing], in_force: bool, /) -> Choice:  # noqa: FBT001
    """Wait for a valid resource if the only one was rejected."""
    refused = len(found) == 1 and isinstance(found[0], Missing) and not found[0].is_gone
    return None if refused else those_that_exist(root, found, in_force)


refused_cluster_waited_for = Mutant(
    clause="A37-TROUBLE-12",
    broken="requests wait for a rejected cluster of a route",
    rules={"leaves": stays, "may_be_used": each_by_itself},
)


refused_update_fails = Mutant(
    clause="A37-TROUBLE-13",
    broken="an accepted cluster is dropped when an update of it is rejected",
    xds={"refusal_counts": lambda _noun, _features: True},
)


def once_missing(counts: Callable[[Missing], bool]) -> Choose:
    """Never use a cluster again that was missing for a matching reason."""
    lost: dict[str, Missing] = {}

    def without(found: list[Leaf | Missing]) -> list[Leaf | Missing]:
        lost.update(
            (leaf.name, leaf) for leaf in found if isinstance(leaf, Missing) and counts(leaf)
        )
        return [lost.get(leaf.name, leaf) for leaf in found]

    return of_known(without)


deleted_for_good = Mutant(
    clause="A37-TROUBLE-09",
    broken="a cluster that was deleted is never used again",
    rules={"leaves": once_missing(lambda leaf: leaf.is_gone)},
)


refused_for_good = Mutant(
    clause="A37-TROUBLE-14",
    broken="a cluster that was rejected is never used again",
    rules={"leaves": once_missing(lambda leaf: not leaf.is_gone)},
)
