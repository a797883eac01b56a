"""load_balancing_policy lists (A52): valid and invalid ones."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf.wrappers_pb2 import StringValue
from udpa.type.v1 import typed_struct_pb2 as udpa_pb2
from xds.type.v3 import typed_struct_pb2 as xds_pb2

from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.policies.configs import (
    PickFirstConfig,
    RingHashConfig,
    RoundRobinConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.xds.policy_list_rules import supports_policy_a62
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.reading import Good
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made
from tests.reference.validation import LARGEST, Change, read, refused, value

# load_balancing_policy (A52).


def policies(*configs: Any) -> Any:
    message = cluster_pb2.Cluster().load_balancing_policy
    message.SetInParent()
    for config in configs:
        message.policies.add().typed_extension_config.typed_config.Pack(config)
    return message


def with_policy(*configs: Any) -> Any:
    cluster = made.eds_cluster("c")
    cluster.load_balancing_policy.CopyFrom(policies(*configs))
    return cluster


def in_localities(*configs: Any) -> Any:
    return wrr_locality_pb2.WrrLocality(endpoint_picking_policy=policies(*configs))


def nested(levels: int) -> Any:
    config = round_robin_pb2.RoundRobin()
    for _ in range(levels - 1):
        config = in_localities(config)
    return config


def struct(kind: Any, name: str, **fields: Any) -> Any:
    message = kind.TypedStruct(type_url=f"type.googleapis.com/{name}")
    message.value.update(fields)
    return message


XX = ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.XX_HASH)
ROBIN = round_robin_pb2.RoundRobin()


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ([XX], RingHashConfig(minimum=1024, maximum=LARGEST)),
        ([ROBIN], RoundRobinConfig()),
        ([pick_first_pb2.PickFirst(), ROBIN], RoundRobinConfig()),
        ([in_localities(ROBIN)], WrrLocalityConfig(child=RoundRobinConfig())),
        ([StringValue(value="unknown"), ROBIN, XX], RoundRobinConfig()),
        (
            [in_localities(StringValue(value="x"), ROBIN)],
            WrrLocalityConfig(child=RoundRobinConfig()),
        ),
        ([struct(xds_pb2, "round_robin")], RoundRobinConfig()),
        ([struct(udpa_pb2, "round_robin")], RoundRobinConfig()),
        ([struct(xds_pb2, "myorg.Unknown"), ROBIN], RoundRobinConfig()),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=5, maxRingSize="9")],
            RingHashConfig(minimum=5, maximum=9),
        ),
    ],
)
def test_load_balancing_policy(configs: list[Any], expected: PolicyConfig) -> None:
    cluster = with_policy(*configs)
    cluster.lb_policy = cluster_pb2.Cluster.MAGLEV  # is not looked at
    assert value(Kind.CLUSTER, cluster).policy == expected


def test_pick_first_is_of_a62() -> None:
    cluster = with_policy(pick_first_pb2.PickFirst(shuffle_address_list=True))
    refused(Kind.CLUSTER, cluster, "c", "has no policy that is supported")
    found = read(Kind.CLUSTER, cluster, XdsRules(supports_policy=supports_policy_a62))
    assert isinstance(found, Good)
    assert isinstance(found.value, Leaf)
    assert found.value.policy == PickFirstConfig(shuffle=True)


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ([], "load_balancing_policy.policies: has no policy that is supported"),
        ([StringValue(value="x")], "has no policy that is supported"),
        ([struct(xds_pb2, "myorg.Unknown")], "has no policy that is supported"),
        ([wrr_locality_pb2.WrrLocality()], "endpoint_picking_policy: is missing"),
        ([in_localities(StringValue(value="x"))], "has no policy that is supported"),
        ([ring_hash_pb2.RingHash()], "typed_config.hash_function"),
        (
            [ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.MURMUR_HASH_2), ROBIN],
            "typed_config.hash_function",
        ),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=9e6)],
            "ring_hash_experimental.minRingSize",
        ),
        (
            [struct(xds_pb2, "ring_hash_experimental", minRingSize=float("nan"))],
            "typed_config.value: cannot be written as JSON",
        ),
        ([nested(17)], "is a list of level 17"),
    ],
)
def test_bad_load_balancing_policy(configs: list[Any], words: str) -> None:
    refused(Kind.CLUSTER, with_policy(*configs), "c", "load_balancing_policy", words)


def test_sixteen_levels_are_allowed() -> None:
    assert isinstance(read(Kind.CLUSTER, with_policy(nested(16))), Good)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda entry: entry.ClearField("typed_extension_config"),
            "typed_extension_config: is missing",
        ),
        (
            lambda entry: entry.typed_extension_config.ClearField("typed_config"),
            "typed_config: is missing",
        ),
        (
            lambda entry: setattr(entry.typed_extension_config.typed_config, "value", b"\x0f"),
            "typed_config: is no RoundRobin",
        ),
    ],
)
def test_entries_without_what_they_need(change: Change, words: str) -> None:
    cluster = with_policy(ROBIN)
    entry = cluster.load_balancing_policy.policies[0]
    entry.typed_extension_config.name = "x"
    change(entry)
    refused(Kind.CLUSTER, cluster, "c", words)
