"""Compute a conforming client's subscriptions by following names from the listener. Pure.

A client subscribes to the resources that others refer to, and to nothing else (xDS protocol, "How
the client specifies what resources to return"). A route refers to clusters, an aggregate to its
underlying clusters (A37), and an EDS cluster to its endpoints.
"""

from __future__ import annotations

from conformance.spec.oracles.cluster_tree import tree
from conformance.xds_config.config import LISTENER, XdsConfig
from conformance.xds_config.trees import known_clusters
from fake_control_plane import Kind

Asked = frozenset[tuple[Kind, str]]
"""Kinds and names of resources."""


def subscriptions(served: XdsConfig) -> Asked:
    """Return the resources that a client subscribes to once it has all that are available.

    The control plane may not serve some of them. Those lead to no further resources, nor does a
    resource sent as raw bytes: this function cannot say whether a client can read it.
    """
    given = {(resource.kind, resource.name) for resource in served.given}
    asked = {(Kind.LISTENER, LISTENER)}
    if asked & given:
        return frozenset(asked)
    if served.rds:
        asked.add((Kind.ROUTE, served.rds))
    if asked & given:
        return frozenset(asked)
    clusters = known_clusters(served)
    for root in (name for route in served.routes for name in route.targets()):
        followed = tree(root, clusters)
        asked |= {(Kind.CLUSTER, name) for name in followed.clusters}
        asked |= {(Kind.ENDPOINTS, name) for name in followed.services}
    return frozenset(asked)
