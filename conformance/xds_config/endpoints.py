"""Localities and their endpoints, as EDS lists them."""

from __future__ import annotations

import msgspec

from conformance.xds_config.formatting import or_unset

MOST_TOLD = 16
"""Endpoints of a locality that a failure's text names."""


class Endpoint(msgspec.Struct, frozen=True):
    """An endpoint as EDS lists it."""

    address: str
    weight: int | None = None
    hash_key: str | None = None
    health: str | int = "UNKNOWN"
    """A name of the xDS API's HealthStatus, or a number."""
    additional_addresses: tuple[str, ...] = msgspec.field(default=(), name="further")
    """Its additional addresses (A61)."""

    def __str__(self) -> str:
        weight = "" if self.weight is None else f" (weight {self.weight})"
        key = "" if self.hash_key is None else f" key {self.hash_key!r}"
        health = "" if self.health == "UNKNOWN" else f" {self.health}"
        addresses = "+".join((self.address, *self.additional_addresses))
        return f"{addresses}{weight}{key}{health}"


class Locality(msgspec.Struct, frozen=True):
    """A locality as EDS lists it."""

    endpoints: tuple[Endpoint, ...]
    name: str = "locality"
    """Its region, or ``region/zone/sub_zone``."""
    weight: int | None = 1
    priority: int = 0

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.endpoints[:MOST_TOLD]))
        if len(self.endpoints) > MOST_TOLD:
            listed += f" and {len(self.endpoints) - MOST_TOLD} more"
        about = f"priority {self.priority}, weight {or_unset(self.weight)}"
        return f"locality {self.name!r} ({about}): {listed}"
