"""The four types of resources."""

from __future__ import annotations

import enum
from typing import Final

PREFIX: Final = "type.googleapis.com/"


class Kind(enum.Enum):
    """A type of resource; the value is the name of its message."""

    LISTENER = "envoy.config.listener.v3.Listener"
    ROUTE = "envoy.config.route.v3.RouteConfiguration"
    CLUSTER = "envoy.config.cluster.v3.Cluster"
    ENDPOINTS = "envoy.config.endpoint.v3.ClusterLoadAssignment"

    @property
    def type_url(self) -> str:
        """As discovery requests name it."""
        return PREFIX + self.value

    @property
    def noun(self) -> str:
        """The message's short name, for sentences."""
        return self.value.rpartition(".")[2]


BY_TYPE_URL: Final = {kind.type_url: kind for kind in Kind}
