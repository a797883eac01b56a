"""Records and reports of made-up runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.build_run import build_run
from conformance.reporting.provenance import Suite, provenance
from conformance.reporting.report import ClientId, NotRun, Report, Run
from conformance.spec.catalogue import load


def decision(clause: str, verdict: Verdict, reason: Reason | None = None, **more: Any) -> Decision:
    return Decision(clause=clause, verdict=verdict, reason=reason, **more)


def records(client: JudgedClient, decisions: Iterable[Decision], **more: Any) -> list[Record]:
    """Each decision is of a scenario of its own."""
    return [
        Record(
            scenario=f"ring.some[{number}]",
            clauses=(decided.clause,),
            client=client,
            seed=1,
            seconds=0.1,
            decisions=(decided,),
            **more,
        )
        for number, decided in enumerate(decisions)
    ]


def run(
    *decisions: Decision,
    name: str = "one",
    version: str = "1.2.3",
    variant: str | None = None,
    **more: Any,
) -> Run:
    """Of a client that states A42 and A61."""
    client = ClientId(name, version, variant)
    judged = JudgedClient(name=name, version=version, variant=variant, follows=("A42", "A61"))
    told = records(judged, decisions)
    return build_run(
        told, load(), client=client, follows=judged.follows, **{"wall_seconds": 12, **more}
    )


def report(*runs: Run, not_run: tuple[NotRun, ...] = ()) -> Report:
    """Of a certain day, by a certain commit."""
    origin = msgspec.structs.replace(
        provenance(load(), seed=1),
        suite=Suite(version="0.1.0", commit="0123456789abcdef"),
        started="2026-11-21T16:00:00+00:00",
    )
    return Report(provenance=origin, runs=runs, not_run=not_run)
