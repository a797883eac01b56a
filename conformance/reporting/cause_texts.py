"""Say which few causes explain most of a run, and what would be decided without them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.outcome import counted
from conformance.reporting.report import Run, Scenario
from conformance.spec.catalogue import Catalogue

SHOWN = 3
"""Causes that are named."""

FEWEST = 10
"""Scenarios that causes must have ended, so that the report begins with them."""


class CommonCause(msgspec.Struct, frozen=True, kw_only=True):
    """What ended several scenarios."""

    words: str
    scenarios: tuple[Scenario, ...]
    blocked: tuple[str, ...]
    """Clauses that have no verdict, since their scenarios ended by this cause."""
    fails: tuple[str, ...]
    """Clauses that fail by it."""


def common_causes(run: Run) -> tuple[CommonCause, ...]:
    """Return the causes that ended more than one scenario, those of the most scenarios first."""
    by_cause: dict[str, list[Scenario]] = {}
    for scenario in run.scenarios:
        if scenario.cause:
            by_cause.setdefault(scenario.cause, []).append(scenario)
    found = [_common(run, words, several) for words, several in by_cause.items()]
    several = [each for each in found if len(each.scenarios) > 1]
    return tuple(sorted(several, key=lambda each: (-len(each.scenarios), each.words)))


def _common(run: Run, words: str, scenarios: list[Scenario]) -> CommonCause:
    findings = [finding for scenario in scenarios for finding in scenario.findings]
    blocked = {
        finding.clause
        for finding in findings
        if finding.reason is Reason.BLOCKED and run.clauses[finding.clause].reason is Reason.BLOCKED
    }
    blockers = {finding.blocked_by for finding in findings if finding.blocked_by}
    return CommonCause(
        words=words,
        scenarios=tuple(scenarios),
        blocked=tuple(name for name in run.clauses if name in blocked),
        fails=tuple(
            name
            for name, result in run.clauses.items()
            if name in blockers and result.verdict is Verdict.FAIL
        ),
    )


def cause_lines(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return the lines with which the report of a client that fails much begins."""
    causes = common_causes(run)
    ended = sum(len(cause.scenarios) for cause in causes)
    if ended < FEWEST:
        return
    shown = causes[:SHOWN]
    what = "1 cause" if len(causes) == 1 else f"{len(causes)} causes"
    yield f"{what} ended {ended} of {counted(len(run.scenarios), 'scenario')}:"
    for number, cause in enumerate(shown, 1):
        yield f"  {number}. {cause.words}"
        yield f"     {_extent(cause)}"
        yield f"     {_prospect(cause, catalogue)}"
    if rest := causes[SHOWN:]:
        left = sum(len(cause.scenarios) for cause in rest)
        yield f"  {counted(len(rest), 'more cause')} ended {counted(left, 'scenario')}"


def _extent(cause: CommonCause) -> str:
    count = len(cause.scenarios)
    early = sum(scenario.ended_early for scenario in cause.scenarios)
    words = counted(count, "scenario")
    if early:
        words += f", of which {early} did not wait to their ends, as the cause was known"
    return words


def _prospect(cause: CommonCause, catalogue: Catalogue) -> str:
    """Say what would be decided if the cause were mended."""
    if not cause.blocked:
        return "no clause that the client declares depends on it"
    documents = Counter(catalogue[name].document for name in cause.blocked)
    listed = ", ".join(f"{count} of {document}" for document, count in documents.most_common())
    fails = f"{' and '.join(cause.fails)} fails. " if cause.fails else ""
    count = counted(len(cause.blocked), "clause")
    return f"{fails}Without this cause, {count} would have a verdict: {listed}"
