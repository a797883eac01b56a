"""Hash policies: header rules, terminal in both wordings, rewrites, combination."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.spec.oracles.request_hash import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    Metadata,
    SeveralValues,
    TerminalReading,
    UnsupportedPolicy,
    combine,
    contributing,
    header_values,
    policies_in_use,
    request_hash,
    rewrite,
    xxh64,
)

CHANNEL = ChannelIdPolicy()
COOKIE = UnsupportedPolicy("cookie")
LAST_COOKIE = UnsupportedPolicy("cookie", terminal=True)


def header(name: str, *, terminal: bool = False) -> HeaderPolicy:
    return HeaderPolicy(name=name, terminal=terminal)


@pytest.mark.parametrize(
    ("value", "digest"),
    [
        # Published with the algorithm.
        ("", 0xEF46DB3751D8E999),
        ("a", 0xD24EC4F1A98C6E5B),
        ("abc", 0x44BC2CF5AD770999),
        ("The quick brown fox jumps over the lazy dog", 0x0B242D361FDA71BC),
    ],
)
def test_hash_is_xxh64_with_seed_0(value: str, digest: int) -> None:
    assert xxh64(value) == xxh64(value.encode()) == digest


@pytest.mark.parametrize(
    ("metadata", "name", "seen"),
    [
        ([("session", "one")], "session", ("one",)),
        ([("session", "one")], "Session", ("one",)),
        ([("session", b"one")], "session", ("one",)),
        ([("session", "")], "session", ("",)),
        ([("session", "one")], "other", ()),
        ([], "session", ()),
        ([("session", "b"), ("x", "-"), ("session", "a")], "session", ("b,a",)),
        ([("session", "a"), ("session", "")], "session", ("a,",)),
        ([("session-bin", b"\x00")], "session-bin", ()),
        ([("session-bin", b"\x00")], "SESSION-BIN", ()),
        ([], "content-type", ("application/grpc",)),
        ([("content-type", "text/plain")], "content-type", ("application/grpc",)),
    ],
)
def test_what_a_header_policy_sees(metadata: Metadata, name: str, seen: tuple[str, ...]) -> None:
    assert header_values(metadata, name) == seen


@pytest.mark.parametrize(
    ("several", "first", "two"),
    [
        ("joined", xxh64("b"), xxh64("b,a")),
        ("first", xxh64("b"), xxh64("b")),
        ("last", xxh64("b"), xxh64("a")),
        ("sorted", xxh64("b"), xxh64("b", xxh64("a"))),
    ],
)
def test_several_values_of_a_header(several: SeveralValues, first: int, two: int) -> None:
    policy = HeaderPolicy(name="session", several=several)
    both = [("session", "b"), ("x", "-"), ("session", "a")]
    assert request_hash([policy], both[:1], terminal="A42") == first
    assert request_hash([policy], both, terminal="A42") == two
    assert request_hash([policy], [("x", "-")], terminal="A42") is None


def test_several_values_are_rewritten_one_by_one_before_they_are_sorted() -> None:
    policy = HeaderPolicy(name="session", regex="^a", substitution="z", several="sorted")
    both = [("session", "a"), ("session", "b")]
    assert request_hash([policy], both, terminal="A42") == xxh64("z", xxh64("b"))


def test_a_value_that_no_client_can_send_is_refused() -> None:
    for value in ("é", b"\xff"):
        with pytest.raises(ValueError, match="not ASCII"):
            header_values([("session", value)], "session")


@pytest.mark.parametrize(
    ("value", "regex", "substitution", "result"),
    [
        ("user-17", "[0-9]+", "N", "user-N"),
        ("a1b22c333", "[0-9]+", "#", "a#b#c#"),
        ("17-user", r"(\w+)-(\w+)", r"\2/\1", "user/17"),
        ("17-user", r"(\w+)-(\w+)", r"\0\\\0", r"17-user\17-user"),
        ("user", "[0-9]+", "N", "user"),
        ("user", ".+", "", ""),
        ("", "x", "y", ""),
        ("ab", "(a)|(b)", r"<\1\2>", "<a><b>"),  # a group that took no part is empty
        ("aXbX", "X$", "!", "aXb!"),
        ("price", "i", "$1", "pr$1ce"),  # other dialects' groups mean nothing
    ],
)
def test_rewrite(value: str, regex: str, substitution: str, result: str) -> None:
    assert rewrite(value, regex, substitution) == result


@pytest.mark.parametrize(
    ("regex", "substitution", "reason"),
    [
        ("a*", "-", "matches an empty string"),
        (r"\b", "-", "matches an empty string"),
        ("(", "-", "not an RE2 pattern"),
        ("(?=a)", "-", "not an RE2 pattern"),  # Python has it, RE2 does not
        (r"(a)\1", "-", "not an RE2 pattern"),
        ("a", r"\1", "not an RE2 rewrite"),
        ("a", r"\q", "not an RE2 rewrite"),
        ("a", "\\", "not an RE2 rewrite"),
    ],
)
def test_rewrites_without_a_defined_result_are_refused(
    regex: str, substitution: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        rewrite("baac", regex, substitution)


def test_combination_rotates_then_xors() -> None:
    top = 1 << 63
    assert combine([]) is None
    assert combine([top]) == top
    assert combine([top, 0]) == 1
    assert combine([0b1011, 0b1]) == 0b10111
    assert combine([1, 2]) == 0  # 1 rotated is 2


@given(st.lists(st.integers(0, 2**64 - 1), min_size=2))
def test_combination_by_arithmetic(hashes: list[int]) -> None:
    expected = 0
    for value in hashes:
        doubled = expected * 2
        expected = (doubled % 2**64 + doubled // 2**64) ^ value
    assert combine(hashes) == expected


BOTH: tuple[TerminalReading, ...] = ("A42", "A42-2021")
METADATA = [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    ("policies", "now", "then"),
    [
        ([], (), ()),
        ([header("a")], (0,), (0,)),
        ([header("c")], (), ()),
        ([COOKIE, header("c"), header("b")], (2,), (2,)),
        ([header("a"), header("b"), CHANNEL], (0, 1, 2), (0, 1, 2)),
        # Terminal with a hash of its own, first and later.
        ([header("a", terminal=True), header("b")], (0,), (0,)),
        ([header("a"), header("b", terminal=True), CHANNEL], (0, 1), (0, 1)),
        # Terminal without one, and none before.
        ([header("c", terminal=True), header("b")], (1,), (1,)),
        ([LAST_COOKIE, header("b")], (1,), (1,)),
        # Terminal without one, after a hash: the wordings differ.
        ([header("a"), header("c", terminal=True), header("b")], (0,), (0, 2)),
        ([header("a"), LAST_COOKIE, header("b")], (0,), (0, 2)),
        ([ChannelIdPolicy(terminal=True), header("a")], (0,), (0,)),
    ],
)
def test_which_policies_count(
    policies: list[HashPolicy], now: tuple[int, ...], then: tuple[int, ...]
) -> None:
    assert contributing(policies, METADATA, "A42") == now
    assert contributing(policies, METADATA, "A42-2021") == then


@pytest.mark.parametrize("reading", BOTH)
def test_request_hash(reading: TerminalReading) -> None:
    def hashed(*policies: HashPolicy, channel: int | None = None) -> int | None:
        return request_hash(policies, METADATA, terminal=reading, channel_id_hash=channel)

    assert hashed() is None
    assert hashed(COOKIE, header("c")) is None
    assert hashed(header("a")) == xxh64("1")
    assert hashed(CHANNEL, channel=7) == 7
    assert hashed(header("a"), header("b")) == combine([xxh64("1"), xxh64("2")])
    assert hashed(header("a"), header("a")) not in (None, 0, xxh64("1"))
    digits = HeaderPolicy(name="a", regex="[0-9]", substitution="n")
    assert hashed(digits) == xxh64("n")
    with pytest.raises(ValueError, match="channel id"):
        hashed(header("a"), CHANNEL)


def test_an_unknown_channel_id_that_does_not_count_is_not_asked_for() -> None:
    policies: list[HashPolicy] = [header("a", terminal=True), CHANNEL]
    assert request_hash(policies, METADATA, terminal="A42") == xxh64("1")


def test_a_header_that_the_lb_policy_names() -> None:
    route = [header("a"), header("b", terminal=True)]
    assert policies_in_use(route, "") == tuple(route)
    named = policies_in_use(route, "c")
    metadata = [("c", "1"), ("a", "x"), ("c", "2")]
    assert request_hash(named, metadata, terminal="A42") == xxh64("1,2")
    assert request_hash(named, METADATA, terminal="A42") is None
