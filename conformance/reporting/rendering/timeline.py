"""All that happened in a scenario, on one clock: lanes of marks. Pure.

Times are seconds since the scenario began. What came before its beginning, as the client did when
it was launched, is left of zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec

from conformance.reporting.rendering.addresses import clusters_of, priorities_of
from conformance.reporting.rendering.folder import (
    Accepted,
    Call,
    Event,
    Folder,
    GateAction,
)


class Tone(StrEnum):
    """The meaning of a mark at a glance."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    SUITE = "suite"
    """What the suite did, or suffered: nothing of it is the client's."""
    FAINT = "faint"


class Shape(StrEnum):
    """What a mark is."""

    PUSH = "push"
    ACK = "ack"
    NACK = "nack"
    ASK = "ask"
    SPAN = "span"
    BAND = "band"
    """A span that is the background of its lane."""
    TICK = "tick"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a moment, or went on from one to another."""

    at: float
    until: float | None = None
    shape: Shape
    tone: Tone = Tone.PLAIN
    what: str
    label: str = ""
    """A word to be written into it, if there is room."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """Marks of one thing."""

    group: str
    name: str
    marks: tuple[Mark, ...]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """All lanes of a scenario."""

    begin: float
    end: float
    lanes: tuple[Lane, ...]
    left_out: tuple[str, ...] = ()
    """What is not among them, in sentences."""

    def in_order(self, most: int) -> tuple[tuple[float, float | None, str, str], ...]:
        """Every mark, oldest first: when, until when, its lane, and what it is.

        If there are more than `most`, the middle is left out.
        """
        rows = sorted(
            ((mark.at, lane, mark) for lane in self.lanes for mark in lane.marks),
            key=lambda row: row[0],
        )
        shown = [
            (at, mark.until, f"{lane.group}, {lane.name}", mark.what) for at, lane, mark in rows
        ]
        if len(shown) <= most:
            return tuple(shown)
        gap = len(shown) - most
        first, last = shown[: most // 2], shown[-(most - most // 2) :]
        return (*first, (first[-1][0], None, "", f"… {gap} more …"), *last)


PLANE, ENDPOINTS, CALLS, CHANNELS, SUITE = (
    "control plane",
    "endpoints",
    "calls",
    "channels",
    "suite",
)

DEADLINES, LATENESS = "deadlines", "lateness"
"""The rows of the suite."""

KINDS = {"listener": "LDS", "route": "RDS", "cluster": "CDS", "endpoints": "EDS"}

MOST_ENDPOINTS = 24
"""The most lanes of endpoints: if there are more, those with the most marks."""

MOST_NAMES = 5

CONNECTION_TONES = {"SERVE": Tone.GOOD, "HOLD": Tone.PLAIN, "STALL": Tone.PLAIN}
"""By the mode of the gate: a connection that is held or stalled has not failed, but is pending."""

STATE_TONES = {"READY": Tone.GOOD, "TRANSIENT_FAILURE": Tone.BAD, "CONNECTING": Tone.PLAIN}
"""The tone of a channel's state; any other state is faint."""


def timeline(folder: Folder) -> Timeline:
    """Return the timeline of a scenario."""
    began = beginning(folder)
    lanes = [*_plane(folder.events, began)]
    endpoints, left_out = _endpoints(folder, began)
    lanes += [*endpoints, *_calls(folder.calls, began), *_states(folder, began)]
    lanes += _suite(folder, began)
    over = min(max(0.0, folder.record.seconds), LONGEST)
    ended = [msgspec.structs.replace(lane, marks=_ended(lane.marks, over)) for lane in lanes]
    marks = [mark for lane in ended for mark in lane.marks]
    return Timeline(
        begin=min([0.0, *(mark.at for mark in marks)]),
        end=max([over, *(mark.at if mark.until is None else mark.until for mark in marks)]),
        lanes=tuple(ended),
        left_out=left_out,
    )


LONGEST = 1e6
"""Seconds of a scenario: what says more is broken."""


def beginning(folder: Folder) -> float:
    """When the scenario began; of a record that does not tell, when the first thing happened."""
    return folder.record.began or min(_moments(folder), default=0.0)


def _moments(folder: Folder) -> Iterator[float]:
    yield from (event.at for event in folder.events)
    yield from (call.started_at for call in folder.calls if call.started_at is not None)


NEVER = float("inf")
"""The end of what was not over when the scenario was."""


def _ended(marks: Iterable[Mark], over: float) -> tuple[Mark, ...]:
    """Return the marks; those without an end get the end of the scenario."""
    return tuple(
        msgspec.structs.replace(mark, until=max(over, mark.at)) if mark.until == NEVER else mark
        for mark in marks
    )


def few(names: Iterable[str]) -> str:
    """Return the first of several names, and the number of the others."""
    listed = [*names]
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    return ", ".join(listed[:MOST_NAMES]) + more


# The control plane.


def _plane(events: Iterable[Event], began: float) -> Iterator[Lane]:
    """Streams, each kind of resource, and load reports."""
    lanes: dict[str, list[Mark]] = {"streams": [], **{name: [] for name in KINDS.values()}}
    for event in events:
        at = event.at - began
        match event.event:
            case "StreamOpened" | "StreamClosed":
                lanes["streams"].append(_stream(event, at))
            case "Response":
                lanes.setdefault(_kind(event), []).append(_push(event, at))
            case "Request":
                lanes.setdefault(_kind(event), []).append(_request(event, at))
            case "LoadRequest" | "LoadResponse":
                lanes.setdefault("load", []).append(_load(event, at))
            case _:
                mark = Mark(at=at, shape=Shape.TICK, tone=Tone.SUITE, what=event.event)
                lanes["streams"].append(mark)
    for name, marks in lanes.items():
        if marks:
            yield Lane(group=PLANE, name=name, marks=tuple(marks))


def _kind(event: Event) -> str:
    return KINDS.get(event.kind or "", event.kind or "unknown type")


def _stream(event: Event, at: float) -> Mark:
    if event.event == "StreamOpened":
        what = f"stream {event.stream} ({event.service}) opened"
        return Mark(at=at, shape=Shape.TICK, tone=Tone.GOOD, what=what)
    by = f" by {event.by}" if event.by else ""
    what = f"stream {event.stream} ended{by}" + (f" with {event.code}" if event.code else "")
    return Mark(
        at=at, shape=Shape.TICK, tone=Tone.SUITE if event.by != "client" else Tone.BAD, what=what
    )


def _push(event: Event, at: float) -> Mark:
    names = few(resource.name for resource in event.resources) or "nothing"
    what = f"{_kind(event)} version {event.version} sent{_with_nonce(event)}: {names}"
    what += f" ({event.fault})" if event.fault else ""
    return Mark(at=at, shape=Shape.PUSH, tone=Tone.SUITE, what=what, label=event.version)


def _with_nonce(event: Event) -> str:
    return f" with nonce {event.nonce}" if event.nonce else ""


def _request(event: Event, at: float) -> Mark:
    changes = [f"subscribes to {few(event.subscribed)}"] if event.subscribed else []
    changes += [f"unsubscribes from {few(event.unsubscribed)}"] if event.unsubscribed else []
    name, by = _kind(event), _with_nonce(event)
    answered = f"{name} version {event.answered_version}"
    if event.answer == "nack":
        what = f"{answered} rejected{by}: {event.error_detail}"
        return Mark(at=at, shape=Shape.NACK, tone=Tone.BAD, what="; ".join([what, *changes]))
    if event.answer == "ack":
        what = f"{answered} accepted{by}"
        return Mark(at=at, shape=Shape.ACK, tone=Tone.GOOD, what="; ".join([what, *changes]))
    what = f"{name}{by}: {'; '.join(changes) or 'requests the same names'}"
    return Mark(at=at, shape=Shape.ASK, what=what)


def _load(event: Event, at: float) -> Mark:
    named = few(
        cluster if isinstance(cluster, str) else cluster.cluster for cluster in event.clusters
    )
    if event.event == "LoadResponse":
        what = f"load reports asked for: {named or 'all clusters'}"
        return Mark(at=at, shape=Shape.PUSH, tone=Tone.SUITE, what=what)
    return Mark(at=at, shape=Shape.ACK, what=f"load report: {named or 'of no cluster'}")


# Endpoints.


def _endpoints(folder: Folder, began: float) -> tuple[list[Lane], tuple[str, ...]]:
    """Return a lane for each endpoint: modes of its gate, attempts, and requests received."""
    names = {attempt.attempt.endpoint: attempt.endpoint for attempt in folder.attempts}
    actions: dict[str, list[GateAction]] = {}
    for action in folder.actions:
        actions.setdefault(action.endpoint, []).append(action)
    found = {address: [*_gate(done, began)] for address, done in actions.items()}
    for row in folder.attempts:
        found.setdefault(row.endpoint, []).append(_connection(row.attempt, began))
    for rpc in folder.rpcs:
        if rpc.endpoint in names:
            what = f"request received, {rpc.status or 'not over'}"
            mark = Mark(at=rpc.at - began, shape=Shape.TICK, what=what)
            found[names[rpc.endpoint]].append(mark)
    return _most_told(found, clusters_of(folder.events), priorities_of(folder.events))


def _gate(actions: Collection[GateAction], began: float) -> Iterator[Mark]:
    """Yield the modes of a gate, each until the next, and the actions on its connections."""
    modes = [
        (max(0.0, action.at - began), action.mode.mode)
        for action in actions
        if action.mode is not None
    ]
    ends = [*(at for at, _ in modes[1:]), NEVER]
    for (at, mode), end in zip(modes, ends, strict=False):
        serves = mode == "SERVE"
        yield Mark(
            at=at,
            until=end,
            shape=Shape.BAND,
            tone=Tone.FAINT if serves else Tone.SUITE,
            what=f"its gate: {mode}",
            label="" if serves else mode,
        )
    for action in actions:
        if action.mode is None:
            what = f"{action.what}: all live connections"
            yield Mark(at=action.at - began, shape=Shape.TICK, tone=Tone.SUITE, what=what)


def _connection(connection: Accepted, began: float) -> Mark:
    by = f", ended by the {connection.closed_by}" if connection.closed_by else ""
    return Mark(
        at=connection.accepted_at - began,
        until=NEVER if connection.closed_at is None else connection.closed_at - began,
        shape=Shape.SPAN,
        tone=CONNECTION_TONES.get(connection.mode.mode, Tone.BAD),
        what=f"connection, met by {connection.mode.mode}{by}",
    )


def _most_told(
    found: dict[str, list[Mark]],
    clusters: Mapping[str, Collection[str]],
    priorities: Mapping[str, str],
) -> tuple[list[Lane], tuple[str, ...]]:
    """Return the lanes of the endpoints with the most marks, by priority."""
    if len({name for names in clusters.values() for name in names}) == 1:
        clusters = {}
    kept = {*sorted(found, key=lambda name: -len(found[name]))[:MOST_ENDPOINTS]}
    lanes = [
        Lane(
            group=ENDPOINTS,
            name=" ".join(_named(address, clusters.get(address, ()), priorities)),
            marks=tuple(marks),
        )
        for address, marks in sorted(found.items(), key=lambda row: priorities.get(row[0], ""))
        if address in kept
    ]
    rest = len(found) - len(lanes)
    return lanes, (f"{rest} more endpoints, with fewer marks",) if rest else ()


def _named(address: str, clusters: Iterable[str], priorities: Mapping[str, str]) -> Iterator[str]:
    """Yield what a lane is called: the priority first, since terminals cut the end."""
    if address in priorities:
        yield f"p{priorities[address]}"
    yield address
    if names := few(clusters):
        yield names


# Calls and channels.


def _calls(calls: Iterable[Call], began: float) -> Iterator[Lane]:
    lanes: dict[str, list[Mark]] = {}
    for call in calls:
        if call.started_at is None:
            continue
        where = f" at {call.endpoint}" if call.endpoint else ""
        why = f": {call.details}" if call.details else ""
        waits = call.status in {"WAITING", "OPEN"}
        tone = Tone.GOOD if call.status == "OK" else Tone.PLAIN if waits else Tone.BAD
        lanes.setdefault(call.channel, []).append(
            Mark(
                at=call.started_at - began,
                until=NEVER if call.ended_at is None else call.ended_at - began,
                shape=Shape.SPAN,
                tone=tone,
                what=f"{call.id}{call.headers} {call.status}{where}{why}",
            )
        )
    for channel, marks in lanes.items():
        yield Lane(group=CALLS, name=channel, marks=tuple(marks))


def _states(folder: Folder, began: float) -> Iterator[Lane]:
    by_channel: dict[str, list[tuple[float, str]]] = {}
    for state in folder.states:
        by_channel.setdefault(state.channel, []).append((state.at - began, state.state))
    for channel, states in by_channel.items():
        ends = [*(at for at, _ in states[1:]), NEVER]
        marks = (
            Mark(
                at=at,
                until=end,
                shape=Shape.BAND,
                tone=STATE_TONES.get(state, Tone.FAINT),
                what=f"{channel}: {state}",
                label=state,
            )
            for (at, state), end in zip(states, ends, strict=True)
        )
        yield Lane(group=CHANNELS, name=channel, marks=tuple(marks))


# The suite itself.


def _suite(folder: Folder, began: float) -> Iterator[Lane]:
    waits = [
        Mark(
            at=wait.at - began,
            until=wait.until - began,
            shape=Shape.SPAN,
            tone=Tone.SUITE,
            what=f"waited without result: {wait.what or 'no event came'}",
        )
        for wait in folder.troubles
        if wait.kind == "deadline"
    ]
    late = [
        Mark(
            at=delay.at - began,
            until=delay.until - began,
            shape=Shape.SPAN,
            tone=Tone.SUITE,
            what=f"the suite was {delay.until - delay.at:.3f} s late",
        )
        for delay in folder.troubles
        if delay.kind == "late"
    ]
    if trouble := folder.record.trouble:
        at = folder.record.seconds
        waits.append(
            Mark(at=at, shape=Shape.TICK, tone=Tone.BAD, what=f"the scenario ended: {trouble.what}")
        )
    if waits:
        yield Lane(group=SUITE, name=DEADLINES, marks=tuple(waits))
    if late:
        yield Lane(group=SUITE, name=LATENESS, marks=tuple(late))
