"""Reports of made-up clients, small enough to be read, and one of a hostile client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from conformance.judging import evidence
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.report import ClientId, NotRun, Report, Run
from conformance.spec.catalogue import load

from .. import sample_reports as made  # noqa: TID252 - of the tests around it

CATALOGUE = load()
report = made.report
FOLLOWS = ("A42", "A61")
LONG = "word" * 60
NASTY = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e'\"{{ 7 * 7 }}"
KNOWN = Entry(
    clause="A42-RING-05",
    reason=Reason.DEVIATES,
    scenarios=("ring.some[0]",),
    seen="Eight endpoints and a minimum of 100: one entry each.",
    explanation="min_ring_size is not read",
    issue="https://example.com/1",
)
PASSED = (Verdict.PASS, None)
FAILED = (Verdict.FAIL, Reason.DEVIATES)

Said = tuple[Verdict, Reason | None]


def decision(clause: str, said: Said, **more: Any) -> Decision:
    verdict, reason = said
    words = {"saw": "127.0.0.1:1: 3, 127.0.0.1:2: 1", "wanted": "127.0.0.1:1: 2, 127.0.0.1:2: 2"}
    if verdict is not Verdict.FAIL:
        words = {}
    return Decision(clause=clause, verdict=verdict, reason=reason, **(words | more))


def run(name: str, version: str, *decisions: Decision, **more: Any) -> Run:
    """A run in which each decision is of a scenario of its own."""
    variant = more.pop("variant", None)
    place = more.pop("evidence", None)
    judged = JudgedClient(name=name, version=version, variant=variant, follows=FOLLOWS)
    told = made.records(judged, decisions, served=(f"four endpoints of {name}",), evidence=place)
    client = ClientId(name, version, variant)
    return build_run(told, CATALOGUE, client=client, follows=FOLLOWS, wall_seconds=1, **more)


def go(version: str, said: Said, **more: Any) -> Run:
    blocked = decision("A42-RING-07", (Verdict.SKIP, Reason.BLOCKED), blocked_by="A42-RING-05")
    seen = decision("A42-RING-03", (Verdict.SEEN, None), choices=("ip:port_i",))
    others = [blocked] if said == FAILED else [decision("A42-RING-07", PASSED)]
    return run("go", version, decision("A42-RING-05", said), *others, seen, **more)


def reports() -> list[tuple[str, Report]]:
    """Three versions of go, out of order, of which the last is broken anew, and a hostile node."""
    node = run(
        NASTY,
        "1.0-nonsense",
        decision("A42-RING-05", FAILED, saw=NASTY, wanted=NASTY, differs=NASTY, oracle=NASTY),
        decision("A61-SUB-01", (Verdict.ERROR, Reason.SUITE), saw=NASTY),
        variant=NASTY,
        evidence=NASTY,
    )
    left = NotRun(client=NASTY, verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words=NASTY)
    return [
        ("a.json", report(go("1.10.0", FAILED), go("1.9.0", PASSED))),
        ("b.json", report(go("1.8.0", FAILED, entries=[KNOWN]), node, not_run=(left,))),
    ]


def left_behind(folder: Path, seed: int = 1, name: str = "ring.some[0]") -> Path:
    """The folder of a scenario of go 1.10.0, with a push and a call, in long words."""
    judged = JudgedClient(name="go", version="1.10.0", variant=None, follows=FOLLOWS)
    failed = decision("A42-RING-05", FAILED)
    made = Record(
        scenario=name,
        clauses=("A42-RING-05",),
        client=judged,
        seed=seed,
        seconds=1,
        decisions=(failed,),
    )
    evidence.write(folder, made)
    pushed = {"event": "Response", "at": 1, "kind": "cluster", "version": "1", "fault": LONG}
    pushed["resources"] = [{"name": LONG, "type_url": LONG, "message": {"name": LONG}}]
    (folder / "transcript.jsonl").write_bytes(msgspec.json.encode(pushed))
    call = {"id": LONG, "channel": LONG, "status": LONG, "started_at": 1, "ended_at": 1.5}
    (folder / "calls.jsonl").write_bytes(msgspec.json.encode(call))
    return folder
