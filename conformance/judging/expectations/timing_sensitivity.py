"""Decide whether lateness alone can explain a missed expectation.

A scenario whose time was doubtful runs again alone, and the second run overrules what lateness can
explain. It overrules nothing else: a request on a wrong arc of the ring, or a good resource that
was rejected, is none the better for not happening twice.

Each expectation inherits one of these rules, or has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from conformance.judging.observations import Call, Calls, Contrast, Observation

OF_TIME = frozenset({"OK", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"})
"""Statuses with which lateness alone can end a call of a conforming client."""


class Ring(Protocol):
    """The ring that calls followed before an update."""

    def ways(self, headers: Iterable[Mapping[str, str]]) -> frozenset[tuple[str, ...]]:
        """Return the possible endpoints of calls with these headers."""


class TimeDependent(msgspec.Struct, frozen=True):
    """Timers, states, or something else that a time decides."""

    def is_timing_sensitive(self, _seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether lateness of the client or of the suite can explain the observation.

        Args:
            _seen: the observation, which missed the expectation.
            _before: the ring before the current one, if calls were repeated until they fit.
        """
        return True


class TimeIndependent(msgspec.Struct, frozen=True):
    """Nothing that a time decides."""

    def is_timing_sensitive(self, _seen: Observation, _before: Ring | None = None) -> bool:
        """Return False."""
        return False


class CallsCanBeLate(msgspec.Struct, frozen=True):
    """Where calls go, once the client knows its endpoints."""

    def is_timing_sensitive(self, seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether calls failed for want of time, or did not fit before the deadline."""
        return can_be_late(seen) or is_overdue(seen)


class OutcomesCanBeLate(msgspec.Struct, frozen=True):
    """How calls end, and where they go while endpoints become READY."""

    def is_timing_sensitive(self, seen: Observation, _before: Ring | None = None) -> bool:
        """Return whether each status may be due to lateness.

        It takes time until an endpoint is READY, and a rotation starts again with each new one.
        """
        return ends_of_time(seen)


def ends_of_time(seen: Observation) -> bool:
    """Return whether lateness can explain the status of each call."""
    return {call.status for call in all_calls(seen)} <= OF_TIME


def can_be_late(seen: Observation) -> bool:
    """Return whether some calls failed, and all failures may be due to lateness."""
    return any(call.status != "OK" for call in all_calls(seen)) and ends_of_time(seen)


def is_overdue(seen: Observation) -> bool:
    """Return whether calls were repeated until a deadline without fitting."""
    return isinstance(seen, Calls) and seen.overdue


def all_calls(seen: Observation) -> tuple[Call, ...]:
    """Return the calls of an observation; none if it is not about calls."""
    if isinstance(seen, Contrast):
        return (*seen.before, *seen.after)
    return tuple(seen) if isinstance(seen, Calls) else ()
