"""Mutants of the clauses in tree.toml."""

from collections.abc import Callable, Sequence
from typing import Any

from client_under_test.reference.clusters.discovery import (
    DEPTH_LIMIT,
    Leaf,
    Missing,
    circles_are_followed,
    is_cycle,
    is_too_deep,
    usable_leaves_a74,
)
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Status
from conformance.mutation.mutants.leaf_orders import (
    last_place,
    level_by_level,
    of_the_first_leaves,
    once_below_each,
    unless_an_aggregate_adds_nothing,
)

Found = Sequence[Leaf | Missing]


Leaves = tuple[Leaf, ...] | Status | None


Rule = Callable[[str, Found, bool], Leaves]


MANY = 1000


FEW = 4
"""The number of leaves that a mutant uses."""


REFUSED = Status.unavailable("not by this mutant")


def found_by(change: Callable[[str, Found], Found]) -> Rule:
    """Return a rule that changes the found clusters before it chooses the leaves."""
    return lambda root, found, in_force: usable_leaves_a74(root, change(root, found), in_force)


def of_each(change: Callable[[Leaf | Missing], Leaf | Missing]) -> Rule:
    """Return a rule that changes each of the found clusters before it chooses the leaves."""
    return found_by(lambda _root, found: [*map(change, found)])


def apart_from_roots(
    counts: Callable[[Leaf], bool] = lambda _leaf: True,
) -> Callable[[str, Found], Found]:
    """Remove roots from the leaves of other roots, if they match."""
    roots = set[str]()

    def change(root: str, found: Found) -> Found:
        roots.add(root)
        return [
            leaf
            for leaf in found
            if leaf.name == root
            or leaf.name not in roots
            or not (isinstance(leaf, Leaf) and counts(leaf))
        ]

    return change


def of_the_first_root() -> Callable[[str, Found], Found]:
    """Assign each leaf to its first root only."""
    owners: dict[str, str] = {}
    return lambda root, found: [
        leaf for leaf in found if owners.setdefault(leaf.name, root) == root
    ]


def once_true(rule: Callable[[int], bool]) -> Callable[[int], bool]:
    """Return a rule that stays true once it was true."""
    was = False

    def broken(number: int) -> bool:
        nonlocal was
        was = was or rule(number)
        return was

    return broken


def once_empty() -> Callable[[str, Found], Found]:
    """Return no leaves forever for a root that once had none."""
    empty = set[str]()

    def change(root: str, found: Found) -> Found:
        if not found:
            empty.add(root)
        return () if root in empty else found

    return change


# The order.

sorted_by_name = Mutant(
    clause="A37-TREE-01",
    broken="leaves are in the order of their names, as in a sorted map",
    rules={"leaf_order": lambda _root, met, _known: sorted(met)},
)


last_first = Mutant(
    clause="A37-TREE-01",
    broken="leaves are in the order of a stack",
    rules={"leaf_order": lambda _root, met, _known: met[::-1]},
)


first_alone = Mutant(
    clause="A37-TREE-01",
    broken="an aggregate has only its first leaf",
    rules={"leaf_order": of_the_first_leaves(1)},
)


four_alone = Mutant(
    clause="A37-TREE-01",
    broken="an aggregate has only its first four leaves",
    rules={"leaf_order": of_the_first_leaves(FEW)},
)


dns_behind_the_others = Mutant(
    clause="A37-TREE-01",
    broken="LOGICAL_DNS leaves come after all others",
    rules={
        "usable_leaves": found_by(
            lambda _root, found: sorted(
                found, key=lambda leaf: isinstance(leaf, Leaf) and bool(leaf.dns_name)
            )
        )
    },
)


breadth_first = Mutant(
    clause="A37-TREE-02",
    broken="the leaves of a nested aggregate come after the others",
    rules={"leaf_order": level_by_level},
    issue="https://github.com/grpc/grpc-java/pull/12140",
)


example_by_type = Mutant(
    clause="A37-TREE-03",
    broken="LOGICAL_DNS leaves come before all others",
    rules={
        "usable_leaves": found_by(
            lambda _root, found: sorted(
                found, key=lambda leaf: not (isinstance(leaf, Leaf) and leaf.dns_name)
            )
        )
    },
)


leaf_at_its_last_place = Mutant(
    clause="A37-TREE-04",
    broken="a repeated leaf counts at its last position",
    rules={"leaf_order": last_place},
)


listed_at_its_last_place = Mutant(
    clause="A37-TREE-05",
    broken="a cluster that is listed twice counts at its second position",
    rules={"leaf_order": last_place},
)


rest_of_a_list_lost = Mutant(
    clause="A37-TREE-05",
    broken="clusters after a repeated name are lost",
    rules={"leaf_order": once_below_each},
)


shared_aggregate_at_its_last_place = Mutant(
    clause="A37-TREE-06",
    broken="the leaves of a repeated aggregate count at its last position",
    rules={"leaf_order": last_place},
)


many_ways_are_an_error = Mutant(
    clause="A37-TREE-35",
    broken="an aggregate without new leaves makes the whole tree fail",
    rules={"leaf_order": unless_an_aggregate_adds_nothing},
)


# Users of a cluster.

roots_are_no_leaves = Mutant(
    clause="A37-TREE-14",
    broken="a cluster of a route is no leaf of aggregates",
    rules={"usable_leaves": found_by(apart_from_roots())},
)


dns_roots_are_no_leaves = Mutant(
    clause="A37-TREE-14",
    broken="a LOGICAL_DNS cluster of a route is no leaf of aggregates",
    rules={"usable_leaves": found_by(apart_from_roots(lambda leaf: bool(leaf.dns_name)))},
)


leaves_of_one_root = Mutant(
    clause="A37-TREE-15",
    broken="a leaf belongs only to the first aggregate that has it, as in gRPC 1.85.1",
    rules={"usable_leaves": found_by(of_the_first_root())},
)


# Subscriptions.

one_too_many = Mutant(
    clause="A37-TREE-07",
    broken="a Cluster that no tree has is requested",
    xds={"names_to_request": lambda noun, names: (*names, "xds") if noun == "Cluster" else names},
)


endpoints_of_what_is_no_leaf = Mutant(
    clause="A37-TREE-09",
    broken="the service name of a cluster that is not EDS is requested",
    xds={
        "names_to_request": lambda noun, names: (
            (*names, "a-service") if noun == "ClusterLoadAssignment" else names
        )
    },
)


service_name_of_logical_dns = Mutant(
    clause="A37-TREE-09",
    broken="a LOGICAL_DNS cluster is reported under the service name of its eds_cluster_config",
    xds={"service_name": lambda _kind, written: written},
)


endpoints_of_logical_dns = Mutant(
    clause="A37-TREE-09",
    broken="the service name of a LOGICAL_DNS cluster is requested",
    rules={"eds_services": lambda leaf: ("a-service",) if leaf.dns_name else (leaf.resource_name,)},
)


endpoints_of_all_leaves = Mutant(
    clause="A37-TREE-08",
    broken="endpoints of LOGICAL_DNS clusters are requested",
    rules={"eds_services": lambda leaf: (leaf.resource_name,)},
)


endpoints_of_aggregates = Mutant(
    clause="A37-TREE-08",
    broken="endpoints of a cluster that is no leaf are requested",
    xds={
        "names_to_request": lambda noun, names: (
            (*names, "m") if noun == "ClusterLoadAssignment" else names
        )
    },
)


named_twice = Mutant(
    clause="A37-TREE-10",
    broken="each watch has its own subscription",
    xds={"names_to_request": lambda _noun, names: (*names, *names[-1:])},
)


# The depth.

fifteen_names = Mutant(
    clause="A37-TREE-16",
    broken="a chain of 16 names exceeds the limit",
    rules={"is_too_deep": lambda names: names >= DEPTH_LIMIT},
)


sixteen_clusters = Mutant(
    clause="A37-TREE-16",
    broken="the limit counts all clusters of a tree, not the names of a chain",
    rules={
        "leaf_order": lambda _root, met, _known: met if len(met) <= DEPTH_LIMIT else (),
    },
)


eighteen_names = Mutant(
    clause="A37-TREE-17",
    broken="the depth limit is 32",
    rules={"is_too_deep": lambda names: names > 2 * DEPTH_LIMIT},
)


no_limit = Mutant(
    clause="A37-TREE-17",
    broken="there is no depth limit",
    rules={"is_too_deep": lambda names: names > MANY + 200},
)


def until_it_is_used() -> dict[str, object]:
    """Return rules by which a tree that was in use has no limit."""
    used = set[str]()
    root = ""

    def leads_round(name: str, way: Sequence[str]) -> bool:
        nonlocal root
        root = (*way, name)[0]
        return is_cycle(name, way)

    def leaves(name: str, found: Found, in_force: bool) -> Leaves:  # noqa: FBT001
        used.add(name)
        return usable_leaves_a74(name, found, in_force)

    return {
        "is_cycle": leads_round,
        "usable_leaves": leaves,
        "is_too_deep": lambda names: root not in used and is_too_deep(names),
    }


limited_until_it_is_used = Mutant(
    clause="A37-TREE-18",
    broken="a tree that was in use is used as well when an update makes it too deep",
    rules=until_it_is_used(),
)


cut_at_the_limit = Mutant(
    clause="A37-TREE-18",
    broken="the part of a tree beyond the limit is left out, and the rest is used",
    rules={"is_cycle": lambda name, way: name in way or is_too_deep(len(way) + 1)},
)


seventeen_names = Mutant(
    clause="A37-TREE-19",
    broken="a chain of 17 names is within the limit",
    rules={"is_too_deep": lambda names: names > DEPTH_LIMIT + 1},
    reports="served",
)


too_deep_for_good = Mutant(
    clause="A37-TREE-20",
    broken="a tree that was once too deep stays too deep",
    rules={"is_too_deep": once_true(is_too_deep)},
)


def too_deep_after_use() -> dict[str, Any]:
    """Refuse a tree for good that was used, and then was too deep."""
    used = stuck = False

    def leaves(root: str, found: Found, in_force: Any, /) -> Any:
        nonlocal used
        used = True
        return usable_leaves_a74(root, found, in_force)

    def is_deep(names: int) -> bool:
        nonlocal stuck
        stuck = stuck or (used and is_too_deep(names))
        return stuck or is_too_deep(names)

    return {"usable_leaves": leaves, "is_too_deep": is_deep}


too_deep_for_good_after_use = Mutant(
    clause="A37-TREE-20",
    broken="a tree in use that becomes too deep stays too deep",
    rules=too_deep_after_use(),
)


def lower_limit_afterwards() -> Callable[[int], bool]:
    """Lower the limit by one once a tree has exceeded it."""
    exceeded = False

    def is_deep(names: int) -> bool:
        nonlocal exceeded
        exceeded = exceeded or is_too_deep(names)
        return names > DEPTH_LIMIT - exceeded

    return is_deep


limit_lowered = Mutant(
    clause="A37-TREE-20",
    broken="a tree that was too deep is used only if it is one level within the limit",
    rules={"is_too_deep": lower_limit_afterwards()},
)


circles_for_ever = Mutant(
    clause="A37-TREE-22",
    broken="a cycle exceeds the limit even if there is a leaf",
    rules={"is_cycle": circles_are_followed},
    reports="fails",
)


circle_is_awaited = Mutant(
    clause="A37-TREE-21",
    broken="requests wait for a tree without a leaf",
    rules={
        "usable_leaves": lambda root, found, in_force: (
            usable_leaves_a74(root, found, in_force) if found else None
        )
    },
)


circle_for_good = Mutant(
    clause="A37-TREE-23",
    broken="a cluster that was once in a cycle stays in it",
    rules={"usable_leaves": found_by(once_empty())},
)


deep_and_served = Mutant(
    clause="A37-TREE-18",
    broken="the depth limit is 32",
    rules={"is_too_deep": lambda names: names > 2 * DEPTH_LIMIT},
)


no_name_beyond_ten = Mutant(
    clause="A37-TREE-38",
    broken="the client subscribes to ten Clusters at most",
    xds={"names_to_request": lambda _noun, names: names[:10]},
    reports="wait",
)


few_leaves = Mutant(
    clause="A37-TREE-36",
    broken="an aggregate of more than 1,000 clusters fails",
    rules={
        "usable_leaves": lambda root, found, in_force: (
            REFUSED if len(found) > MANY else usable_leaves_a74(root, found, in_force)
        )
    },
    reports="fails",
)


short_names = Mutant(
    clause="A37-TREE-37",
    broken="an aggregate with a name of more than 1,000 characters fails",
    rules={
        "usable_leaves": lambda root, found, in_force: (
            REFUSED
            if any(len(leaf.name) > MANY for leaf in found)
            else usable_leaves_a74(root, found, in_force)
        )
    },
    reports="fails",
)


one_connection_to_an_address = Mutant(
    clause="A37-TREE-13",
    broken="all users of an address share its connection",
    rules={"sharing_key": lambda subchannel: subchannel.address},
    reports="one connection",
)


internal_in_a_cycle = Mutant(
    clause="A37-TROUBLE-36",
    broken="requests to a cycle end with INTERNAL",
    rules={
        "usable_leaves": lambda root, found, in_force: (
            usable_leaves_a74(root, found, in_force) if found else Status("INTERNAL", "a cycle")
        )
    },
    reports="INTERNAL",
)
