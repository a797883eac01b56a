"""Mutants of the clauses in tree_changes.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.aggregates import (
    Leaves,
    PriorityNames,
    a_policy_for_each_leaf,
)
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Leaf,
    Missing,
    those_that_exist,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Status
from conformance.mutation.mutants.aggregate.late_resources import NOT_BESIDE_ANOTHER

Found = Sequence[Leaf | Missing]


Rule = Callable[[str, Found, bool], tuple[Leaf, ...] | Status | None]


def remembering(change: Callable[[str, Found, Found], Found]) -> Rule:
    """Return a rule that changes the found clusters by those found first for a root."""
    first: dict[str, Found] = {}
    return lambda root, found, in_force: those_that_exist(
        root, change(root, first.setdefault(root, found), found), in_force
    )


def with_first_values() -> Rule:
    """Keep the first version of each leaf."""
    known: dict[str, Leaf | Missing] = {}
    return lambda root, found, in_force: those_that_exist(
        root, [known.setdefault(leaf.name, leaf) for leaf in found], in_force
    )


def behind_those_before(_root: str, before: Found, now: Found) -> Found:
    """Put old leaves before new ones."""
    names = [leaf.name for leaf in before]
    return sorted(now, key=lambda leaf: leaf.name not in names)


def without_the_last_to_come(_root: str, before: Found, now: Found) -> Found:
    """Leave out new leaves that come after all old ones."""
    names = [leaf.name for leaf in before]
    known = [number for number, leaf in enumerate(now) if leaf.name in names]
    return now[: known[-1] + 1] if known else now


def in_the_order_before(_root: str, before: Found, now: Found) -> Found:
    """Keep the first order of the same leaves."""
    names = [leaf.name for leaf in before]
    if {leaf.name for leaf in now} != set(names):
        return now
    return sorted(now, key=lambda leaf: names.index(leaf.name))


def with_what_has_gone(_root: str, before: Found, now: Found) -> Found:
    """Keep leaves that have left the list."""
    names = {leaf.name for leaf in now}
    return [*(leaf for leaf in before if leaf.name not in names), *now]


def a_leaf_stays_one(root: str, before: Found, now: Found) -> Found:
    """Keep a root that was a leaf."""
    return before if [leaf.name for leaf in before] == [root] else now


def an_aggregate_stays_one(root: str, before: Found, now: Found) -> Found:
    """Keep the leaves of a root that was an aggregate."""
    return before if [leaf.name for leaf in now] == [root] else now


def an_error_at_first() -> Rule:
    """Return an error the first time that the leaves of a root change."""
    before: dict[str, list[str]] = {}

    def rule(root: str, found: Found, in_force: bool) -> tuple[Leaf, ...] | Status | None:  # noqa: FBT001
        names = [leaf.name for leaf in found]
        if before.setdefault(root, names) != names:
            before[root] = names
            return Status.unavailable("the list has changed")
        return those_that_exist(root, found, in_force)

    return rule


def of_the_first_endpoints() -> Callable[..., object]:
    """Return the tree of an aggregate with the first endpoints of its leaves."""
    first: dict[str, Leaves] = {}

    def tree(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: object
    ) -> object:
        kept = leaves if aggregate is None else first.setdefault(aggregate.name, leaves)
        return a_policy_for_each_leaf(aggregate, kept, names, rules)  # type: ignore[arg-type]

    return tree


cluster_for_its_first_watcher = Mutant(
    clause="A37-TREE-11",
    broken="an update of a Cluster does not reach the aggregates that use it",
    rules={"leaves": with_first_values()},
)


endpoints_for_the_first_watcher = Mutant(
    clause="A37-TREE-12",
    broken="an update of endpoints does not reach the aggregates above them",
    rules={"tree": of_the_first_endpoints()},
)


order_for_good = Mutant(
    clause="A37-TREE-24",
    broken="the same leaves keep their first order",
    rules={"leaves": remembering(in_the_order_before)},
)


newcomers_last = Mutant(
    clause="A37-TREE-25",
    broken="a new leaf comes after the old ones",
    rules={"leaves": remembering(behind_those_before)},
)


last_left_out = Mutant(
    clause="A37-TREE-25",
    broken="a new leaf after all old ones is ignored",
    rules={"leaves": remembering(without_the_last_to_come)},
)


nobody_goes = Mutant(
    clause="A37-TREE-26",
    broken="a leaf that leaves the list stays in the tree",
    rules={"leaves": remembering(with_what_has_gone)},
)


watched_for_ever = Mutant(
    clause="A37-TREE-27",
    broken="clusters that left the tree stay subscribed",
    rules={"let_go": lambda _watched, _needed: frozenset()},
)


too_much_let_go = Mutant(
    clause="A37-TREE-28",
    broken="unsubscribing from a tree also drops clusters that are needed elsewhere",
    rules={
        "let_go": lambda watched, needed: (watched - needed) and watched - set(sorted(needed)[1:])
    },
)


leaf_for_good = Mutant(
    clause="A37-TREE-29",
    broken="a cluster that was EDS stays EDS",
    rules={"leaves": remembering(a_leaf_stays_one)},
)


aggregate_for_good = Mutant(
    clause="A37-TREE-30",
    broken="a cluster that was an aggregate keeps its leaves",
    rules={"leaves": remembering(an_aggregate_stays_one)},
)


changes_fail_requests = Mutant(
    clause="A37-TREE-31",
    broken="between two lists there is none",
    rules={"leaves": an_error_at_first()},
)


impatient = Mutant(
    clause="A37-TREE-32",
    broken="a cluster that does not come with the list does not exist",
    xds={"time_to_come": lambda _features: (0.05, True)},
    edition="seed",
)


used_in_part = Mutant(
    clause="A37-TREE-32",
    broken="a new list is used without the clusters that have not come",
    rules=NOT_BESIDE_ANOTHER,
)


service_name_for_good = Mutant(
    clause="A37-TREE-33",
    broken="a leaf keeps its first service name",
    rules={"leaves": with_first_values()},
)


leaves_by_service_name = Mutant(
    clause="A37-TREE-34",
    broken="if two leaves share a service name, the later one replaces the first",
    rules={
        "leaves": lambda root, found, in_force: those_that_exist(
            root,
            tuple(
                {
                    leaf.resource_name if isinstance(leaf, Leaf) else leaf.name: leaf
                    for leaf in found
                }.values()
            ),
            in_force,
        )
    },
)


endpoints_named_twice = Mutant(
    clause="A37-TREE-34",
    broken="endpoints that two leaves share are requested twice",
    xds={
        "names_asked_for": lambda noun, names: (
            (*names, *names) if noun == "ClusterLoadAssignment" else names
        )
    },
)
