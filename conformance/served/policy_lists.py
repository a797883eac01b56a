"""Lists of ``load_balancing_policy`` (A52), in the words of protobuf's text format.

What the text format can say goes further than what builders say: entries without a config, names
that belong to another type, bytes that are no message.
"""

from __future__ import annotations

from typing import Final

# Known by name where text says what an Any holds.
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2

from conformance.served.oddities import TYPE, given_bytes, packed

FIELD: Final = "load_balancing_policy"
RING_HASH: Final = ring_hash_pb2.RingHash.DESCRIPTOR.full_name
ROUND_ROBIN: Final = round_robin_pb2.RoundRobin.DESCRIPTOR.full_name
WRR_LOCALITY: Final = wrr_locality_pb2.WrrLocality.DESCRIPTOR.full_name

XX_HASH: Final = "hash_function: XX_HASH"


def policies(*entries: str) -> str:
    """The field with these entries, the most preferred first."""
    return f"{FIELD} {{ {' '.join(entries)} }}"


def entry(config: str, *, name: str = "a-policy") -> str:
    """An entry by its typed_config, if it has one, and a name of its extension."""
    return f"policies {{ typed_extension_config {{ name: '{name}' {config} }} }}"


def ring_hash(*fields: str, function: str = XX_HASH) -> str:
    """An entry of RingHash; fields such as ``minimum_ring_size { value: 8 }``."""
    return entry(packed(RING_HASH, " ".join((function, *fields))))


def round_robin(fields: str = "") -> str:
    """An entry of RoundRobin."""
    return entry(packed(ROUND_ROBIN, fields))


def in_localities(*entries: str) -> str:
    """An entry of WrrLocality, with a list for each locality."""
    return entry(packed(WRR_LOCALITY, f"endpoint_picking_policy {{ {' '.join(entries)} }}"))


def unknown() -> str:
    """An entry of a type that nobody has."""
    return entry(given_bytes(f"{TYPE}/xdspec.NobodyHasThisPolicy"))
