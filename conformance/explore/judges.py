"""Judge what a course has shown. Each judge is a pure function from the record to findings.

Whatever is in doubt is accepted: a judge reports only what no right client can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from conformance import timing
from conformance.explore.courses import Configuration, Member
from conformance.explore.endpoint_states import FAILED, IDLE, Timeline, timelines
from conformance.explore.picks import (
    PossibleResult,
    Walks,
    picker_of,
    possible_aggregates,
    possible_results,
)
from conformance.explore.record import (
    Calm,
    Connection,
    Finding,
    Observed,
    Request,
    Version,
)
from conformance.spec.oracles.backoff import Backoff

REQUESTS: Final = "requests"
ATTEMPTS: Final = "attempts"
BACKOFF: Final = "backoff"
ANSWERS: Final = "answers"
CALM: Final = "calm"
STATE: Final = "state"
CONNECTIONS: Final = "connections"
LIVENESS: Final = "liveness"
LIFE: Final = "life"

JUDGES: Final[dict[str, str]] = {
    REQUESTS: "a request ends as a configuration in force and the gates allow",
    ATTEMPTS: "the client connects to listed endpoints, and only for a reason",
    BACKOFF: "the client waits for its backoff before it tries an endpoint again",
    ANSWERS: "the client answers each response once, with the right version",
    CALM: "at calm, requests follow the ring of the configuration in force",
    STATE: "at calm, the state of the channel is that of its endpoints",
    CONNECTIONS: "the client keeps connections to listed endpoints, and no others",
    LIVENESS: "after all faults have ended, requests are served",
    LIFE: "the client lives, and answers its adapter",
}
"""What each judge demands."""

FLOOD: Final = 20
"""Equal discovery requests in a row that nothing can explain."""

FAILING: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})
"""The statuses of requests that the LB policy or the deadline ended."""


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
            if version.sent <= until and since <= ended:
                kept.append(version)
        return tuple(kept)

    def current(self, since: float) -> tuple[Version, ...]:
        """Return the versions from the last one on that was acknowledged before a time."""
        versions = self.seen.versions
        acked = [i for i, v in enumerate(versions) if v.acked is not None and v.acked <= since]
        return versions[acked[-1] :] if acked else versions

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


Judge = Callable[[Evidence], Iterator[Finding]]


def findings(seen: Observed) -> tuple[Finding, ...]:
    """Return what no right client shows, in the order of time; empty if there is nothing.

    Lateness of the suite, or a client that waited for a processor, excuses what depends on time.
    """
    evidence = Evidence(seen)
    found = [finding for judge in ALL for finding in judge(evidence)]
    excused = OF_DEADLINES | OF_MOMENTS if is_late(seen) else frozenset()
    if seen.lateness > timing.BELIEVED:
        excused |= OF_MOMENTS
    kept = (finding for finding in found if finding.judge not in excused)
    return tuple(sorted(kept, key=lambda finding: finding.at))


def is_late(seen: Observed) -> bool:
    """Return whether the suite or the machine was so late that no deadline counts."""
    starved = max(timing.STARVED, seen.ended / 2)
    return seen.lateness > timing.LATE or seen.starved > starved


# Requests at any time.


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
            _may_be_at(evidence, request, v.configuration, since, until)
            for v in evidence.in_force(since, until)
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
        _fails_by(evidence, request, version.configuration, since, until, is_deadline=is_deadline)
        for version in versions
    )


def _is_cold(evidence: Evidence, since: float) -> bool:
    """Return whether no request had been served until then: the client may not have been ready."""
    served = (r.ended for r in evidence.seen.requests if r.status == "OK" and r.ended is not None)
    return not any(ended <= since for ended in served)


def _fails_by(
    evidence: Evidence,
    request: Request,
    configuration: Configuration,
    since: float,
    until: float,
    *,
    is_deadline: bool,
) -> bool:
    if not configuration.members:
        return True
    rings = evidence.walks.rings(configuration)
    if not rings:
        return True
    for ring in rings:
        for order in evidence.walks.orders(ring, configuration, request):
            for result in _results(evidence, order, since, until):
                if result.kind == "failed" and is_deadline is request.wait_for_ready:
                    return True
                if result.kind != "waiting" or not is_deadline:
                    continue
                if evidence.timelines[order[result.index]].hangs(since, until):
                    return True
    return False


# Requests at calm.


def misfits(
    evidence: Evidence, calls: Sequence[Request], since: float, until: float
) -> tuple[Request, ...]:
    """Return the requests that no single ring explains, on the ring that explains the most.

    The states of endpoints are those that they had from the start of the requests to their end.
    """
    best: tuple[Request, ...] | None = None
    for version in evidence.current(since):
        for wrong in _by_ring(evidence, calls, version.configuration, since, until):
            if not wrong:
                return ()
            if best is None or len(wrong) < len(best):
                best = wrong
    return best or ()


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
    for version in versions:
        configuration = version.configuration
        for ring in evidence.walks.rings(configuration):
            for order in evidence.walks.orders(ring, configuration, call):
                for result in _results(evidence, order, since, until):
                    place = f" at e{order[result.index]}" if result.index >= 0 else ""
                    wanted[f"{result.kind}{place}"] = None
    few = 4
    listed = " or ".join(list(wanted)[:few]) or "failed"
    return f"{call.id} {listed}{' or elsewhere' if len(wanted) > few else ''}"


# The state of the channel at calm.


def allowed_states(evidence: Evidence, since: float, until: float) -> frozenset[str]:
    """Return the states that the channel may report at calm.

    A policy above ring_hash may keep TRANSIENT_FAILURE while ring_hash is CONNECTING again: A42
    states the rules of ring_hash only. grpc-go does so (balancerstateaggregator.go of its
    clustermanager at v1.85.0).
    """
    allowed = _aggregates(evidence, evidence.current(since), since, until)
    if "CONNECTING" in allowed and _may_have_failed(evidence, since):
        allowed |= {"TRANSIENT_FAILURE"}
    return allowed


def _aggregates(
    evidence: Evidence, versions: Sequence[Version], since: float, until: float
) -> frozenset[str]:
    """Return the states that ring_hash may report by one of these versions."""
    return frozenset().union(
        *(
            possible_aggregates(
                [evidence.timelines[m].within(since, until) for m in version.configuration.members]
            )
            for version in versions
        )
    )


def _may_have_failed(evidence: Evidence, before: float) -> bool:
    """Return whether the channel may have reported TRANSIENT_FAILURE at some earlier moment."""
    seen = evidence.seen
    ended = (c.closed for c in seen.connections if c.closed is not None)
    changes = (*ended, *(version.sent for version in seen.versions))
    return any(
        "TRANSIENT_FAILURE"
        in _aggregates(
            evidence, evidence.in_force(at, at + timing.MOMENTS), at, at + timing.MOMENTS
        )
        for at in changes
        if at <= before
    )


def judge_states(evidence: Evidence) -> Iterator[Finding]:
    """Find calms in which the channel reports another state than A42's rules give (A42-AGG)."""
    for calm in evidence.expired_calms:
        if calm.state is None:
            continue
        allowed = allowed_states(evidence, calm.round_began, calm.ended)
        if calm.state not in allowed:
            wanted = " or ".join(sorted(allowed))
            yield Finding(
                judge=STATE,
                title=f"at calm, the channel reports {calm.state} instead of {wanted}",
                expected=wanted,
                observed=calm.state,
                at=calm.ended,
            )


def is_idle_too_long(evidence: Evidence, calm: Calm) -> bool:
    """Return whether the client must connect by itself, and has not tried since the calm began.

    While ring_hash reports CONNECTING or TRANSIENT_FAILURE, it tries one endpoint after the other
    (A42-PRO-02, A42-PRO-03).
    """
    usable = {m for v in evidence.current(calm.began) for m in v.configuration.members}
    allowed = allowed_states(evidence, calm.began, calm.ended)
    if not usable or not allowed <= {"CONNECTING", "TRANSIENT_FAILURE"}:
        return False
    return not any(evidence.has_tried(member, calm.began) for member in usable)


def judge_trying(evidence: Evidence) -> Iterator[Finding]:
    """Find calms without requests in which a failed policy tries no endpoint (A42-PRO)."""
    for calm in evidence.expired_calms:
        if not calm.calls and is_idle_too_long(evidence, calm):
            yield Finding(
                judge=LIVENESS,
                title="the client tries no endpoint although none is connected",
                expected="one attempt after the other, each after its backoff",
                observed=f"no attempt within {calm.ended - calm.began:.1f} s",
                at=calm.ended,
                clause="A42-PRO-03",
            )


def not_retried(evidence: Evidence, calm: Calm, calls: Sequence[Request]) -> tuple[Member, ...]:
    """Return failed endpoints whose gates serve, that requests pick, and that are not tried.

    A failed endpoint that a request meets is tried again after its backoff (A42-PICK-07,
    A42-PICK-14, A42-PICK-19); by A61 it is tried again in any case.
    """
    found: dict[Member, None] = {}
    version = evidence.only_version(calm.began)
    if version is None:
        return ()
    rings = evidence.walks.rings(version.configuration)
    for call in calls:
        orders = {o for r in rings for o in evidence.walks.orders(r, version.configuration, call)}
        if len(orders) != 1:
            continue
        (order,) = orders
        for member in order:
            if evidence.timelines[member].within(calm.began, calm.ended) != FAILED:
                break
            is_tried = evidence.has_tried(member, calm.began)
            if not is_tried and evidence.serves_since(member, calm.began):
                found[member] = None
    return tuple(found)


def left_idle(evidence: Evidence, calm: Calm) -> tuple[Member, ...]:
    """Return IDLE endpoints that a failing policy has not tried, while no attempt is pending.

    After a failure the policy goes on to the next endpoint (A42-PRO-04, A61-PRO-01). The first
    wording of A61 does so only at the moment of the failure.
    """
    version = evidence.only_version(calm.began)
    if version is None or "A61-2023" in evidence.seen.client.follows:
        return ()
    usable = version.configuration.members
    states = {m: evidence.timelines[m].within(calm.began, calm.ended) for m in usable}
    if not possible_aggregates(tuple(states.values())) <= {"CONNECTING", "TRANSIENT_FAILURE"}:
        return ()
    if any("CONNECTING" in each or len(each) > 1 for each in states.values()):
        return ()
    if any(evidence.timelines[m].hangs(calm.began, calm.ended) for m in usable):
        return ()
    return tuple(member for member, each in states.items() if each == IDLE)


def judge_retries(evidence: Evidence) -> Iterator[Finding]:
    """Find endpoints that the client should have tried and has not."""
    for calm in evidence.expired_calms:
        calls = evidence.calls_of(calm)
        for member in not_retried(evidence, calm, calls)[:1]:
            yield Finding(
                judge=LIVENESS,
                title="a failed endpoint that requests pick is not tried again",
                expected=f"another attempt at e{member}, which serves, after its backoff",
                observed=f"none within {calm.ended - calm.began:.1f} s",
                at=calm.ended,
                clause="A42-PICK-07",
            )
        for member in left_idle(evidence, calm)[:1]:
            yield Finding(
                judge=LIVENESS,
                title="a policy without a connection leaves an endpoint IDLE",
                expected=f"an attempt at e{member}, as the others have failed",
                observed=f"none within {calm.ended - calm.began:.1f} s",
                at=calm.ended,
                clause="A42-PRO-04",
            )


# Connections.


def judge_attempts(evidence: Evidence) -> Iterator[Finding]:
    """Find connections to endpoints that are not listed, or that nothing has asked for."""
    trouble_since = _first_trouble(evidence)
    for connection in evidence.seen.connections:
        versions = evidence.in_force(connection.at - timing.MOMENTS, connection.at)
        listed = {m for version in versions for m in version.configuration.members}
        if evidence.may_keep_policy(connection.at):
            continue
        if connection.member not in listed:
            title = "the client connects to an endpoint that is not in its list"
        elif connection.at < trouble_since and not _is_wanted(evidence, connection, versions):
            title = "the client connects to an endpoint that no request has picked"
        elif not _has_reason(evidence, connection):
            title = "the client connects without a request, although none has failed"
        else:
            continue
        yield Finding(
            judge=ATTEMPTS,
            title=title,
            expected="connections to listed endpoints, for requests or after a failure",
            observed=f"a connection to e{connection.member} at {connection.at:.3f} s",
            at=connection.at,
        )


def _has_reason(evidence: Evidence, connection: Connection) -> bool:
    """Return whether a request, an update or the policy itself may have asked for a connection.

    What came before the endpoint was last READY is no reason.
    """
    at = connection.at
    since = max(at - timing.MOMENTS, evidence.timelines[connection.member].last_ready(at))
    for request in evidence.seen.requests:
        has_ended = request.ended is not None and request.ended < since - timing.SEEN_LATE
        if request.began <= at + timing.SEEN_LATE and not has_ended:
            return True
    versions = evidence.in_force(since, at)
    if len(versions) > 1 or any(since - timing.MOMENTS <= v.sent <= at for v in versions):
        return True
    before = at - 1e-6
    if "TRANSIENT_FAILURE" in evidence.timelines[connection.member].within(since, before):
        return True  # a failed endpoint is tried again (A61), or was asked for (A42)
    for version in versions:
        usable = version.configuration.members
        states = [evidence.timelines[member].within(since, before) for member in usable]
        if possible_aggregates(states) & {"CONNECTING", "TRANSIENT_FAILURE"}:
            return True
    return False


def _first_trouble(evidence: Evidence) -> float:
    """Return when the first attempt may have failed: from then on the policy itself connects."""
    ended = [c.closed for c in evidence.seen.connections if c.closed is not None]
    broken = [change.at for change in evidence.seen.gates if change.what]
    closing = [c.at for c in evidence.seen.connections if c.mode == "close"]
    return min((*ended, *broken, *closing), default=float("inf"))


def _is_wanted(evidence: Evidence, connection: Connection, versions: Sequence[Version]) -> bool:
    """Return whether a request that had started by then picks the endpoint first."""
    started = [r for r in evidence.seen.requests if r.began <= connection.at + timing.SEEN_LATE]
    for version in versions:
        configuration = version.configuration
        rings = evidence.walks.rings(configuration)
        if not rings or evidence.walks.is_random(configuration):
            return True
        for ring in rings:
            for request in started:
                orders = evidence.walks.orders(ring, configuration, request)
                if any(order[0] == connection.member for order in orders):
                    return True
    return False


def judge_backoff(evidence: Evidence) -> Iterator[Finding]:
    """Find attempts at a failed endpoint that come before its backoff is over (A42-PRO-08)."""
    seen = evidence.seen
    least = shortest(seen.client.backoff) - seen.lateness
    for member in range(len(seen.addresses)):
        own = sorted((c for c in seen.connections if c.member == member), key=lambda c: c.at)
        for before, after in pairwise(own):
            is_failure = before.mode == "close" and before.closed_by == "gate"
            if evidence.may_keep_policy(after.at):
                continue
            if not is_failure or after.at - before.at >= least:
                continue
            if any(before.at - timing.MOMENTS <= v.sent <= after.at for v in seen.versions):
                continue  # the endpoint may be another one since
            yield Finding(
                judge=BACKOFF,
                title="the client tries a failed endpoint again before its backoff is over",
                expected=f"at least {least:.3f} s between two attempts",
                observed=f"{after.at - before.at:.3f} s between two attempts at e{member}",
                at=after.at,
                clause="A42-PRO-08",
            )


def shortest(backoff: Backoff) -> float:
    """Return the shortest time from a failed attempt to the next one, with a margin."""
    return backoff.initial * (1 - backoff.jitter) / 2


def judge_connections(evidence: Evidence) -> Iterator[Finding]:
    """Find connections that outlive their endpoint's listing, at the calm that waited for them."""
    for calm in evidence.expired_calms:
        for connection in left_over(evidence, calm.round_began, calm.ended):
            yield Finding(
                judge=CONNECTIONS,
                title="a connection to an endpoint stays open that is no longer listed",
                expected="no connection to endpoints that have left the list",
                observed=f"connection {connection.id} to e{connection.member} is open",
                at=calm.ended,
            )


def left_over(evidence: Evidence, since: float, until: float) -> tuple[Connection, ...]:
    """Return open connections to endpoints that left the list LINGER ago, without streams."""
    if evidence.may_keep_policy(until):
        return ()
    recent = evidence.in_force(min(since, until - timing.LINGER), until)
    listed = {m for version in recent for m in version.configuration.members}
    busy = {
        arrival.connection
        for arrival in evidence.seen.arrivals
        if arrival.ended is None or arrival.ended > until
    }
    return tuple(
        connection
        for connection in evidence.seen.connections
        if connection.member not in listed
        and connection.id not in busy
        and connection.at <= until
        and (connection.closed is None or connection.closed > until)
    )


# The control plane.


def judge_answers(evidence: Evidence) -> Iterator[Finding]:
    """Find wrong answers to responses of the control plane."""
    for response in evidence.seen.responses:
        named = f"{response.kind} version {response.version}"
        if response.answer == "NACK" and response.is_valid:
            yield Finding(
                judge=ANSWERS,
                title=f"the client rejects a valid {response.kind} resource",
                expected=f"ACK of {named}",
                observed=f"NACK of {named}: {response.error}",
                at=response.answered or response.sent,
            )
        elif response.answer == "ACK" and not response.is_valid:
            yield Finding(
                judge=ANSWERS,
                title=f"the client accepts an invalid {response.kind} resource",
                expected=f"NACK of {named}",
                observed=f"ACK of {named}",
                at=response.answered or response.sent,
            )
        elif response.answer == "ACK" and response.told != response.version:
            yield Finding(
                judge=ANSWERS,
                title=f"the ACK of a {response.kind} response names another version",
                expected=f"version {response.version}",
                observed=f"version {response.told or '(empty)'}",
                at=response.answered or response.sent,
            )
        elif response.answer == "NACK" and response.told == response.version:
            yield Finding(
                judge=ANSWERS,
                title=f"the NACK of a {response.kind} response names the rejected version",
                expected=f"version {response.accepted or '(empty)'}",
                observed=f"version {response.told}",
                at=response.answered or response.sent,
                clause="A46-NACK-07",
            )
    for repetition in evidence.seen.repetitions:
        if repetition.count >= FLOOD:
            yield Finding(
                judge=ANSWERS,
                title=f"the client repeats a {repetition.kind} request",
                expected="one request for each change and each response",
                observed=f"{repetition.count} equal requests in a row",
                at=repetition.at,
            )


# Life.


def judge_life(evidence: Evidence) -> Iterator[Finding]:
    """Find a client that died, hung or did not answer."""
    trouble = evidence.seen.trouble
    if trouble is not None and trouble.verdict == "fail":
        first, *_ = trouble.what.splitlines()
        yield Finding(
            judge=LIFE,
            title=f"the client {trouble.reason}",
            expected="a client that lives and answers",
            observed=first,
            at=trouble.at,
        )


ALL: Final[tuple[Judge, ...]] = (
    judge_requests,
    judge_calms,
    judge_states,
    judge_trying,
    judge_retries,
    judge_attempts,
    judge_backoff,
    judge_connections,
    judge_answers,
    judge_life,
)

OF_MOMENTS: Final = frozenset({REQUESTS, ATTEMPTS, BACKOFF})
"""Judges that look for a reason within the last moments."""

OF_DEADLINES: Final = frozenset({CALM, STATE, CONNECTIONS, LIVENESS})
"""Judges of what has not come by a deadline."""
