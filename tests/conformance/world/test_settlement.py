"""The client's word on calls, held against what the backends received; nothing runs here."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from client_under_test.launching.channels import Call, OpenedStream, Outcome
from conformance.judging.observations import OPEN, WAITING
from conformance.world.settlement import (
    ClaimedAnswer,
    answered_by,
    can_be_plain,
    claims,
    ended,
    lie_by_count,
    lie_by_id,
    marked_by_rows,
    said_ok,
)

PATH = "/grpc.testing.TestService/UnaryCall"
HERE, THERE = "127.0.0.1:1", "127.0.0.1:2"


def outcome(name: str, status: Any = "OK", hostname: str | None = None) -> Outcome:
    return Outcome(
        id=name, status=status, details="", hostname=hostname, started_at=0.0, ended_at=1.0
    )


def calls(*values: str) -> list[Call]:
    return [
        Call(id=f"call-{number}", path=PATH, metadata=(("session", value),))
        for number, value in enumerate(values)
    ]


def test_calls_that_are_alike_and_follow_one_another_share_a_mark() -> None:
    planned = calls("x", "x", "y", "x", "x")
    marked = marked_by_rows(planned)
    assert [call.mark for call in marked] == ["call-0", "call-0", "call-2", "call-3", "call-3"]
    assert [(call.id, call.metadata) for call in marked] == [(o.id, o.metadata) for o in planned]


@pytest.mark.parametrize(
    ("outcomes", "arrived", "lie"),
    [
        ([outcome("a")], {"a": HERE}, None),
        ([outcome("a", hostname=HERE)], {"a": HERE}, None),
        ([outcome("a", "UNAVAILABLE")], {}, None),
        ([outcome("a", "UNAVAILABLE", THERE)], {"a": HERE}, None),
        ([outcome("a"), outcome("b")], {"a": HERE}, "1 calls as OK that no backend received, b"),
        ([outcome("a", hostname=THERE)], {"a": HERE}, f"answered by {THERE}, but {HERE} received"),
    ],
)
def test_by_id(outcomes: list[Outcome], arrived: dict[str, str], lie: str | None) -> None:
    found = lie_by_id(outcomes, arrived)
    assert found is None if lie is None else lie in (found or "")


def stream(name: str, hostname: str) -> OpenedStream:
    return OpenedStream(id=name, hostname=hostname, at=0.0)


@pytest.mark.parametrize(
    ("arrived", "lie"),
    [
        ({"a": HERE}, None),
        ({"a": THERE}, f"{HERE} has opened a, but {THERE} received it"),
        ({}, f"{HERE} has opened a, but nobody received it"),
    ],
)
def test_open_streams(arrived: dict[str, str], lie: str | None) -> None:
    found = lie_by_id([], arrived, [stream("a", HERE)])
    assert found is None if lie is None else lie in (found or "")


def test_streams_that_have_not_ended_are_open_or_wait() -> None:
    planned = [Call(id=name, path=PATH) for name in "abc"]
    opened = [stream("a", HERE), stream("b", HERE)]
    made = ended("channel-1", planned, [outcome("b", "CANCELLED")], {}, opened)
    assert [call.status for call in made] == [OPEN, "CANCELLED", WAITING]


@pytest.mark.parametrize(
    ("received", "lie"),
    [
        ({HERE: 2, THERE: 1}, None),
        ({HERE: 5, THERE: 1}, None),  # such a client makes more calls than it tells of
        ({HERE: 1, THERE: 2}, f"2 calls like call-0 as answered by {HERE}, 1 more than"),
        ({}, "more than were received there"),
    ],
)
def test_by_count(received: dict[str, int], lie: str | None) -> None:
    marked = marked_by_rows(calls("x", "x", "x"))
    hosts = {"call-0": HERE, "call-1": HERE, "call-2": THERE}
    where = answered_by(outcome(call, hostname=host) for call, host in hosts.items())
    counted = Counter[ClaimedAnswer](
        {("call-0", endpoint): count for endpoint, count in received.items()}
    )
    found = lie_by_count(claims(marked, where), counted)
    assert found is None if lie is None else lie in (found or "")


def test_only_what_is_said_to_be_ok_is_claimed() -> None:
    outcomes = [outcome("call-0", hostname=None), outcome("call-1", "CANCELLED", HERE)]
    assert said_ok(outcomes) == {"call-0"}
    assert answered_by(outcomes) == {"call-0": "nobody"}


def test_calls_that_have_ended() -> None:
    planned = [Call(id="a", path=PATH, metadata=(("k", "v"), ("k-bin", b"\x01\x02")))]
    (call,) = ended("channel-1", planned, [outcome("a", "INTERNAL")], {"a": HERE})
    assert (call.status, call.endpoint, call.channel) == ("INTERNAL", HERE, "channel-1")
    assert call.metadata == (("k", "v"), ("k-bin", "AQI="))


@pytest.mark.parametrize(
    ("call", "can"),
    [
        (Call(id="a", path=PATH, metadata=(("k", "v"),)), True),
        (Call(id="a", path="/other/Path"), False),
        (Call(id="a", path=PATH, metadata=(("k-bin", b"v"),)), False),
    ],
)
def test_plain_calls(call: Call, can: bool) -> None:  # noqa: FBT001
    assert can_be_plain([call], {PATH}) is can
