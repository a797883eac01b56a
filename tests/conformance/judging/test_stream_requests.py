"""What a client sends on its streams: node, nonces, versions, subscriptions, no wildcard."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import (
    Expectation,
    LaterRequestsHaveNode,
    NoWildcard,
    ResubscribesTo,
    SendsAcceptedVersion,
    SendsOwnNonces,
    StreamsBeginWithNode,
    SubscribesOnce,
    WrongKind,
)
from conformance.judging.observations import StreamRequest, StreamRequests, Subscriptions
from conformance.world.discovery_requests import stream_requests
from fake_control_plane import AckOrNack, Identity, Kind, Request, Response
from fake_control_plane.events import Event

RIGHT = StreamRequests(
    (
        StreamRequest(stream=1, kind="CLUSTER", names=("a",), node="me"),
        StreamRequest(stream=1, kind="CLUSTER", names=("a",), version="3"),
        StreamRequest(stream=2, kind="CLUSTER", names=("a",), node="me", version="3", accepted="3"),
        StreamRequest(stream=2, kind="ENDPOINTS", names=("s", "t")),
    )
)

EXPECTED: dict[str, Expectation] = {
    "node": StreamsBeginWithNode("me", least=2),
    "later": LaterRequestsHaveNode(has=False),
    "nonce": SendsOwnNonces(),
    "version": SendsAcceptedVersion(),
    "wildcard": NoWildcard(),
    "resubscribed": ResubscribesTo({"CLUSTER": ("a",), "ENDPOINTS": ("s",)}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_right_requests_pass(name: str) -> None:
    assert EXPECTED[name].finding(RIGHT).holds
    assert not EXPECTED[name].finding(StreamRequests(())).holds
    with pytest.raises(WrongKind):
        EXPECTED[name].finding(Subscriptions(()))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("node", {"node": ""}),
        ("node", {"node": "other"}),
        ("nonce", {"has_foreign_nonce": True}),
        ("version", {"version": "2"}),
        ("version", {"version": ""}),
        ("wildcard", {"is_wildcard": True, "names": ()}),
        ("resubscribed", {"names": ("b",)}),
    ],
)
def test_one_wrong_request_fails(name: str, change: dict[str, object]) -> None:
    wrong = StreamRequest(
        **{
            "stream": 2,
            "kind": "CLUSTER",
            "names": ("a",),
            "node": "me",
            "version": "3",
            "accepted": "3",
        }
        | change  # type: ignore[arg-type]
    )
    requests = (*RIGHT.requests[:2], wrong, RIGHT.requests[3])
    assert not EXPECTED[name].finding(StreamRequests(requests)).holds


def test_one_later_request_with_a_node_is_neither() -> None:
    mixed = StreamRequests(
        (*RIGHT.requests, StreamRequest(stream=2, kind="ROUTE", names=("r",), node="me"))
    )
    assert not LaterRequestsHaveNode(has=False).finding(mixed).holds
    assert not LaterRequestsHaveNode(has=True).finding(mixed).holds


def asked(stream: int, *names: str, nonce: str = "", acks: str = "", node: str = "") -> Request:
    return Request(
        at=0.0,
        stream=stream,
        node="me",
        kind=Kind.CLUSTER,
        type_url=Kind.CLUSTER.type_url,
        names=names,
        version=acks,
        nonce=nonce,
        answer=AckOrNack.ACK if acks else None,
        answered_version=acks,
        identity=Identity(id=node) if node else None,
    )


def sent(stream: int, nonce: str, version: str) -> Response:
    return Response(
        at=0.0,
        stream=stream,
        node="me",
        kind=Kind.CLUSTER,
        type_url=Kind.CLUSTER.type_url,
        version=version,
        nonce=nonce,
        resources=(),
    )


def test_requests_are_read_from_a_transcript() -> None:
    events: tuple[Event, ...] = (
        asked(1, "a", node="me"),
        sent(1, "n1", "5"),
        asked(1, "a", nonce="n1", acks="5"),
        asked(1, nonce="n1"),
        asked(2, nonce="n1", node="me"),
    )
    first, ack, none, next_one = stream_requests(events).requests
    assert (first.node, first.accepted, first.is_wildcard) == ("me", "", False)
    assert (ack.node, ack.version, ack.has_foreign_nonce) == ("", "5", False)
    assert not none.is_wildcard, "it had named a resource before"
    assert (next_one.accepted, next_one.is_wildcard, next_one.has_foreign_nonce) == (
        "5",
        True,
        True,
    )


def test_subscriptions_are_of_another_kind() -> None:
    with pytest.raises(WrongKind):
        SubscribesOnce().finding(RIGHT)
