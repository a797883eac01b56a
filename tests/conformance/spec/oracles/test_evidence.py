"""Oracle inputs and results are written to files and read back."""

import msgspec
import pytest

from conformance.spec.oracles.census import Census
from conformance.spec.oracles.request_hash import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
)
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.variants import CANDIDATES, Candidate, RingVariant
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightedEndpoint
from conformance.spec.oracles.ring_movement import Move, anchored
from conformance.spec.oracles.statistics import Interval

LARGEST = 2**64 - 1

POLICIES: list[HashPolicy] = [
    HeaderPolicy(name="session", regex="(a)", substitution=r"\1", terminal=True),
    ChannelIdPolicy(terminal=True),
    UnsupportedPolicy("filter_state"),
]


@pytest.mark.parametrize(
    "value",
    [
        *POLICIES,
        RingEndpoint("[::1]:80", 3, "key"),
        RingLocality("a", (RingEndpoint("127.0.0.1:80"),), None),
        WeightedEndpoint(address="127.0.0.1:80", weight=2**32 - 1, locality="a"),
        RingConfig(1, None, 8192),
        RingVariant("[/{address}]_{i}", "keys", "signed"),
        *CANDIDATES[:3],
        Candidate(),
        Census(3, 1, {"a": 3}),
        Interval(0, LARGEST),
        Move(LARGEST, "a", "b"),
        anchored(["a", "b", "c"]),
    ],
)
def test_round_trip(value: msgspec.Struct) -> None:
    written = msgspec.json.encode(value)
    assert msgspec.json.decode(written, type=type(value)) == value


def test_policies_are_told_apart_by_their_tags() -> None:
    written = msgspec.json.encode(POLICIES)
    assert msgspec.json.decode(written, type=list[HashPolicy]) == POLICIES
