"""Mutants of the clauses in leaf_drops.toml."""

from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import (
    Leaves,
    PriorityNames,
    cluster_impl,
    policy_tree,
)
from client_under_test.reference.clusters.discovery import Aggregate
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig, PriorityConfig
from client_under_test.reference.policies.interface import Update
from conformance.mutation.mutants.priority.failover_timer import make_all
from conformance.mutation.mutants.trees import of_leaves


def of_the_first_leaf() -> Any:
    """Apply the drops of the first leaf to all leaves of an aggregate."""
    first: dict[str, Any] = {}

    def broken(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
        config = cluster_impl(aggregate, leaf, found, child)
        if aggregate is None:
            return config
        return replace(config, drops=first.setdefault(aggregate.name, config.drops))

    return broken


def of_any_leaf() -> Any:
    """Apply the drops of all leaves to each leaf of an aggregate."""
    known: dict[str, dict[str, Any]] = {}

    def broken(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
        config = cluster_impl(aggregate, leaf, found, child)
        if aggregate is None:
            return config
        of_all = known.setdefault(aggregate.name, {})
        of_all[leaf.name] = config.drops
        return replace(config, drops=tuple(drop for drops in of_all.values() for drop in drops))

    return broken


def not_of_a_route(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Apply no drops to a cluster of a route."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, drops=()) if aggregate is None else config


first_leaf_for_all = Mutant(
    clause="A37-DROP-01",
    broken="the drops of the first leaf apply to all leaves of an aggregate",
    rules={"cluster_impl": of_the_first_leaf()},
)


other_leaves_too = Mutant(
    clause="A37-DROP-02",
    broken="at each leaf of an aggregate the drops of the others apply as well",
    rules={"cluster_impl": of_any_leaf()},
)


dropping_leaf_passed_over = Mutant(
    clause="A37-DROP-02",
    broken="a leaf after the first is not used if it drops requests",
    rules={
        "policy_tree": of_leaves(
            lambda leaves: [
                leaf for place, leaf in enumerate(leaves) if not (place and leaf[1].drops)
            ]
        )
    },
)


next_leaf_for_drops = Mutant(
    clause="A37-DROP-03",
    broken="the next leaf connects when the leaf before it drops requests",
    rules={"choose_priority": make_all},
)


def of_the_first_priority(
    aggregate: Aggregate | None, leaves: Leaves, names: PriorityNames, rules: Any
) -> Update:
    """Apply no drops below the first priority of a leaf."""
    update = policy_tree(aggregate, leaves, names, rules)
    assert isinstance(update.config, PriorityConfig)
    known: set[str] = set()
    children = {}
    for name, child in update.config.children.items():
        config = child.config
        assert isinstance(config, ClusterImplConfig)
        kept = replace(config, drops=()) if config.cluster in known else config
        known.add(config.cluster)
        children[name] = replace(child, config=kept)
    return replace(update, config=replace(update.config, children=children))


first_priority_alone = Mutant(
    clause="A37-DROP-04",
    broken="below the first priority of a leaf nothing is dropped",
    rules={"policy_tree": of_the_first_priority},
    variant="seed",
)


below_aggregates_alone = Mutant(
    clause="A37-DROP-05",
    broken="a cluster that a route leads to drops nothing",
    rules={"cluster_impl": not_of_a_route},
)


def not_after_the_first(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Apply no drops to the leaves of an aggregate after the first."""
    config = cluster_impl(aggregate, leaf, found, child)
    is_later = aggregate is not None and leaf.name != aggregate.clusters[0]
    return replace(config, drops=()) if is_later else config


first_leaf_alone = Mutant(
    clause="A37-DROP-05",
    broken="of the leaves of an aggregate only the first drops requests",
    rules={"cluster_impl": not_after_the_first},
)
