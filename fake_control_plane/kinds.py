"""The four resource types that the control plane serves."""

from __future__ import annotations

import enum
from typing import Final

TYPE_URL_PREFIX: Final = "type.googleapis.com/"


class Kind(enum.Enum):
    """A resource type of the aggregated discovery service."""

    LISTENER = "listener"
    ROUTE = "route"
    CLUSTER = "cluster"
    ENDPOINTS = "endpoints"

    @property
    def full_name(self) -> str:
        """The protobuf message of this type, with its package."""
        return _FULL_NAMES[self]

    @property
    def type_url(self) -> str:
        """The type as responses and requests name it."""
        return TYPE_URL_PREFIX + _FULL_NAMES[self]

    @property
    def is_complete(self) -> bool:
        """Return whether a response has all subscribed resources, so that absence means deletion.

        True for listeners and clusters, which also support the wildcard subscription (xDS protocol,
        "How the client specifies what resources to return" and "Deleting resources").
        """
        return self in (Kind.LISTENER, Kind.CLUSTER)

    @classmethod
    def of_type_url(cls, type_url: str) -> Kind | None:
        """Return the kind that a type URL names; None for a type that is not served."""
        return _BY_TYPE_URL.get(type_url)

    @classmethod
    def of_full_name(cls, full_name: str) -> Kind | None:
        """Return the kind of a protobuf message's full name; None for any other message."""
        return _BY_TYPE_URL.get(TYPE_URL_PREFIX + full_name)


_FULL_NAMES: Final = {
    Kind.LISTENER: "envoy.config.listener.v3.Listener",
    Kind.ROUTE: "envoy.config.route.v3.RouteConfiguration",
    Kind.CLUSTER: "envoy.config.cluster.v3.Cluster",
    Kind.ENDPOINTS: "envoy.config.endpoint.v3.ClusterLoadAssignment",
}
_BY_TYPE_URL: Final = {kind.type_url: kind for kind in Kind}

# Make before break (xDS protocol, "Eventual consistency considerations"): a cluster is there before
# a route names it, and its endpoints before traffic comes.
MAKE_BEFORE_BREAK: Final = (Kind.CLUSTER, Kind.ENDPOINTS, Kind.LISTENER, Kind.ROUTE)
