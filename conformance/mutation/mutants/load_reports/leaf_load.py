"""Mutants of the clauses in leaf_load.toml."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.interface import Account
from client_under_test.reference.policies.rules.admission import (
    Counts,
    LoadKey,
    count_ended,
    count_sent,
    load_key,
)
from conformance.mutation.mutants.load_reports.load_report import first_cluster_with_it


def under_the_root(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report a leaf under the name of its aggregate."""
    config = cluster_impl(aggregate, leaf, found, child)
    return config if aggregate is None else replace(config, cluster=aggregate.name)


def under_the_nested_one(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report a leaf that the root does not list under the first name that the root lists."""
    config = cluster_impl(aggregate, leaf, found, child)
    if aggregate is None or leaf.name in aggregate.clusters:
        return config
    return replace(config, cluster=aggregate.clusters[0])


def as_the_aggregate(aggregate: Any, leaf: Any, found: Any, child: Any) -> ClusterImplConfig:
    """Report load if the aggregate has lrs_server."""
    config = cluster_impl(aggregate, leaf, found, child)
    return config if aggregate is None else replace(config, reported=aggregate.reported)


def for_the_first_way() -> Any:
    """Count requests to a cluster only if they came by the first policy instance."""
    first: dict[str, Any] = {}

    def broken(account: Account) -> LoadKey | None:
        way = first.setdefault(account.cluster, account.policy)
        return load_key(account) if way == account.policy else None

    return broken


def for_the_first_leaf() -> Any:
    """Count all requests for the leaf that was used first."""
    first: list[LoadKey] = []

    def broken(account: Account) -> LoadKey | None:
        key = load_key(account)
        if key is not None and not first:
            first.append(key)
        return first[0] if key is not None else None

    return broken


def ends_at_the_leaf_in_use() -> Mapping[str, Any]:
    """Count the end of a request only if the newest request went to the same leaf."""
    keys: dict[str, LoadKey | None] = {}

    def noted(account: Account) -> LoadKey | None:
        keys["counted"] = load_key(account)
        return keys["counted"]

    def sent(counts: Counts) -> Counts:
        keys["newest"] = keys["counted"]
        return count_sent(counts)

    def ended(counts: Counts, ok: bool) -> Counts:  # noqa: FBT001 - as of the rule
        return count_ended(counts, ok) if keys["counted"] == keys.get("newest") else counts

    return {"load_key": noted, "count_sent": sent, "count_ended": ended}


root_told = Mutant(
    clause="A37-LOAD-01",
    broken="load is reported under the name of the aggregate",
    rules={"cluster_impl": under_the_root},
)


nested_aggregate_told = Mutant(
    clause="A37-LOAD-01",
    broken="load is reported under the name of the nested aggregate above the leaf",
    rules={"cluster_impl": under_the_nested_one},
)


failover_not_told = Mutant(
    clause="A37-LOAD-02",
    broken="after a failover requests count for the leaf used before",
    rules={"load_key": for_the_first_leaf()},
)


end_after_failover_not_told = Mutant(
    clause="A37-LOAD-02",
    broken="the end of a request does not count if another leaf is in use by then",
    rules=ends_at_the_leaf_in_use(),
)


localities_by_name = Mutant(
    clause="A37-LOAD-03",
    broken="requests count for the cluster that was the first to use their locality",
    rules={"load_key": first_cluster_with_it()},
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
    rules={"reported_category": lambda _: None},
)


limit_not_told_below = Mutant(
    clause="A37-LOAD-07",
    broken="requests beyond the limit of a leaf are in no load report",
    rules={"reports_drop": lambda category: category is not None},
)


first_way_alone = Mutant(
    clause="A37-LOAD-08",
    broken="requests to a cluster count only if they came by the root that was used first",
    rules={"load_key": for_the_first_way()},
)
