"""Records of courses, made by hand: two or three endpoints, on a ring of 32 entries."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from conformance.runner.explore.courses import Configuration, Listed
from conformance.runner.explore.picks import Walks
from conformance.runner.explore.record import (
    Arrival,
    Calm,
    Connection,
    Judged,
    Observed,
    Request,
    Response,
    Version,
)
from conformance.spec.oracles.backoff import Backoff
from conformance.spec.oracles.request_hash import xxh64

ADDRESSES = ("127.0.0.1:1001", "127.0.0.1:1002", "127.0.0.1:1003")
CLIENT = Judged(
    follows=("A42", "A61"),
    key_format="{address}_{i}",
    backoff=Backoff(initial=0.2, longest=0.4),
)
LISTED = Configuration((Listed(0), Listed(1), Listed(2)))


def value(*members: int, configuration: Configuration = LISTED) -> str:
    """Return a header value that meets these endpoints first."""
    rings = Walks(CLIENT, ADDRESSES).rings(configuration)
    wanted = tuple(ADDRESSES[member] for member in members)
    return next(
        text
        for text in map(str, range(100_000))
        if all(ring.preference(xxh64(text))[: len(wanted)] == wanted for ring in rings)
    )


def request(name: str, *members: int, at: float, **more: Any) -> Request:
    """Return a request that meets these endpoints first, served by the first of them."""
    usual: dict[str, Any] = {
        "id": name,
        "metadata": (("session", value(*members)),),
        "began": at,
        "ended": at + 0.01,
        "status": "OK",
        "member": members[0],
    }
    return Request(**(usual | more))


def connection(number: int, member: int, at: float, mode: Any = "serve", **more: Any) -> Connection:
    """Return a connection that stays open; one to a gate that closes is closed at once."""
    if mode == "close":
        more = {"closed": at + 0.001, "closed_by": "gate", **more}
    return Connection(member=member, id=number, mode=mode, at=at, **more)


def arrival(member: int, number: int, at: float) -> Arrival:
    """Return a request that reached an endpoint through a connection."""
    return Arrival(member=member, connection=number, at=at, ended=at + 0.005)


def calm(*calls: str, at: float, **more: Any) -> Calm:
    """Return a calm that has come, after one round."""
    usual: dict[str, Any] = {
        "step": 1,
        "began": at,
        "ended": at + 0.05,
        "round_began": at,
        "round_ended": at + 0.05,
        "rounds": 1,
        "calls": calls,
        "state": "READY",
        "subscribed": {"CLUSTER": ("cluster",), "ENDPOINTS": ("cluster",)},
        "expired": False,
    }
    return Calm(**(usual | more))


def observed(**more: Any) -> Observed:
    """Return the record of a right client: three endpoints, each connected for a request."""
    usual: dict[str, Any] = {
        "client": CLIENT,
        "addresses": ADDRESSES,
        "versions": (Version(configuration=LISTED, sent=0.0, acked=0.1),),
        "connections": tuple(connection(m + 1, m, 0.2 + m / 100) for m in range(3)),
        "arrivals": tuple(arrival(m, m + 1, 0.21 + m / 100) for m in range(3)),
        "requests": tuple(request(f"c{m}", m, at=0.19 + m / 100) for m in range(3)),
        "responses": tuple(
            Response(
                kind=kind,
                stream=1,
                version="1",
                nonce=kind,
                sent=0.05,
                answer="ACK",
                answered=0.1,
                told="1",
            )
            for kind in ("LISTENER", "ROUTE", "CLUSTER", "ENDPOINTS")
        ),
        "calms": (calm("c0", "c1", "c2", at=0.18),),
        "ended": 10.0,
    }
    return Observed(**(usual | more))


def with_more(seen: Observed, **more: tuple[Any, ...]) -> Observed:
    """Return the record with more rows."""
    return replace(seen, **{field: getattr(seen, field) + rows for field, rows in more.items()})
