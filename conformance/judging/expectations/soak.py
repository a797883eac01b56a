"""Expect the results of requests that are made while endpoints fail and lists change."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Observation, SoakCourse
from conformance.spec.oracles.soak import Request, is_placed, may_fail


class OnlyListedServe(TimeDependent, frozen=True, tag="only_listed", kw_only=True):
    """Every request is received at an endpoint that was listed in the last moments, if at all.

    By ``soak.is_placed``.

    Clauses: A42-RING-18.
    """

    moments: float
    allowance: float
    """Seconds of lateness up to which the times are believed; beyond them a miss is doubtful."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh a course."""
        course = _course_of(seen)
        wanted = f"requests only at endpoints that were listed within {self.moments:g} s before"
        return _weighed(
            course,
            wanted,
            lambda call: is_placed(call, course.listings, self.moments),
            oracle="the endpoint lists of the run, with their times",
            allowance=self.allowance,
        )


class FailuresExplained(TimeDependent, frozen=True, tag="fails_for_a_reason", kw_only=True):
    """Every request that fails has met a fault or a change, or may have, in the last moments.

    By ``soak.may_fail``.

    Clauses: A42-PICK-23.
    """

    moments: float
    allowance: float
    """Seconds of lateness up to which the times are believed; beyond them a miss is doubtful."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh a course."""
        course = _course_of(seen)
        wanted = (
            "no request fails but by a change, or by a fault of an endpoint that was listed, "
            f"within {self.moments:g} s before"
        )
        return _weighed(
            course,
            wanted,
            lambda call: may_fail(call, course.listings, course.faults, self.moments),
            oracle="the changes and faults of the run, with their times",
            allowance=self.allowance,
        )


def _course_of(seen: Observation) -> SoakCourse:
    if not isinstance(seen, SoakCourse):
        raise WrongKind(f"a course is expected here, not {type(seen).__name__}")
    return seen


def _weighed(
    course: SoakCourse,
    wanted: str,
    explained: Callable[[Request], bool],
    *,
    oracle: str,
    allowance: float,
) -> Finding:
    """Find whether all requests of a course are explained, and at least one succeeded."""
    odd = [request for request in course.requests if not explained(request)]
    served = sum(request.status == "OK" for request in course.requests)
    saw = (
        f"{len(course.requests)} requests, of which {served} succeeded, in {len(course.listings)} "
        f"lists and {len(course.faults)} faults (the suite was {course.lateness:.3f} s late at "
        "worst)"
    )
    if odd:
        first = odd[0]
        saw += (
            f"; {len(odd)} without a reason: {first.id}, from {first.began:.3f} to "
            f"{first.ended:.3f} s, {first.status} at {first.endpoint or 'no endpoint'}"
        )
    return Finding(
        bool(served) and not odd, wanted, saw, oracle, doubtful=course.lateness > allowance
    )
