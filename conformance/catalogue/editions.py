"""The editions: the texts, and dated wordings of them, that a client's manifest may state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BROUGHT: Final[Mapping[str, str]] = {
    "A37": "aggregate and LOGICAL_DNS clusters",
    "A42-2021": "RING_HASH as first written: A42 before September 2023",
    "A42": "RING_HASH: hash policies of routes, the ring, its states and its picker",
    "A52": "load_balancing_policy in the Cluster, in the place of lb_policy",
    "A56-2022": "the priority policy as first written: A56 before August 2025",
    "A56": "the priority policy as a text: its failover timer",
    "A61-2023": "ring_hash over lazy pick_firsts as first written: A61 before February 2025",
    "A61": "ring_hash over lazy pick_firsts: its picker, endpoints of several addresses",
    "A62": "a pick_first that stays in TRANSIENT_FAILURE, and may shuffle",
    "A74": "one dependency manager for all that a route config names",
    "A75": "aggregate clusters by the policies of their leaves",
    "A76": "hash_key of an endpoint, request_hash_header of the policy",
    "A113": "weights as shares of their locality and priority, not as raw products",
    "envoy": "Envoy's own ways, where they are others than gRPC's",
}
"""What each brings, earliest first and Envoy's last."""
