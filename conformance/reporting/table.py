"""The table clients x clauses, as Markdown, from reports alone: the same reports, the same text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from conformance.judging.verdicts import PRECEDENCE, ClauseResult, Verdict
from conformance.reporting.markdown import code, escaped, link
from conformance.reporting.provenance import Provenance
from conformance.reporting.report import NotRun, Report, Run, require_clauses, why_skipped
from conformance.spec.catalogue import Catalogue, Clause, edition_for

HEAD = """\
# Clauses and clients

Every clause that a scenario decides, and the verdict of each client. If a clause has several
wordings, the edition that the client is judged by follows its verdict. In the commands, name a
client that `xdspec list clients` does not have by its folder."""

NOTHING = "-"
"""Stands where a client's run decided nothing of a clause."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A client of the table."""

    run: Run
    provenance: Provenance

    @property
    def name(self) -> str:
        """The client with its exact version."""
        return escaped(str(self.run.client))

    @property
    def command(self) -> str:
        """What repeats a scenario of it, up to the scenario's name."""
        client = self.run.client
        variant = f"+{client.variant}" if client.variant else ""
        return f"xdspec run {client.name}@{client.version}{variant} --scenario "


def table(reports: Sequence[Report], catalogue: Catalogue) -> str:
    """The whole document.

    Raises:
        BadReport: a run knows a clause that the catalogue has not.
    """
    columns = [
        Column(run=run, provenance=report.provenance) for report in reports for run in report.runs
    ]
    for report in reports:
        require_clauses(report, catalogue)
    parts = [
        HEAD,
        "\n".join(_runs(columns)),
        *_not_run([left for report in reports for left in report.not_run]),
        *_sections(columns, catalogue),
        "## Deviations",
        *(part for column in columns for part in _deviations(column, catalogue)),
        "## What was not judged",
        *(part for column in columns for part in _unjudged(column, catalogue)),
    ]
    return "\n\n".join(parts) + "\n"


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _runs(columns: Iterable[Column]) -> Iterator[str]:
    yield _row("client", "states", *(verdict.value for verdict in PRECEDENCE), "judged")
    yield "|---|---|" + "---:|" * len(PRECEDENCE) + "---|"
    for column in columns:
        suite = column.provenance.suite
        commit = f" ({suite.commit[:12]})" if suite.commit else ""
        yield _row(
            column.name,
            escaped(", ".join(column.run.follows)),
            *(column.run.totals[verdict] for verdict in PRECEDENCE),
            escaped(f"{column.provenance.started[:10]} by {suite.version}{commit}"),
        )


def _not_run(left_out: Sequence[NotRun]) -> Iterator[str]:
    if left_out:
        yield "\n".join(
            f"- {escaped(left.client)}: {left.verdict.value} ({left.reason.value}): "
            + escaped(left.words.partition("\n")[0])
            for left in left_out
        )


def _sections(columns: Sequence[Column], catalogue: Catalogue) -> Iterator[str]:
    """A table for each section of the texts, in their order."""
    sections: dict[tuple[str, str], list[Clause]] = {}
    for clause in catalogue:
        if any(clause.id in column.run.clauses for column in columns):
            sections.setdefault((clause.document, clause.section), []).append(clause)
    for (document, section), clauses in sections.items():
        lines = [f"## {document}: {section}", ""]
        lines.append(_row("clause", "", "", *(column.name for column in columns)))
        lines.append("|---" * (3 + len(columns)) + "|")
        for clause in clauses:
            cells = (_cell(clause, column.run) for column in columns)
            lines.append(_row(clause.id, escaped(clause.title), clause.strength.value, *cells))
        yield "\n".join(lines)


def _cell(clause: Clause, run: Run) -> str:
    result = run.clauses.get(clause.id)
    if result is None:
        return NOTHING
    if result.verdict is Verdict.SEEN:
        return escaped(f"seen: {', '.join(result.seen)}")
    if result.verdict is Verdict.PASS and len(clause.editions) > 1:
        return f"pass ({edition_for(clause, run.follows)})"
    return _said(result)


def _said(result: ClauseResult) -> str:
    bare = _bare(result)
    return bare.replace("fail", "**fail**", 1) if result.verdict is Verdict.FAIL else bare


def _bare(result: ClauseResult) -> str:
    return result.verdict.value + (f" ({result.reason.value})" if result.reason else "")


def _deviations(column: Column, catalogue: Catalogue) -> Iterator[str]:
    """Each failure of a client: what was seen, how to see it again, and why."""
    failed = [name for name, row in column.run.clauses.items() if row.verdict is Verdict.FAIL]
    known = {name: [entry for entry in column.run.known if entry.clause == name] for name in failed}
    likewise: dict[str, list[str]] = {}
    for name in failed:
        for entry in known[name]:
            if entry.like:
                likewise.setdefault(entry.explanation, []).append(name)
    if failed:
        yield f"### {column.name}"
    for name in failed:
        clause, result = catalogue[name], column.run.clauses[name]
        told = [entry for entry in known[name] if not entry.like]
        if result.expected and not told:
            continue
        lines = [
            f"**{name}**, {escaped(clause.title)} [{clause.strength.value}]: {_bare(result)}",
            "",
        ]
        if not result.expected:
            lines += _unexpected(column, name)
        for entry in told:
            lines += [f"- seen: {escaped(entry.seen)}", f"- why: {escaped(entry.explanation)}"]
            lines.append(_again(entry.scenarios[0], column))
            lines += [f"- known: {link(entry.issue)}"] if entry.issue else []
            same = ", ".join(dict.fromkeys(likewise.get(entry.explanation, ())))
            lines += [f"- by the same cause: {same}"] if same else []
        yield "\n".join(lines)


def _unexpected(column: Column, clause: str) -> Iterator[str]:
    """What was seen of a clause that no baseline knows, and the first scenario that shows it."""
    new = [
        (scenario.id, finding)
        for scenario in column.run.scenarios
        for finding in scenario.findings
        if finding.clause == clause and finding.verdict is Verdict.FAIL and not finding.expected
    ]
    yield f"- seen: {escaped('; '.join(dict.fromkeys(finding.saw for _, finding in new)))}"
    yield _again(new[0][0], column)


def _again(scenario: str, column: Column) -> str:
    return f"- again: {code(column.command + shlex.quote(scenario))}"


def _unjudged(column: Column, catalogue: Catalogue) -> Iterator[str]:
    """The clauses of which a client's run says nothing, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, result in column.run.clauses.items():
        if result.verdict in {Verdict.SKIP, Verdict.ERROR}:
            words = why_skipped(catalogue[name], result)
            reasons.setdefault(f"{_said(result)}: {escaped(words)}", []).append(name)
    if reasons:
        lines = [f"- {reason}: {', '.join(names)}" for reason, names in reasons.items()]
        yield f"### {column.name}\n\n" + "\n".join(lines)
