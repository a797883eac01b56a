"""The trees of clusters that routes lead to: what is served, as inputs of their oracle (A37)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

import msgspec

from conformance.judging.expectations import FirstUsablePriority, LeafOrder, SubscribesTo
from conformance.spec.oracles import cluster_tree
from conformance.xds_config.clusters import Aggregate, Cluster, Eds
from conformance.xds_config.config import XdsConfig
from fake_control_plane import Kind

USED = frozenset({"UNKNOWN", "HEALTHY"})
"""The health of endpoints that are used (A27)."""


def known_clusters(served: XdsConfig) -> dict[str, cluster_tree.Cluster]:
    """Return all clusters that a client can receive; one sent as raw bytes counts as rejected.

    This function cannot say whether a client can read the raw bytes.
    """
    unsent = set(served.unsent)
    given = {resource.name for resource in served.given if resource.kind is Kind.CLUSTER}
    known: dict[str, cluster_tree.Cluster] = {
        cluster.name: _known(cluster)
        for cluster in served.clusters
        if (Kind.CLUSTER, cluster.name) not in unsent
    }
    return known | dict.fromkeys(given, cluster_tree.Refused())


def _known(cluster: Cluster) -> cluster_tree.Cluster:
    match cluster.discovery:
        case Aggregate(clusters=names):
            return cluster_tree.Aggregate(names)
        case Eds():
            return cluster_tree.Leaf(service_name=cluster.endpoints_name)
        case _:
            return cluster_tree.Leaf()


def endpoints_by_priority(
    served: XdsConfig, used: frozenset[str] = USED
) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the addresses of each leaf's usable endpoints, by priority."""
    unsent = set(served.unsent)
    return {
        cluster.name: _priorities(cluster, used)
        for cluster in served.clusters
        if not isinstance(cluster.discovery, Aggregate)
        and (Kind.ENDPOINTS, cluster.endpoints_name) not in unsent
    }


def _priorities(cluster: Cluster, used: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    found: dict[int, list[str]] = defaultdict(list)
    for place in cluster.localities:
        if place.weight:
            usable = (each.address for each in place.endpoints if each.health in used)
            found[place.priority] += usable
    return tuple(tuple(found[priority]) for priority in sorted(found))


def in_tree_order(served: XdsConfig, root: str) -> LeafOrder:
    """Expect first attempts at the endpoints below a root in the order of its leaves."""
    return LeafOrder(
        root=root, clusters=known_clusters(served), endpoints=endpoints_by_priority(served)
    )


def at_the_first(
    served: XdsConfig,
    root: str,
    failed: Iterable[str] = (),
    *,
    as_a_whole: bool = False,
    degraded: bool = False,
) -> FirstUsablePriority:
    """Expect calls at the first priority below a root with an endpoint that has not failed.

    Args:
        served: the configuration.
        root: the root of the tree.
        failed: endpoints that have failed.
        as_a_whole: if any cluster is missing or rejected, the whole tree fails.
        degraded: if no other endpoint is usable, use those with health DEGRADED.
    """
    clusters, endpoints = known_clusters(served), endpoints_by_priority(served)
    if degraded and not cluster_tree.first_usable(root, clusters, endpoints):
        endpoints = endpoints_by_priority(served, USED | {"DEGRADED"})
    return FirstUsablePriority(
        root=root,
        clusters=clusters,
        endpoints=endpoints,
        failed=tuple(failed),
        as_a_whole=as_a_whole,
    )


def subscriptions_of(
    served: XdsConfig, kind: Literal["CLUSTER", "ENDPOINTS"], *, ever: bool = False
) -> SubscribesTo:
    """Expect requests for exactly the resources that the trees of all routes need."""
    roots = tuple(dict.fromkeys(name for route in served.routes for name in route.targets()))
    return SubscribesTo(kind=kind, roots=roots, clusters=known_clusters(served), ever=ever)


def with_clusters(served: XdsConfig, *clusters: Cluster) -> XdsConfig:
    """Return the configuration with these clusters added; they replace those of equal name."""
    made = {cluster.name: cluster for cluster in (*served.clusters, *clusters)}
    return msgspec.structs.replace(served, clusters=tuple(made.values()))
