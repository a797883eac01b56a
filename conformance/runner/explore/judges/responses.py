"""Judge how the client responds to the control plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.runner.explore.judges.demands import ANSWERS
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.record import Finding

FLOOD: Final = 20
"""Equal discovery requests in a row that nothing can explain."""


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
