"""Judge the results of requests, at any time and at calm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from conformance import timing
from conformance.runner.explore.courses import Configuration, Member
from conformance.runner.explore.judges.demands import CALM, LIVENESS, REQUESTS
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.picks import PossibleResult, possible_results
from conformance.runner.explore.priorities import Chosen
from conformance.runner.explore.record import Finding, Request, Version

FAILING: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})
"""The statuses of requests that the LB policy or the deadline ended."""


# At any time.


def judge_requests(evidence: Evidence) -> Iterator[Finding]:
    """Find requests that ended for no reason (A42-PICK, A42-RING-18)."""
    for request in evidence.seen.requests:
        if request.cancelled:
            continue
        if finding := _unexplained(evidence, request):
            yield finding


def _unexplained(evidence: Evidence, request: Request) -> Finding | None:
    if request.ended is None:
        return None  # whether the client hangs is another judge's question
    # The client's clock and the suite's agree but for a little.
    since, until = request.began - timing.MOMENTS, request.ended + timing.SEEN_LATE
    if request.status == "OK" or (request.stays and request.member is not None):
        if any(
            _may_be_at(evidence, request, choice.configuration, since, until)
            for v in evidence.in_force(since, until)
            for choice in evidence.chosen(v, since, until)
        ):
            return None
        where = "no endpoint" if request.member is None else f"e{request.member}"
        return Finding(
            judge=REQUESTS,
            title="a request reaches an endpoint that it cannot have been sent to",
            expected=_wanted(evidence, request, evidence.in_force(since, until), since, until),
            observed=f"{request.id} reached {where}",
            at=request.ended,
        )
    if request.status not in FAILING:
        return Finding(
            judge=REQUESTS,
            title=f"a request ends with {request.status}",
            expected="OK, UNAVAILABLE or DEADLINE_EXCEEDED",
            observed=f"{request.id} ended with {request.status}: {request.details}",
            at=request.ended,
        )
    if _may_fail(evidence, request):
        return None
    return Finding(
        judge=REQUESTS,
        title=f"a request ends with {request.status} without a reason",
        expected=_wanted(evidence, request, evidence.in_force(since, until), since, until),
        observed=f"{request.id} ended with {request.status}: {request.details}",
        at=request.ended,
    )


def _may_be_at(
    evidence: Evidence, request: Request, configuration: Configuration, since: float, until: float
) -> bool:
    """Return whether a request may have reached its endpoint by this configuration."""
    if request.member not in configuration.members:
        return False
    if configuration.policy == "round_robin":
        return "READY" in evidence.timelines[request.member].within(since, until)
    rings = evidence.walks.rings(configuration)
    if not rings:
        return True  # nothing is known of this client's rings
    return any(
        _served_at(evidence, order, request.member, since, until)
        for ring in rings
        for order in evidence.walks.orders(ring, configuration, request)
    )


def _served_at(
    evidence: Evidence, order: Sequence[Member], member: Member, since: float, until: float
) -> bool:
    results = _results(evidence, order, since, until)
    return PossibleResult("served", order.index(member)) in results


def _results(
    evidence: Evidence, order: Sequence[Member], since: float, until: float
) -> frozenset[PossibleResult]:
    states = tuple(evidence.timelines[member].within(since, until) for member in order)
    return possible_results(states, evidence.edition)


def _may_fail(evidence: Evidence, request: Request) -> bool:
    """Return whether something explains that a request failed or ran into its deadline."""
    assert request.ended is not None, "it has ended"
    is_deadline = request.status == "DEADLINE_EXCEEDED"
    since = (request.ended if is_deadline else request.began) - timing.MOMENTS
    until = request.ended + timing.SEEN_LATE
    if not evidence.seen.versions or evidence.is_down(0.0, until):
        return True  # it may never have had a configuration
    if _is_cold(evidence, since):
        return True
    if request.wait_for_ready and not is_deadline:
        # It waits while its endpoints fail; only the loss of a connection ends it.
        return evidence.loses_connections(request.began - timing.SEEN_LATE, until)
    versions = evidence.in_force(since, until)
    if len(versions) > 1 or evidence.loses_connections(since, until):
        return True
    return any(
        _fails_by(evidence, request, choice, since, until, is_deadline=is_deadline)
        for version in versions
        for choice in evidence.chosen(version, since, until)
    )


def _is_cold(evidence: Evidence, since: float) -> bool:
    """Return whether no request had been served until then: the client may not have been ready."""
    served = (r.ended for r in evidence.seen.requests if r.status == "OK" and r.ended is not None)
    return not any(ended <= since for ended in served)


def _fails_by(
    evidence: Evidence,
    request: Request,
    choice: Chosen,
    since: float,
    until: float,
    *,
    is_deadline: bool,
) -> bool:
    configuration = choice.configuration
    if not configuration.members:
        return True
    if choice.has_failed and is_deadline is request.wait_for_ready:
        return True
    if configuration.policy == "round_robin":
        return _fails_in_turn(
            evidence, request, configuration, since, until, is_deadline=is_deadline
        )
    rings = evidence.walks.rings(configuration)
    return not rings or any(
        _fails_on(evidence, request, order, since, until, is_deadline=is_deadline)
        for ring in rings
        for order in evidence.walks.orders(ring, configuration, request)
    )


def _fails_on(
    evidence: Evidence,
    request: Request,
    order: Sequence[Member],
    since: float,
    until: float,
    *,
    is_deadline: bool,
) -> bool:
    """Return whether ring_hash may fail a request, or have it wait until its deadline."""
    for result in _results(evidence, order, since, until):
        if result.kind == "failed" and is_deadline is request.wait_for_ready:
            return True
        if result.kind != "waiting" or not is_deadline:
            continue
        if evidence.timelines[order[result.index]].hangs(since, until):
            return True
    return False


def _fails_in_turn(
    evidence: Evidence,
    request: Request,
    configuration: Configuration,
    since: float,
    until: float,
    *,
    is_deadline: bool,
) -> bool:
    """Return whether round_robin may fail a request, or have it wait until its deadline."""
    states = evidence.priorities.states(configuration, since, until)
    if "TRANSIENT_FAILURE" in states and is_deadline is request.wait_for_ready:
        return True
    return is_deadline and "CONNECTING" in states and _hangs(evidence, configuration, since, until)


def _hangs(evidence: Evidence, configuration: Configuration, since: float, until: float) -> bool:
    """Return whether an attempt was pending at a silent gate."""
    return any(evidence.timelines[m].hangs(since, until) for m in configuration.members)


# At calm.


def misfits(
    evidence: Evidence, calls: Sequence[Request], since: float, until: float
) -> tuple[Request, ...]:
    """Return the requests that no single ring explains, on the ring that explains the most.

    The states of endpoints are those that they had from the start of the requests to their end.
    """
    best: tuple[Request, ...] | None = None
    for version in evidence.current(since):
        for wrong in _by_priority(evidence, calls, version, since, until):
            if not wrong:
                return ()
            if best is None or len(wrong) < len(best):
                best = wrong
    return best or ()


def _by_priority(
    evidence: Evidence, calls: Sequence[Request], version: Version, since: float, until: float
) -> Iterator[tuple[Request, ...]]:
    """Yield the requests that a priority does not explain, and those that none does."""
    common = {call.id for call in calls}
    choices = evidence.chosen(version, since, until)
    for choice in choices:
        part = choice.configuration
        least: tuple[Request, ...] | None = None
        for wrong in _by_ring(evidence, calls, part, since, until):
            rest = wrong
            if choice.has_failed and len(version.configuration.by_priority) > 1:
                rest = tuple(call for call in wrong if not _ends_without_endpoints(call))
            yield rest
            if least is None or len(rest) < len(least):
                least = rest
        common &= {call.id for call in least or ()}
    if len(choices) > 1:
        yield tuple(call for call in calls if call.id in common)


def _by_ring(
    evidence: Evidence,
    calls: Sequence[Request],
    configuration: Configuration,
    since: float,
    until: float,
) -> Iterator[tuple[Request, ...]]:
    usable = configuration.members
    walks = evidence.walks
    if not usable:
        yield tuple(call for call in calls if not _ends_without_endpoints(call))
        return
    if configuration.policy == "round_robin":
        yield tuple(c for c in calls if not _fits_turns(evidence, c, configuration, since, until))
        return
    rings = walks.rings(configuration)
    if not rings:
        yield tuple(call for call in calls if call.status == "OK" and call.member not in usable)
        return
    for ring in rings:
        if configuration.hashing == "channel":
            for order in walks.all_orders(ring):
                yield tuple(c for c in calls if not _fits(evidence, c, order, since, until))
            continue
        yield tuple(
            call
            for call in calls
            if not any(
                _fits(evidence, call, order, since, until)
                for order in walks.orders(ring, configuration, call)
            )
        )


def _ends_without_endpoints(call: Request) -> bool:
    status = "DEADLINE_EXCEEDED" if call.wait_for_ready else "UNAVAILABLE"
    return call.status == status


def _fits_turns(
    evidence: Evidence, call: Request, configuration: Configuration, since: float, until: float
) -> bool:
    """Return whether a request of a calm round ended as round_robin's states demand."""
    states = evidence.priorities.states(configuration, since, until)
    if call.status == "OK":
        return _may_be_at(evidence, call, configuration, since, until)
    if "TRANSIENT_FAILURE" in states and _ends_without_endpoints(call):
        return True
    waits = call.status == "DEADLINE_EXCEEDED" and "CONNECTING" in states
    return waits and _hangs(evidence, configuration, since, until)


def _fits(
    evidence: Evidence, call: Request, order: Sequence[Member], since: float, until: float
) -> bool:
    """Return whether a request of a calm round ended as this order and the states demand."""
    for result in _results(evidence, order, since, until):
        match result.kind:
            case "served":
                if call.status == "OK" and call.member == order[result.index]:
                    return True
            case "failed":
                if _ends_without_endpoints(call):
                    return True
            case "waiting":
                hangs = evidence.timelines[order[result.index]].hangs(since, until)
                if call.status == "DEADLINE_EXCEEDED" and hangs:
                    return True
    return False


def judge_calms(evidence: Evidence) -> Iterator[Finding]:
    """Find calms whose last requests do not follow the ring (A42-RING, A42-PICK)."""
    for calm in evidence.expired_calms:
        calls = evidence.calls_of(calm)
        wrong = misfits(evidence, calls, calm.round_began, calm.round_ended)
        if not wrong:
            continue
        first, count = wrong[0], f"{len(wrong)} of {len(calls)} requests do otherwise"
        failed = [call for call in wrong if call.status != "OK"]
        judge = LIVENESS if calm.is_last and failed else CALM
        if failed:
            title = f"at calm, requests end with {failed[0].status} although endpoints serve"
        else:
            title = "at calm, requests do not follow the ring"
        where = "no endpoint" if first.member is None else f"e{first.member}"
        yield Finding(
            judge=judge,
            title=title,
            expected=_wanted(
                evidence,
                first,
                evidence.current(calm.round_began),
                calm.round_began,
                calm.round_ended,
            ),
            observed=f"{count}, {first.id} for one: {first.status} at {where} "
            f"{first.details}".rstrip(),
            at=calm.ended,
        )


def _wanted(
    evidence: Evidence, call: Request, versions: Sequence[Version], since: float, until: float
) -> str:
    """Describe the right results of a request."""
    wanted: dict[str, None] = {}
    chosen = [c for v in versions for c in evidence.chosen(v, since, until)]
    for choice in chosen:
        configuration = choice.configuration
        if evidence.is_tree:
            names = ", ".join(f"e{member}" for member in configuration.members) or "no endpoint"
            wanted[f"as priority {choice.index} ({names}) does"] = None
            continue
        for ring in evidence.walks.rings(configuration):
            for order in evidence.walks.orders(ring, configuration, call):
                for result in _results(evidence, order, since, until):
                    place = f" at e{order[result.index]}" if result.index >= 0 else ""
                    wanted[f"{result.kind}{place}"] = None
    few = 4
    listed = " or ".join(list(wanted)[:few]) or "failed"
    return f"{call.id} {listed}{' or elsewhere' if len(wanted) > few else ''}"
