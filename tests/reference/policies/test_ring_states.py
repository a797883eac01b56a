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
        ("proactive_attempt", IDLE, "a:I b:I", None, None),
        ("proactive_attempt", READY, "a:R b:F", "b", None),
        ("proactive_attempt", CONNECTING, "a:F b:I c:I", "a", "b"),
        ("proactive_attempt", CONNECTING, "a:I b:I c:F", "c", "a"),
        ("proactive_attempt", CONNECTING, "a:F b:C* c:I", "a", None),
        ("proactive_attempt", FAILED, "a:F* b:F c:I", "b", None),
        ("proactive_attempt", FAILED, "a:F b:F", "a", "b"),
        ("proactive_attempt", FAILED, "a:F", "a", "a"),
        ("proactive_attempt", FAILED, "b:F c:F", "gone", "b"),
        ("proactive_attempt", FAILED, "", None, None),
        ("proactive_attempt_a61", IDLE, "a:I b:I", None, None),
        ("proactive_attempt_a61", READY, "a:R b:I", None, None),
        ("proactive_attempt_a61", CONNECTING, "a:F b:I c:I", "a", "b"),
        ("proactive_attempt_a61", CONNECTING, "a:F b:I c:C*", "a", None),
        ("proactive_attempt_a61", FAILED, "a:F* b:F c:I", "b", "c"),
        ("proactive_attempt_a61", FAILED, "a:F b:F", "a", None),
        ("proactive_attempt_a61_2023", CONNECTING, "a:F! b:I c:I", "a", "b"),
        ("proactive_attempt_a61_2023", CONNECTING, "a:F! b:I c:C*", "a", None),
        ("proactive_attempt_a61_2023", FAILED, "a:F b:F c:I", "b", None),
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
