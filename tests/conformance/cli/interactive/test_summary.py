"""What was decided in the hands of a person, and what was not."""

from __future__ import annotations

import msgspec
import pytest

from conformance.cli.interactive.summary import BY_HAND, Step, signed, summary
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict

HAND, OTHER = Step("calls", BY_HAND), Step("calls", "reference")
DECIDED = (
    Decision(clause="A42-RING-13", verdict=Verdict.PASS, saw="so"),
    Decision(clause="A42-RING-14", verdict=Verdict.FAIL, saw="so", wanted="otherwise"),
    Decision(clause="A42-RING-15", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, saw="left"),
)


def record() -> Record:
    client = JudgedClient(name="reference", version="1", variant=None, follows=("A42",))
    return Record(
        scenario="ring.search",
        clauses=("A42-RING-13",),
        client=client,
        seed=1,
        seconds=1.0,
        decisions=DECIDED,
    )


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([HAND, HAND], ["pass", "fail", "open"]),
        ([OTHER], ["pass", "fail", "open"]),
        ([HAND, OTHER], ["open", "open", "open"]),
    ],
)
def test_what_counts(steps: list[Step], words: list[str]) -> None:
    lines = [text.split() for text, _ in summary(record(), steps, "reference")]
    assert [line[0] for line in lines if len(line) > 1 and line[1].startswith("A42-")] == words
    assert any("wanted:" in line for line in lines) == ("fail" in words)


def test_a_clause_that_is_looked_at_twice() -> None:
    twice = msgspec.structs.replace(record(), decisions=(DECIDED[0], DECIDED[2], DECIDED[0]))
    told = [text for text, _ in summary(twice, [HAND], "reference") if "A42-" in text]
    assert told == [
        "  pass  A42-RING-13: so (and 1 more times so)",
        "  open  A42-RING-15: left",
    ]


def test_who_made_the_calls_is_told() -> None:
    lines = [text for text, _ in summary(record(), [HAND, OTHER], "reference")]
    assert "  step 1, by hand: calls" in lines
    assert "  step 2, reference: calls" in lines
    assert any("of two clients" in line for line in lines)


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([], "reference"),
        ([OTHER], "reference"),
        ([HAND], "by hand"),
        ([HAND, OTHER], "by hand and reference"),
    ],
)
def test_the_record_is_of_who_made_them(steps: list[Step], name: str) -> None:
    assert signed(record(), steps, "reference").client.name == name
