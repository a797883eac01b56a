"""The LB policy of a cluster, in each form that a Cluster resource knows (A42, A52, A76)."""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.xds_config.formatting import or_unset
from fake_control_plane import resources


class RingHash(msgspec.Struct, frozen=True, tag="RING_HASH"):
    """``lb_policy: RING_HASH``; a size of None is left unset in the resource."""

    minimum: int | None = None
    maximum: int | None = None
    hash_function: str | int | None = "XX_HASH"
    """A name of the enum, or a number that it does not have."""
    has_config: bool = True
    """False leaves ``ring_hash_lb_config`` out."""

    def __str__(self) -> str:
        if not self.has_config:
            return "RING_HASH without ring_hash_lb_config"
        function = self.hash_function
        told = f", hash_function {or_unset(function)}" if function != "XX_HASH" else ""
        return f"RING_HASH{_sizes(self.minimum, self.maximum)}{told}"


class TypedRingHash(msgspec.Struct, frozen=True, tag="TypedStruct"):
    """``load_balancing_policy`` with gRPC's own config of ring_hash in a TypedStruct (A52, A76)."""

    request_hash_header: str | None = None
    """None leaves it out."""
    minimum: int | None = None
    maximum: int | None = None
    """None, left out, is no 8M here: it is the default of the config itself."""

    def config(self) -> dict[str, str | int]:
        """Return the config as in a service config."""
        fields = {
            "requestHashHeader": self.request_hash_header,
            "minRingSize": self.minimum,
            "maxRingSize": self.maximum,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        return f"TypedStruct of ring_hash_experimental {self.config()}"


class ExtensionRingHash(msgspec.Struct, frozen=True, tag="RingHash"):
    """``load_balancing_policy`` with the xDS API's own config of ring_hash (A52)."""

    minimum: int | None = None
    maximum: int | None = None

    def __str__(self) -> str:
        return f"RingHash in load_balancing_policy{_sizes(self.minimum, self.maximum)}"


class RoundRobin(msgspec.Struct, frozen=True, tag="ROUND_ROBIN"):
    """``lb_policy: ROUND_ROBIN``."""

    def __str__(self) -> str:
        return "ROUND_ROBIN"


def _sizes(minimum: int | None, maximum: int | None) -> str:
    """Return the sizes that are set, by the names of their fields."""
    sizes = {"minimum_ring_size": minimum, "maximum_ring_size": maximum}
    told = "".join(f", {name} {size}" for name, size in sizes.items() if size is not None)
    return told or " with default ring sizes"


Policy = RingHash | TypedRingHash | ExtensionRingHash | RoundRobin
"""The LB policy of a cluster."""


def policy_resource(policy: Policy) -> Any:
    """Return the policy as the builders of clusters take it."""
    match policy:
        case RoundRobin():
            return resources.RoundRobin()
        case TypedRingHash():
            config = resources.typed_struct("ring_hash_experimental", policy.config())
            return resources.load_balancing_policy(config)
        case ExtensionRingHash():
            config = resources.ring_hash_extension(policy.minimum, policy.maximum)
            return resources.load_balancing_policy(config)
        case RingHash():
            return resources.RingHash(
                minimum=policy.minimum,
                maximum=policy.maximum,
                hash_function=policy.hash_function,
                with_config=policy.has_config,
            )
