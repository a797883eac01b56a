"""Runs, whole and in shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from conformance.judging.evidence import JudgedClient, Record, Trouble
from conformance.judging.verdicts import Cause, Decision, Reason, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.report import ClientId, Report, Run
from conformance.reporting.shard_report import ShardInputs, ShardReport, ended_as
from conformance.runner.sharding import plan_of
from conformance.spec.catalogue import load
from tests.conformance.reporting import sample_reports

CATALOGUE = load()
ORIGIN = sample_reports.report().provenance
ID = ClientId("python", "1.85.1", None)
CLIENT = JudgedClient(
    name="python", version="1.85.1", variant=None, follows=("A42",), issues="https://x"
)
MUST, OTHER, FREE, OF_CLUSTERS = "A42-RING-05", "A42-RING-07", "A42-RING-10", "A42-CDS-01"
CRASH = Cause(words="SIGSEGV")


def decision(clause: str, verdict: Verdict = Verdict.PASS, **more: Any) -> Decision:
    return Decision(clause=clause, verdict=verdict, **more)


def failed(clause: str, saw: str = "16 entries", **more: Any) -> Decision:
    return decision(
        clause, Verdict.FAIL, reason=more.pop("reason", Reason.DEVIATES), saw=saw, **more
    )


def record(name: str, *decisions: Decision, **more: Any) -> Record:
    clauses = tuple(dict.fromkeys(decided.clause for decided in decisions))
    fields = {"client": CLIENT, "seed": 1, "seconds": 0.5, "decisions": decisions, **more}
    return Record(scenario=name, clauses=clauses, **fields)


def ended_by(cause: Cause, name: str, clause: str) -> Record:
    """A scenario that could not go on."""
    reason = Reason.DEVIATES if cause.resource else Reason.CRASHED
    trouble = Trouble(verdict=Verdict.FAIL, reason=reason, what=cause.words, cause=cause)
    return record(name, failed(clause, cause.words, reason=reason, cause=cause), trouble=trouble)


def entry(clause: str, *scenarios: str, **more: Any) -> Entry:
    said = {"reason": Reason.DEVIATES, "seen": "calls", "shows": "entries"}
    said |= {"explanation": "is known"}
    return Entry(clause=clause, scenarios=scenarios, **(said | more))


def dealt(records: Sequence[Record], of: int) -> list[list[Record]]:
    return [[*records[number::of]] for number in range(of)]


def whole(records: Iterable[Record], entries: Sequence[Entry] = (), **more: Any) -> Run:
    told: dict[str, Any] = {
        "client": ID,
        "follows": ("A42",),
        "wall_seconds": 2.0,
        "entries": entries,
    }
    return build_run(records, CATALOGUE, **(told | more))


def of_runs(*runs: Run) -> Report:
    return Report(provenance=ORIGIN, runs=runs)


def shards(
    records: Sequence[Record],
    of: int,
    entries: Sequence[Entry] = (),
    *,
    given: ShardInputs | None = None,
    **more: Any,
) -> list[Report]:
    """The reports of the shards of a run."""
    piles = dealt(records, of)
    plan = plan_of([item.scenario for item in pile] for pile in piles)
    return [
        of_runs(
            whole(
                pile,
                entries,
                part=ShardReport(
                    number=number,
                    of=of,
                    plan=plan,
                    given=given or ShardInputs(),
                    entries=tuple(entries),
                    client=pile[0].client if pile else None,
                    ended=tuple(map(ended_as, pile)),
                ),
                **more,
            )
        )
        for number, pile in enumerate(piles, 1)
    ]


def named(reports: Iterable[Report]) -> list[tuple[str, Report]]:
    return [(f"{number}.json", shard) for number, shard in enumerate(reports, 1)]


PASSES = tuple(record(f"ring.passes[{number}]", decision(FREE)) for number in range(4))


GO = ClientId("go", "1.80.0", None)


def judged(**fields: Any) -> dict[str, Any]:
    return {"client": msgspec.structs.replace(CLIENT, **fields)}
