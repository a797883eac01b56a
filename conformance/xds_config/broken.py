"""What may be wrong with the endpoints of a cluster: the same cluster, with that trouble."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.trees import with_clusters
from fake_control_plane import Kind

ClusterChange = Callable[[Cluster], Cluster]


def without_localities(cluster: Cluster) -> Cluster:
    """Its EDS resource has nothing in it."""
    return cluster.placed()


def with_empty_localities(cluster: Cluster) -> Cluster:
    """No locality has an endpoint."""
    return cluster.placed(*(replace(place, endpoints=()) for place in cluster.localities))


def unhealthy(cluster: Cluster, *, priority: int | None = None) -> Cluster:
    """The same with no endpoint that may be used, in this priority or at all: EDS says so."""
    places = (
        place
        if priority not in {None, place.priority}
        else replace(
            place,
            endpoints=tuple(replace(each, health="UNHEALTHY") for each in place.endpoints),
        )
        for place in cluster.localities
    )
    return cluster.placed(*places)


def with_bad_health(cluster: Cluster) -> Cluster:
    """Each endpoint has a health of which none is used, one after the other (A27)."""
    health = itertools.cycle(("UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"))

    def sick(place: Locality) -> Locality:
        endpoints = tuple(replace(each, health=next(health)) for each in place.endpoints)
        return replace(place, endpoints=endpoints)

    return cluster.placed(*map(sick, cluster.localities))


def with_endpoints(*addresses: str, locality: str = "locality") -> ClusterChange:
    """No trouble: its only locality has these endpoints."""
    return lambda cluster: cluster.placed(Locality(tuple(map(Endpoint, addresses)), locality))


def with_clusters_changed(served: XdsConfig, trouble: ClusterChange, *names: str) -> XdsConfig:
    """The same, but these clusters are so."""
    return with_clusters(served, *(trouble(served.own(name)) for name in names))


def rejected_endpoints(cluster: Cluster) -> Any:
    """An EDS resource of it that every client refuses.

    No locality has priority 0, which A27 refuses, and there are two categories of drops, of which
    Envoy supports one.
    """
    behind = (replace(place, priority=place.priority + 1) for place in cluster.localities)
    message = cluster.placed(*behind).endpoints()
    for category in ("one", "another"):
        message.policy.drop_overloads.add(category=category).drop_percentage.SetInParent()
    return message


def rejected_cluster(cluster: Cluster) -> Any:
    """A Cluster resource of its name that every client refuses.

    Its type is STATIC, which A27 refuses, and Envoy does beside an eds_cluster_config.
    """
    message = cluster.resource()
    message.ClearField("cluster_type")
    message.type = message.STATIC
    message.eds_cluster_config.eds_config.ads.SetInParent()
    return message


def without_resources(served: XdsConfig, kind: Kind, *names: str) -> XdsConfig:
    """The same, but these resources are never sent."""
    return replace(served, unsent=(*served.unsent, *((kind, name) for name in names)))
