"""Judge whether a client without connections tries its endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.runner.explore.courses import Member
from conformance.runner.explore.endpoint_states import FAILED, IDLE
from conformance.runner.explore.judges.channel_state import allowed_states
from conformance.runner.explore.judges.demands import LIVENESS
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.picks import possible_aggregates
from conformance.runner.explore.record import Calm, Finding, Request, Version


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
    if evidence.is_tree:
        return _not_retried_by_priority(evidence, calm, version)
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


def _not_retried_by_priority(
    evidence: Evidence, calm: Calm, version: Version
) -> tuple[Member, ...]:
    """Return endpoints that serve, of priorities that have failed, and that are not tried.

    A priority above the one in use is kept up, so its policy goes on trying (A56). round_robin
    tries each failed endpoint, whatever the others do.
    """
    chosen = evidence.chosen(version, calm.began, calm.ended)
    lowest = max(choice.index for choice in chosen)
    found: list[Member] = []
    for part in version.configuration.by_priority[: lowest + 1]:
        states = {m: evidence.timelines[m].within(calm.began, calm.ended) for m in part.members}
        if part.policy == "ring_hash" and any(each != FAILED for each in states.values()):
            continue
        found += (
            member
            for member, each in states.items()
            if each == FAILED
            and not evidence.has_tried(member, calm.began)
            and evidence.serves_since(member, calm.began)
        )
    return tuple(found)


def untried(evidence: Evidence, calm: Calm) -> int | None:
    """Return a priority that no attempt went to although those above have failed or had their time.

    A56 goes on to the next priority then. ring_hash connects for requests only.
    """
    version = evidence.only_version(calm.began)
    if version is None or not calm.calls:
        return None
    parts = version.configuration.by_priority
    for index, part in enumerate(parts):
        if part.members and not any(evidence.has_tried(m, version.sent) for m in part.members):
            return index or None
        has_failed = evidence.priorities.states(part, calm.began, calm.ended) == FAILED
        if not has_failed and not evidence.priorities.must_go_on(version, index, calm.began):
            return None
    return None


def left_idle(evidence: Evidence, calm: Calm) -> tuple[Member, ...]:
    """Return IDLE endpoints that a failing policy has not tried, while no attempt is pending.

    After a failure the policy goes on to the next endpoint (A42-PRO-04, A61-PRO-01). The first
    wording of A61 does so only at the moment of the failure.
    """
    version = evidence.only_version(calm.began)
    if version is None or evidence.is_tree or "A61-2023" in evidence.seen.client.follows:
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
        if (priority := untried(evidence, calm)) is not None:
            yield Finding(
                judge=LIVENESS,
                title="a priority is not tried although those above have failed or had their time",
                expected=f"an attempt at priority {priority}",
                observed=f"none within {calm.ended - calm.began:.1f} s",
                at=calm.ended,
                clause="A42-FAIL-04",
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
