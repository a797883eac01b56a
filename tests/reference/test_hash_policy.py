"""The hash of a request, policy by policy and as a list."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import xxhash
from envoy.config.route.v3 import route_components_pb2

from client_under_test.reference import hash_policy
from client_under_test.reference.editions.editions import SEED, SEED_2021, Rules
from client_under_test.reference.hash_policy import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
)
from client_under_test.reference.values import Metadata

CHANNEL = 0x1234_5678_9ABC_DEF0


def xxh64(text: str) -> int:
    return xxhash.xxh64_intdigest(text.encode())


def header(name: str, *, terminal: bool = False) -> HeaderPolicy:
    return HeaderPolicy(name=name, terminal=terminal)


def hashed(
    policies: list[HashPolicy], metadata: Metadata, rules: Rules = SEED.rules, seed: int = 1
) -> int:
    return hash_policy.request_hash(
        policies, metadata, channel_id=CHANNEL, random=random.Random(seed), rules=rules
    )


def is_random(policies: list[HashPolicy], metadata: Metadata, rules: Rules = SEED.rules) -> bool:
    return len({hashed(policies, metadata, rules, seed) for seed in range(3)}) == 3


def envoy(*hashes: int) -> int:
    """Combine as the pseudo-code of A42 does."""
    combined, *rest = hashes
    for value in rest:
        combined = (((combined << 1) | (combined >> 63)) & (2**64 - 1)) ^ value
    return combined


def test_one_header() -> None:
    assert hashed([header("k")], (("k", "v"),)) == xxh64("v")
    assert hashed([header("K")], (("k", "v"),)) == xxh64("v")
    assert hashed([header("k")], (("k", ""),)) == xxh64("")
    assert hashed([header("k")], (("k", "v"), ("j", "x"), ("k", "w"))) == xxh64("v,w")


@pytest.mark.parametrize(
    ("policies", "metadata"),
    [
        ([], (("k", "v"),)),
        ([header("k")], ()),
        ([header("k-bin")], (("k-bin", b"v"),)),
        ([header(":path")], ()),
        ([UnsupportedPolicy(kind="cookie")], (("cookie", "v"),)),
    ],
)
def test_random_without_a_result(policies: list[HashPolicy], metadata: Metadata) -> None:
    assert is_random(policies, metadata)


def test_content_type_is_assumed() -> None:
    assert hashed([header("content-type")], ()) == xxh64("application/grpc")
    assert hashed([header("content-type")], (("content-type", "x"),)) == xxh64("application/grpc")


def test_2021_knows_no_exceptions() -> None:
    assert is_random([header("content-type")], (), SEED_2021.rules)
    two = (("k-bin", b"v"), ("k-bin", b"w"))
    assert hashed([header("k-bin")], two, SEED_2021.rules) == xxh64("v,w")


def test_channel_id() -> None:
    assert hashed([ChannelIdPolicy()], ()) == CHANNEL
    assert hashed([header("k"), ChannelIdPolicy()], (("k", "v"),)) == envoy(xxh64("v"), CHANNEL)
    drawn = {SEED.rules.draw_channel_id(random.Random(seed)) for seed in range(100)}
    assert len(drawn) == 100
    assert max(drawn) > 2**63


def test_policies_without_a_result_leave_no_trace() -> None:
    policies: list[HashPolicy] = [header("x"), header("k"), UnsupportedPolicy(kind="cookie")]
    assert hashed(policies, (("k", "v"),)) == xxh64("v")


# A42-HASH-13 to -16: the list is a, b (terminal where written !), c; all of a, b, c may be sent.
@pytest.mark.parametrize(
    ("listed", "sent", "current", "first_wording"),
    [
        ("a b c", "abc", "abc", "abc"),
        ("a! b c", "abc", "a", "a"),
        ("a! b c", "bc", "bc", "bc"),
        ("a b! c", "abc", "ab", "ab"),
        ("a b! c", "bc", "b", "b"),
        ("a b! c", "ac", "a", "ac"),
        ("a b! c", "c", "c", "c"),
        ("a b c!", "ab", "ab", "ab"),
    ],
)
def test_terminal(listed: str, sent: str, current: str, first_wording: str) -> None:
    policies: list[HashPolicy] = [
        header(word[0], terminal=word.endswith("!")) for word in listed.split()
    ]
    metadata = tuple((name, f"value of {name}") for name in sent)
    for rules, names in ((SEED.rules, current), (SEED_2021.rules, first_wording)):
        expected = envoy(*(xxh64(f"value of {name}") for name in names))
        assert hashed(policies, metadata, rules) == expected


@pytest.mark.parametrize(
    ("regex", "substitution", "value", "rewritten"),
    [
        ("b", "x", "abcb", "axcx"),
        ("(a)(b)", r"\2\1", "abab", "baba"),
        ("a", r"<\0>", "banana", "b<a>n<a>n<a>"),
        ("a", r"\\", "a", "\\"),
        ("z", "x", "abc", "abc"),
        (".*", "", "abc", ""),
        ("a*", "x", "baac", "xbxcx"),  # not xbxxcx: an empty match may not touch another
        ("", "-", "äb", "-ä-b-"),
        ("^a", "x", "aaa", "xaa"),
        ("(a)|(b)", r"[\2]", "ab", "[][b]"),
        ("a", r"\7", "a", ""),
        ("a", "\\", "a", ""),
    ],
)
def test_rewrite(regex: str, substitution: str, value: str, rewritten: str) -> None:
    assert hash_policy.rewrite_header(regex, substitution, value) == rewritten
    policy = HeaderPolicy(name="k", regex=regex, substitution=substitution)
    assert hashed([policy], (("k", value),)) == xxh64(rewritten)


def action(*fields: dict[str, Any]) -> Any:
    policies = [route_components_pb2.RouteAction.HashPolicy(**field) for field in fields]
    return route_components_pb2.RouteAction(hash_policy=policies).hash_policy


def test_read() -> None:
    rewrite = {"pattern": {"regex": "a+"}, "substitution": r"\0"}
    messages = action(
        {"header": {"header_name": "K"}, "terminal": True},
        {"header": {"header_name": "k", "regex_rewrite": rewrite}},
        {"filter_state": {"key": "io.grpc.channel_id"}, "terminal": True},
        {"filter_state": {"key": "other"}},
        {"cookie": {"name": "c"}, "terminal": True},
        {"connection_properties": {"source_ip": True}},
        {"query_parameter": {"name": "q"}},
        {},
    )
    read = [hash_policy.read_hash_policy(message) for message in messages]
    assert read[:3] == [
        HeaderPolicy(name="K", terminal=True),
        HeaderPolicy(name="k", regex="a+", substitution=r"\0"),
        ChannelIdPolicy(terminal=True),
    ]
    kinds = [policy.kind for policy in read if isinstance(policy, UnsupportedPolicy)]
    assert kinds == ["filter_state", "cookie", "connection_properties", "query_parameter", "unset"]


def test_bad_regex() -> None:
    rewrite = {"pattern": {"regex": "(?=a)"}}
    (message,) = action({"header": {"header_name": "k", "regex_rewrite": rewrite}})
    with pytest.raises(hash_policy.BadHashPolicy, match=r"header\.regex_rewrite"):
        hash_policy.read_hash_policy(message)


def test_a_rule_can_be_broken_alone() -> None:
    forgetful = replace(SEED.rules, combine_hashes=lambda _gathered, result: result)
    policies: list[HashPolicy] = [header("a"), header("b")]
    assert hashed(policies, (("a", "1"), ("b", "2")), forgetful) == xxh64("2")
