"""Compute the states that an endpoint may have had, from what its gate and its backend saw. Pure.

The result is a set: every state that a right client may have counted the endpoint as. What cannot
be known from outside makes the set larger, never smaller.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from conformance.runner.explore.courses import Configuration, Member
from conformance.runner.explore.record import Observed
from conformance.runner.explore.trees import Leaf
from conformance.spec.oracles.picker import State

States = frozenset[State]

IDLE: Final[States] = frozenset({"IDLE"})
READY: Final[States] = frozenset({"READY"})
FAILED: Final[States] = frozenset({"TRANSIENT_FAILURE"})
CONNECTING: Final[States] = frozenset({"CONNECTING"})


class _Accepted(msgspec.Struct, frozen=True):
    at: float
    connection: int
    mode: str


class _Closed(msgspec.Struct, frozen=True):
    at: float
    connection: int
    by: str


class _Served(msgspec.Struct, frozen=True):
    at: float
    connection: int
    by_request: bool = True
    """False if only its age says that the connection is READY."""


class _Mode(msgspec.Struct, frozen=True):
    at: float
    mode: str


class _Away(msgspec.Struct, frozen=True):
    at: float


class _ListedAgain(msgspec.Struct, frozen=True):
    at: float


class _Emptied(msgspec.Struct, frozen=True):
    at: float


class _Kept(msgspec.Struct, frozen=True):
    at: float


_Event = _Accepted | _Closed | _Served | _Mode | _Away | _ListedAgain | _Emptied | _Kept


class _Open(msgspec.Struct):
    """A connection that is open."""

    kind: str
    """`serve`, `close`, or `silent`; `leaving` after a GOAWAY."""
    is_held: bool = False
    is_proven: bool = False
    """True once a request came through it."""
    is_old: bool = False
    """True if the endpoint left the list, or came back, since the connection was accepted."""


class Timeline(msgspec.Struct, frozen=True):
    """The possible states of an endpoint over time."""

    times: tuple[float, ...]
    states: tuple[States, ...]
    silent: tuple[bool, ...]
    """True while an attempt was pending at a silent gate."""

    def within(self, since: float, until: float) -> States:
        """Return every state that the endpoint may have had at some moment of this time."""
        return frozenset().union(*(self.states[index] for index in self._span(since, until)))

    def hangs(self, since: float, until: float) -> bool:
        """Return whether an attempt was pending at a silent gate at some moment of this time."""
        return any(self.silent[index] for index in self._span(since, until))

    def last_ready(self, at: float) -> float:
        """Return the last time before another at which the endpoint was READY for certain."""
        for index in reversed(range(bisect.bisect_left(self.times, at))):
            if self.states[index] == READY:
                following = index + 1
                return min(self.times[following], at) if following < len(self.times) else at
        return float("-inf")

    def _span(self, since: float, until: float) -> range:
        first = max(bisect.bisect_right(self.times, since) - 1, 0)
        return range(first, max(bisect.bisect_right(self.times, until), first + 1))


def timelines(seen: Observed, *, proven_after: float) -> tuple[Timeline, ...]:
    """Return the timeline of each endpoint.

    Args:
        seen: the record.
        proven_after: how long a connection to a gate that serves has been open, in seconds, when it
            counts as READY although no request came through it.
    """
    found = (_of_connections(seen, proven_after), _of_gates(seen), _of_lists(seen))
    events: list[list[_Event]] = [[] for _ in seen.addresses]
    for member, event in itertools.chain(*found):
        events[member].append(event)
    return tuple(_timeline(sorted(own, key=lambda event: event.at)) for own in events)


def _of_connections(seen: Observed, proven_after: float) -> Iterator[tuple[Member, _Event]]:
    for connection in seen.connections:
        member, number = connection.member, connection.id
        yield member, _Accepted(connection.at, number, connection.mode)
        closed = seen.ended if connection.closed is None else connection.closed
        if connection.mode == "serve" and closed - connection.at > proven_after:
            yield member, _Served(connection.at + proven_after, number, by_request=False)
        if connection.closed is not None:
            by = connection.closed_by or ""
            yield member, _Closed(max(connection.closed, connection.at), number, by)
    for arrival in seen.arrivals:
        yield arrival.member, _Served(arrival.at, arrival.connection)


def _of_gates(seen: Observed) -> Iterator[tuple[Member, _Event]]:
    for change in seen.gates:
        if change.what == "go away":
            yield change.member, _Away(change.at)
        elif change.mode is not None:
            yield change.member, _Mode(change.at, change.mode)


def _of_lists(seen: Observed) -> Iterator[tuple[Member, _Event]]:
    for member, at in listed_again(seen):
        yield member, _ListedAgain(at)
    for member, at in kept(seen):
        yield member, _Kept(at)
    for version in seen.versions:
        if not version.configuration.members:
            for member in range(len(seen.addresses)):
                yield member, _Emptied(version.sent)


def kept(seen: Observed) -> Iterator[tuple[Member, float]]:
    """Yield each endpoint that a priority may keep which is no longer in the list, and since when.

    A priority that leaves the list is kept for 15 minutes (A56). Clients recognize a priority by
    its localities, so one that keeps all of them is not another one.
    """
    for before, after in pairwise(seen.versions):
        later = after.configuration.by_priority
        if len(before.configuration.by_priority) == len(later) == 1:
            continue
        remain = {identity for _, identity in _identified(after.configuration)}
        for part, identity in _identified(before.configuration):
            if identity not in remain:
                for member in part.members:
                    yield member, after.sent


def _identified(
    configuration: Configuration,
) -> Iterator[tuple[Configuration, tuple[Leaf | None, frozenset[int]]]]:
    """Yield each priority with its leaf and its localities that have endpoints."""
    tree = configuration.tree
    for rank, part in zip(tree.ranks, configuration.by_priority, strict=True):
        leaf = tree.leaves[rank[0]] if tree.leaves else None
        yield part, (leaf, frozenset(endpoint.locality for endpoint in part.used))


def listed_again(seen: Observed) -> Iterable[tuple[Member, float]]:
    """Yield each endpoint that came to the list, left it, or changed its locality, and when."""
    before: dict[Member, object] | None = None
    for version in seen.versions:
        own = version.configuration
        listed: dict[Member, object] = {
            each.member: (each.locality, own.tree.home_of(each.locality), own.policy)
            for each in own.used
        }
        if before is not None:
            for member in listed.keys() | before.keys():
                if listed.get(member) != before.get(member):
                    yield member, version.sent
        before = listed


def _timeline(events: Sequence[_Event]) -> Timeline:
    times, states, silent = [float("-inf")], [IDLE], [False]
    machine = _Machine()
    for event in events:
        machine.take(event)
        times.append(event.at)
        states.append(machine.counted)
        silent.append(machine.hangs)
    return Timeline(tuple(times), tuple(states), tuple(silent))


class _Machine:
    """The possible counted states of one endpoint, event by event."""

    def __init__(self) -> None:
        self.counted: States = IDLE
        self._open: dict[int, _Open] = {}
        # After an empty list the client may keep a policy for 15 minutes that goes on trying. In
        # the policy that is in use, the endpoint may be IDLE (A56).
        self._has_kept_policy = False
        # The policy of a kept priority may see an endpoint in another state, until a call shows it.
        self._is_kept = False

    @property
    def hangs(self) -> bool:
        """Return whether an attempt is pending at a silent gate."""
        return any(connection.kind == "silent" for connection in self._open.values())

    def take(self, event: _Event) -> None:
        """Take the next event."""
        self._take(event)
        is_request = isinstance(event, _Served) and event.by_request
        if self._has_kept_policy and not is_request:
            self.counted |= IDLE
        if self._is_kept and not is_request:
            self.counted |= IDLE | CONNECTING | FAILED

    def _take(self, event: _Event) -> None:
        match event:
            case _Accepted():
                self._accept(event)
            case _Closed():
                self._close(event)
            case _Served():
                self._serve(event)
            case _Mode(mode=mode):
                self._release(mode)
            case _Away():
                self._leave()
            case _Emptied():
                self._has_kept_policy = True
            case _Kept():
                self._is_kept = True
            case _ListedAgain():
                self.counted |= IDLE
                for connection in self._open.values():
                    connection.is_old = True

    def _accept(self, event: _Accepted) -> None:
        kinds = {"serve": "serve", "close": "close", "hold": "silent", "stall": "silent"}
        kind = kinds[event.mode]
        self._open[event.connection] = _Open(kind, is_held=event.mode == "hold")
        # A failed endpoint stays TRANSIENT_FAILURE during the next attempt (A42-SUB-08).
        begun = frozenset[State]().union(
            *(
                {state} if state in {"TRANSIENT_FAILURE", "READY"} else CONNECTING
                for state in self.counted
            )
        )
        self.counted = begun | (READY if kind == "serve" else frozenset())

    def _serve(self, event: _Served) -> None:
        connection = self._open.get(event.connection)
        if connection is None or connection.kind == "leaving":
            self.counted |= READY
            return
        if connection.is_proven and not event.by_request:
            return
        connection.is_proven = True
        # A request may come late through the connection of an endpoint that has left the list.
        self.counted = self.counted | READY if connection.is_old else READY

    def _close(self, event: _Closed) -> None:
        gone = self._open.pop(event.connection, None)
        if gone is None:
            return
        if gone.kind == "leaving":
            after = IDLE
        elif gone.kind == "serve":
            after = IDLE if gone.is_proven else IDLE | FAILED
        elif event.by == "client":
            after = self.counted | IDLE | FAILED  # the client gave the attempt up
        else:
            after = FAILED
        if event.by == "client":
            after |= IDLE
        if gone.is_old:
            after |= self.counted | IDLE
        kinds = {connection.kind for connection in self._open.values()}
        if "serve" in kinds or ("leaving" in kinds and "READY" in self.counted):
            after |= READY
        if kinds - {"leaving"}:
            after |= CONNECTING
            after |= self.counted
        self.counted = after

    def _release(self, mode: str) -> None:
        """Have held connections follow the new mode of the gate."""
        for connection in self._open.values():
            if connection.is_held and mode != "hold":
                connection.is_held = False
                connection.kind = {"serve": "serve", "close": "close"}.get(mode, "silent")
                if connection.kind == "serve":
                    self.counted |= READY

    def _leave(self) -> None:
        for connection in self._open.values():
            if connection.kind == "serve":
                connection.kind = "leaving"
                self.counted |= IDLE
