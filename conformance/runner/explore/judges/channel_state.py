"""Judge the state of the channel at calm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance import timing
from conformance.runner.explore.judges.demands import STATE
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.record import Finding, Version


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
            evidence.priorities.states(choice.configuration, since, until)
            | ({"TRANSIENT_FAILURE"} if choice.has_failed else frozenset())
            for version in versions
            for choice in evidence.chosen(version, since, until)
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
