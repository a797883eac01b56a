"""Read from a transcript what the client requested, and what it did not. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judging.observations import (
    StreamRequest,
    StreamRequests,
    SubscriptionRequest,
    Subscriptions,
)
from fake_control_plane import (
    Event,
    Kind,
    Push,
    Request,
    Response,
    Service,
    StreamClosed,
    StreamOpened,
)


def requests_none_of(push: Push, kind: Kind, events: Sequence[Event]) -> bool:
    """Return whether an earlier stream is still open and has requested nothing that was pushed.

    A client that has ended its stream does not count: it may have died of an earlier push.
    """
    before, since = events[: push.since], events[push.since :]
    opened = {
        event.stream
        for event in before
        if isinstance(event, StreamOpened) and event.service is Service.ADS
    }
    ended = {event.stream for event in events if isinstance(event, StreamClosed)}
    version = push.versions[kind]
    came = any(
        isinstance(event, Response) and (event.kind, event.version) == (kind, version)
        for event in since
    )
    return bool(opened - ended) and not came


def outdated_requests(events: Sequence[Event]) -> dict[int, str]:
    """Return the nonce due by the place of each request that carries none, or an older one.

    Due is the newest nonce that an earlier request of the type carried on the stream. A nonce is as
    new as the last response that carried it. Responses that the client has not answered do not
    count: they may have come after the request was sent.
    """
    sent: dict[tuple[int, Kind], list[str]] = {}
    answered: dict[tuple[int, Kind], int] = {}
    outdated: dict[int, str] = {}
    for at, event in enumerate(events):
        if not isinstance(event, (Request, Response)) or event.kind is None:
            continue
        of_type = event.stream, event.kind
        nonces = sent.setdefault(of_type, [])
        if isinstance(event, Response):
            nonces.append(event.nonce)
            continue
        newest = answered.get(of_type, -1)
        place = max((i for i, nonce in enumerate(nonces) if nonce == event.nonce), default=-1)
        if place < newest:
            outdated[at] = nonces[newest]
        answered[of_type] = max(place, newest)
    return outdated


def subscriptions_since(since: int, events: Sequence[Event]) -> Subscriptions:
    """Return the client's subscriptions in the events from a place of the transcript on."""
    outdated = outdated_requests(events)
    return Subscriptions(
        tuple(
            SubscriptionRequest(
                event.kind.name,
                event.names,
                event.stream,
                is_outdated=place in outdated,
                nonce=event.nonce,
                due=outdated.get(place, ""),
            )
            for place, event in enumerate(events[since:], since)
            if isinstance(event, Request) and event.kind is not None
        )
    )


def stream_requests(events: Sequence[Event]) -> StreamRequests:
    """Return the discovery requests as parts of their streams."""
    accepted: dict[Kind, str] = {}
    nonces: dict[tuple[int, Kind], set[str]] = {}
    named = set[tuple[int, Kind]]()
    requests: list[StreamRequest] = []
    for event in events:
        if not isinstance(event, (Request, Response)) or event.kind is None:
            continue
        of_type = event.stream, event.kind
        known = nonces.setdefault(of_type, {""})
        if isinstance(event, Response):
            known.add(event.nonce)
            continue
        lists_none = event.kind.is_complete and not event.names and of_type not in named
        if event.names:
            named.add(of_type)
        requests.append(
            StreamRequest(
                stream=event.stream,
                kind=event.kind.name,
                names=event.names,
                node=event.identity.id if event.identity else "",
                version=event.version,
                accepted=accepted.get(event.kind, ""),
                is_wildcard=lists_none or "*" in event.names,
                has_foreign_nonce=event.nonce not in known,
            )
        )
        if event.is_ack:
            accepted[event.kind] = event.answered_version
    return StreamRequests(tuple(requests))
