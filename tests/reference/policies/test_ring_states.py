"""Rules of ring_hash's states: counted, aggregated, and attempts without a request."""

from __future__ import annotations

import pytest

from client_under_test.reference.policies.rules import ring_states
from client_under_test.reference.values import State

from .bench import CONNECTING, FAILED, IDLE, READY

# Rules by tables.


@pytest.mark.parametrize(
    ("counted", "reported", "after"),
    [
        (IDLE, CONNECTING, CONNECTING),
        (CONNECTING, READY, READY),
        (CONNECTING, FAILED, FAILED),
        (FAILED, IDLE, FAILED),
        (FAILED, CONNECTING, FAILED),
        (FAILED, FAILED, FAILED),
        (FAILED, READY, READY),
        (READY, IDLE, IDLE),
    ],
)
def test_counted_state(counted: State, reported: State, after: State) -> None:
    assert ring_states.counted_state(counted, reported) is after


@pytest.mark.parametrize(
    ("states", "aggregated"),
    [
        ([READY, FAILED, FAILED], READY),
        ([READY, CONNECTING, IDLE], READY),
        ([FAILED, FAILED, CONNECTING, IDLE], FAILED),
        ([FAILED, FAILED], FAILED),
        ([CONNECTING, IDLE, FAILED], CONNECTING),
        ([CONNECTING], CONNECTING),
        ([FAILED, IDLE], CONNECTING),
        ([IDLE, IDLE], IDLE),
        ([IDLE], IDLE),
        ([FAILED], FAILED),
        ([], FAILED),
    ],
)
def test_aggregated_state(states: list[State], aggregated: State) -> None:
    assert ring_states.aggregated_state(states) is aggregated


# Prospects are written name:state, with a star if one is under way, a ! if it has just failed.
@pytest.mark.parametrize(
    ("rule", "aggregated", "prospects", "last", "expected"),
    [
        ("next_along_the_ring", IDLE, "a:I b:I", None, None),
        ("next_along_the_ring", READY, "a:R b:F", "b", None),
        ("next_along_the_ring", CONNECTING, "a:F b:I c:I", "a", "b"),
        ("next_along_the_ring", CONNECTING, "a:I b:I c:F", "c", "a"),
        ("next_along_the_ring", CONNECTING, "a:F b:C* c:I", "a", None),
        ("next_along_the_ring", FAILED, "a:F* b:F c:I", "b", None),
        ("next_along_the_ring", FAILED, "a:F b:F", "a", "b"),
        ("next_along_the_ring", FAILED, "a:F", "a", "a"),
        ("next_along_the_ring", FAILED, "b:F c:F", "gone", "b"),
        ("next_along_the_ring", FAILED, "", None, None),
        ("first_idle", IDLE, "a:I b:I", None, None),
        ("first_idle", READY, "a:R b:I", None, None),
        ("first_idle", CONNECTING, "a:F b:I c:I", "a", "b"),
        ("first_idle", CONNECTING, "a:F b:I c:C*", "a", None),
        ("first_idle", FAILED, "a:F* b:F c:I", "b", "c"),
        ("first_idle", FAILED, "a:F b:F", "a", None),
        ("first_idle_after_failure", CONNECTING, "a:F! b:I c:I", "a", "b"),
        ("first_idle_after_failure", CONNECTING, "a:F! b:I c:C*", "a", None),
        ("first_idle_after_failure", FAILED, "a:F b:F c:I", "b", None),
    ],
)
def test_proactive_attempt(
    rule: str, aggregated: State, prospects: str, last: str | None, expected: str | None
) -> None:
    letters = {"I": IDLE, "C": CONNECTING, "R": READY, "F": FAILED}
    listed = [
        ring_states.Prospect(
            identity=word[0],
            counted=letters[word[2]],
            under_way=word.endswith("*"),
            failed_now=word.endswith("!"),
        )
        for word in prospects.split()
    ]
    assert getattr(ring_states, rule)(aggregated, listed, last) == expected
