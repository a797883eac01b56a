"""A client's outcome as JSON for badge services: an endpoint of shields.io, schema 1."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.outcome import (
    CONFORMS,
    NO_FAILURES,
    NO_MUST_FAILURES,
    counted,
    is_whole,
    no_new_failures,
)
from conformance.reporting.report import (
    ClientId,
    Exit,
    NotRun,
    Report,
    Run,
    is_fatal,
    said_of,
)
from conformance.spec.catalogue import load

# White letters on each of them have a contrast of 4.5 at least, which WCAG 2.2 (1.4.3) asks for.
GREEN: Final = "#1a7f37"
OLIVE: Final = "#5f6f00"
RED: Final = "#cf222e"
GREY: Final = "#57606a"

WELL: Final = (CONFORMS, NO_FAILURES, NO_MUST_FAILURES)
"""How the outcome of runs without a failed MUST begins."""

TROUBLE: Final = {Exit.INTERRUPTED, Exit.SUITE_TROUBLE, Exit.ADAPTER_TROUBLE}


class Badge(msgspec.Struct, frozen=True, rename="camel"):
    """As the endpoint's schema has it."""

    label: str
    """The left half."""
    message: str
    """The right half."""
    color: str
    """The color of the right half: one of the constants above."""
    schema_version: int = 1


class NoBadge(Exception):
    """The reports do not determine the client of the badge; the message says why."""


class BadgeRuns(NamedTuple):
    """The runs of one client in several reports."""

    client: str
    runs: tuple[Run, ...]
    """None: it could not be run."""


def found(reports: Iterable[Report], client: str | None) -> BadgeRuns:
    """Return the runs of a client; the runs of several reports all count.

    Args:
        reports: that ``--json`` has written.
        client: its name, NAME@VERSION or as reports have it; None: there is only one.

    Raises:
        NoBadge: it has none, or what is named has several clients or versions.
    """
    reports = tuple(reports)
    by_name: dict[str, list[Run]] = {}
    for run in (run for report in reports for run in report.runs):
        if client in {None, *_names(run.client)}:
            by_name.setdefault(str(run.client), []).append(run)
    left = [skipped for report in reports for skipped in report.not_run if _is_of(skipped, client)]
    for skipped in left:
        by_name.setdefault(skipped.client, [])
    if not by_name:
        there = [str(run.client) for report in reports for run in report.runs]
        there += [skipped.client for report in reports for skipped in report.not_run]
        raise NoBadge(f"there is no run of {client}, but of {', '.join(dict.fromkeys(there))}")
    if len(by_name) > 1:
        raise NoBadge(
            f"a badge shows one client, but the reports have {', '.join(by_name)}: choose one with "
            "--client"
        )
    ((name, runs),) = by_name.items()
    return BadgeRuns(name, tuple(runs))


def _names(client: ClientId) -> set[str]:
    return {client.name, str(client), f"{client.name}@{client.version}"}


def _is_of(left: NotRun, client: str | None) -> bool:
    return client in {None, left.client, left.client.partition("@")[0].partition("+")[0]}


def badge(client_runs: BadgeRuns, *, label: str | None = None) -> Badge:
    """Return a badge that shows whether a client conforms, by the exit codes of its runs.

    Args:
        client_runs: the runs of the client.
        label: the left half; None: "xDS" and the client.
    """
    message, colour = _verdict(client_runs.runs)
    return Badge(label or f"xDS {client_runs.client}", message, colour)


def badge_of_document(
    client_runs: BadgeRuns, document: str, clauses: Collection[str], *, label: str | None = None
) -> Badge:
    """Return a badge that shows how many judged clauses of one document pass.

    Clauses that leave a choice and skipped clauses are not counted. A clause that a failure blocks,
    or that an error kept from being judged, is counted and does not pass.

    Args:
        client_runs: the runs of the client.
        document: such as a42.
        clauses: those of the document.
        label: the left half; None: the document and the client.
    """
    name = label or f"{document.upper()} {client_runs.client}"
    judged = [
        results
        for clause in clauses
        if (results := [run.clauses[clause] for run in client_runs.runs if clause in run.clauses])
        and any(_counts(result.verdict, result.reason) for result in results)
    ]
    passed = [
        all(result.verdict in {Verdict.PASS, Verdict.SEEN} for result in results)
        for results in judged
    ]
    if not judged:
        return Badge(name, "nothing judged", GREY)
    is_new = any(
        result.verdict is Verdict.FAIL and not result.expected
        for results in judged
        for result in results
    )
    colour = GREEN if all(passed) else RED if is_new else OLIVE
    return Badge(name, f"passes {sum(passed)} of {len(passed)} clauses", colour)


def _counts(verdict: Verdict, reason: Reason | None) -> bool:
    return verdict in {Verdict.PASS, Verdict.FAIL, Verdict.ERROR} or reason is Reason.BLOCKED


def _verdict(runs: Sequence[Run]) -> tuple[str, str]:
    if not runs:
        return "not run", GREY
    results = [(name, clause) for run in runs for name, clause in run.clauses.items()]
    new = {name for name, result in results if is_fatal(result, strict=False)}
    codes = {code for run in runs for code in said_of(run)}
    words = no_new_failures(results, is_whole=is_whole(runs, load()))
    applies = (
        (bool(new), counted(len(new), "new failure"), RED),
        (bool(codes & TROUBLE), "trouble: not judged", GREY),
        (Exit.DEVIATES in codes, "baseline out of date", RED),
        (codes == {Exit.NOTHING_RAN}, "nothing judged", GREY),
        (True, words, GREEN if words.startswith(WELL) else OLIVE),
    )
    return next((message, colour) for does, message, colour in applies if does)


def endpoint(made: Badge) -> bytes:
    """Return the badge as JSON, for an endpoint of shields.io."""
    return msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n"
