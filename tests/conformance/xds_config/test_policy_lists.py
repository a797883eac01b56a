"""Lists of load_balancing_policy, as text and as bytes say them."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf import struct_pb2
from google.protobuf.message import DecodeError
from xds.type.v3 import typed_struct_pb2

from conformance.xds_config import policy_bytes, policy_lists
from conformance.xds_config.variants import RawClusterVariant, ResourceVariant
from fake_control_plane import resources

GOOD = resources.eds_cluster("c")
NAMED = "type.googleapis.com/"


def types(message: Any) -> list[str]:
    return [
        policy.typed_extension_config.typed_config.type_url.removeprefix(NAMED)
        for policy in message.policies
    ]


def listed(said: str) -> Any:
    return ResourceVariant("", said).of(GOOD).load_balancing_policy


def test_the_same_by_text_and_by_bytes() -> None:
    said = policy_lists.policies(policy_lists.unknown(), policy_lists.round_robin())
    body = policy_bytes.policies(policy_bytes.unknown(), policy_bytes.round_robin())
    sent = RawClusterVariant("", "a list", body).of(GOOD)
    read = cluster_pb2.Cluster.FromString(sent.body)
    assert (sent.name, read) == ("c", ResourceVariant("", said).of(GOOD))
    assert types(read.load_balancing_policy)[1] == policy_lists.ROUND_ROBIN


@pytest.mark.parametrize("levels", [1, 2, 16])
def test_lists_in_one_another(levels: int) -> None:
    message, found = listed(policy_lists.policies(policy_lists.nested(levels))), 1
    while types(message) == [policy_lists.WRR_LOCALITY]:
        below = wrr_locality_pb2.WrrLocality()
        message.policies[0].typed_extension_config.typed_config.Unpack(below)
        message, found = below.endpoint_picking_policy, found + 1
    assert (types(message), found) == ([policy_lists.ROUND_ROBIN], levels)


def test_entries_that_lack_something() -> None:
    bare, empty = listed(
        policy_lists.policies(policy_lists.NO_EXTENSION, policy_lists.entry(policy_lists.NO_CONFIG))
    ).policies
    assert not bare.HasField("typed_extension_config")
    assert empty.HasField("typed_extension_config")
    assert not empty.typed_extension_config.HasField("typed_config")
    assert ResourceVariant("", policy_lists.policies()).of(GOOD).HasField("load_balancing_policy")


def test_a_struct_by_text() -> None:
    message = typed_struct_pb2.TypedStruct()
    (policy,) = listed(policy_lists.policies(policy_lists.struct("a.B", {"c": "d"}))).policies
    policy.typed_extension_config.typed_config.Unpack(message)
    assert (message.type_url, dict(message.value)) == (f"{NAMED}a.B", {"c": "d"})


@pytest.mark.parametrize("levels", [0, 1, 30])
def test_values_in_one_another(levels: int) -> None:
    value = struct_pb2.Value.FromString(policy_bytes.nested(levels))
    for _ in range(levels):
        (value,) = value.list_value.values
    assert value == struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)


def test_a_struct_by_bytes() -> None:
    body = policy_bytes.policies(policy_bytes.struct("a.B", policy_bytes.text(300)))
    (policy,) = cluster_pb2.Cluster.FromString(body).load_balancing_policy.policies
    message = typed_struct_pb2.TypedStruct()
    policy.typed_extension_config.typed_config.Unpack(message)
    assert (message.type_url, dict(message.value)) == (f"{NAMED}a.B", {"config": "x" * 300})


def test_what_is_cut_off_is_no_message() -> None:
    body = policy_bytes.policies(policy_bytes.round_robin())
    assert body.startswith(b"\xca\x02")
    with pytest.raises(DecodeError):
        cluster_pb2.Cluster.FromString(body[:-20])


def test_words() -> None:
    assert str(RawClusterVariant("", "a list", b"1234")) == "but with a list, 4 bytes"
