"""The versions of a client side by side: what each was seen to do, and where that changed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from conformance.judging.verdicts import PRECEDENCE, Verdict
from conformance.reporting.bisection import Bisection, Untold
from conformance.reporting.clause_summary import ClauseSummary, Kind, by_clause, kind_of
from conformance.reporting.markdown import escaped
from conformance.reporting.report import ClientId, Run
from conformance.runner import files

NOT_THERE: Final = "-"
"""Stands where no run of a version has a clause."""


class Times(msgspec.Struct, frozen=True, kw_only=True, rename={"summary": "told"}):
    """A result of a clause, and the number of the version's runs that had it."""

    summary: ClauseSummary
    runs: int


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the client, or a variant of one."""

    label: str
    client: ClientId | None = None
    """None where it did not run."""
    runs: int = 0
    why: str = ""
    """Why it did not run."""


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between two versions, with no version between them that judged the clause."""

    kind: Kind
    before: str
    after: str
    was: tuple[Times, ...]
    now: tuple[Times, ...]

    def __str__(self) -> str:
        was, now = in_words(self.was), in_words(self.now)
        return f"{self.kind} from {self.before} to {self.after}: {was} → {now}"


class ClauseHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A clause."""

    versions: tuple[tuple[Times, ...], ...]
    """The results of each version, the worst first; empty if no run has the clause."""
    changes: tuple[VerdictChange, ...]


class Bisected(msgspec.Struct, frozen=True, kw_only=True):
    """Since when a clause is what it is in the last version."""

    clause: str
    change: VerdictChange | None
    """None if all versions that ran agree, or if the result cannot be determined."""
    between: dict[str, str]
    """Versions between the two of that change, and why they have no usable result."""
    untold_end: str | None
    """The last or first version, if it ran without a usable result."""
    earlier: tuple[VerdictChange, ...]
    """Changes before it, with whatever is between their two versions not looked at."""
    looked_at: dict[str, str]
    """What each version was seen to do."""
    not_looked_at: tuple[str, ...]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What ``xdspec history --json`` writes."""

    schema: Literal[1] = 1
    client: str
    versions: tuple[Version, ...]
    clauses: dict[str, ClauseHistory]
    bisected: Bisected | None = None

    @property
    def changed(self) -> dict[str, ClauseHistory]:
        """The clauses that are not the same in all versions, the broken ones first."""
        changed = {name: row for name, row in self.clauses.items() if row.changes}
        return dict(sorted(changed.items(), key=lambda item: _weight(item[1])))


def _weight(row: ClauseHistory) -> int:
    order = [*Kind]
    return min(order.index(change.kind) for change in row.changes)


def history(
    client: str, versions: Sequence[tuple[Version, Collection[Run]]], order: Iterable[str]
) -> History:
    """Put the runs of a client's versions together.

    Args:
        client: its name, for people.
        versions: in their order, each with its runs.
        order: of clauses; those that are not in it come last.
    """
    by_version = [[_lasting(run) for run in runs] for _, runs in versions]
    there = {name for runs in by_version for run in runs for name in run}
    ordered = [name for name in order if name in there]
    ordered += sorted(there.difference(ordered))
    labels = [version.label for version, _ in versions]
    rows = {}
    for name in ordered:
        cells = [_times(run[name] for run in runs if name in run) for runs in by_version]
        rows[name] = ClauseHistory(versions=tuple(cells), changes=tuple(_changes(labels, cells)))
    return History(
        client=client,
        versions=tuple(
            msgspec.structs.replace(version, runs=len(runs)) for version, runs in versions
        ),
        clauses=rows,
    )


def _lasting(run: Run) -> dict[str, ClauseSummary]:
    """Return the results that describe the client: without the edition and the baseline."""
    return {
        name: msgspec.structs.replace(result, edition=None, expected=False)
        for name, result in by_clause(run.clauses).items()
    }


def _times(summaries: Iterable[ClauseSummary]) -> tuple[Times, ...]:
    counted = Counter(summaries)
    worst = sorted(
        counted, key=lambda summary: (PRECEDENCE.index(summary.verdict), -counted[summary])
    )
    return tuple(Times(summary=summary, runs=counted[summary]) for summary in worst)


def _changes(labels: Sequence[str], cells: Sequence[tuple[Times, ...]]) -> Iterator[VerdictChange]:
    """Where a clause changed; an error says nothing of the client."""
    before: tuple[str, tuple[Times, ...]] | None = None
    for label, all_told in zip(labels, cells, strict=True):
        cell = judged(all_told)
        if not cell:
            continue
        if before and {entry.summary for entry in before[1]} != {entry.summary for entry in cell}:
            kind = kind_of(before[1][0].summary, cell[0].summary)
            yield VerdictChange(kind=kind, before=before[0], after=label, was=before[1], now=cell)
        before = label, cell


def judged(cell: Iterable[Times]) -> tuple[Times, ...]:
    """Return the results that are no errors."""
    return tuple(entry for entry in cell if entry.summary.verdict is not Verdict.ERROR)


# Bisecting.


def bisection(seen: History, clause: str) -> Bisection:
    """How far the runs that there are have come."""
    row = seen.clauses.get(clause)
    known = {
        number: Untold(version.why)
        if version.why and not version.runs
        else _state_of(row.versions[number] if row else ())
        for number, version in enumerate(seen.versions)
        if version.runs or version.why
    }
    return Bisection(len(seen.versions), known)


def _state_of(cell: Sequence[Times]) -> str | Untold:
    """Return a version's behavior as a text that is equal for versions that behave alike.

    The text does not say how a client fails: the findings of one cause vary from run to run.
    """
    if not cell:
        return Untold("no run of it has the clause")
    there = judged(cell)
    states = {_state(entry.summary) for entry in there}
    if not states:
        return Untold(in_words(cell))
    return states.pop() if len(states) == 1 else Untold(f"it comes and goes: {in_words(there)}")


def _state(summary: ClauseSummary) -> str:
    if summary.verdict is Verdict.FAIL:
        return summary.verdict.value
    return str(summary)


def bisected(seen: History, clause: str) -> Bisected:
    """Return the result of bisecting a clause, from the runs so far."""
    found = bisection(seen, clause)
    labels = [version.label for version in seen.versions]
    row = seen.clauses.get(clause)
    cells = row.versions if row else ((),) * len(labels)
    changes = []
    for flip in found.flips:
        was, now = judged(cells[flip.before]), judged(cells[flip.after])
        kind = kind_of(was[0].summary, now[0].summary)
        ends = {"before": labels[flip.before], "after": labels[flip.after]}
        changes.append(VerdictChange(kind=kind, was=was, now=now, **ends))
    untold = {
        labels[index]: result.why
        for index, result in found.known.items()
        if isinstance(result, Untold)
    }
    return Bisected(
        clause=clause,
        change=changes[-1] if changes else None,
        between={
            labels[index]: untold.get(labels[index], "not looked at") for index in found.between
        },
        untold_end=None if found.untold_end is None else labels[found.untold_end],
        earlier=tuple(changes[:-1]),
        looked_at={
            labels[index]: in_words(cells[index]) if cells[index] else untold[labels[index]]
            for index in sorted(found.known)
        },
        not_looked_at=tuple(
            label for index, label in enumerate(labels) if index not in found.known
        ),
    )


# Words.


def in_words(cell: Sequence[Times]) -> str:
    """Return the results of a clause in all runs of a version, as text."""
    if len(cell) == 1:
        return str(cell[0].summary)
    return (
        ", ".join(f"{entry.summary} in {entry.runs} of {_runs(cell)} runs" for entry in cell)
        or NOT_THERE
    )


def _short(cell: Sequence[Times]) -> str:
    """Return the worst result of a clause in a version, as one word and a count."""
    if not cell:
        return NOT_THERE
    worst = cell[0].summary.verdict
    count = sum(entry.runs for entry in cell if entry.summary.verdict is worst)
    return worst.value + (f" {count}/{_runs(cell)}" if count < _runs(cell) else "")


def _runs(cell: Iterable[Times]) -> int:
    return sum(entry.runs for entry in cell)


def lines(seen: History) -> Iterator[str]:
    """Yield the clauses that changed, with a column for each version."""
    changed = seen.changed
    yield _head(seen)
    yield from (f"  {line}" for line in _not_run(seen.versions))
    if not changed:
        return
    labels = [version.label for version in seen.versions]
    table = [("", *labels, "")]
    for name, row in changed.items():
        words = "; ".join(map(str, row.changes))
        table.append((name, *map(_short, row.versions), words))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    yield ""
    for cells in table:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"  {'  '.join(padded)}".rstrip()


def markdown(seen: History) -> Iterator[str]:
    """Return the history of a client as Markdown."""
    changed = seen.changed
    yield f"### xdspec: {escaped(_head(seen))}"
    yield from ("", *(f"- {escaped(line)}" for line in _not_run(seen.versions)))
    if not changed:
        return
    yield ""
    yield f"| clause | {' | '.join(escaped(place.label) for place in seen.versions)} | changes |"
    yield "|---" * (len(seen.versions) + 2) + "|"
    for name, row in changed.items():
        cells = " | ".join(_bold(cell) for cell in row.versions)
        words = "<br>".join(escaped(str(change)) for change in row.changes)
        yield f"| {name} | {cells} | {words} |"


def _bold(cell: Sequence[Times]) -> str:
    text = _short(cell)
    return f"**{text}**" if text.startswith(Verdict.FAIL) else text


def _head(seen: History) -> str:
    ran = sum(bool(version.runs) for version in seen.versions)
    changed = len(seen.changed)
    words = f"{changed} changed" if changed else "none of them changed"
    counts = f"{_count(ran, 'version')}, {_count(len(seen.clauses), 'clause')}"
    return f"{seen.client}: {counts}, {words}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number != 1 else "")


def _not_run(versions: Iterable[Version]) -> Iterator[str]:
    for version in versions:
        if not version.runs:
            yield f"{version.label}: {version.why or 'not run'}"


def bisected_lines(found: Bisected, client: str) -> Iterator[str]:
    """Yield the result of bisecting, and what remains open."""
    change, end = found.change, found.untold_end
    if change is None and end is not None:
        said = f"cannot be bisected: {end} has no usable result"
    elif change is None:
        said = "is the same in all versions that were looked at"
    elif found.between:
        said = f"{change}; no usable result for {', '.join(found.between)}"
    else:
        was, now = in_words(change.was), in_words(change.now)
        said = f"{change.kind} in {change.after}: {was} up to {change.before}, {now} since then"
    yield f"{found.clause} of {client}: {said}"
    yield from (f"  before that: {earlier_change}" for earlier_change in found.earlier)
    width = max(map(len, found.looked_at), default=0)
    yield from (f"  {label:{width}}  {what}" for label, what in found.looked_at.items())
    if found.not_looked_at:
        taken = ", ".join(found.not_looked_at)
        yield f"  not run, and assumed to behave like the versions next to them: {taken}"


def bisected_markdown(found: Bisected, client: str) -> Iterator[str]:
    """Return what bisecting has found as Markdown."""
    for line in bisected_lines(found, client):
        yield f"{'  ' if line.startswith(' ') else ''}- {escaped(line)}"


def write_json(seen: History, path: Path) -> None:
    """Write it for programs."""
    files.write_json(path, seen)
