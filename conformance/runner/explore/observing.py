"""Collect what a course has shown from the world that it ran in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from conformance.runner.explore.courses import Configuration, GateMode, Member
from conformance.runner.explore.record import (
    Arrival,
    Calm,
    Connection,
    GateChange,
    Judged,
    Observed,
    Outage,
    Repetition,
    Request,
    Response,
    Version,
)
from conformance.world import PendingCalls, World, settlement
from fake_control_plane import Kind, Push
from fake_control_plane import Request as Discovery
from fake_control_plane import Response as Sent
from test_servers import Close, Hold, Mode, Rpc, Serve, Stall

MODES: Final[dict[GateMode, Mode]] = {
    "serve": Serve(),
    "close": Close(),
    "hold": Hold(),
    "stall": Stall(),
}
NAMES: Final[dict[type[Mode], GateMode]] = {type(mode): name for name, mode in MODES.items()}


class Published(msgspec.Struct, frozen=True):
    """A configuration that was sent."""

    configuration: Configuration
    sent: float
    push: Push | None
    """None if nothing of it differs from what is served."""


class Started(msgspec.Struct, frozen=True):
    """Requests that were started together."""

    pending: PendingCalls
    ids: tuple[str, ...]
    metadata: tuple[tuple[tuple[str, str], ...], ...]
    at: float
    wait_for_ready: bool
    stays: bool


class Story(msgspec.Struct):
    """What a driver notes while it runs a course."""

    published: list[Published] = []
    invalid: set[tuple[str, str]] = set()
    """The kind and version of each invalid response."""
    started: list[Started] = []
    cancelled: set[str] = set()
    outages: list[Outage] = []
    calms: list[Calm] = []


def observed(world: World, client: Judged, addresses: Sequence[str], story: Story) -> Observed:
    """Return the record as it is now."""
    at = world.clock.at
    members: dict[str, Member] = {
        endpoint.id: addresses.index(endpoint.address)
        for endpoint in world.registry
        if endpoint.address in addresses
    }
    ledger = world.fleet.ledger
    rows = [row for row in ledger.rpcs if row.endpoint in members]
    responses, repetitions = _dialogue(world, story.invalid)
    return Observed(
        client=client,
        addresses=tuple(addresses),
        versions=tuple(_version(world, each) for each in story.published),
        gates=tuple(
            GateChange(
                member=members[action.endpoint],
                at=at(action.at),
                mode=None if action.mode is None else NAMES[type(action.mode)],
                what=action.what,
            )
            for action in ledger.actions
            if action.endpoint in members
        ),
        connections=tuple(
            Connection(
                member=members[attempt.endpoint],
                id=attempt.connection,
                mode=NAMES[type(attempt.mode)],
                at=at(attempt.accepted_at),
                closed=None if attempt.closed_at is None else at(attempt.closed_at),
                closed_by=attempt.closed_by,
            )
            for attempt in ledger.attempts
            if attempt.endpoint in members
        ),
        arrivals=tuple(
            Arrival(
                member=members[row.endpoint],
                connection=row.connection,
                at=at(row.at),
                ended=None if row.ended_at is None else at(row.ended_at),
            )
            for row in rows
        ),
        requests=_requests(story, rows, members),
        responses=responses,
        repetitions=repetitions,
        outages=tuple(story.outages),
        calms=tuple(story.calms),
        ended=world.now,
        lateness=world.clock.late,
    )


def _version(world: World, published: Published) -> Version:
    acked = published.sent
    if published.push is not None:
        times = [_acked(world, kind, version) for kind, version in published.push.versions.items()]
        if None in times:
            return Version(configuration=published.configuration, sent=published.sent)
        acked = max((time for time in times if time is not None), default=published.sent)
    return Version(configuration=published.configuration, sent=published.sent, acked=acked)


def _acked(world: World, kind: Kind, version: str) -> float | None:
    acks = (
        event.at
        for event in world.plane.transcript.events
        if isinstance(event, Discovery)
        and event.kind is kind
        and event.is_ack
        and event.answered_version == version
    )
    first = next(acks, None)
    return None if first is None else world.clock.at(first)


def _requests(
    story: Story, rows: Sequence[Rpc], members: Mapping[str, Member]
) -> tuple[Request, ...]:
    where = {name: members[row.endpoint] for row in rows for name in settlement.ids(row)}
    found = []
    for started in story.started:
        outcomes = {outcome.id: outcome for outcome in started.pending.outcomes}
        spans = started.pending.spans
        for name, metadata in zip(started.ids, started.metadata, strict=True):
            outcome, span = outcomes.get(name), spans.get(name)
            found.append(
                Request(
                    id=name,
                    metadata=metadata,
                    began=started.at if span is None else span[0],
                    ended=None if span is None else span[1],
                    status="" if outcome is None else outcome.status,
                    details="" if outcome is None else outcome.details,
                    member=where.get(name),
                    wait_for_ready=started.wait_for_ready,
                    stays=started.stays,
                    cancelled=name in story.cancelled,
                )
            )
    return tuple(found)


def _dialogue(
    world: World, invalid: Collection[tuple[str, str]]
) -> tuple[tuple[Response, ...], tuple[Repetition, ...]]:
    """Return every response with its first answer, and discovery requests that repeat."""
    at = world.clock.at
    sent: dict[tuple[int, str, str], Response] = {}
    accepted: dict[str, str] = {}
    last: dict[tuple[int, str], tuple[Discovery, int]] = {}
    repeated: list[Repetition] = []
    for event in world.plane.transcript.events:
        if isinstance(event, Sent) and event.kind is not None:
            kind = event.kind.name
            sent[event.stream, kind, event.nonce] = Response(
                kind=kind,
                stream=event.stream,
                version=event.version,
                nonce=event.nonce,
                sent=at(event.at),
                is_valid=(kind, event.version) not in invalid,
                accepted=accepted.get(kind, ""),
            )
        elif isinstance(event, Discovery) and event.kind is not None:
            kind = event.kind.name
            known = sent.get((event.stream, kind, event.nonce))
            if known is not None and event.answer is not None:
                sent[event.stream, kind, event.nonce] = msgspec.structs.replace(
                    known,
                    answer=event.answer.name,
                    answered=at(event.at),
                    told=event.version,
                    accepted=accepted.get(kind, ""),
                    error=event.error_detail,
                )
                if event.is_ack:
                    accepted[kind] = event.answered_version
            before, count = last.get((event.stream, kind), (None, 0))
            count = count + 1 if before is not None and _equal(before, event) else 1
            last[event.stream, kind] = event, count
            if count > 1:
                repeated.append(
                    Repetition(kind=kind, stream=event.stream, count=count, at=at(event.at))
                )
    return tuple(sent.values()), tuple(repeated)


def _equal(before: Discovery, after: Discovery) -> bool:
    return (before.names, before.version, before.nonce, before.error_detail) == (
        after.names,
        after.version,
        after.nonce,
        after.error_detail,
    )


def subscribed(world: World) -> dict[str, tuple[str, ...]]:
    """Return the names in the last request of each kind on the last ADS stream."""
    requests = [event for event in world.plane.transcript.events if isinstance(event, Discovery)]
    if not requests:
        return {}
    newest = max(request.stream for request in requests)
    return {
        request.kind.name: tuple(sorted(request.names))
        for request in requests
        if request.stream == newest and request.kind is not None
    }
