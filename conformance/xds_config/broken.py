"""Changes that make resources unusable or invalid."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from msgspec.structs import replace

from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import LISTENER, ROUTE, XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.trees import with_clusters
from fake_control_plane import Kind, RouteMatch, resources

ClusterChange = Callable[[Cluster], Cluster]


def without_localities(cluster: Cluster) -> Cluster:
    """Return the cluster with an EDS resource that has no locality."""
    return cluster.with_localities()


def with_empty_localities(cluster: Cluster) -> Cluster:
    """Return the cluster with localities that have no endpoint."""
    return cluster.with_localities(*(replace(place, endpoints=()) for place in cluster.localities))


def unhealthy(cluster: Cluster, *, priority: int | None = None) -> Cluster:
    """Return the cluster with all endpoints of a priority, or of all priorities, UNHEALTHY."""
    places = (
        place
        if priority not in {None, place.priority}
        else replace(
            place,
            endpoints=tuple(replace(each, health="UNHEALTHY") for each in place.endpoints),
        )
        for place in cluster.localities
    )
    return cluster.with_localities(*places)


def with_bad_health(cluster: Cluster) -> Cluster:
    """Return the cluster with endpoints whose health statuses in turn are all unusable (A27)."""
    health = itertools.cycle(("UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"))

    def sick(place: Locality) -> Locality:
        endpoints = tuple(replace(each, health=next(health)) for each in place.endpoints)
        return replace(place, endpoints=endpoints)

    return cluster.with_localities(*map(sick, cluster.localities))


def with_endpoints(*addresses: str, locality: str = "locality") -> ClusterChange:
    """Return a change to a cluster: its only locality has these endpoints."""
    return lambda cluster: cluster.with_localities(
        Locality(tuple(map(Endpoint, addresses)), locality)
    )


def with_clusters_changed(served: XdsConfig, trouble: ClusterChange, *names: str) -> XdsConfig:
    """Return the configuration with a change applied to each of the named clusters."""
    return with_clusters(served, *(trouble(served.get_cluster(name)) for name in names))


def rejected_endpoints(cluster: Cluster) -> Any:
    """Return an EDS resource for the cluster that every client rejects.

    No locality has priority 0, which A27 makes invalid, and there are two drop categories, of
    which Envoy supports only one.
    """
    behind = (replace(place, priority=place.priority + 1) for place in cluster.localities)
    message = cluster.with_localities(*behind).endpoints()
    for category in ("one", "another"):
        message.policy.drop_overloads.add(category=category).drop_percentage.SetInParent()
    return message


def rejected_cluster(cluster: Cluster) -> Any:
    """Return a Cluster resource with the cluster's name that every client rejects.

    Its type is STATIC, which A27 makes invalid. Envoy rejects STATIC with an eds_cluster_config.
    """
    message = cluster.resource()
    message.ClearField("cluster_type")
    message.type = message.STATIC
    message.eds_cluster_config.eds_config.ads.SetInParent()
    return message


def rejected_logical_dns(cluster: Cluster) -> Any:
    """Return a LOGICAL_DNS Cluster without load_assignment, which A37 makes invalid."""
    message = cluster.resource()
    message.type = message.LOGICAL_DNS
    return message


def rejected_listener(served: XdsConfig) -> Any:
    """Return a Listener that every client rejects: its RDS has no ConfigSource (A27)."""
    message = resources.listener(LISTENER, route_config=served.rds or ROUTE)
    manager = http_connection_manager_pb2.HttpConnectionManager()
    message.api_listener.api_listener.Unpack(manager)
    manager.rds.ClearField("config_source")
    message.api_listener.api_listener.Pack(manager)
    return message


def rejected_routes(served: XdsConfig) -> Any:
    """Return a RouteConfiguration that every client rejects: the first route matches nothing (A28).

    The others are valid.
    """
    first = replace(served.routes[0], match=RouteMatch())
    return replace(served, routes=(first, *served.routes)).route_configuration()


def without_routes(served: XdsConfig) -> Any:
    """Return a RouteConfiguration whose virtual hosts have no routes, so it leads to no cluster."""
    message = served.route_configuration()
    for host in message.virtual_hosts:
        del host.routes[:]
    return message


def without_resources(served: XdsConfig, kind: Kind, *names: str) -> XdsConfig:
    """Return the configuration without these resources: the control plane never sends them."""
    return replace(served, unsent=(*served.unsent, *((kind, name) for name in names)))
