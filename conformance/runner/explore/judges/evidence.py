"""The record of a course, and what all judges derive from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from conformance import timing
from conformance.runner.explore.courses import Member
from conformance.runner.explore.endpoint_states import Timeline, kept, timelines
from conformance.runner.explore.picks import Walks, picker_of
from conformance.runner.explore.priorities import Chosen, Priorities
from conformance.runner.explore.record import Calm, Observed, Request, Version


class Evidence:
    """The record, and what all judges derive from it.

    Args:
        seen: the record.
        walks: the orders on rings, if they were computed before.
        proven_after: how long a connection to a gate that serves has been open when it counts as
            READY without a request.
    """

    def __init__(
        self,
        seen: Observed,
        walks: Walks | None = None,
        *,
        proven_after: float = timing.MOMENTS,
    ) -> None:
        self.seen = seen
        self.timelines: tuple[Timeline, ...] = timelines(seen, proven_after=proven_after)
        self.priorities = Priorities(seen.versions, self.timelines, seen.client)
        self.walks = walks or Walks(seen.client, seen.addresses)
        self.edition = picker_of(seen.client)
        self._requests = {request.id: request for request in seen.requests}

    def in_force(self, since: float, until: float) -> tuple[Version, ...]:
        """Return the versions that the client may have used at some moment of this time.

        A version may be used from when it was sent until some moments after the ACK of the next
        one. Without an ACK it may be used for good.
        """
        versions = self.seen.versions
        kept = []
        for place, version in enumerate(versions):
            later = [v.acked for v in versions[place + 1 :] if v.acked is not None]
            ended = min(later) + timing.MOMENTS if later else float("inf")
            if version.sent > until:
                continue
            if since <= ended or self._lingers(version, since):
                kept.append(version)
        return tuple(kept)

    def current(self, since: float) -> tuple[Version, ...]:
        """Return the versions from the last one on that was acknowledged before a time."""
        versions = self.seen.versions
        acked = [i for i, v in enumerate(versions) if v.acked is not None and v.acked <= since]
        if not acked:
            return versions
        first = acked[-1]
        while first and self._lingers(versions[first - 1], since):
            first -= 1
        return versions[first:]

    def _lingers(self, version: Version, since: float) -> bool:
        return self.is_tree and self.priorities.may_linger(version, since)

    @cached_property
    def is_tree(self) -> bool:
        """Return whether a configuration has several priorities, or round_robin."""
        return any(
            v.configuration.policy != "ring_hash" or len(v.configuration.by_priority) > 1
            for v in self.seen.versions
        )

    def chosen(self, version: Version, since: float, until: float) -> tuple[Chosen, ...]:
        """Return each priority that may be in use at some moment of this time."""
        return self.priorities.chosen(version, since, until)

    def may_be_kept(self, member: Member, at: float) -> bool:
        """Return whether a priority that is no longer in use may still connect to an endpoint.

        A priority that is removed is kept for 15 minutes (A56).
        """
        return any(m == member and moved <= at for m, moved in kept(self.seen))

    def only_version(self, since: float) -> Version | None:
        """Return the one version that the client can have used since then; None: not only one."""
        versions = self.current(since)
        return versions[0] if len(versions) == 1 and versions[0].sent <= since else None

    @property
    def expired_calms(self) -> Iterator[Calm]:
        """The calms that did not come by their deadlines."""
        return (calm for calm in self.seen.calms if calm.expired)

    def calls_of(self, calm: Calm) -> list[Request]:
        """Return the requests of a calm's last round."""
        return [self._requests[name] for name in calm.calls if name in self._requests]

    def has_tried(self, member: Member, since: float) -> bool:
        """Return whether a connection to an endpoint was made since then, or is still open."""
        return any(
            connection.member == member and (connection.at >= since or connection.closed is None)
            for connection in self.seen.connections
        )

    def may_keep_policy(self, at: float) -> bool:
        """Return whether the list was empty before, so that a former policy may still be at work.

        An empty list leaves no priority. The client may keep the policy of the former one for 15
        minutes, and make another one for the next list (A56).
        """
        return any(v.sent <= at and not v.configuration.members for v in self.seen.versions)

    def is_down(self, since: float, until: float) -> bool:
        """Return whether the control plane did not serve at some moment of this time."""
        return any(
            outage.began <= until and (outage.ended is None or since <= outage.ended)
            for outage in self.seen.outages
        )

    def loses_connections(self, since: float, until: float) -> bool:
        """Return whether a connection that could carry requests ended within this time."""
        closed = (
            connection.closed
            for connection in self.seen.connections
            if connection.closed is not None and connection.mode in {"serve", "hold"}
        )
        sent = (change.at for change in self.seen.gates if change.what)
        return any(since <= at <= until for at in (*closed, *sent))

    def serves_since(self, member: Member, since: float) -> bool:
        """Return whether the gate of an endpoint has served from this time on."""
        modes = [g for g in self.seen.gates if g.member == member and g.mode is not None]
        before = [change.mode for change in modes if change.at <= since]
        after = {change.mode for change in modes if change.at > since}
        return (before[-1] if before else "serve") == "serve" and after <= {"serve"}
