"""What differs between two reports, by client, clause and scenario. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from conformance.judging.verdicts import BAD, ClauseResult
from conformance.reporting.clause_summary import (
    ClauseSummary,
    Kind,
    by_clause,
    by_scenario,
    kind_of,
)
from conformance.reporting.markdown import code, escaped
from conformance.reporting.report import ClientId, Report, Run
from conformance.runner import files


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference in a clause, or in one scenario's result for it."""

    kind: Kind
    old: ClauseSummary | None
    """None where it was not in the report."""
    new: ClauseSummary | None

    def __str__(self) -> str:
        return f"{self.old or 'not there'} → {self.new or 'not there'}"


class ClauseDifference(Difference, frozen=True, kw_only=True):
    """A clause of which the whole run, or one scenario at least, says something else."""

    clause: str
    scenarios: dict[str, Difference]

    def __str__(self) -> str:
        alike = f"{self.old}, but scenarios differ"
        return alike if self.old == self.new else super().__str__()


class ClientDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A client of either report, and what differs."""

    old: ClientId | None
    """None where it is in the new report only."""
    new: ClientId | None
    compared: int
    """The number of clauses in either report."""
    clauses: tuple[ClauseDifference, ...]

    @property
    def name(self) -> str:
        """The client; both, if its version differs."""
        return " → ".join(dict.fromkeys(str(client) for client in (self.old, self.new) if client))

    @property
    def counts(self) -> dict[Kind, int]:
        """How many clauses differ, by how."""
        counted = Counter(clause.kind for clause in self.clauses)
        return {kind: counted[kind] for kind in Kind if counted[kind]}


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What ``xdspec diff --json`` writes."""

    schema: Literal[1] = 1
    clients: tuple[ClientDifference, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether both reports have the same clients with the same results."""
        return not any(client.clauses or not (client.old and client.new) for client in self.clients)

    @property
    def is_worse(self) -> bool:
        """Return whether the new report should stop a change: see `exit codes` in the README."""
        return any(
            not client.new or any(_is_worse(clause) for clause in client.clauses)
            for client in self.clients
        )


def diff(old: Report, new: Report) -> Diff:
    """Compare two reports.

    A client is compared with the one of the same name, version and variant, or else with the one
    of the same name and variant, if each report has one such: a new version of it.
    """
    return Diff(
        clients=tuple(
            ClientDifference(
                old=before.client if before else None,
                new=after.client if after else None,
                compared=len({*_clauses(before)} | {*_clauses(after)}),
                clauses=tuple(clause_differences(before, after)),
            )
            for before, after in _pairs(old.runs, new.runs)
        )
    )


def lines(found: Diff) -> Iterator[str]:
    """Yield the differences for a user to read, the worst first."""
    for client in found.clients:
        if not client.old:
            yield f"{client.name}: in the new report only"
        elif not client.new:
            yield f"{client.name}: in the old report only"
        elif not client.clauses:
            yield f"{client.name}: nothing differs in {client.compared} clauses"
        else:
            counts = ", ".join(f"{count} {kind}" for kind, count in client.counts.items())
            yield f"{client.name}: {counts}; {client.compared} clauses"
            for difference in _worst_first(client.clauses):
                yield f"  {difference.kind:8} {difference.clause:14} {difference}"
                for scenario, said in difference.scenarios.items():
                    yield f"           {scenario}: {said}"


def markdown(found: Diff) -> Iterator[str]:
    """Yield the differences as a comment on a pull request: a line per client, details folded."""
    verdict = "is worse" if found.is_worse else "is no worse"
    yield f"### xdspec: {verdict}" if not found.is_empty else "### xdspec: nothing differs"
    for client in found.clients:
        yield ""
        if not (client.old and client.new and client.clauses):
            yield from (f"- {escaped(line)}" for line in lines(Diff(clients=(client,))))
            continue
        counts = ", ".join(f"**{count} {kind}**" for kind, count in client.counts.items())
        yield f"{escaped(client.name)}: {counts}; {client.compared} clauses"
        yield ""
        is_short = len(client.clauses) <= OPEN
        if not is_short:
            yield from (f"<details><summary>{len(client.clauses)} clauses</summary>", "")
        yield "| | clause | was | is | scenarios |"
        yield "|---|---|---|---|---|"
        for difference in _worst_first(client.clauses):
            cells = (
                difference.kind,
                difference.clause,
                difference.old or "not there",
                difference.new or "not there",
            )
            scenarios = "<br>".join(code(name, in_cell=True) for name in difference.scenarios)
            yield f"| {' | '.join(escaped(str(cell)) for cell in cells)} | {scenarios} |"
        if not is_short:
            yield from ("", "</details>")


OPEN = 20
"""Lines of the longest table that a comment shows open; a longer one is folded."""


def _worst_first(clauses: Iterable[ClauseDifference]) -> Sequence[ClauseDifference]:
    order = [*Kind]
    return sorted(clauses, key=lambda clause: order.index(clause.kind))


def write_json(found: Diff, path: Path) -> None:
    """Write the differences for programs."""
    files.write_json(path, found)


def _pairs(old: Sequence[Run], new: Sequence[Run]) -> Iterator[tuple[Run | None, Run | None]]:
    """Yield the runs of each client, in the order of the old report and then of the new report."""
    left = list(new)
    for before in old:
        same = [run for run in left if run.client == before.client]
        if not same and not any(run.client == before.client for run in new):
            was_one = [_whose(run) for run in old].count(_whose(before)) == 1
            others = [run for run in left if _whose(run) == _whose(before)]
            same = others if was_one and len(others) == 1 else []
        after = same[0] if same else None
        if after:
            left.remove(after)
        yield before, after
    for run in left:
        yield None, run


def _whose(run: Run) -> tuple[str, str | None]:
    return run.client.name, run.client.variant


def _clauses(run: Run | None) -> Mapping[str, ClauseResult]:
    return run.clauses if run else {}


def clause_differences(old: Run | None, new: Run | None) -> Iterator[ClauseDifference]:
    """Return the clauses of which two runs show something else."""
    if not old or not new:
        return
    was, scenarios_were = by_clause(old.clauses), by_scenario(old.scenarios)
    now, scenarios_are = by_clause(new.clauses), by_scenario(new.scenarios)
    for clause in dict.fromkeys((*was, *now)):
        before, after = was.get(clause), now.get(clause)
        inside = dict(_differing(scenarios_were.get(clause, {}), scenarios_are.get(clause, {})))
        if before != after or inside:
            yield ClauseDifference(
                clause=clause,
                kind=_kind_of_both(before, after, inside.values()),
                old=before,
                new=after,
                scenarios=inside,
            )


def _differing(
    old: Mapping[str, ClauseSummary], new: Mapping[str, ClauseSummary]
) -> Iterator[tuple[str, Difference]]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before != after:
            yield name, Difference(kind=kind_of(before, after), old=before, new=after)


def _kind_of_both(
    old: ClauseSummary | None, new: ClauseSummary | None, inside: Iterable[Difference]
) -> Kind:
    """Return the clause's kind of change; a broken scenario breaks the clause."""
    kinds = {difference.kind for difference in inside}
    if old != new:
        own = kind_of(old, new)
        return Kind.BROKEN if own is Kind.CHANGED and Kind.BROKEN in kinds else own
    if Kind.BROKEN in kinds:
        return Kind.BROKEN
    return kinds.pop() if len(kinds) == 1 else Kind.CHANGED


def _is_worse(difference: ClauseDifference) -> bool:
    return difference.kind in {Kind.BROKEN, Kind.GONE} or any(
        each.kind is Kind.NEW and each.new and each.new.verdict in BAD and not each.new.expected
        for each in (difference, *difference.scenarios.values())
    )
