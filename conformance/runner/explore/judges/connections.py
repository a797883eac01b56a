"""Judge when the client connects, and when connections end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from conformance import timing
from conformance.runner.explore.judges.demands import ATTEMPTS, BACKOFF, CONNECTIONS
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.picks import possible_aggregates
from conformance.runner.explore.record import Connection, Finding, Version
from conformance.spec.oracles.backoff import Backoff


def judge_attempts(evidence: Evidence) -> Iterator[Finding]:
    """Find connections to endpoints that are not listed, or that nothing has asked for."""
    trouble_since = _first_trouble(evidence)
    for connection in evidence.seen.connections:
        versions = evidence.in_force(connection.at - timing.MOMENTS, connection.at)
        listed = {m for version in versions for m in version.configuration.members}
        if evidence.may_keep_policy(connection.at):
            continue
        if evidence.may_be_kept(connection.member, connection.at):
            continue
        if connection.member not in listed:
            title = "the client connects to an endpoint that is not in its list"
        elif evidence.is_tree and _is_needed(evidence, connection, versions):
            continue
        elif evidence.is_tree:
            title = "the client connects to a priority although a higher one can be used"
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


def _is_needed(evidence: Evidence, connection: Connection, versions: Sequence[Version]) -> bool:
    """Return whether the client may have made the policy of an endpoint's priority (A56).

    Once made, the policy connects for 15 minutes, also while it is not in use.
    """
    at, member = connection.at, connection.member
    beside = {
        m
        for version in evidence.seen.versions
        for part in version.configuration.by_priority
        if member in part.members
        for m in part.members
    }
    if any(c.at < at and c.member in beside for c in evidence.seen.connections):
        return True
    return any(
        evidence.priorities.may_be_needed(version, member, at - timing.MOMENTS, at)
        for version in versions
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
            if evidence.may_keep_policy(after.at) or evidence.may_be_kept(member, after.at):
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
        and not evidence.may_be_kept(connection.member, until)
        and connection.id not in busy
        and connection.at <= until
        and (connection.closed is None or connection.closed > until)
    )
