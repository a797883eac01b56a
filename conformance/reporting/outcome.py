"""State the outcome of a run in words, which are the same in every view of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from conformance.judging.aborts import NEVER_CONNECTED
from conformance.judging.verdicts import ClauseResult, Reason, Verdict
from conformance.reporting.report import Exit, Run, is_fatal
from conformance.spec.catalogue import Catalogue, load

CONFORMS: Final = "conforms"
"""The outcome of a whole run."""

NO_FAILURES: Final = "no failures"
NO_MUST_FAILURES: Final = "no MUST failures"
"""The outcome of a run of some clauses: it cannot show that the client conforms."""

FAST: Final = "--fast"

OTHERS: Final = {
    Exit.INTERRUPTED: "interrupted, so the results are incomplete",
    Exit.SUITE_TROUBLE: "errors of the suite or the machine left clauses without a verdict",
    Exit.ADAPTER_TROUBLE: "adapter errors left clauses without a verdict",
    Exit.NOTHING_RAN: "no clause was judged",
}


def outcome(run: Run, codes: Sequence[Exit], *, strict: bool = False) -> tuple[str, ...]:
    """Return one statement for each exit code that applies to a run.

    Args:
        run: the run.
        codes: the exit codes that apply to it.
        strict: whether a failed SHOULD clause fails the run.
    """
    return tuple(_statement(run, code, strict=strict) for code in codes)


def in_one_line(run: Run, codes: Sequence[Exit], *, strict: bool = False) -> str:
    """Return all statements about a run as one text."""
    return ", and ".join(outcome(run, codes, strict=strict))


def _statement(run: Run, code: Exit, *, strict: bool) -> str:
    if code is Exit.DEVIATES:
        return _deviates(run, strict=strict)
    if code is Exit.ADAPTER_TROUBLE and _doctor_can_help(run):
        return f"{OTHERS[code]} (see xdspec doctor)"
    if code is not Exit.CONFORMS:
        return OTHERS[code]
    if run.part:
        shard = no_new_failures(run.clauses.items(), is_whole=False)
        return f"{shard} in this shard; xdspec merge judges the whole run"
    return no_new_failures(run.clauses.items(), is_whole=is_whole([run], load()))


def _doctor_can_help(run: Run) -> bool:
    """Return whether `xdspec doctor`, which checks without xDS, may see what left no verdict."""
    causes = {
        cause
        for clause in run.clauses.values()
        if clause.reason is Reason.ADAPTER
        for cause in clause.seen
    }
    return not causes or not all(cause.startswith(NEVER_CONNECTED) for cause in causes)


def is_whole(runs: Iterable[Run], catalogue: Catalogue) -> bool:
    """Return whether these runs judged every clause of the catalogue that can be judged.

    A selection of scenarios leaves clauses out, and ``--fast`` leaves out slow checks. A report of
    an earlier catalogue lacks the clauses that were added since.
    """
    judged = {name for run in runs if FAST not in run.repeat.split() for name in run.clauses}
    return all(
        clause.id in judged
        for clause in catalogue
        if clause.unobservable is None and clause.awaits is None
    )


def no_new_failures(results: Iterable[tuple[str, ClauseResult]], *, is_whole: bool) -> str:
    """Describe results without a fatal failure: a client conforms only if no MUST failed.

    Failures that the baseline knows let a run exit with 0, but its client does not conform. Nor
    does a run of some clauses show that it conforms.

    Args:
        results: each with its clause; of several runs, a clause may be there several times.
        is_whole: whether these are the results of all clauses.
    """
    fails = [(name, result) for name, result in results if result.verdict is Verdict.FAIL]
    every = {name for name, _ in fails}
    new = {
        name for name, result in fails if not result.expected
    }  # of SHOULD clauses, or it is fatal
    known = f"{len(every - new)} known"
    if not any(is_fatal(result, strict=False, even_known=True) for _, result in fails):
        if not every:
            return CONFORMS if is_whole else NO_FAILURES
        return (
            f"{CONFORMS if is_whole else NO_MUST_FAILURES} ({counted(len(every), 'failed SHOULD')})"
        )
    if new:
        return f"no new MUST failures ({known}, {counted(len(new), 'new failed SHOULD')})"
    return f"no new failures ({known})"


def _deviates(run: Run, *, strict: bool) -> str:
    new = sum(is_fatal(clause, strict=strict) for clause in run.clauses.values())
    if not new:
        entries = counted(len(run.surprises), "entry", "entries")
        return f"the baseline is out of date ({entries})"
    if "--no-baseline" in run.repeat.split():
        failed = counted(new, "failed clause")
        return f"does not conform ({failed}; --no-baseline counts recorded failures, too)"
    known = f", {_known(run)} known" if _known(run) else ""
    more = "" if strict or not _is_lenient(run) else "; SHOULD clauses count with --strict"
    begin = f"{counted(new, 'newly failed clause')}{_before_check(run, strict=strict)}"
    return f"does not conform ({begin}{known}{more})"


def _before_check(run: Run, *, strict: bool) -> str:
    """Return how many of the newly failed clauses no scenario reached the check of."""
    failed = [
        finding
        for scenario in run.scenarios
        for finding in scenario.findings
        if finding.verdict is Verdict.FAIL and not finding.expected
    ]
    checked = {finding.clause for finding in failed if not finding.is_before_check}
    count = sum(
        is_fatal(run.clauses[clause], strict=strict)
        for clause in {finding.clause for finding in failed} - checked
    )
    return f", {count} of them before {'its' if count == 1 else 'their'} check" if count else ""


def _is_lenient(run: Run) -> bool:
    """Return whether a new failure counts only with ``--strict``."""
    return any(
        is_fatal(clause, strict=True) and not is_fatal(clause, strict=False)
        for clause in run.clauses.values()
    )


def _known(run: Run) -> int:
    return sum(clause.expected for clause in run.clauses.values())


def counted(count: int, what: str, several: str = "") -> str:
    """Return a number with its noun: ``1 new failure``, ``2 new failures``."""
    return f"{count} {what if count == 1 else several or f'{what}s'}"
