"""Compute which priorities may be in use, from what their endpoints may be (A56). Pure.

A56 chooses the first priority that is READY or IDLE, or whose failover timer runs. The result is a
set: where the states of endpoints are in doubt, every priority that they allow is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from conformance import timing
from conformance.runner.explore.courses import Configuration, Member
from conformance.runner.explore.endpoint_states import States, Timeline
from conformance.runner.explore.picks import possible_aggregates
from conformance.runner.explore.record import Judged, Version
from conformance.spec.oracles.picker import State

GOOD: States = frozenset({"READY", "IDLE"})


class Chosen(msgspec.Struct, frozen=True):
    """A priority that may be in use."""

    index: int
    configuration: Configuration
    """What the priority has of the configuration."""
    has_failed: bool = False
    """True if its policy may fail requests although endpoints connect: all priorities have failed
    or had their time."""


class Priorities:
    """The priorities of one record.

    Args:
        versions: the configurations.
        timelines: the states of each endpoint.
        client: the client, with its editions and its failover timer.
    """

    def __init__(
        self, versions: Sequence[Version], timelines: Sequence[Timeline], client: Judged
    ) -> None:
        self._versions = versions
        self._timelines = timelines
        self._failover = client.failover
        self._uses_last = "A56" not in client.follows

    def chosen(self, version: Version, since: float, until: float) -> tuple[Chosen, ...]:
        """Return each priority that may be in use at some moment of a time."""
        parts = version.configuration.by_priority
        if len(parts) == 1:
            return (Chosen(0, parts[0]),)
        found: list[Chosen] = []
        for index, part in enumerate(parts):
            states = self.states(part, since, until)
            must_go_on = self.must_go_on(version, index, until)
            if states & GOOD or (states & {"CONNECTING"} and not must_go_on):
                found.append(Chosen(index, part))
            if not self._may_go_on(version, part, since, until):
                return tuple(found)
        last = self._last(version, since, until)
        replaced = {choice.index for choice in last}
        return (*(choice for choice in found if choice.index not in replaced), *last)

    def _last(self, version: Version, since: float, until: float) -> tuple[Chosen, ...]:
        """Return each priority that may be in use when all have failed or had their time.

        A56 uses the first that is CONNECTING, else the last; its older texts always the last.
        """
        parts = version.configuration.by_priority
        bottom = Chosen(len(parts) - 1, parts[-1], has_failed=True)
        if self._uses_last:
            return (bottom,)
        found: list[Chosen] = []
        for index, part in enumerate(parts):
            states = self.states(part, since, until)
            if "CONNECTING" in states:
                has_failed = self._may_have_failed(version, part, since, until)
                found.append(Chosen(index, part, has_failed=has_failed))
            if states == {"CONNECTING"}:
                return tuple(found)
        return (*(choice for choice in found if choice.index != bottom.index), bottom)

    def states(self, part: Configuration, since: float, until: float) -> frozenset[State]:
        """Return each state that the policy of a priority may report within a time."""
        states = [self._timelines[member].within(since, until) for member in part.members]
        return policy_states(part, states)

    def must_go_on(self, version: Version, index: int, at: float) -> bool:
        """Return whether a priority has failed or had its time for certain, and is not READY."""
        limit = self._failover + timing.FAILOVER_LATE
        parts = version.configuration.by_priority
        since = at - limit * (index + 1)
        if version.acked is None or version.acked > since:
            return False
        later = [v for v in self._versions if v.sent > version.sent]
        if later:
            return False
        return (
            all(not self.states(part, since, at) & GOOD for part in parts[: index + 1])
            and not self._has_kept_one()
        )

    def may_be_needed(self, version: Version, member: Member, since: float, until: float) -> bool:
        """Return whether the client may have gone on to the priority of an endpoint."""
        for part in version.configuration.by_priority:
            if member in part.members:
                return True
            if not self._may_go_on(version, part, since, until):
                return False
        return False

    def may_linger(self, version: Version, until: float) -> bool:
        """Return whether policies may still use a former list until the next one is READY.

        round_robin may keep its list until an endpoint of the next one is connected.
        """
        place = self._versions.index(version)
        later = [v for v in self._versions[place + 1 :] if v.acked is not None]
        return all(self._is_unsettled(each, until) for each in later)

    def _is_unsettled(self, version: Version, until: float) -> bool:
        assert version.acked is not None, "the caller has looked"
        moments = [
            (max(began, version.acked), ended)
            for began, ended in self._moments(until)
            if ended > version.acked
        ]
        for part in version.configuration.by_priority:
            several = [self.states(part, *moment) for moment in moments]
            if frozenset({"READY"}) in several:
                return False
            if all("CONNECTING" in states for states in several):
                return True
        return False

    def _may_go_on(self, version: Version, part: Configuration, since: float, until: float) -> bool:
        """Return whether a priority may have failed, or had its time, at some moment of a time.

        Its timer does not run while it has failed more recently than it was READY or IDLE.
        """
        now = self.states(part, since, until)
        if not part.members or "TRANSIENT_FAILURE" in now:
            return True
        if "CONNECTING" not in now:
            return False
        least = self._failover - timing.FAILOVER_EARLY
        last = until
        for began, ended in self._moments(until):
            states = self._states_then(version, part, began, ended)
            if "TRANSIENT_FAILURE" in states:
                return True
            if states <= GOOD:
                if last - ended >= least:
                    return True
                if began <= since:
                    return False
                last = began
        return last >= least

    def _may_have_failed(
        self, version: Version, part: Configuration, since: float, until: float
    ) -> bool:
        """Return whether a priority may have failed more recently than it was READY.

        A policy in it may then report TRANSIENT_FAILURE until it is READY.
        """
        for began, ended in self._moments(until):
            states = self._states_then(version, part, began, ended)
            if "TRANSIENT_FAILURE" in states:
                return True
            if states == {"READY"} and began <= since:
                return False
        return False

    def _states_then(
        self, version: Version, part: Configuration, began: float, ended: float
    ) -> frozenset[State]:
        """Return the states of a priority, or of all where it may have been another one before."""
        if began >= version.sent:
            return self.states(part, began, ended)
        earlier = [v for v in self._versions if v.sent <= ended]
        parts = (p for v in earlier[-2:] for p in v.configuration.by_priority)
        return frozenset[State]().union(*(self.states(each, began, ended) for each in parts))

    def _has_kept_one(self) -> bool:
        """Return whether a priority was empty, so that its policy may have left and come back."""
        return any(not p.members for v in self._versions for p in v.configuration.by_priority)

    def _moments(self, until: float) -> Iterator[tuple[float, float]]:
        """Yield the times between two events, the latest first."""
        times = {0.0, until}
        for line in self._timelines:
            times |= {time for time in line.times if 0.0 < time < until}
        times |= {v.sent for v in self._versions if 0.0 < v.sent < until}
        ordered = sorted(times, reverse=True)
        for later, earlier in pairwise(ordered):
            yield earlier, later - TICK


TICK = 1e-6
"""Before an event, in seconds."""


def policy_states(part: Configuration, states: Sequence[States]) -> frozenset[State]:
    """Return each state that a policy may report for some combination of endpoint states.

    round_robin connects by itself: below it, an endpoint is IDLE only until the next attempt.
    """
    if part.policy == "ring_hash":
        return possible_aggregates(states)
    connecting = [
        frozenset("CONNECTING" if state == "IDLE" else state for state in each) for each in states
    ]
    found: set[State] = set()
    if any("READY" in each for each in connecting):
        found.add("READY")
    if not any(each == {"READY"} for each in connecting):
        if any("CONNECTING" in each for each in connecting):
            found.add("CONNECTING")
        if all("TRANSIENT_FAILURE" in each for each in connecting):
            found.add("TRANSIENT_FAILURE")
    return frozenset(found)
