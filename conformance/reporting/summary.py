"""A report in short, for the pages of a CI: Markdown, and annotations of GitHub's runners. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.client_log import exception_line
from conformance.reporting.failure_groups import groups, headline
from conformance.reporting.markdown import code, escaped, link
from conformance.reporting.outcome import counted, in_one_line
from conformance.reporting.report import (
    NotRun,
    Report,
    Run,
    repeat_of,
    require_clauses,
    said_of,
)
from conformance.runner.selection import with_scenario
from conformance.spec.catalogue import Catalogue

LONGEST = 300
"""Characters of an observation that are shown; the report has all."""

ANNOTATIONS = 10
"""The number of errors of a step that GitHub shows."""


class FailureRow(msgspec.Struct, frozen=True, kw_only=True):
    """A new failure or error of a clause, or of several clauses with one cause."""

    title: str
    verdict: Verdict
    reason: Reason | None
    saw: str
    wanted: str = ""
    log: str = ""
    """The line of the client's log that has an exception; empty if there is none."""
    scenarios: tuple[str, ...]
    """The scenarios that show it."""
    is_fatal: bool = True
    """True if it makes the run fail without ``--strict``."""

    @property
    def words(self) -> str:
        """The verdict, the observation, the expectation, and an exception of the client."""
        why = f" ({self.reason})" if self.reason else ""
        wanted = f"; expected: {_cut(self.wanted)}" if self.wanted else ""
        log = f"; client log: {self.log}" if self.log and self.log not in self.saw else ""
        return f"{self.verdict}{why}: {_cut(self.saw)}{wanted}{log}"


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"


def rows(run: Run, catalogue: Catalogue) -> Iterator[FailureRow]:
    """Return the new failures, by group and in the order of the console."""
    for group in groups(run, catalogue):
        _, first = group.first
        clause = catalogue[first.clause]
        is_shared = group.ended_early and len(group.scenarios) > 1
        yield FailureRow(
            title=f"{len(group.scenarios)} scenarios"
            if is_shared
            else headline(clause.id, clause.title, len(group.clauses) - 1),
            verdict=first.verdict,
            reason=first.reason,
            saw=group.gist if is_shared else first.differs or first.saw,
            wanted=first.wanted,
            log=exception_line(group.first.scenario.evidence),
            scenarios=tuple(scenario.id for scenario in group.scenarios),
            is_fatal=group.is_fatal or first.verdict is Verdict.ERROR,
        )


def markdown_lines(reports: Iterable[Report], catalogue: Catalogue) -> Iterator[str]:
    """Return lines of a page: the totals of each client, and its failures that no baseline lists.

    Raises:
        BadReport: a run knows a clause that the catalogue has not.
    """
    for report in reports:
        require_clauses(report, catalogue)
        for run in report.runs:
            yield from _of_run(run, catalogue, report.provenance.seed)
        for left in report.not_run:
            yield from (f"### {escaped(left.client)}: not run", "")
            yield from (escaped(_why(left)), "")


def _of_run(run: Run, catalogue: Catalogue, seed: int) -> Iterator[str]:
    yield from (f"### {escaped(str(run.client))}: {_verdict(run)}", "")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.totals.items() if count)
    if counts:
        counts = f"{counted(sum(run.totals.values()), 'clause')}: {counts}"
    scenarios = f"{counted(len(run.scenarios), 'scenario')} in {run.wall_seconds:.0f} s"
    yield from (f"{counts or 'Nothing ran'}; {scenarios}, seed {seed}.", "")
    if judged := str(run.identity):
        yield from (f"Judged: {escaped(judged)}.", "")
    if run.mended:
        yield from (f"- Mended: {escaped(words)}" for words in run.mended)
        yield ""
    news = list(rows(run, catalogue))
    if news:
        yield "| | observed | scenarios |"
        yield "|---|---|---|"
        for row in news:
            title = f"**{escaped(row.title)}**" if row.is_fatal else escaped(row.title)
            yield f"| {title} | {escaped(row.words)} | {_named(row.scenarios)} |"
        repeat = with_scenario(repeat_of(run, seed), news[0].scenarios[0])
        yield from ("", f"To repeat the first one: {code(repeat)}", "")
    for words in (*run.surprises, *run.endings, *run.troubles):
        yield f"- {escaped(words)}"
    if run.known:
        yield from ("", f"<details><summary>Known failures: {len(run.known)}</summary>", "")
        for entry in run.known:
            known = escaped(entry.clause), escaped(entry.explanation), link(entry.issue)
            yield "- {}: {} {}".format(*known).rstrip()
        yield from ("", "</details>")
    yield ""


NAMED = 3
"""Scenarios in a cell."""


def _named(scenarios: Sequence[str]) -> str:
    more = [f"and {len(scenarios) - NAMED} more"] if len(scenarios) > NAMED else []
    return "<br>".join([*(code(name, in_cell=True) for name in scenarios[:NAMED]), *more])


def annotation_lines(reports: Iterable[Report], catalogue: Catalogue) -> Iterator[str]:
    """Commands for GitHub's runners, which show them beside a change; of many the last says so.

    Raises:
        BadReport: a run knows a clause that the catalogue has not.
    """
    annotations = [annotation for report in reports for annotation in _told(report, catalogue)]
    errors = [line for is_error, line in annotations if is_error]
    if len(errors) > ANNOTATIONS:
        left = len(errors) - ANNOTATIONS + 1
        errors[ANNOTATIONS - 1 :] = [annotation("error", "xdspec", f"{left} more: see the summary")]
    yield from errors
    yield from [line for is_error, line in annotations if not is_error][:ANNOTATIONS]


def _told(report: Report, catalogue: Catalogue) -> Iterator[tuple[bool, str]]:
    """Each with whether it is an error; else it is a warning."""
    require_clauses(report, catalogue)
    for run in report.runs:
        for row in rows(run, catalogue):
            words = f"{row.words}\nin {', '.join(row.scenarios)}"
            kind = "error" if row.is_fatal else "warning"
            yield row.is_fatal, annotation(kind, f"{run.client}: {row.title}", words)
        for words in (*run.surprises, *run.troubles):
            yield True, annotation("error", str(run.client), words)
        for words in run.endings:
            yield False, annotation("warning", str(run.client), words)
    for left in report.not_run:
        is_error = left.verdict is Verdict.ERROR
        yield is_error, annotation("error" if is_error else "warning", left.client, _why(left))


def _verdict(run: Run) -> str:
    return in_one_line(run, said_of(run))


def _why(left: NotRun) -> str:
    return f"{left.verdict} ({left.reason}): {left.words}"


def annotation(kind: str, title: str, words: str) -> str:
    """Return a command of GitHub's runners; some characters are escaped in their syntax."""
    return f"::{kind} title={_quoted(title, more={':': '%3A', ',': '%2C'})}::{_quoted(words)}"


def _quoted(words: str, more: dict[str, str] | None = None) -> str:
    for sign, quoted in {"%": "%25", "\r": "%0D", "\n": "%0A", **(more or {})}.items():
        words = words.replace(sign, quoted)
    return words
