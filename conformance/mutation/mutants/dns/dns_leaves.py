"""Mutants of the clauses in dns_leaves.toml."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.clusters.discovery import Aggregate, Cluster, Leaf
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig
from client_under_test.reference.policies.rules.admission import DropCategory
from client_under_test.reference.transport.dns import look_up_addresses
from client_under_test.reference.xds.cluster_rules import cluster_errors


async def never_localhost(name: str) -> tuple[str, ...]:
    """Fail to resolve localhost."""
    if name.startswith("localhost:"):
        raise OSError("no such name")
    return await look_up_addresses(name)


def is_by_dns(cluster: Cluster) -> bool:
    """Return whether a cluster is a leaf of LOGICAL_DNS."""
    return isinstance(cluster, Leaf) and bool(cluster.dns_name)


def by_dns_last(_root: str, met: Sequence[str], known: Mapping[str, Cluster]) -> Sequence[str]:
    """Put EDS leaves before the others."""
    return sorted(met, key=lambda name: is_by_dns(known[name]))


def first_by_dns_alone(
    _root: str, met: Sequence[str], known: Mapping[str, Cluster]
) -> Sequence[str]:
    """Skip each LOGICAL_DNS leaf but the first."""
    by_dns = [name for name in met if is_by_dns(known[name])]
    return [name for name in met if name not in by_dns[1:]]


def nested_by_dns_last(
    root: str, met: Sequence[str], known: Mapping[str, Cluster]
) -> Sequence[str]:
    """Put LOGICAL_DNS leaves below a nested aggregate after the others."""
    top = known[root]
    direct = top.clusters if isinstance(top, Aggregate) else (root,)
    return sorted(met, key=lambda name: is_by_dns(known[name]) and name not in direct)


def without_its_limit(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
    """Ignore the limit of a LOGICAL_DNS cluster."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, max_requests=1024) if leaf.dns_name else config


def counted_by_its_name(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
    """Use the DNS name of a LOGICAL_DNS cluster as its service name."""
    config = cluster_impl(aggregate, leaf, found, child)
    return replace(config, service_name=leaf.dns_name) if leaf.dns_name else config


def dropped_as_assigned() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a rule that reads the drops of load_assignment, and one that applies them."""
    drops: dict[str, tuple[DropCategory, ...]] = {}

    def read(message: Any, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        drops[message.name] = tuple(
            DropCategory(overload.category, overload.drop_percentage.numerator * 10_000)
            for overload in message.load_assignment.policy.drop_overloads
        )
        return cluster_errors(message, found)

    def used(aggregate: Any, leaf: Leaf, found: Any, child: Any) -> ClusterImplConfig:
        config = cluster_impl(aggregate, leaf, found, child)
        return replace(config, drops=drops.get(leaf.name, ()))

    return read, used


READ_DROPS, USED_DROPS = dropped_as_assigned()


def below_an_aggregate(broken: Callable[..., Any]) -> Callable[..., Any]:
    """Break the config of leaves of aggregates only."""

    def config(aggregate: Any, *rest: Any) -> ClusterImplConfig:
        return cluster_impl(aggregate, *rest) if aggregate is None else broken(aggregate, *rest)

    return config


dns_last = Mutant(
    clause="A37-DNS-13",
    broken="leaves of EDS come before those of LOGICAL_DNS",
    rules={"leaf_order": by_dns_last},
)


second_by_dns_skipped = Mutant(
    clause="A37-DNS-13",
    broken="of several LOGICAL_DNS leaves only the first is used",
    rules={"leaf_order": first_by_dns_alone},
)


nested_dns_last = Mutant(
    clause="A37-DNS-13",
    broken="a LOGICAL_DNS leaf below a nested aggregate comes after all others",
    rules={"leaf_order": nested_by_dns_last},
)


no_limit = Mutant(
    clause="A37-DNS-14",
    broken="a LOGICAL_DNS cluster has no limit",
    rules={"cluster_impl": without_its_limit},
)


no_limit_below_an_aggregate = Mutant(
    clause="A37-DNS-14",
    broken="a LOGICAL_DNS leaf of an aggregate has no limit",
    rules={"cluster_impl": below_an_aggregate(without_its_limit)},
)


counted_by_name = Mutant(
    clause="A37-DNS-14",
    broken="another name of a LOGICAL_DNS cluster resets its count",
    rules={"cluster_impl": counted_by_its_name},
)


no_localhost = Mutant(
    clause="A37-DNS-15",
    broken="localhost is not resolved",
    rules={"look_up_addresses": never_localhost},
)


drops_of_the_assignment = Mutant(
    clause="A37-DNS-17",
    broken="drop_overloads in the load_assignment of a LOGICAL_DNS cluster apply",
    rules={"cluster_impl": USED_DROPS},
    xds={"cluster_errors": READ_DROPS},
)


drops_below_an_aggregate = Mutant(
    clause="A37-DNS-17",
    broken="drop_overloads of a LOGICAL_DNS leaf apply below an aggregate",
    rules={"cluster_impl": below_an_aggregate(USED_DROPS)},
    xds={"cluster_errors": READ_DROPS},
)
