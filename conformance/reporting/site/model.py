"""What the site says, computed from reports alone: clauses, clients and versions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from client_under_test.manifests.version_ranges import by_version
from conformance.judging.verdicts import BAD, ClauseResult, Decision
from conformance.reporting.baseline import Entry
from conformance.reporting.provenance import Provenance
from conformance.reporting.rendering.comparison import Compared, compared
from conformance.reporting.report import (
    NotRun,
    Report,
    Run,
    Scenario,
    blocked,
    repeat_of,
    require_clauses,
)
from conformance.runner.selection import with_scenario
from conformance.spec.catalogue import Catalogue, Clause, edition_for


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A run: one client in one version."""

    slug: str
    """In names of files, and of places in them; no other column has it."""
    label: str
    """The version, within its client."""
    run: Run
    provenance: Provenance
    report: str
    """The file that it was in."""

    @property
    def client(self) -> str:
        """The client with its variant, without its version."""
        variant = f" +{self.run.client.variant}" if self.run.client.variant else ""
        return self.run.client.name + variant

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.client} {self.label}"

    def repeat(self, scenario: str) -> str:
        """Return the command that repeats a scenario."""
        return with_scenario(repeat_of(self.run, self.provenance.seed), scenario)


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one client, by version."""

    client: str
    columns: tuple[Column, ...]


class ClauseRow(msgspec.Struct, frozen=True, kw_only=True):
    """A clause, and its result in each run."""

    clause: Clause
    results: tuple[ClauseResult | None, ...]
    """Column by column; None where the run decided nothing of it."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """The clauses of one place of a text."""

    document: str
    section: str
    rows: tuple[ClauseRow, ...]


class FailedScenario(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one scenario for a clause that fails."""

    scenario: Scenario
    decisions: tuple[tuple[Decision, Compared], ...]
    entries: tuple[Entry, ...]
    """The baseline's entries for this clause and scenario."""
    repeat: str

    @property
    def expected(self) -> bool:
        """Return whether the baseline lists all failures of the scenario."""
        return all(decision.expected for decision, _ in self.decisions)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A clause that fails in a run, or that could not be judged."""

    column: Column
    clause: Clause
    result: ClauseResult
    places: tuple[FailedScenario, ...]
    """What no baseline knows first."""
    since: str = ""
    """Since which version of the client, as far as those before it tell."""

    @property
    def file(self) -> str:
        """The name of its page."""
        return f"{self.column.slug}-{self.clause.id}.html"

    @property
    def text(self) -> str:
        """The clause by the edition that the client is judged by."""
        return self.clause.worded(self.result.edition)


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    groups: tuple[Group, ...]
    sections: tuple[Section, ...]
    failures: tuple[Failure, ...]
    not_run: tuple[NotRun, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """All, as they stand in the matrix."""
        return tuple(column for group in self.groups for column in group.columns)

    @property
    def rows(self) -> tuple[ClauseRow, ...]:
        """All, as they stand in the matrix."""
        return tuple(row for section in self.sections for row in section.rows)


def site(reports: Iterable[tuple[str, Report]], catalogue: Catalogue) -> Site:
    """Put reports together.

    Args:
        reports: each with the name of its file.
        catalogue: the clauses.

    Raises:
        BadReport: a run was judged by a clause that the catalogue has not.
    """
    reports = tuple(reports)
    groups = _groups(reports)
    columns = [column for group in groups for column in group.columns]
    for _, report in reports:
        require_clauses(report, catalogue)
    failures = (
        msgspec.structs.replace(failure, since=_since(_told_until(column, group, failure.clause)))
        for group in groups
        for column in group.columns
        for failure in _failures(column, catalogue)
    )
    return Site(
        groups=groups,
        sections=_sections(columns, catalogue),
        failures=tuple(failures),
        not_run=tuple(left for _, report in reports for left in report.not_run),
    )


def _groups(reports: Iterable[tuple[str, Report]]) -> tuple[Group, ...]:
    """Return the runs by client and by version, in order."""
    found: dict[tuple[str, str | None], list[tuple[str, Report, Run]]] = {}
    for file, report in reports:
        for run in report.runs:
            found.setdefault((run.client.name, run.client.variant), []).append((file, report, run))
    slugs: set[str] = set()
    groups = []
    for runs in found.values():
        columns: list[Column] = []
        for file, report, run in sorted(runs, key=lambda run: by_version(run[2].client.version)):
            same = sum(other_column.run.client == run.client for other_column in columns)
            settings = f" ({run.client.settings})" if run.client.settings else ""
            column = Column(
                slug=_slug(str(run.client), slugs),
                label=run.client.version + settings + (f", run {same + 1}" if same else ""),
                run=run,
                provenance=report.provenance,
                report=file,
            )
            columns.append(column)
        groups.append(Group(client=columns[0].client, columns=tuple(columns)))
    return tuple(groups)


LONGEST = 40
"""Letters of a slug, before it is numbered: names of files have an end."""


def _slug(name: str, taken: set[str]) -> str:
    """Return a name that every file system and browser accepts."""
    short = re.sub(r"[^a-z0-9.]+", "-", name.lower()[:LONGEST]).strip("-.") or "client"
    slug, number = short, 1
    while slug in taken:
        number += 1
        slug = f"{short}-{number}"
    taken.add(slug)
    return slug


def _sections(columns: Sequence[Column], catalogue: Catalogue) -> tuple[Section, ...]:
    """Whatever any run decided, in the order of the texts."""
    found: dict[tuple[str, str], list[ClauseRow]] = {}
    for clause in catalogue:
        results = tuple(column.run.clauses.get(clause.id) for column in columns)
        if any(results):
            row = ClauseRow(clause=clause, results=results)
            found.setdefault((clause.document, clause.section), []).append(row)
    return tuple(
        Section(document=document, section=section, rows=tuple(rows))
        for (document, section), rows in found.items()
    )


def _failures(column: Column, catalogue: Catalogue) -> Iterator[Failure]:
    """Each clause of a run that fails or errs, what no baseline knows first."""
    bad = [(name, clause) for name, clause in column.run.clauses.items() if clause.verdict in BAD]
    for name, result in sorted(bad, key=lambda item: item[1].expected):
        places = [
            FailedScenario(
                scenario=scenario,
                decisions=tuple(
                    (finding, compared(finding.wanted, finding.saw)) for finding in said
                ),
                entries=tuple(
                    entry
                    for entry in column.run.known
                    if any(entry.knows(scenario.id, finding) for finding in said)
                ),
                repeat=column.repeat(scenario.id),
            )
            for scenario in column.run.scenarios
            if (said := _said(scenario, name))
        ]
        yield Failure(
            column=column,
            clause=catalogue[name],
            result=result,
            places=tuple(sorted(places, key=lambda place: place.expected)),
        )


def _said(scenario: Scenario, clause: str) -> tuple[Decision, ...]:
    """Return the failures of a clause in a scenario, the worst first."""
    said = [
        finding
        for finding in scenario.findings
        if finding.clause == clause and finding.verdict in BAD
    ]
    return tuple(sorted(said, key=lambda finding: (finding.expected, finding.rank)))


# One clause.


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the clause in one run."""

    column: Column
    result: ClauseResult
    edition: str
    """By which the client was judged."""
    failure: str
    """The page of its failure, if it has one."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """What one client was seen to do, version by version."""

    name: str
    since: str
    """Since which version it does what it does, as a sentence; empty of one version."""
    results: tuple[RunResult, ...]


class ClausePage(msgspec.Struct, frozen=True, kw_only=True):
    """A clause: its words, and its clients."""

    clause: Clause
    clients: tuple[Client, ...]
    blocks: tuple[tuple[str, tuple[str, ...]], ...]
    """For each run in which the clause fails: the clauses that it blocks."""
    scenarios: tuple[str, ...]


def clause_pages(site: Site) -> Iterator[ClausePage]:
    """Yield a page for each clause of the matrix."""
    files = {(failure.column.slug, failure.clause.id): failure.file for failure in site.failures}
    kept = {column.slug: blocked(column.run) for column in site.columns}
    for row in site.rows:
        by_column = dict(zip((column.slug for column in site.columns), row.results, strict=True))
        clause = row.clause
        clients = []
        for group in site.groups:
            results = tuple(
                RunResult(
                    column=column,
                    result=result,
                    edition=result.edition or edition_for(clause, column.run.follows) or "",
                    failure=files.get((column.slug, clause.id), ""),
                )
                for column in group.columns
                if (result := by_column[column.slug]) is not None
            )
            if results:
                since = _since([(cell.column, cell.result) for cell in results])
                clients.append(Client(name=group.client, since=since, results=results))
        blocks = (
            (column.name, kept[column.slug][clause.id])
            for column in site.columns
            if clause.id in kept[column.slug]
        )
        scenarios = (name for result in row.results if result for name in result.scenarios)
        yield ClausePage(
            clause=clause,
            clients=tuple(clients),
            blocks=tuple(blocks),
            scenarios=tuple(dict.fromkeys(scenarios)),
        )


def _told_until(
    last: Column, group: Group, clause: Clause
) -> tuple[tuple[Column, ClauseResult], ...]:
    """Return the results of a clause in the versions up to `last`."""
    until = group.columns[: group.columns.index(last) + 1]
    return tuple(
        (column, result)
        for column in until
        if (result := column.run.clauses.get(clause.id)) is not None
    )


def _since(results: Sequence[tuple[Column, ClauseResult]]) -> str:
    """From which of the versions on the last verdict holds, as far as they tell."""
    if len(results) < 2:  # noqa: PLR2004 - one version says nothing of the others
        return ""
    said = [verdict_words(result) for _, result in results]
    first = len(said) - 1
    while first and said[first - 1] == said[-1]:
        first -= 1
    if not first:
        return f"{said[-1]} in all of these versions"
    since, before = results[first][0].label, results[first - 1][0].label
    return f"{said[-1]} since {since}, {said[first - 1]} in {before}"


def verdict_words(result: ClauseResult) -> str:
    """Return a verdict in a word or two."""
    if result.blocked_by is not None:
        return "blocked"
    return "known fail" if result.expected else result.verdict.value
