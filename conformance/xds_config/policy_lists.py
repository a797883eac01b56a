"""Lists of ``load_balancing_policy`` (A52), in protobuf's text format.

The text format can express more than message builders: entries without a config, names that
belong to another type, bytes that are not a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# Known by name where text says what an Any holds.
from envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3 import (
    client_side_weighted_round_robin_pb2,
)
from envoy.extensions.load_balancing_policies.least_request.v3 import least_request_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf import text_format
from udpa.type.v1 import typed_struct_pb2 as udpa_pb2
from xds.type.v3 import typed_struct_pb2 as xds_pb2

from conformance.xds_config.variants import TYPE, given_bytes, packed

FIELD: Final = "load_balancing_policy"
RING_HASH: Final = ring_hash_pb2.RingHash.DESCRIPTOR.full_name
PICK_FIRST: Final = pick_first_pb2.PickFirst.DESCRIPTOR.full_name
LEAST_REQUEST: Final = least_request_pb2.LeastRequest.DESCRIPTOR.full_name
WEIGHTED: Final = (
    client_side_weighted_round_robin_pb2.ClientSideWeightedRoundRobin.DESCRIPTOR.full_name
)
ROUND_ROBIN: Final = round_robin_pb2.RoundRobin.DESCRIPTOR.full_name
WRR_LOCALITY: Final = wrr_locality_pb2.WrrLocality.DESCRIPTOR.full_name
XDS_STRUCT: Final = xds_pb2.TypedStruct
UDPA_STRUCT: Final = udpa_pb2.TypedStruct
TYPED_STRUCT: Final = XDS_STRUCT.DESCRIPTOR.full_name

XX_HASH: Final = "hash_function: XX_HASH"


def policies(*entries: str) -> str:
    """Format the field with these entries, the most preferred first."""
    return f"{FIELD} {{ {' '.join(entries)} }}"


def entry(config: str, *, name: str = "a-policy") -> str:
    """Format an entry by its typed_config, if any, and the name of its extension."""
    return f"policies {{ typed_extension_config {{ name: '{name}' {config} }} }}"


NO_CONFIG: Final = ""
NO_EXTENSION: Final = "policies {}"


def ring_hash(*fields: str, function: str = XX_HASH, name: str = "a-policy") -> str:
    """Format an entry of RingHash; fields such as ``minimum_ring_size { value: 8 }``."""
    return entry(packed(RING_HASH, " ".join((function, *fields))), name=name)


def round_robin(fields: str = "", *, name: str = "a-policy") -> str:
    """Format an entry of RoundRobin."""
    return entry(packed(ROUND_ROBIN, fields), name=name)


def pick_first() -> str:
    """Format an entry of PickFirst."""
    return entry(packed(PICK_FIRST))


def least_request(fields: str = "") -> str:
    """Format an entry of LeastRequest."""
    return entry(packed(LEAST_REQUEST, fields))


def weighted_round_robin(fields: str = "") -> str:
    """Format an entry of ClientSideWeightedRoundRobin."""
    return entry(packed(WEIGHTED, fields))


def in_localities(*entries: str, given: bool = True) -> str:
    """Format an entry of WrrLocality, with a list for each locality if given."""
    below = f"endpoint_picking_policy {{ {' '.join(entries)} }}"
    return entry(packed(WRR_LOCALITY, below if given else ""))


def struct(policy: str, config: Mapping[str, Any]) -> str:
    """Format an entry of TypedStruct: the config of a policy, as in a service config."""
    return typed_struct(f"{TYPE}/{policy}", config)


def typed_struct(
    type_url: str, config: Mapping[str, Any] | None, *, message: Any = XDS_STRUCT
) -> str:
    """Format an entry of a policy by the name in a type_url; without config it has no `value`."""
    struct = message(type_url=type_url)
    if config is not None:
        struct.value.SetInParent()
        struct.value.update(dict(config))
    fields = text_format.MessageToString(struct, as_utf8=True, as_one_line=True)
    return entry(packed(message.DESCRIPTOR.full_name, fields))


def nested(levels: int) -> str:
    """Return an entry of RoundRobin within WrrLocality, nested to this number of policy lists."""
    return round_robin() if levels == 1 else in_localities(nested(levels - 1))


def unknown() -> str:
    """Return an entry of a type that no client supports."""
    return entry(given_bytes(f"{TYPE}/xdspec.NobodyHasThisPolicy"))
