"""Runs of a few scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.report import ClientId, Run
from conformance.spec.catalogue import Catalogue, load

CATALOGUE: Catalogue = load()
CLIENT = ClientId("python", "1.85.1", None)
MUST, SHOULD, FREE = "A42-RING-05", "A42-RING-04", "A42-RING-10"
FAILED = (Verdict.FAIL, Reason.DEVIATES)
PASSED = (Verdict.PASS, None)
SKIPPED = (Verdict.SKIP, Reason.CAPABILITY)


def decision(clause: str, verdict: Verdict, reason: Reason | None, saw: str = "") -> Decision:
    return Decision(clause=clause, verdict=verdict, reason=reason, saw=saw, wanted="another thing")


def record(name: str, *decisions: Decision, evidence: str | None = None) -> Record:
    return Record(
        scenario=name,
        clauses=tuple(dict.fromkeys(decided.clause for decided in decisions)),
        client=JudgedClient(name="python", version="1.85.1", variant=None, follows=("A42",)),
        seed=1,
        seconds=0.25,
        served=("four endpoints",),
        decisions=decisions,
        evidence=evidence,
    )


def run(*records: Record, entries: Iterable[Entry] = (), **more: Any) -> Run:
    return build_run(
        records,
        CATALOGUE,
        client=CLIENT,
        follows=("A42",),
        wall_seconds=1.23456,
        entries=entries,
        **more,
    )


def of(clause: str, verdict: tuple[Verdict, Reason | None]) -> Record:
    return record(f"ring.{clause}-{verdict[0]}-{verdict[1]}", decision(clause, *verdict))


def error(reason: Reason) -> Record:
    return of(MUST, (Verdict.ERROR, reason))


KNOWN = Entry(
    clause=MUST,
    reason=Reason.DEVIATES,
    scenarios=(of(MUST, FAILED).scenario,),
    seen="calls elsewhere",
    explanation="is known",
    issue="https://example.com/1",
)


# The report itself.

CONTROL = "\x1b[31mred\x00 & <b>"
WHOLE = run(
    record("ring.b", decision(MUST, *FAILED, CONTROL), decision(SHOULD, *PASSED), evidence="out/b"),
    record("ring.a", decision(MUST, *PASSED)),
    record("ring.c", decision(FREE, *SKIPPED, "no knob")),
    record("ring.d", decision(SHOULD, Verdict.ERROR, Reason.SUITE, "a mistake")),
)
