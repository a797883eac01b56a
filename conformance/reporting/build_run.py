"""Build the run of a report from the records of its scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from client_under_test.environments import Identity
from conformance.judging.blocking import ended_early, left_open, once_each
from conformance.judging.evidence import Record
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import (
    BAD,
    Decision,
    Verdict,
    combine,
    worst,
)
from conformance.reporting import baseline
from conformance.reporting.baseline import Entry
from conformance.reporting.report import ClientId, Run, Scenario, _totals
from conformance.reporting.shard_report import ShardReport
from conformance.spec.catalogue import Catalogue


def build_run(  # noqa: PLR0913 - all but two by their names
    records: Iterable[Record],
    catalogue: Catalogue,
    *,
    client: ClientId,
    follows: tuple[str, ...],
    wall_seconds: float,
    complete: bool = True,
    entries: Iterable[Entry] = (),
    today: date = date.min,
    troubles: tuple[str, ...] = (),
    part: ShardReport | None = None,
    repeat: str = "",
    identity: Identity = Identity(),  # noqa: B008 - frozen
) -> Run:
    """Put the records of a run together; report a cause that ended several scenarios only once.

    Args:
        records: of each scenario that ran.
        catalogue: the clauses.
        client: the client.
        follows: the editions that it states.
        wall_seconds: how long the run took.
        complete: False if it broke off: then no entry of the baseline is found untrue.
        entries: the baseline; those for other versions and variants count for nothing.
        today: the day of the run, on which some of them may be over.
        troubles: what ended the run itself.
        part: of one shard: then what the other shards may have seen, too, is left open.
        repeat: the beginning of the command that runs one scenario again.
        identity: what was judged, beyond the client's version. If the client was built from
            sources, a baseline entry without its failure counts as mended, not as a surprise.
    """
    meant = baseline.applying(tuple(entries), client.version, client.variant)
    known = tuple(entry for entry in meant if not entry.is_over(today))
    by_name = sorted(records, key=lambda record: record.scenario)
    finished = left_open(by_name) if part else once_each(by_name, catalogue)
    ordered = tuple(baseline.marked(record, known) for record in finished)
    by_clause: dict[str, dict[str, list[Decision]]] = {}
    for record in ordered:
        for decision in record.decisions:
            found = by_clause.setdefault(decision.clause, {})
            found.setdefault(record.scenario, []).append(decision)
    clauses = {
        clause.id: combine(clause, by_clause[clause.id])
        for clause in catalogue
        if clause.id in by_clause
    }
    is_release = identity.is_adapter or not identity.source
    return Run(
        client=client,
        follows=follows,
        wall_seconds=round(wall_seconds, 3),
        ring_keys=next((record.client.ring_keys for record in ordered), RingKeys()),
        complete=complete,
        scenarios=tuple(_scenario(record) for record in ordered),
        clauses=clauses,
        totals=_totals(clauses),
        known=tuple(entry for entry in known if _is_seen(entry, ordered)),
        surprises=tuple(baseline.surprises(ordered, known, is_release=is_release))
        if complete
        else (),
        mended=tuple(baseline.mended(ordered, known)) if complete and not is_release else (),
        identity=identity,
        endings=tuple(baseline.endings(ordered, meant, today)),
        troubles=troubles,
        part=part,
        repeat=repeat,
    )


def _is_seen(entry: Entry, records: Iterable[Record]) -> bool:
    return any(
        entry.knows(record.scenario, said) for record in records for said in record.decisions
    )


def _scenario(record: Record) -> Scenario:
    verdict, reason = worst(record.decisions)
    clauses = {
        clause: worst(decision for decision in record.decisions if decision.clause == clause)[0]
        for clause in record.clauses
    }
    return Scenario(
        id=record.scenario,
        verdict=verdict,
        reason=reason,
        seconds=record.seconds,
        clauses=clauses,
        evidence=record.evidence,
        left=record.left,
        findings=tuple(
            decision for decision in record.decisions if decision.verdict is not Verdict.PASS
        ),
        served=record.served if verdict in BAD else (),
        lateness=record.lateness,
        starved=record.starved,
        beside_others=record.beside_others,
        shared_process=record.shared_process,
        earlier=record.earlier if verdict in BAD or record.in_shared_process else (),
        in_shared_process=record.in_shared_process,
        cause=_cause_of(record),
        ended_early=ended_early(record),
    )


def _cause_of(record: Record) -> str:
    """Return the cause of a scenario's end as a statement about the client."""
    cause = record.trouble.cause if record.trouble else None
    if cause is None:
        return record.ignores[0].words if record.ignores else ""
    if not cause.resource:
        return f"the client ended by itself: {cause.words}"
    if cause.words.startswith("the client "):
        return cause.words
    why = cause.words.removeprefix("…: ") or "no reason given"
    return f"the client rejects a {cause.resource} resource: {why}"
