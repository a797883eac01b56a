"""Change the leaves of a tree, for mutants of several topics."""

from collections.abc import Callable

from client_under_test.reference.clusters.aggregates import ClusterRules as Rules
from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    Leaves,
    PriorityNames,
    endpoints_without_data,
    policy_tree_a75,
)
from client_under_test.reference.clusters.discovery import Aggregate
from client_under_test.reference.policies.interface import Update

Tree = Callable[[Aggregate | None, Leaves, PriorityNames, Rules], Update]


def of_leaves(change: Callable[[Leaves], Leaves]) -> Tree:
    """Return a tree whose leaves are changed first."""

    def broken(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Rules
    ) -> Update:
        return policy_tree_a75(aggregate, change(leaves), names, rules)

    return broken


def of_leaves_below(change: Callable[[Leaves], Leaves]) -> Tree:
    """Return a tree in which the leaves of an aggregate are changed, and no other cluster."""

    def broken(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Rules
    ) -> Update:
        changed = leaves if aggregate is None else change(leaves)
        return policy_tree_a75(aggregate, changed, names, rules)

    return broken


def instead(update: Update, when: Callable[[Leaves], bool]) -> Tree:
    """Return another update if the leaves match `when`."""

    def broken(
        aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Rules
    ) -> Update:
        made = policy_tree_a75(aggregate, leaves, names, rules)
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


def last_good() -> Callable[[Leaves], Leaves]:
    """Keep the last endpoints of each leaf."""
    known: dict[str, LeafEndpoints] = {}

    def kept(leaves: Leaves) -> Leaves:
        known.update((leaf.name, found) for leaf, found in leaves if has_endpoints(found))
        return [(leaf, known.get(leaf.name, found)) for leaf, found in leaves]

    return kept


def for_ever(given_up: Callable[[LeafEndpoints], bool]) -> Callable[[Leaves], Leaves]:
    """Drop the endpoints of a leaf forever once it matches."""
    lost: set[str] = set()

    def without(leaves: Leaves) -> Leaves:
        lost.update(leaf.name for leaf, found in leaves if given_up(found))
        return [
            (leaf, endpoints_without_data("given up") if leaf.name in lost else found)
            for leaf, found in leaves
        ]

    return without


SHORT = {"resource_timeout": lambda _: (0.3, True)}
