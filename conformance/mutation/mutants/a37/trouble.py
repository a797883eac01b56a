"""Mutants of the clauses in trouble.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.aggregates import ClusterRules as Rules
from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    PriorityNames,
    a_policy_for_each_leaf,
    nothing_found,
)
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Cluster,
    Leaf,
    Missing,
    all_or_nothing,
    those_that_exist,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import FailingConfig, WaitingConfig
from client_under_test.reference.policies.interface import PickResult, Update
from client_under_test.reference.resolving.dependency_rules import each_by_itself
from client_under_test.reference.values import State, Status
from client_under_test.reference.xds.rules import endpoint_is_used

Tree = Callable[[Aggregate | None, Leaves, PriorityNames, Rules], Update]
FAILED = Update(config=FailingConfig(status=Status.unavailable("there is trouble")))


def of_leaves(change: Callable[[Leaves], Leaves]) -> Tree:
    """Return a tree whose leaves are changed first."""

    def broken(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Rules
    ) -> Update:
        return a_policy_for_each_leaf(aggregate, change(leaves), names, rules)

    return broken


def instead(update: Update, when: Callable[[Leaves], bool]) -> Tree:
    """Return another update if the leaves match `when`."""

    def broken(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Rules
    ) -> Update:
        made = a_policy_for_each_leaf(aggregate, leaves, names, rules)
        return update if when(leaves) else made

    return broken


def has_localities(found: LeafEndpoints) -> bool:
    """Return whether a leaf has a locality."""
    return any(found.priorities)


def has_endpoints(found: LeafEndpoints) -> bool:
    """Return whether a leaf has a usable endpoint."""
    return any(place.endpoints for priority in found.priorities for place in priority)


def nothing_behind(stops: Callable[[LeafEndpoints], bool]) -> Callable[[Leaves], Leaves]:
    """Return a change that drops the leaves after the first one that matches."""

    def cut(leaves: Leaves) -> Leaves:
        end = next((number for number, (_, found) in enumerate(leaves) if stops(found)), None)
        return leaves if end is None else leaves[: end + 1]

    return cut


def nothing_behind_in_the_middle(
    stops: Callable[[LeafEndpoints], bool],
) -> Callable[[Leaves], Leaves]:
    """Return a change that drops leaves after a matching leaf, unless it is the first."""

    def cut(leaves: Leaves) -> Leaves:
        return leaves if leaves and stops(leaves[0][1]) else nothing_behind(stops)(leaves)

    return cut


no_localities_end_the_list = Mutant(
    clause="A37-TROUBLE-21",
    broken="leaves after one without localities are not used",
    rules={"tree": of_leaves(nothing_behind(lambda found: not has_localities(found)))},
)

empty_localities_end_the_list = Mutant(
    clause="A37-TROUBLE-22",
    broken="leaves after one with empty localities are not used",
    rules={
        "tree": of_leaves(
            nothing_behind(lambda found: has_localities(found) and not has_endpoints(found))
        )
    },
)


def health_that_is_used(number: int) -> Callable[[int], bool]:
    """Use endpoints of one more health status."""
    return lambda health: health == number or endpoint_is_used(health)


draining_is_used = Mutant(
    clause="A37-TROUBLE-23",
    broken="endpoints that are DRAINING are used",
    xds={"endpoint_is_used": health_that_is_used(3)},
)

degraded_is_used = Mutant(
    clause="A37-TROUBLE-23",
    broken="endpoints that are DEGRADED are used",
    xds={"endpoint_is_used": health_that_is_used(5)},
)

empty_leaf_waited_for = Mutant(
    clause="A37-TROUBLE-24",
    broken="a leaf without endpoints is left only when the failover timer fires",
    rules={"timer_ends": lambda reported: reported in {State.READY, State.IDLE}},
)


def last_good() -> Callable[[Leaves], Leaves]:
    """Keep the last endpoints of each leaf."""
    known: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        known.update((leaf.name, found) for leaf, found in leaves if has_endpoints(found))
        return [(leaf, known.get(leaf.name, found)) for leaf, found in leaves]

    return kept


empty_update_ignored = Mutant(
    clause="A37-TROUBLE-27",
    broken="an update that leaves a leaf without endpoints is ignored",
    rules={"tree": of_leaves(last_good())},
)


def for_ever(given_up: Callable[[LeafEndpoints], bool]) -> Callable[[Leaves], Leaves]:
    """Drop the endpoints of a leaf forever once it matches."""
    lost: set[str] = set()

    def without(leaves: Leaves) -> Leaves:
        lost.update(leaf.name for leaf, found in leaves if given_up(found))
        return [
            (leaf, nothing_found("given up") if leaf.name in lost else found)
            for leaf, found in leaves
        ]

    return without


empty_once_empty_for_good = Mutant(
    clause="A37-TROUBLE-32",
    broken="a leaf that was without endpoints is never used again",
    rules={"tree": of_leaves(for_ever(lambda found: not has_endpoints(found)))},
)

without_endpoints_it_connects = Mutant(
    clause="A37-TROUBLE-33",
    broken="a tree without any endpoints is CONNECTING",
    rules={
        "tree": instead(
            Update(config=WaitingConfig()),
            lambda leaves: not any(has_endpoints(found) for _, found in leaves),
        )
    },
)


def fail_all_the_same(result: PickResult) -> PickResult:
    """Fail wait_for_ready requests as well."""
    return result


waiting_fails = Mutant(
    clause="A37-TROUBLE-34",
    broken="a request that waits for readiness fails with the tree",
    rules={"wait_for_ready": fail_all_the_same},
)


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

# Loss of the control plane.

loss_waited_out = Mutant(
    clause="A37-TROUBLE-15",
    broken="watchers are not notified when the ADS stream is lost",
    xds={"hears_of_loss": lambda _noun, _is_there: False},
)

loss_takes_away = Mutant(
    clause="A37-TROUBLE-16",
    broken="clusters are dropped when the control plane is lost",
    xds={"hears_of_loss": lambda noun, is_there: noun == "Cluster" or not is_there},
)


def fails_with_one(_root: str, found: Sequence[Leaf | Missing], _in_force: bool, /) -> Choice:  # noqa: FBT001
    """Fail the tree if a cluster is missing, in every edition."""
    lost = next((leaf for leaf in found if isinstance(leaf, Missing)), None)
    return lost.status if lost else tuple(leaf for leaf in found if isinstance(leaf, Leaf))


loss_ends_the_tree_before = Mutant(
    clause="A37-TROUBLE-17",
    broken="a tree fails when the control plane is lost and a new leaf of it has not come",
    rules={"leaves": fails_with_one},
    edition="seed",
)

lost_for_good = Mutant(
    clause="A37-TROUBLE-18",
    broken="a cluster that was missing when the control plane was lost is never used",
    rules={"leaves": once_missing(lambda leaf: not leaf.is_gone)},
)

lost_endpoints_waited_for = Mutant(
    clause="A37-TROUBLE-29",
    broken="requests wait for missing endpoints when the control plane is lost",
    xds={"hears_of_loss": lambda noun, is_there: noun == "Cluster" and not is_there},
)

# Late resources. With a very short timer, every resource that comes a little late is missing.

SHORT = {"time_to_come": lambda _: (0.3, True)}


def not_beside_another() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Treat a cluster as missing if a leaf of its tree came before it."""
    known: set[str] = set()

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if isinstance(cluster, Leaf):
            known.add(root)
        if cluster is None and root in known:
            return Missing(name=name, status=Status.unavailable("it has not come yet"))
        return cluster

    return rule


NOT_BESIDE_ANOTHER = {"cluster_as_known": not_beside_another()}

late_cluster_passed_over = Mutant(
    clause="A37-TROUBLE-04",
    broken="a tree is used as soon as a leaf of it has come",
    rules=NOT_BESIDE_ANOTHER,
)

late_cluster_missed = Mutant(
    clause="A37-TROUBLE-04",
    broken="a cluster that does not come at once counts as missing",
    xds=SHORT,
)

late_endpoints_missed = Mutant(
    clause="A37-TROUBLE-05",
    broken="endpoints that do not come at once count as missing",
    xds=SHORT,
)

last_endpoints_missed = Mutant(
    clause="A37-TROUBLE-06",
    broken="a tree is used before the endpoints of its last leaf have come",
    xds=SHORT,
)

internal_in_a_cycle = Mutant(
    clause="A37-TROUBLE-36",
    broken="requests to a cycle end with INTERNAL",
    rules={
        "leaves": lambda root, found, in_force: (
            those_that_exist(root, found, in_force) if found else Status("INTERNAL", "a cycle")
        )
    },
    reports="INTERNAL",
)
