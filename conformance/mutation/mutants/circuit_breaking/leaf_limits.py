"""Mutants of the clauses in leaf_limits.toml."""

from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.rules.admission import in_flight_key
from conformance.mutation.mutants.circuit_breaking.circuit_breaking import from_zero, two_together
from conformance.mutation.mutants.priority.failover_timer import make_all


def of_the_first_leaf() -> Any:
    """Apply the limit of the first leaf to all leaves of an aggregate."""
    first: dict[str, int] = {}

    def broken(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
        config = cluster_impl(aggregate, leaf, found, child)
        if aggregate is None:
            return config
        limit = first.setdefault(aggregate.name, config.max_requests)
        return replace(config, max_requests=limit)

    return broken


def of_the_aggregate(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Apply the limit of the aggregate to its leaves."""
    config = cluster_impl(aggregate, leaf, found, child)
    return config if aggregate is None else replace(config, max_requests=aggregate.max_requests)


def smaller_of_both(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Apply the limit of the aggregate and that of the leaf."""
    config = cluster_impl(aggregate, leaf, found, child)
    above = config if aggregate is None else aggregate
    return replace(config, max_requests=min(config.max_requests, above.max_requests))


def anew_for_another_list(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Count requests to a leaf separately for each list of leaves."""
    config = cluster_impl(aggregate, leaf, found, child)
    beside = () if aggregate is None else aggregate.clusters
    return replace(config, service_name=f"{config.service_name}#{beside}")


first_leaf_for_all = Mutant(
    clause="A37-CB-01",
    broken="the limit of the first leaf applies to all leaves of an aggregate",
    rules={"cluster_impl": of_the_first_leaf()},
)


next_leaf_for_what_is_too_much = Mutant(
    clause="A37-CB-03",
    broken="the next leaf connects when the leaf before it reaches its limit",
    rules={"choose_priority": make_all},
)


aggregate_for_all = Mutant(
    clause="A37-CB-02",
    broken="the limit of the aggregate applies instead of those of its leaves",
    rules={"cluster_impl": of_the_aggregate},
)


aggregate_as_well = Mutant(
    clause="A37-CB-02",
    broken="the limit of the aggregate applies in addition to those of its leaves",
    rules={"cluster_impl": smaller_of_both},
)


by_way = Mutant(
    clause="A37-CB-04",
    broken="each policy instance of a cluster has its own count",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.policy)},
)


by_channel_below_aggregates = Mutant(
    clause="A37-CB-05",
    broken="each channel has its own count",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.channel)},
)


two_channels_below_aggregates = Mutant(
    clause="A37-CB-05",
    broken="each channel after the second has its own count",
    rules={"in_flight_key": two_together()},
)


from_zero_below_aggregates = Mutant(
    clause="A37-CB-05",
    broken="the count starts from zero when another channel first uses the leaf",
    rules={"in_flight_key": from_zero()},
)


by_priority = Mutant(
    clause="A37-CB-06",
    broken="each priority of a leaf has its own count",
    rules={"in_flight_key": lambda account: (*in_flight_key(account), account.policy)},
    variant="seed",
)


anew_in_another_tree = Mutant(
    clause="A37-CB-07",
    broken="a leaf in another list of leaves starts at zero",
    rules={"cluster_impl": anew_for_another_list},
)


def anew_at_another_position(
    aggregate: Any, leaf: Any, found: Any, child: Any
) -> ClusterImplConfig:
    """Count requests to a leaf separately for each position in a list of leaves."""
    config = cluster_impl(aggregate, leaf, found, child)
    position = 0 if aggregate is None else aggregate.clusters.index(leaf.name)
    return replace(config, service_name=f"{config.service_name}#{position}")


anew_at_each_position = Mutant(
    clause="A37-CB-07",
    broken="a leaf at another position of the list starts at zero",
    rules={"cluster_impl": anew_at_another_position},
)
