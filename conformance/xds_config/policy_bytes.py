"""Lists of ``load_balancing_policy`` as bytes (A52): longer than text says, or no message."""

from __future__ import annotations

from typing import Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from google.protobuf import struct_pb2, wrappers_pb2

from conformance.xds_config.policy_lists import FIELD, RING_HASH, ROUND_ROBIN, TYPED_STRUCT
from conformance.xds_config.variants import TYPE

LIST: Final = cluster_pb2.Cluster.DESCRIPTOR.fields_by_name[FIELD].number
POLICY: Final = 1
EXTENSION: Final = 4
KEY: Final = b"config"
RANDOM_SUBSETTING: Final = (
    "envoy.extensions.load_balancing_policies.random_subsetting.v3.RandomSubsetting"
)

_DELIMITED: Final = 2
_BITS, _MORE = 7, 0x80


def number(value: int) -> bytes:
    """Encode a number as a varint."""
    written = bytearray()
    while value >= _MORE:
        written.append(value % _MORE | _MORE)
        value >>= _BITS
    return bytes((*written, value))


def field(key: int, held: bytes) -> bytes:
    """Encode a field with bytes, a text or a message."""
    return number(key << 3 | _DELIMITED) + number(len(held)) + held


def policies(*entries: bytes) -> bytes:
    """Encode the field of a Cluster with these entries."""
    return field(LIST, b"".join(field(POLICY, field(EXTENSION, policy)) for policy in entries))


def entry(type_url: bytes, body: bytes = b"") -> bytes:
    """Encode an entry by the type and the value of its Any."""
    return field(1, b"a-policy") + field(2, field(1, type_url) + field(2, body))


def round_robin(body: bytes = b"") -> bytes:
    """Encode an entry of RoundRobin with these bytes."""
    return entry(f"{TYPE}/{ROUND_ROBIN}".encode(), body)


def ring_hash_of_another_function() -> bytes:
    """Encode an entry of RingHash that cannot be converted: its hash function is MURMUR_HASH_2."""
    return entry(
        f"{TYPE}/{RING_HASH}".encode(), ring_hash_pb2.RingHash(hash_function=2).SerializeToString()
    )


def random_subsetting(size: int) -> bytes:
    """Return an entry of RandomSubsetting (A68), not in our protos, with round_robin as child."""
    subset = field(1, wrappers_pb2.UInt32Value(value=size).SerializeToString())
    child = field(2, field(POLICY, field(EXTENSION, round_robin())))
    return entry(f"{TYPE}/{RANDOM_SUBSETTING}".encode(), subset + child)


def unknown() -> bytes:
    """Return an entry of a type that no client supports."""
    return entry(f"{TYPE}/xdspec.NobodyHasThisPolicy".encode())


def struct(policy: str, value: bytes) -> bytes:
    """Return an entry of TypedStruct: a config with one field, which has the bytes of a Value."""
    config = field(1, field(1, KEY) + field(2, value))
    body = field(1, f"{TYPE}/{policy}".encode()) + field(2, config)
    return entry(f"{TYPE}/{TYPED_STRUCT}".encode(), body)


def nested(levels: int) -> bytes:
    """Return lists nested to this depth, as the bytes of a Value."""
    value = struct_pb2.Value(null_value=struct_pb2.NULL_VALUE).SerializeToString()
    for _ in range(levels):
        value = field(struct_pb2.Value.LIST_VALUE_FIELD_NUMBER, field(1, value))
    return value


def text(length: int) -> bytes:
    """Return a string of this length, as the bytes of a Value."""
    return field(struct_pb2.Value.STRING_VALUE_FIELD_NUMBER, b"x" * length)
