"""``xdspec merge``: build and judge the report of a run from those of its shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from conformance.cli.failures import Failure
from conformance.cli.invocation import pasteable
from conformance.reporting import console, junit, merging
from conformance.reporting.report import (
    BadReport,
    Exit,
    Report,
    code_of,
    read_any,
    repeat_of,
    require_clauses,
    said_of,
    write_json,
)
from conformance.spec.catalogue import Catalogue


def merge(
    out: Path,
    reports: Sequence[Path],
    catalogue: Catalogue,
    screen: Console,
    junit_path: Path | None,
    *,
    verbose: bool = False,
) -> Exit:
    """Write the report of the whole run, and print it.

    Args:
        out: the file that is written.
        reports: of the shards, in any order.
        catalogue: the clauses.
        screen: the console that shows the report.
        junit_path: for the same as JUnit XML, if that is wanted.
        verbose: whether every clause is printed.

    Raises:
        Failure: these are not all shards of one run.
    """
    try:
        named = [(str(path), read_any(path)) for path in reports]
        for _, report in named:
            require_clauses(report, catalogue)
        whole = merging.merged(named, catalogue)
    except BadReport as error:
        raise Failure(str(error)) from None
    strict = merging.is_strict(named)
    write_json(whole, out)
    if junit_path:
        junit.write(whole, junit_path)
    issues = merging.issues(named)
    _show(whole, catalogue, screen, issues, strict=strict, verbose=verbose)
    return code_of(whole, strict=strict)


def _show(
    whole: Report,
    catalogue: Catalogue,
    screen: Console,
    issues: Sequence[str],
    *,
    strict: bool,
    verbose: bool,
) -> None:
    several = len(whole.runs) > 1
    said = [(run, said_of(run, strict=strict)) for run in whole.runs]
    for (run, codes), where in zip(said, issues, strict=True):
        repeat = pasteable(repeat_of(run, whole.provenance.seed))
        console.show(
            screen,
            run,
            catalogue,
            codes,
            repeat=repeat,
            issues=where,
            brief=several,
            strict=strict,
            verbose=verbose,
        )
    for left in whole.not_run:
        console.show_not_run(screen, left)
    if several:
        console.summarize(screen, said, whole.not_run, strict=strict)
