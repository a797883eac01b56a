"""Compute the state that ring_hash reports (A42)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.spec.oracles.picker import State


def aggregated_state(endpoints: Sequence[State]) -> State:
    """Return the state by the first of A42's six rules that fits the endpoints, in any order.

    Clauses: A42-AGG-01, A42-AGG-02, A42-AGG-03, A42-AGG-04, A42-AGG-05, A42-AGG-06, A42-AGG-07,
    A42-AGG-08, A42-AGG-09, A42-AGG-11, A42-AGG-12, A42-AGG-13, A42-AGG-14.
    """
    counts = {state: list(endpoints).count(state) for state in endpoints}
    failed = counts.get("TRANSIENT_FAILURE", 0)
    rules: tuple[tuple[bool, State], ...] = (
        ("READY" in counts, "READY"),
        (failed > 1, "TRANSIENT_FAILURE"),
        ("CONNECTING" in counts, "CONNECTING"),
        (failed == 1 and len(endpoints) > 1, "CONNECTING"),
        ("IDLE" in counts, "IDLE"),
    )
    return next((state for holds, state in rules if holds), "TRANSIENT_FAILURE")
