"""Configs in JSON form."""

from __future__ import annotations

import contextlib
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_under_test.reference import endpoint_by_number
from client_under_test.reference.editions.editions import MODERN, SEED
from client_under_test.reference.policies.configs import (
    PickFirstConfig,
    RingHashConfig,
    RoundRobinConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.registry import BadConfig, is_known, parse

LARGEST = 8_388_608


@pytest.mark.parametrize(
    ("configs", "parsed"),
    [
        ([{"round_robin": {}}], RoundRobinConfig()),
        ([{"myorg.Unknown": {}}, {"pick_first": {}}], PickFirstConfig()),
        ([{"pick_first": {"shuffleAddressList": True}}], PickFirstConfig(shuffle=True)),
        ([{"ring_hash_experimental": {}}], RingHashConfig(minimum=1024, maximum=4096)),
        (
            [{"ring_hash_experimental": {"minRingSize": "7", "maxRingSize": float(LARGEST)}}],
            RingHashConfig(minimum=7, maximum=LARGEST),
        ),
        (
            [{"ring_hash_experimental": {"requestHashHeader": "Session"}}],
            RingHashConfig(request_hash_header="session"),
        ),
        (
            [{"xds_wrr_locality_experimental": {"childPolicy": [{"x": {}}, {"round_robin": {}}]}}],
            WrrLocalityConfig(child=RoundRobinConfig()),
        ),
    ],
)
def test_parsed(configs: list[dict[str, Any]], parsed: PolicyConfig) -> None:
    assert parse(configs) == parsed


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"minRingSize": 0}, "minRingSize"),
        ({"maxRingSize": LARGEST + 1}, "maxRingSize"),
        ({"minRingSize": LARGEST + 1, "maxRingSize": LARGEST}, "minRingSize"),
        ({"minRingSize": 1.5}, "minRingSize"),
        ({"minRingSize": True}, "minRingSize"),
        ({"minRingSize": "many"}, "minRingSize"),
        ({"minRingSize": float("inf")}, "minRingSize"),
        ({"minRingSize": [1]}, "minRingSize"),
        ({"minRingSize": 9, "maxRingSize": 8}, "minRingSize"),
        ({"requestHashHeader": "trace-bin"}, "requestHashHeader"),
        ({"requestHashHeader": "no spaces"}, "requestHashHeader"),
        ({"requestHashHeader": 1}, "requestHashHeader"),
    ],
)
def test_bad_ring_hash(config: dict[str, Any], field: str) -> None:
    with pytest.raises(BadConfig, match=rf"\[0\]\.ring_hash_experimental\.{field}: "):
        parse([{"ring_hash_experimental": config}])


@pytest.mark.parametrize(
    "configs",
    [
        [],
        [{}],
        [{"unknown": {}}],
        ["round_robin"],
        [{"round_robin": 3}],
        [{"pick_first": {"shuffleAddressList": "yes"}}],
        [{"xds_wrr_locality_experimental": {}}],
        [{"xds_wrr_locality_experimental": {"childPolicy": "round_robin"}}],
        [{"xds_wrr_locality_experimental": {"childPolicy": []}}],
    ],
)
def test_bad(configs: list[Any]) -> None:
    with pytest.raises(BadConfig):
        parse(configs)


def test_header_before_a76() -> None:
    config = [{"ring_hash_experimental": {"requestHashHeader": "trace-bin"}}]
    read = SEED.rules.request_hash_header
    assert parse(config, request_hash_header=read) == RingHashConfig()
    with pytest.raises(BadConfig):
        parse(config, request_hash_header=MODERN.rules.request_hash_header)


NAMES = (
    "ring_hash_experimental",
    "xds_wrr_locality_experimental",
    "pick_first",
    "childPolicy",
    "minRingSize",
    "maxRingSize",
    "requestHashHeader",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=2,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(JSON, max_size=2))
def test_nothing_but_bad_config(configs: list[Any]) -> None:
    with contextlib.suppress(BadConfig):
        assert isinstance(parse(configs), PolicyConfig)


def test_known() -> None:
    assert is_known("ring_hash_experimental")
    assert not is_known("myorg.Unknown")


REGISTERED = {"myorg.Mine": endpoint_by_number.parser("myorg.Mine", count(), lambda *_: None)}


def test_a_policy_of_the_application() -> None:
    assert is_known("myorg.Mine", REGISTERED)
    fields = {"endpoint": 2.0, "more": [None]}
    parsed = parse([{"myorg.Unknown": {}}, {"myorg.Mine": fields}], registered=REGISTERED)
    assert isinstance(parsed, endpoint_by_number.NumberConfig)
    assert (parsed.endpoint, parsed.fields) == (2, fields)


@pytest.mark.parametrize("endpoint", [-1, 0.5, "1", None, True, [], float("inf"), float("nan")])
def test_a_bad_config_of_the_application(endpoint: object) -> None:
    with pytest.raises(BadConfig, match=r"^\[0\]\.myorg\.Mine: endpoint: "):
        parse([{"myorg.Mine": {"endpoint": endpoint}}], registered=REGISTERED)
