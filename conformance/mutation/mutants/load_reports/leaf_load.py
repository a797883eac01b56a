"""Mutants of the clauses in leaf_load.toml."""

from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.interface import Account
from client_under_test.reference.policies.rules.admission import LoadKey, counted_for
from conformance.mutation.mutants.load_reports.load_report import first_cluster_with_it


def under_the_root(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report a leaf under the name of its aggregate."""
    config = cluster_impl(aggregate, leaf, found, child)
    return config if aggregate is None else replace(config, cluster=aggregate.name)


def as_the_aggregate(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report load if the aggregate has lrs_server."""
    config = cluster_impl(aggregate, leaf, found, child)
    return config if aggregate is None else replace(config, reported=aggregate.reported)


def for_the_first_way() -> Any:
    """Count requests to a cluster only if they came by the first policy instance."""
    first: dict[str, Any] = {}

    def broken(account: Account) -> LoadKey | None:
        way = first.setdefault(account.cluster, account.policy)
        return counted_for(account) if way == account.policy else None

    return broken


def for_the_first_leaf() -> Any:
    """Count all requests for the leaf that was used first."""
    first: list[LoadKey] = []

    def broken(account: Account) -> LoadKey | None:
        key = counted_for(account)
        if key is not None and not first:
            first.append(key)
        return first[0] if key is not None else None

    return broken


root_told = Mutant(
    clause="A37-LOAD-01",
    broken="load is reported under the name of the aggregate",
    rules={"cluster_impl": under_the_root},
)


failover_not_told = Mutant(
    clause="A37-LOAD-02",
    broken="after a failover requests count for the leaf used before",
    rules={"counted_for": for_the_first_leaf()},
)


localities_by_name = Mutant(
    clause="A37-LOAD-03",
    broken="requests count for the cluster that was the first to use their locality",
    rules={"counted_for": first_cluster_with_it()},
)


leaf_not_asked = Mutant(
    clause="A37-LOAD-04",
    broken="load is reported if the aggregate has lrs_server",
    rules={"cluster_impl": as_the_aggregate},
    reports="not reported",
)


aggregate_asked = Mutant(
    clause="A37-LOAD-05",
    broken="load is reported if the aggregate has lrs_server",
    rules={"cluster_impl": as_the_aggregate},
    reports="reported",
)


category_not_told_below = Mutant(
    clause="A37-LOAD-06",
    broken="drops of leaves are reported without their category",
    rules={"told_category": lambda _: None},
)


limit_not_told_below = Mutant(
    clause="A37-LOAD-07",
    broken="requests beyond the limit of a leaf are in no load report",
    rules={"drop_is_told": lambda category: category is not None},
)


first_way_alone = Mutant(
    clause="A37-LOAD-08",
    broken="requests to a cluster count only if they came by the root that was used first",
    rules={"counted_for": for_the_first_way()},
)
