"""From a scenario's record to its verdicts, and what an evidence folder must be to be judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from client_under_test.contract import exceptions as trouble
from conformance import timing
from conformance.judging import causes, evidence
from conformance.judging.aborts import (
    NoAckOrNack,
    PreconditionTimeout,
    ReportContradicted,
    ResourceRejected,
    WrongOutcome,
)
from conformance.judging.evidence import BadEvidence, JudgedClient, Record, Trouble, decisions_of
from conformance.judging.expectations import EndsWith
from conformance.judging.observations import Call, Calls
from conformance.judging.verdicts import Check, Decision, Reason, Verdict
from conformance.spec.catalogue import Catalogue, load
from conformance.spec.oracles.ring.values import NoSuchValueError

CATALOGUE: Catalogue = load()
CLIENT = JudgedClient(name="python", version="1.85.1", variant=None, follows=("A42", "A61"))
CALLS = Calls((Call(id="call-0", channel="channel-1", path="/s/m", metadata=(), status="OK"),))
HOLDS = Check(clause="A42-RING-05", seen=CALLS, expected={"A42": EndsWith("OK")})
HOLDS_NOT = Check(clause="A42-RING-06", seen=CALLS, expected={"A42": EndsWith("INTERNAL")})


def record(
    *clauses: str, checks: tuple[Check, ...] = (), ended_by: Trouble | None = None
) -> Record:
    return Record(
        scenario="ring.some",
        clauses=clauses,
        client=CLIENT,
        seed=1,
        seconds=0.1,
        checks=checks,
        trouble=ended_by,
    )


def verdicts(recorded: Record) -> list[tuple[str, Verdict, Reason | None]]:
    return [(d.clause, d.verdict, d.reason) for d in decisions_of(recorded, CATALOGUE)]


PASS_05 = ("A42-RING-05", Verdict.PASS, None)
FAIL_06 = ("A42-RING-06", Verdict.FAIL, Reason.DEVIATES)


def test_an_unsuitable_draw_is_an_error_that_says_what_to_do() -> None:
    said = causes.of(NoSuchValueError("None of 3 candidates is a ring of that kind."))
    assert (said.verdict, said.reason) == (Verdict.ERROR, Reason.SUITE)
    assert "None of 3 candidates" in said.what
    assert "once more" in said.what


def test_each_clause_has_its_own_verdict() -> None:
    both = record("A42-RING-05", "A42-RING-06", checks=(HOLDS, HOLDS_NOT))
    assert verdicts(both) == [PASS_05, FAIL_06]


def test_a_clause_may_be_judged_several_times() -> None:
    twice = record("A42-RING-05", checks=(HOLDS, HOLDS))
    assert verdicts(twice) == [PASS_05, PASS_05]


def test_a_clause_that_is_claimed_and_not_judged_is_trouble_of_the_suite() -> None:
    recorded = record("A42-RING-05", "A42-RING-06", checks=(HOLDS,))
    assert verdicts(recorded) == [PASS_05, ("A42-RING-06", Verdict.ERROR, Reason.SUITE)]
    assert "without a verdict" in decisions_of(recorded, CATALOGUE)[1].saw


def test_a_clause_that_is_judged_and_not_claimed_is_trouble_of_the_suite() -> None:
    recorded = record("A42-RING-05", checks=(HOLDS, HOLDS_NOT))
    assert verdicts(recorded) == [PASS_05, ("A42-RING-05", Verdict.ERROR, Reason.SUITE)]
    assert "A42-RING-06 without claiming" in decisions_of(recorded, CATALOGUE)[1].saw


def test_what_the_client_states_of_a_choice_is_in_the_evidence(tmp_path: Path) -> None:
    search = Check(clause="A42-RING-14", seen=CALLS, expected={"the first entry": EndsWith("OK")})
    recorded = record("A42-RING-14", checks=(search,))
    other = {"A42-RING-14": "the last entry, in signed order"}
    client = msgspec.structs.replace(CLIENT, choices=other)
    assert verdicts(recorded) == [("A42-RING-14", Verdict.SEEN, None)]
    evidence.write(tmp_path, msgspec.structs.replace(recorded, client=client))
    _, (said,) = evidence.judge(tmp_path, CATALOGUE)
    assert (said.verdict, said.reason) == (Verdict.FAIL, Reason.STATED)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.FAIL, Reason.CRASHED),
        (Verdict.FAIL, Reason.LIED),
        (Verdict.ERROR, Reason.ADAPTER),
        (Verdict.ERROR, Reason.SUITE),
        (Verdict.SKIP, Reason.CAPABILITY),
    ],
)
def test_trouble_is_a_verdict_on_every_clause(verdict: Verdict, reason: Reason) -> None:
    ended = Trouble(verdict=verdict, reason=reason, what="so it went")
    recorded = record("A42-RING-05", "A42-RING-06", checks=(HOLDS,), ended_by=ended)
    assert verdicts(recorded) == [
        PASS_05,
        ("A42-RING-05", verdict, reason),
        ("A42-RING-06", verdict, reason),
    ]
    assert [d.saw for d in decisions_of(recorded, CATALOGUE)[1:]] == ["so it went"] * 2


@pytest.mark.parametrize(
    ("ended", "before", "at", "after"),
    [
        (Reason.CRASHED, PASS_05, (Verdict.FAIL, Reason.CRASHED), (Verdict.SKIP, Reason.BLOCKED)),
        (Reason.DEVIATES, PASS_05, (Verdict.SEEN, None), (Verdict.FAIL, Reason.DEVIATES)),
        (Reason.TIMING, PASS_05, (Verdict.ERROR, Reason.TIMING), (Verdict.ERROR, Reason.TIMING)),
    ],
)
def test_trouble_at_one_of_several_clauses_is_about_that_one(
    ended: Reason,
    before: tuple[str, Verdict, Reason | None],
    at: tuple[Verdict, Reason | None],
    after: tuple[Verdict, Reason | None],
) -> None:
    """What was judged before stands, and what was to come is blocked, if there is a failure."""
    verdict = Verdict.ERROR if ended is Reason.TIMING else Verdict.FAIL
    trouble_there = Trouble(verdict=verdict, reason=ended, what="so it went", at="A42-CDS-16")
    clauses = ("A42-RING-05", "A42-CDS-16", "A42-RING-06")
    recorded = record(*clauses, checks=(HOLDS,), ended_by=trouble_there)
    assert verdicts(recorded) == [before, ("A42-CDS-16", *at), ("A42-RING-06", *after)]
    by = {each.clause: each.blocked_by for each in decisions_of(recorded, CATALOGUE)}
    assert by["A42-RING-06"] == ("A42-CDS-16" if after[1] is Reason.BLOCKED else None)


def test_trouble_at_a_clause_that_is_not_claimed_is_about_all() -> None:
    ended = Trouble(verdict=Verdict.FAIL, reason=Reason.CRASHED, what="", at="A42-RING-07")
    crashed = (Verdict.FAIL, Reason.CRASHED)
    recorded = record("A42-RING-05", "A42-RING-06", checks=(HOLDS,), ended_by=ended)
    assert verdicts(recorded) == [PASS_05, ("A42-RING-05", *crashed), ("A42-RING-06", *crashed)]


@pytest.mark.parametrize(
    ("clause", "follows", "reason", "verdict"),
    [
        ("A42-RING-05", ("A42",), Reason.DEVIATES, (Verdict.FAIL, Reason.DEVIATES)),
        ("A42-RING-05", (), Reason.DEVIATES, (Verdict.SKIP, Reason.EDITION)),
        ("A42-RING-05", (), Reason.CRASHED, (Verdict.FAIL, Reason.CRASHED)),
        ("A42-CDS-16", ("A42",), Reason.DEVIATES, (Verdict.SEEN, None)),
        ("A42-CDS-16", ("A42",), Reason.HUNG, (Verdict.FAIL, Reason.HUNG)),
        ("A42-CDS-16", (), Reason.DEVIATES, (Verdict.SKIP, Reason.EDITION)),
        ("A42-RING-05", ("A42",), Reason.TIMING, (Verdict.ERROR, Reason.TIMING)),
        ("A42-RING-05", (), Reason.TIMING, (Verdict.SKIP, Reason.EDITION)),
        ("A42-CDS-16", ("A42",), Reason.TIMING, (Verdict.ERROR, Reason.TIMING)),
    ],
)
def test_who_refuses_what_a_scenario_builds_on_fails_what_it_states_only(
    clause: str, follows: tuple[str, ...], reason: Reason, verdict: tuple[Verdict, Reason | None]
) -> None:
    ends = Verdict.ERROR if reason is Reason.TIMING else Verdict.FAIL
    ended = Trouble(verdict=ends, reason=reason, what="it refused")
    client = msgspec.structs.replace(CLIENT, follows=follows)
    recorded = msgspec.structs.replace(record(clause, ended_by=ended), client=client)
    (said,) = decisions_of(recorded, CATALOGUE)
    assert (said.verdict, said.reason) == verdict
    assert said.saw == "it refused"
    assert said.verdict is not Verdict.SEEN or said.choices == ("not to be seen: it refused",)


ENVOY = JudgedClient(name="envoy", version="1.40.0", variant=None, follows=("A42", "envoy"))


@pytest.mark.parametrize(
    "ended", [None, Trouble(verdict=Verdict.FAIL, reason=Reason.DEVIATES, what="so it went")]
)
def test_a_clause_that_is_foreign_to_the_client_is_skipped_whatever_happened(
    ended: Trouble | None,
) -> None:
    foreign = msgspec.structs.replace(HOLDS_NOT, clause="A42-CHAN-01")
    both = record("A42-RING-05", "A42-CHAN-01", checks=(HOLDS, foreign), ended_by=ended)
    asked = [verdict for verdict in verdicts(both) if verdict[0] == "A42-CHAN-01"]
    assert (Verdict.FAIL, Reason.DEVIATES) in [verdict[1:] for verdict in asked]
    of_envoy = decisions_of(msgspec.structs.replace(both, client=ENVOY), CATALOGUE)
    (skipped,) = (decision for decision in of_envoy if decision.clause == "A42-CHAN-01")
    assert (skipped.verdict, skipped.reason) == (Verdict.SKIP, Reason.EDITION)
    assert skipped.saw == CATALOGUE["A42-CHAN-01"].grpc_only
    assert PASS_05 in [
        (decision.clause, decision.verdict, decision.reason) for decision in of_envoy
    ]


# Every exception that can end a scenario.

AFTER: dict[str, Any] = {"hello_said": True, "stderr_tail": "\n".join("abcdefg") + "\n\n"}
BEFORE: dict[str, Any] = {"hello_said": False}
SAID = [
    (trouble.ClientCrashed(11, **AFTER), Verdict.FAIL, Reason.CRASHED),
    (trouble.ClientExited(3, **AFTER), Verdict.FAIL, Reason.EXITED),
    (trouble.ClientHung("hung", **AFTER), Verdict.FAIL, Reason.HUNG),
    (trouble.ClientFlooded("wrote", **AFTER), Verdict.FAIL, Reason.FLOODED),
    (trouble.DoneMissing(9, **AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ProtocolError("hi", "why", **AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.HelloContradicted("another version", **AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ClockWrong("in the future", **AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.RequestRefused("refused", **AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.WrongContract(3, (1, 2), hello_said=True), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ClientUnresponsive("no hello", **BEFORE), Verdict.ERROR, Reason.ADAPTER),
    (trouble.StdoutClosed(**AFTER), Verdict.ERROR, Reason.ADAPTER),
    (trouble.NotStarted("no program", **BEFORE), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ClientCrashed(11, **BEFORE), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ClientExited(0, **BEFORE), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ClientFlooded("wrote", **BEFORE), Verdict.ERROR, Reason.ADAPTER),
    (trouble.ConversationOver("closed", **AFTER), Verdict.ERROR, Reason.SUITE),
    (ReportContradicted("two stories"), Verdict.FAIL, Reason.LIED),
    (ResourceRejected("a NACK"), Verdict.FAIL, Reason.DEVIATES),
    (NoAckOrNack("no answer"), Verdict.FAIL, Reason.HUNG),
    (PreconditionTimeout("no attempt"), Verdict.FAIL, Reason.DEVIATES),
    (WrongOutcome("served elsewhere"), Verdict.FAIL, Reason.DEVIATES),
    (RuntimeError("a mistake of ours"), Verdict.ERROR, Reason.SUITE),
    (KeyError("x"), Verdict.ERROR, Reason.SUITE),
]


@pytest.mark.parametrize(("error", "verdict", "reason"), SAID)
def test_what_an_exception_says(error: Exception, verdict: Verdict, reason: Reason) -> None:
    said = causes.of(error, lateness=0.0)
    assert (said.verdict, said.reason) == (verdict, reason)
    assert str(error) in said.what


def test_every_way_a_conversation_can_end_is_in_the_table() -> None:
    assert set(trouble.ConversationFailed.__subclasses__()) <= {type(error) for error, *_ in SAID}


@pytest.mark.parametrize(
    "error", [trouble.ClientHung("hung", **AFTER), NoAckOrNack("no answer")], ids=str
)
def test_a_suite_that_was_late_accuses_nobody_of_hanging(error: Exception) -> None:
    in_time = causes.of(error, lateness=timing.LATE)
    assert (in_time.verdict, in_time.reason) == (Verdict.FAIL, Reason.HUNG)
    late = causes.of(error, lateness=timing.LATE + 0.5)
    assert (late.verdict, late.reason) == (Verdict.ERROR, Reason.TIMING)
    assert f"{timing.LATE + 0.5:.1f} s late" in late.what


@pytest.mark.parametrize(
    ("verdict", "reason", "against"),
    [
        (Verdict.FAIL, Reason.DEVIATES, True),
        (Verdict.ERROR, Reason.TIMING, True),
        (Verdict.ERROR, Reason.SUITE, False),
        (Verdict.PASS, None, False),
        (Verdict.SKIP, Reason.EDITION, False),
    ],
)
def test_lateness_only_excuses_what_is_against_a_client(
    verdict: Verdict, reason: Reason | None, *, against: bool
) -> None:
    """So that a client whose gates cannot work is skipped for that, whatever the machine does."""
    decision = Decision(clause="A42-PICK-05", verdict=verdict, reason=reason)
    assert decision.is_against is against


@pytest.mark.parametrize(
    "error", [PreconditionTimeout("no attempt"), NoAckOrNack("no answer")], ids=str
)
def test_a_client_that_the_machine_kept_waiting_is_not_accused_of_it(error: Exception) -> None:
    assert causes.of(error, starved=timing.STARVED).verdict is Verdict.FAIL
    assert causes.of(error, starved=10, seconds=21).verdict is Verdict.FAIL
    assert causes.of(error, starved=10, seconds=19).verdict is Verdict.ERROR
    starved = causes.of(error, starved=timing.STARVED + 0.5)
    assert (starved.verdict, starved.reason) == (Verdict.ERROR, Reason.TIMING)
    assert f"waited {timing.STARVED + 0.5:.1f} s for a processor" in starved.what


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (trouble.ClientCrashed(11, **AFTER), Reason.CRASHED),
        (WrongOutcome("served elsewhere"), Reason.DEVIATES),
    ],
)
def test_lateness_excuses_nothing_that_has_happened(error: Exception, reason: Reason) -> None:
    said = causes.of(error, lateness=60, starved=60)
    assert (said.verdict, said.reason) == (Verdict.FAIL, reason)


def test_the_last_words_of_the_client_are_quoted() -> None:
    said = causes.of(trouble.ClientCrashed(11, **AFTER), lateness=0.0)
    assert said.what == "the client died by SIGSEGV; its stderr ends:\nc\nd\ne\nf\ng"
    silent = causes.of(trouble.ClientCrashed(11, hello_said=True), lateness=0.0)
    assert silent.what == "the client died by SIGSEGV"


# Folders.


def test_what_is_written_is_judged_alike(tmp_path: Path) -> None:
    recorded = record("A42-RING-05", "A42-RING-06", checks=(HOLDS, HOLDS_NOT))
    recorded = msgspec.structs.replace(recorded, decisions=decisions_of(recorded, CATALOGUE))
    evidence.write(tmp_path / "new" / "folder", recorded)
    read, decisions = evidence.judge(tmp_path / "new" / "folder", CATALOGUE)
    assert read == recorded
    assert decisions == recorded.decisions


def spoiled(**changes: Any) -> bytes:
    whole = record("A42-RING-05", checks=(HOLDS,))
    return json.dumps(json.loads(msgspec.json.encode(whole)) | changes).encode()


CHECK = json.loads(msgspec.json.encode(HOLDS))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"", "is not evidence of this suite"),
        (b"[1, 2]", "is not evidence of this suite"),
        (b"\xff\xfe", "is not evidence of this suite"),
        (b'{"schema": 1}', "is not evidence of this suite"),
        (spoiled(schema=2), "has schema 2, this suite reads 1"),
        (spoiled(clauses=["A42-RING-99"]), "judges A42-RING-99"),
        (spoiled(clauses=[]), "decides no clause"),
        (spoiled(checks=[CHECK | {"clause": "A42-RING-99"}]), "judges A42-RING-99"),
        (spoiled(checks=[CHECK | {"expected": {}}]), "cannot be weighed"),
        (spoiled(checks=[CHECK | {"expected": {"A42": {"type": "x"}}}]), "is not evidence"),
    ],
)
def test_a_folder_that_cannot_be_judged(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / evidence.FILE).write_bytes(content)
    with pytest.raises(BadEvidence, match=words) as raised:
        evidence.judge(tmp_path, CATALOGUE)
    assert "\n" not in str(raised.value)
