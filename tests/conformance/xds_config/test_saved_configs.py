"""What each arrangement of today's scenarios has the control plane send, byte for byte.

`saved_configs.json` was written when a cluster held others within itself, before clusters became a
flat map: the wire and the words in the evidence are not to change with how it is written down here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from msgspec.structs import replace

from conformance.spec.oracles.request_hash import ChannelIdPolicy, HeaderPolicy, UnsupportedPolicy
from conformance.xds_config.clusters import Drop
from conformance.xds_config.config import (
    XdsConfig,
    aggregate,
    logical_dns,
    merge,
    one_cluster,
    single_locality,
    weighted_locality,
)
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import ExtensionRingHash, RingHash, RoundRobin, TypedRingHash
from conformance.xds_config.routes import BY_SESSION, Route

KNOWN = json.loads(Path(__file__).with_name("saved_configs.json").read_text())
EMPTY = "/grpc.testing.TestService/EmptyCall"
A, B, C, D, E, F = (f"127.0.0.1:{port}" for port in range(34101, 34107))

THERE = (Locality((Endpoint(B),)),)
OTHER = one_cluster(
    THERE,
    name="other",
    service_name="other-service",
    routes=(Route(BY_SESSION, path=EMPTY, cluster="other"),),
)
HERE = one_cluster((Locality((Endpoint(A),)),), service_name="service", is_reported=True)
BOTH = Route(BY_SESSION, weighted_clusters={"cluster": 1, "other": 1})
POLICIES = (
    HeaderPolicy(name="a", terminal=True),
    HeaderPolicy(name="b", regex="x(.*)", substitution=r"\1"),
    ChannelIdPolicy(),
    UnsupportedPolicy("cookie"),
    UnsupportedPolicy("unset", terminal=True),
)

ARRANGEMENTS = {
    "plain": single_locality([A, B, C]),
    "weights": weighted_locality({A: 1, B: None, C: 7}, policy=RingHash(minimum=16, maximum=32)),
    "policies of the route": single_locality([A], policies=POLICIES),
    "two routes": replace(
        single_locality([A]),
        routes=(
            Route((HeaderPolicy(name="a"),), path="/s/unary"),
            Route((HeaderPolicy(name="b"),), path=EMPTY),
        ),
    ),
    "ring_hash without config": single_locality([A], policy=RingHash(has_config=False)),
    "hash function by number": single_locality([A], policy=RingHash(hash_function=9)),
    "TypedStruct": single_locality([A], policy=TypedRingHash("tenant", minimum=64)),
    "RingHash extension": single_locality([A], policy=ExtensionRingHash(maximum=7)),
    "ROUND_ROBIN": single_locality([A]).with_policy(RoundRobin()),
    "priorities": single_locality(()).with_localities(
        Locality((Endpoint(A, 3), Endpoint(B, health="UNHEALTHY")), name="one/a/i", weight=2),
        Locality(
            (Endpoint(C, hash_key="k"), Endpoint(D, additional_addresses=(E, F))),
            name="two",
            weight=None,
            priority=1,
        ),
    ),
    "drops": one_cluster(
        THERE, service_name="service", is_reported=True, drops=[Drop("tenth", 98_785)]
    ),
    "another cluster beside it": merge(HERE, OTHER),
    "weighted clusters": merge(replace(single_locality([A]), routes=(BOTH,)), OTHER),
    "LOGICAL_DNS": logical_dns(A, is_reported=True),
    "LOGICAL_DNS of a name": logical_dns("xdspec.example:4000", (A, B)),
    "aggregate": aggregate(single_locality([A, B], name="leaf", policy=RoundRobin())),
}
IN_OTHER_WORDS = {"LOGICAL_DNS", "LOGICAL_DNS of a name", "aggregate"}
"""Of these something was told that was not served: a locality, or routes to a leaf."""


def on_the_wire(message: Any) -> bytes:
    sent: bytes = message.SerializeToString(deterministic=True)
    return sent


def test_all_are_here() -> None:
    assert ARRANGEMENTS.keys() == KNOWN.keys()


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_resources(name: str) -> None:
    made = ARRANGEMENTS[name].resources()
    known = KNOWN[name]["resources"]
    assert len(made) == len(known)
    for message, fields in zip(made, known, strict=True):
        assert on_the_wire(message) == on_the_wire(json_format.ParseDict(fields, type(message)()))


@pytest.mark.parametrize(
    "name", [arrangement for arrangement in ARRANGEMENTS if arrangement not in IN_OTHER_WORDS]
)
def test_words(name: str) -> None:
    assert str(ARRANGEMENTS[name]) == KNOWN[name]["words"]


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (ARRANGEMENTS["LOGICAL_DNS of a name"], f"xdspec.example:4000 as {A}, {B}"),
        (ARRANGEMENTS["aggregate"], "made of leaf; leaf: ROUND_ROBIN; locality 'locality' ("),
    ],
)
def test_words_of_what_is_named(served: XdsConfig, words: str) -> None:
    assert words in str(served)
