"""What every part of the client speaks of: states, statuses, endpoints and where they are."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

Metadata = tuple[tuple[str, str | bytes], ...]
HierarchicalPath = tuple[str, ...]

UNKNOWN, HEALTHY, DRAINING = 0, 1, 3
"""Numbers of HealthStatus in the xDS API: those that a client may use (A27, A55)."""


class State(enum.Enum):
    """Connectivity, of a subchannel as of a policy."""

    IDLE = "IDLE"
    CONNECTING = "CONNECTING"
    READY = "READY"
    TRANSIENT_FAILURE = "TRANSIENT_FAILURE"


class Status(msgspec.Struct, frozen=True):
    """Why something failed, with the name of a gRPC status code."""

    code: str
    details: str

    @classmethod
    def unavailable(cls, details: str) -> Status:
        """Make the status that most failures of balancing have."""
        return cls("UNAVAILABLE", details)


class BackendMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The load that a backend reports at the end of a call (A51), as far as it may be reported."""

    cpu_utilization: float = 0.0
    mem_utilization: float = 0.0
    application_utilization: float = 0.0
    rps: float = 0.0
    """Requests per second."""
    eps: float = 0.0
    """Errors per second."""
    named: Mapping[str, float]
    """Its named_metrics."""


class Locality(msgspec.Struct, frozen=True, order=True):
    """Where an endpoint is. All empty: unknown, as for endpoints found by DNS."""

    region: str = ""
    zone: str = ""
    sub_zone: str = ""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A server, by its addresses ("ip:port", "[v6]:port"), with the attributes that policies read.

    ring_hash uses `weight`; wrr_locality uses `locality_weight`. `hash_key` is the A76 key, or
    empty. `path` has the names of the children between the policy that has this endpoint and its
    leaf.
    """

    addresses: tuple[str, ...]
    weight: int = 1
    locality: Locality = Locality()
    locality_weight: int = 1
    hash_key: str = ""
    path: HierarchicalPath = ()
    health: int = UNKNOWN
    """Its HealthStatus, where session affinity needs it (A55)."""
