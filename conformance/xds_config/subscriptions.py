"""What a right client asks for, given what is served: pure, by following names from the listener.

A client subscribes to what it has been led to, and to nothing else (xDS protocol, "How the client
specifies what resources to return"): a route leads to clusters, an aggregate to those that it is
made of (A37), and a cluster of EDS to its endpoints.
"""

from __future__ import annotations

from conformance.spec.oracles.cluster_tree import tree
from conformance.xds_config.config import LISTENER, ROUTE, XdsConfig
from conformance.xds_config.trees import known_clusters
from fake_control_plane import Kind

Asked = frozenset[tuple[Kind, str]]
"""Kinds and names of resources."""


def subscriptions(served: XdsConfig) -> Asked:
    """The resources that a client asks for once it has all that it can get of them.

    Some of them may not be served. Nothing follows from those, nor from one that is given as bytes:
    whether a client can read these, nobody says here.
    """
    given = {(resource.kind, resource.name) for resource in served.given}
    asked = {(Kind.LISTENER, LISTENER)}
    if asked & given:
        return frozenset(asked)
    asked.add((Kind.ROUTE, ROUTE))
    if asked & given:
        return frozenset(asked)
    clusters = known_clusters(served)
    for root in (name for route in served.routes for name in route.targets()):
        followed = tree(root, clusters)
        asked |= {(Kind.CLUSTER, name) for name in followed.clusters}
        asked |= {(Kind.ENDPOINTS, name) for name in followed.services}
    return frozenset(asked)
