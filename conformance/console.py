"""What a person sees: progress while a run goes on, and the report at its end."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from client_under_test import Client
from client_under_test.toolchain import Found
from conformance import timing
from conformance.catalogue import BROUGHT, Catalogue, Clause
from conformance.evidence import Record
from conformance.report import Exit, NotRun, Run, Scenario, is_fatal, why_skipped
from conformance.run import Progress
from conformance.verdicts import ClauseResult, Decision, Reason, Verdict, worst

COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "red",
    Verdict.SEEN: "cyan",
    Verdict.SKIP: "yellow",
    Verdict.ERROR: "magenta",
}


def painted(verdict: Verdict, text: str | None = None) -> str:
    """A verdict in its colour."""
    return f"[{COLOURS[verdict]}]{escape(text or verdict.value)}[/]"


class Live(Progress):
    """Progress on a terminal: a bar; elsewhere, a line for each scenario unless quiet."""

    def __init__(
        self,
        console: Console,
        title: str,
        *,
        quiet: bool = False,
        known: Collection[str] = (),
    ) -> None:
        """Progress of a run with this title; failures of `known` clauses are expected."""
        self._console = console
        self._quiet = quiet
        self._known = frozenset(known)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(escape(title), total=None)
        self._done = 0
        self._count: int | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def planned(self, count: int) -> None:
        """Set the bar's length."""
        self._count = count
        self._bar.update(self._task, total=count)

    def finished(self, record: Record) -> None:
        """Move the bar; a line for what went wrong, or for everything where there is no bar."""
        self._done += 1
        self._bar.advance(self._task)
        verdict, reason = worst(record.decisions)
        if self._quiet:
            return
        if not self._console.is_terminal or verdict in {Verdict.FAIL, Verdict.ERROR}:
            said = painted(verdict) + (f" ({reason.value})" if reason else "")
            failed = {one.clause for one in record.decisions if one.verdict is Verdict.FAIL}
            said += " expected" if verdict is Verdict.FAIL and failed <= self._known else ""
            place = f"{self._done}/{self._count or '?'}"
            self._console.print(
                f"{place:>8}  {said}  {escape(record.scenario)}  {record.seconds:.2f} s",
                highlight=False,
                soft_wrap=True,
            )


@contextmanager
def patience(console: Console, what: str) -> Iterator[None]:
    """Say what is being waited for: at once on a terminal, elsewhere if it takes its time."""
    if console.is_terminal:
        with console.status(f"{escape(what)} …"):
            yield
        return
    timer = threading.Timer(
        timing.PATIENCE, lambda: console.print(f"{what} …", markup=False, highlight=False)
    )
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def show(
    console: Console,
    run: Run,
    catalogue: Catalogue,
    code: Exit,
    *,
    repeat: str,
    issues: str,
    brief: bool,
) -> None:
    """The report of a run.

    Args:
        console: where.
        run: the run.
        catalogue: the clauses' words.
        code: what the command will exit with on account of this run.
        repeat: the beginning of the command that runs one scenario again.
        issues: the client's issue tracker.
        brief: whether clauses that it passes, or may do as it likes, are left out.
    """
    if not brief:  # else it stands above the progress
        console.print(f"\n{escape(str(run.client))}", style="bold", highlight=False)
    words = {entry.clause: entry.seen for entry in run.known if entry.scenario}
    for clause, result in run.clauses.items():
        if not (brief and result.verdict in {Verdict.PASS, Verdict.SEEN}):
            line = _line(catalogue[clause], result, words.get(clause, ""))
            console.print(line, highlight=False, soft_wrap=True)
    for text in failures(run, catalogue, repeat, issues):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    for text in advice(run):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    for text in (*run.surprises, *run.troubles):
        console.print(f"! {text}", highlight=False, soft_wrap=True, markup=False, style="magenta")
    console.print(_total(run, code, f"{run.client}: "), highlight=False, soft_wrap=True)


def _total(run: Run, code: Exit, begin: str) -> str:
    """A run in one line."""
    counts = ", ".join(
        f"{count} {painted(verdict)}" for verdict, count in run.totals.items() if count
    )
    known = sum(result.expected for result in run.clauses.values())
    counts += f" ({known} of the failures expected)" if known else ""
    return (
        f"{escape(begin)}{counts or 'nothing ran'}; {len(run.scenarios)} scenarios in "
        f"{run.wall_seconds:.1f} s: {SAYS[code]}"
    )


SHOWN = 4
"""Versions in the cache that are named."""


def toolchain_lines(client: Client, tools: Sequence[Found], kept: Sequence[str]) -> Iterable[str]:
    """What a client needs of this machine, what of it is here, and what is made already.

    Args:
        client: one as it was named.
        tools: its programs, as they were found.
        kept: its versions in the cache.
    """
    manifest = client.manifest
    made = ", ".join(kept[:SHOWN]) or "not yet"
    made += f" and {len(kept) - SHOWN} more" if len(kept) > SHOWN else ""
    if manifest.start.asks:
        state = f"wants to be told, by --env: {', '.join(manifest.start.asks)}"
    elif manifest.python is not None:
        state = f"{manifest.python.distribution} from a package index; made: {made}"
    elif any(tool.is_missing for tool in tools):
        state = "cannot be built here"
    else:
        state = f"built: {made}" if manifest.build is not None else "needs nothing"
    yield f"{client!s:12}  {state}"
    for tool in tools:
        program = tool.tool.program
        if tool.version is None:
            yield f"    missing   {tool.needed}: {tool.tool.get}"
        elif tool.is_old:
            yield f"    too old   {program} {tool.version}, not {tool.needed}: {tool.tool.get}"
        else:
            at_least = f" (at least {tool.tool.at_least})" if tool.tool.at_least else ""
            yield f"    found     {program} {tool.version or 'of unknown version'}{at_least}"


def show_not_run(console: Console, left: NotRun) -> None:
    """Why a client could not be run."""
    said = painted(left.verdict, f"{left.verdict.value} ({left.reason.value})")
    line = f"\n{said}  {escape(left.client)}: {escape(left.words)}"
    console.print(line, highlight=False, soft_wrap=True)


def summarize(
    console: Console, runs: Iterable[tuple[Run, Exit]], not_run: Iterable[NotRun]
) -> None:
    """Every client of a command, in a line each."""
    rows = [(str(run.client), _total(run, code, "")) for run, code in runs]
    rows += [
        (left.client, f"{painted(left.verdict)} ({left.reason.value}): {escape(first_line)}")
        for left in not_run
        for first_line in left.words.splitlines()[:1]
    ]
    width = max((len(name) for name, _ in rows), default=0)
    console.print()
    for name, said in rows:
        console.print(f"{escape(name.ljust(width))}  {said}", highlight=False, soft_wrap=True)


SAYS = {
    Exit.CONFORMS: "[green]conforms[/]",
    Exit.DEVIATES: "[red]does not conform[/]",
    Exit.INTERRUPTED: "[yellow]interrupted, so this is a part only[/]",
    Exit.SUITE_TROUBLE: "[magenta]the suite itself was in trouble[/]",
    Exit.NOTHING_RAN: "[yellow]nothing was judged[/]",
    Exit.ADAPTER_TROUBLE: "[magenta]the adapter is in trouble: see xdspec doctor[/]",
}


def _line(clause: Clause, result: ClauseResult, known: str) -> str:
    """A clause in one line: its verdict, what it is about, and what there is to say of it."""
    said = result.verdict.value + (f" ({result.reason.value})" if result.reason else "")
    said += " expected" if result.expected else ""
    more = ""
    if result.expected:
        more = f": {known}" if known else ""
    elif result.verdict is Verdict.SKIP:
        more = f": {why_skipped(clause, result)}"
    elif result.verdict is Verdict.SEEN:
        more = ": " + ", ".join(result.seen)
    else:
        told = [f"{seconds:.2f} s" for seconds in result.seconds]
        if len(clause.editions) > 1 and result.editions_consistent is not None:
            told.append(f"fits {', '.join(result.editions_consistent) or 'no edition'}")
        more = f": {', '.join(told)}" if told else ""
    return (
        f"  {clause.id:13}  {painted(result.verdict, f'{said:14}')}  {escape(clause.title + more)}"
    )


def failures(run: Run, catalogue: Catalogue, repeat: str, issues: str) -> Iterable[str]:
    """A text for each clause that failed or erred: what a maintainer needs to act on it."""
    by_id = {scenario.id: scenario for scenario in run.scenarios}
    for name, result in run.clauses.items():
        if result.verdict not in {Verdict.FAIL, Verdict.ERROR} or result.expected:
            continue
        clause = catalogue[name]
        lines = ["", _heading(clause, result.verdict, result.reason), _place(clause)]
        lines += [f"  {edition:8}  {clause.wordings[edition]}" for edition in clause.editions]
        if len(clause.editions) > 1 and result.editions_consistent is not None:
            lines.append("  fits      " + (", ".join(result.editions_consistent) or "none of them"))
        for scenario in (by_id[one] for one in result.scenarios):
            if scenario.clauses[name] is result.verdict:
                lines += _what_happened(scenario, name, repeat)
        if result.verdict is Verdict.FAIL:
            lines.append(f"  tracker   {issues}")
            if not is_fatal(result, strict=False):
                lines.append("  (no MUST: fails the run only with --strict)")
        yield "\n".join(lines)


def advice(run: Run) -> Iterator[str]:
    """What to say of failures that would be none if the client stated other editions."""
    otherwise = [
        result.editions_consistent
        for result in run.clauses.values()
        if result.verdict is Verdict.FAIL
        and result.reason is Reason.EDITION
        and not result.expected
        and result.editions_consistent
    ]
    if otherwise:
        fitting = {edition for editions in otherwise for edition in editions}
        names = " or ".join(edition for edition in BROUGHT if edition in fitting)
        count = f"{len(otherwise)} failures fit" if len(otherwise) > 1 else "one failure fits"
        yield (
            f"\n{count} {names} instead of what client.toml states: if that is what the client "
            "follows, say so there (`xdspec list editions`)"
        )


def _heading(clause: Clause, verdict: Verdict, reason: Reason | None) -> str:
    why = f" ({reason.value})" if reason else ""
    return f"{verdict.value.upper()}{why}  {clause.id}  {clause.title}"


def _place(clause: Clause) -> str:
    return f"  text      {clause.document}, {clause.section} [{clause.strength.value}]"


def _what_happened(scenario: Scenario, clause: str, repeat: str) -> Iterable[str]:
    """Of a scenario that gave a clause its verdict: what was served and seen, and how to repeat."""
    yield f"  scenario  {scenario.id}"
    for text in scenario.served:
        yield f"    served  {text}"
    for found in scenario.findings:
        if found.clause == clause and found.verdict is scenario.clauses[clause]:
            yield from _found(found)
    if scenario.evidence:
        yield f"    files   {scenario.evidence}"
    yield f"    repeat  {repeat} --scenario {shlex.quote(scenario.id)}"


def _found(decision: Decision) -> Iterable[str]:
    """What a decision rests on."""
    for name, text in (
        ("wanted", decision.wanted),
        ("oracle", decision.oracle),
        ("saw", decision.saw),
    ):
        if text:
            yield f"    {name:6}  {text}".replace("\n", f"\n{'':12}")


def decision_lines(decisions: Iterable[Decision], catalogue: Catalogue) -> Iterable[str]:
    """Verdicts of one scenario with all that they rest on."""
    for decision in decisions:
        clause = catalogue[decision.clause]
        yield _heading(clause, decision.verdict, decision.reason)
        edition = decision.edition or clause.editions[0]
        yield f"  clause    {clause.wordings.get(edition, clause.title)} ({edition})"
        yield _place(clause)
        yield from _found(decision)
        fits = decision.choices or decision.editions_consistent
        if fits:
            yield f"    fits    {', '.join(fits)}"
