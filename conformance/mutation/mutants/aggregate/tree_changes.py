"""Mutants of the clauses in tree_changes.toml."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from client_under_test.reference.clusters.aggregates import (
    Leaves,
    PriorityNames,
    policy_tree_a75,
)
from client_under_test.reference.clusters.discovery import (
    Aggregate,
    Cluster,
    Leaf,
    Missing,
    usable_leaves_a74,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Status
from conformance.mutation.mutants.aggregate.late_resources import NOT_BESIDE_ANOTHER
from conformance.mutation.mutants.aggregate.tree import Found, Rule, found_by, of_each
from conformance.mutation.mutants.trees import of_leaves


def remembering(change: Callable[[str, Found, Found], Found]) -> Rule:
    """Return a rule that changes the found clusters by those found first for a root."""
    first: dict[str, Found] = {}
    return found_by(lambda root, found: change(root, first.setdefault(root, found), found))


def in_its_first_version() -> Callable[[Leaf | Missing], Leaf | Missing]:
    """Return a change that keeps the first version of each leaf."""
    known: dict[str, Leaf | Missing] = {}
    return lambda leaf: known.setdefault(leaf.name, leaf)


def names_of(found: Found) -> list[str]:
    """Return the names of the leaves."""
    return [leaf.name for leaf in found]


def behind_those_before(_root: str, before: Found, now: Found) -> Found:
    """Put old leaves before new ones."""
    names = names_of(before)
    return sorted(now, key=lambda leaf: leaf.name not in names)


def without_the_last_to_come(_root: str, before: Found, now: Found) -> Found:
    """Leave out new leaves that come after all old ones."""
    names = names_of(before)
    known = [number for number, leaf in enumerate(now) if leaf.name in names]
    return now[: known[-1] + 1] if known else now


def in_the_order_before(_root: str, before: Found, now: Found) -> Found:
    """Keep the first order of the same leaves."""
    names = names_of(before)
    if {*names_of(now)} != set(names):
        return now
    return sorted(now, key=lambda leaf: names.index(leaf.name))


def gone(before: Found, now: Found) -> Found:
    """Return the leaves that have left the list."""
    names = names_of(now)
    return [leaf for leaf in before if leaf.name not in names]


def with_what_has_gone(_root: str, before: Found, now: Found) -> Found:
    """Keep leaves that have left the list."""
    return [*gone(before, now), *now]


def with_what_has_gone_last(_root: str, before: Found, now: Found) -> Found:
    """Keep leaves that have left the list, after those that stay."""
    return [*now, *gone(before, now)]


def first_or_last(root: str, before: Found, now: Found) -> Found:
    """Put new leaves that come after an old one last."""
    names = names_of(before)
    is_old = [leaf.name in names for leaf in now]
    ahead = is_old.index(True) if any(is_old) else len(now)
    return [*now[:ahead], *behind_those_before(root, before, now[ahead:])]


def after_one_update() -> Rule:
    """Keep the list of a root after its first update."""
    versions: dict[str, list[Found]] = {}

    def change(root: str, found: Found) -> Found:
        known = versions.setdefault(root, [])
        if not known or names_of(known[-1]) != names_of(found):
            known.append(found)
        return known[1] if len(known) > 1 else found

    return found_by(change)


def kept_after_one_update() -> Callable[[str, Any], Any]:
    """Return a rule that keeps the second version of whatever has this name."""
    versions: dict[str, list[Any]] = {}

    def change(name: str, value: Any) -> Any:
        known = versions.setdefault(name, [])
        if value not in known:
            known.append(value)
        return known[1] if len(known) > 1 else value

    return change


def leaves_after_one_update() -> Rule:
    """Keep each leaf after its first update."""
    kept = kept_after_one_update()
    return of_each(lambda leaf: kept(leaf.name, leaf))


def endpoints_after_one_update() -> Callable[[Leaves], Leaves]:
    """Keep the endpoints of each leaf after their first update."""
    kept = kept_after_one_update()
    return lambda leaves: [(leaf, kept(leaf.name, found)) for leaf, found in leaves]


def names_of_the_first_alone() -> Rule:
    """Keep the first version of each leaf but the first."""
    kept = in_its_first_version()
    return found_by(lambda _root, found: [*found[:1], *map(kept, found[1:])])


def never_nameless() -> Rule:
    """Keep the service name of a leaf that has none any more."""
    known: dict[str, Leaf] = {}

    def kept(leaf: Leaf | Missing) -> Leaf | Missing:
        if isinstance(leaf, Leaf) and leaf.service_name:
            known[leaf.name] = leaf
        return known.get(leaf.name, leaf)

    return of_each(kept)


def first_of_its_service_name() -> Rule:
    """Use the first leaf of a service name for each leaf of that name, in any tree."""
    known: dict[str, Leaf] = {}

    def same(leaf: Leaf | Missing) -> Leaf | Missing:
        if isinstance(leaf, Leaf) and leaf.service_name:
            return known.setdefault(leaf.service_name, leaf)
        return leaf

    return of_each(same)


def of_its_first_leaf_alone() -> dict[str, object]:
    """Return rules by which a tree waits for its first leaf alone."""
    firsts: dict[str, str] = {}

    def cluster_as_known(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if isinstance(cluster, Aggregate) and name == root:
            firsts[root] = cluster.clusters[0]
        is_awaited = cluster is not None or name in {root, firsts.get(root)}
        status = Status.unavailable("it has not come yet")
        return cluster if is_awaited else Missing(name=name, status=status)

    return {"cluster_in_tree": cluster_as_known}


def unless_routes_need_them() -> dict[str, object]:
    """Return rules that drop what leaves a tree, even if another tree needs it."""
    lists: dict[str, set[str]] = {}
    left = set[str]()

    def order(root: str, met: Sequence[str], _known: Mapping[str, Cluster]) -> Sequence[str]:
        left.update(lists.get(root, set[str]()).difference(met))
        lists[root] = {*met}
        return met

    return {
        "leaf_order": order,
        "watches_to_end": lambda watched, needed: (
            (watched - needed) | ((watched & left) - lists.keys())
        ),
    }


def a_leaf_stays_one(root: str, before: Found, now: Found) -> Found:
    """Keep a root that was a leaf."""
    return before if names_of(before) == [root] else now


def an_aggregate_stays_one(root: str, before: Found, now: Found) -> Found:
    """Keep the leaves of a root that was an aggregate."""
    return before if names_of(now) == [root] else now


def an_error_at_first() -> Rule:
    """Return an error the first time that the leaves of a root change."""
    before: dict[str, list[str]] = {}

    def rule(root: str, found: Found, in_force: bool) -> tuple[Leaf, ...] | Status | None:  # noqa: FBT001
        names = names_of(found)
        if before.setdefault(root, names) != names:
            before[root] = names
            return Status.unavailable("the list has changed")
        return usable_leaves_a74(root, found, in_force)

    return rule


def of_the_first_endpoints() -> Callable[..., object]:
    """Return the tree of an aggregate with the first endpoints of its leaves."""
    first: dict[str, Leaves] = {}

    def tree(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: object
    ) -> object:
        kept = leaves if aggregate is None else first.setdefault(aggregate.name, leaves)
        return policy_tree_a75(aggregate, kept, names, rules)  # type: ignore[arg-type]

    return tree


cluster_for_its_first_watcher = Mutant(
    clause="A37-TREE-11",
    broken="an update of a Cluster does not reach the aggregates that use it",
    rules={"usable_leaves": of_each(in_its_first_version())},
)


endpoints_for_the_first_watcher = Mutant(
    clause="A37-TREE-12",
    broken="an update of endpoints does not reach the aggregates above them",
    rules={"policy_tree": of_the_first_endpoints()},
)


second_cluster_update_dropped = Mutant(
    clause="A37-TREE-11",
    broken="only the first update of a Cluster counts",
    rules={"usable_leaves": leaves_after_one_update()},
)


second_endpoints_update_dropped = Mutant(
    clause="A37-TREE-12",
    broken="only the first update of endpoints counts",
    rules={"policy_tree": of_leaves(endpoints_after_one_update())},
)


second_order_dropped = Mutant(
    clause="A37-TREE-24",
    broken="only the first update of a list counts",
    rules={"usable_leaves": after_one_update()},
)


order_for_good = Mutant(
    clause="A37-TREE-24",
    broken="the same leaves keep their first order",
    rules={"usable_leaves": remembering(in_the_order_before)},
)


newcomers_last = Mutant(
    clause="A37-TREE-25",
    broken="a new leaf comes after the old ones",
    rules={"usable_leaves": remembering(behind_those_before)},
)


newcomer_between_last = Mutant(
    clause="A37-TREE-25",
    broken="a new leaf between old ones comes after all of them",
    rules={"usable_leaves": remembering(first_or_last)},
)


last_left_out = Mutant(
    clause="A37-TREE-25",
    broken="a new leaf after all old ones is ignored",
    rules={"usable_leaves": remembering(without_the_last_to_come)},
)


nobody_goes = Mutant(
    clause="A37-TREE-26",
    broken="a leaf that leaves the list stays in the tree",
    rules={"usable_leaves": remembering(with_what_has_gone)},
)


those_gone_are_last = Mutant(
    clause="A37-TREE-26",
    broken="a leaf that leaves the list is used when all others have failed",
    rules={"usable_leaves": remembering(with_what_has_gone_last)},
)


second_removal_dropped = Mutant(
    clause="A37-TREE-26",
    broken="only the first update of a list counts",
    rules={"usable_leaves": after_one_update()},
)


watched_for_ever = Mutant(
    clause="A37-TREE-27",
    broken="clusters that left the tree stay subscribed",
    rules={"watches_to_end": lambda _watched, _needed: frozenset()},
)


too_much_let_go = Mutant(
    clause="A37-TREE-28",
    broken="unsubscribing from a tree also drops clusters that are needed elsewhere",
    rules={
        "watches_to_end": lambda watched, needed: (
            (watched - needed) and watched - set(sorted(needed)[1:])
        )
    },
)


let_go_in_other_trees = Mutant(
    clause="A37-TREE-28",
    broken="a cluster that leaves a tree is not watched for other trees any more",
    rules=unless_routes_need_them(),
)


leaf_for_good = Mutant(
    clause="A37-TREE-29",
    broken="a cluster that was EDS stays EDS",
    rules={"usable_leaves": remembering(a_leaf_stays_one)},
)


aggregate_for_good = Mutant(
    clause="A37-TREE-30",
    broken="a cluster that was an aggregate keeps its leaves",
    rules={"usable_leaves": remembering(an_aggregate_stays_one)},
)


changes_fail_requests = Mutant(
    clause="A37-TREE-31",
    broken="between two lists there is none",
    rules={"usable_leaves": an_error_at_first()},
)


impatient = Mutant(
    clause="A37-TREE-32",
    broken="a cluster that does not come with the list does not exist",
    xds={"resource_timeout": lambda _features: (0.05, True)},
    variant="seed",
)


used_in_part = Mutant(
    clause="A37-TREE-32",
    broken="a new list is used without the clusters that have not come",
    rules=NOT_BESIDE_ANOTHER,
)


used_from_its_first_leaf_on = Mutant(
    clause="A37-TREE-32",
    broken="a new list is used as soon as its first cluster came",
    rules=of_its_first_leaf_alone(),
)


service_name_of_the_first_alone = Mutant(
    clause="A37-TREE-33",
    broken="all leaves but the first keep their first service name",
    rules={"usable_leaves": names_of_the_first_alone()},
)


service_name_never_left_out = Mutant(
    clause="A37-TREE-33",
    broken="a leaf keeps its service name when an update has none",
    rules={"usable_leaves": never_nameless()},
)


service_name_for_good = Mutant(
    clause="A37-TREE-33",
    broken="a leaf keeps its first service name",
    rules={"usable_leaves": of_each(in_its_first_version())},
)


leaves_by_service_name = Mutant(
    clause="A37-TREE-34",
    broken="if two leaves share a service name, the later one replaces the first",
    rules={
        "usable_leaves": found_by(
            lambda _root, found: tuple(
                {
                    leaf.resource_name if isinstance(leaf, Leaf) else leaf.name: leaf
                    for leaf in found
                }.values()
            )
        )
    },
)


first_leaf_of_a_service_name = Mutant(
    clause="A37-TREE-34",
    broken="a cluster has the limit of the first one that has its service name",
    rules={"usable_leaves": first_of_its_service_name()},
)


endpoints_named_twice = Mutant(
    clause="A37-TREE-34",
    broken="endpoints that two leaves share are requested twice",
    xds={
        "names_to_request": lambda noun, names: (
            (*names, *names) if noun == "ClusterLoadAssignment" else names
        )
    },
)


def until_the_service_name_changes() -> Rule:
    """Keep each leaf below an aggregate as it was when its service name last changed."""
    known: dict[str, Leaf] = {}

    def kept(root: str, leaf: Leaf | Missing) -> Leaf | Missing:
        if isinstance(leaf, Missing) or leaf.name == root:
            return leaf
        before = known.get(leaf.name)
        if before is None or before.service_name != leaf.service_name:
            known[leaf.name] = leaf
        return known[leaf.name]

    return found_by(lambda root, found: [kept(root, leaf) for leaf in found])


service_name_alone = Mutant(
    clause="A37-TREE-11",
    broken="below an aggregate, an update counts only if it changes the service name",
    rules={"usable_leaves": until_the_service_name_changes()},
)
