"""What a scenario asks for, in words, and the file of calls."""

from __future__ import annotations

import json

import msgspec
import pytest

from client_under_test.launching.channels import Call as PlannedCall
from conformance.cli.interactive.steps import (
    BY_HAND,
    CallSite,
    Step,
    as_rows,
    calls,
    signed,
    summary,
)
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict

UNARY = "/grpc.testing.TestService/UnaryCall"
PLACE = CallSite("channel-1", "xds:///xdspec.test")


def planned(count: int, **more: object) -> list[PlannedCall]:
    return [
        PlannedCall(id=f"call-{i}", path=UNARY, metadata=(("session", f"v{i}"),), deadline=10)
        for i in range(count)
    ]


def told(count: int, **more: object) -> dict[str, str]:
    options: dict[str, object] = {"concurrency": 32, "pace": None, "file": "f", "beside": False}
    asked = calls(planned(count), PLACE, **options | more)  # type: ignore[arg-type]
    return {"what": asked.what, "until": asked.until, **dict(asked.details)}


def test_a_channel_is_kept() -> None:
    assert "keep it" in told(1)["channel"]
    again = calls(
        planned(1),
        CallSite("channel-1", "xds:///xdspec.test", is_known=True),
        concurrency=None,
        pace=None,
        file="f",
        beside=False,
    )
    assert "channel" not in dict(again.details)


def test_one_call() -> None:
    said = told(1)
    assert said["what"] == "1 call on channel-1 to xds:///xdspec.test"
    assert said["metadata"] == "session: v0"
    assert said["deadline"] == "10 s"
    assert said["until"] == "it has ended"
    assert "how" not in said


def test_many() -> None:
    said = told(24)
    assert said["metadata"] == "session: v0, v1, v2, … (24 different values)"
    assert said["how"] == "up to 32 at once"
    assert told(24, concurrency=1)["how"] == "one after another"
    assert told(24, concurrency=None)["how"] == "all at once"
    assert told(24, concurrency=None, pace=0.1)["how"] == "one each 0.1 s"
    assert said["until"] == "each has ended"


def test_beside_something_else() -> None:
    assert told(2, beside=True)["until"].startswith("they are in progress")


def test_a_process_of_its_own() -> None:
    place = CallSite("channel-2", "xds:///x", {"GUARD": "true", "OTHER": None}, is_known=True)
    assert place.words() == (
        "channel-2 to xds:///x, in a process of its own, with GUARD=true and without OTHER"
    )


def test_the_file_has_what_a_program_needs() -> None:
    binary = PlannedCall(id="call-9", path=UNARY, metadata=(("k-bin", b"\0\1"),), kept_open=True)
    first, second = json.loads(as_rows([*planned(1), binary]))
    assert first == {
        "path": UNARY,
        "metadata": [["session", "v0"], ["xdspec-call", "call-0"]],
        "deadline": 10,
        "wait_for_ready": False,
        "kept_open": False,
    }
    assert second["metadata"] == [["k-bin", "AAE="], ["xdspec-call", "call-9"]]
    assert second["deadline"] is None
    assert second["kept_open"]


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
    assert any("expected:" in line for line in lines) == ("fail" in words)


def test_a_clause_that_is_looked_at_twice() -> None:
    twice = msgspec.structs.replace(record(), decisions=(DECIDED[0], DECIDED[2], DECIDED[0]))
    told = [text for text, _ in summary(twice, [HAND], "reference") if "A42-" in text]
    assert told == [
        "  pass  A42-RING-13: so (and 1 more times)",
        "  open  A42-RING-15: left",
    ]


def test_who_made_the_calls_is_told() -> None:
    lines = [text for text, _ in summary(record(), [HAND, OTHER], "reference")]
    assert "  step 1, by hand: calls" in lines
    assert "  step 2, reference: calls" in lines
    assert any("Two clients made the calls" in line for line in lines)


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
