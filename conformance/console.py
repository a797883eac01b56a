"""What a person sees: progress while a run goes on, and the report at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from conformance.catalogue import Catalogue, Clause
from conformance.evidence import Record
from conformance.report import Exit, Run, is_fatal
from conformance.run import Progress
from conformance.verdicts import ClauseResult, Decision, Verdict, worst

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
    """Progress on a terminal: a bar; elsewhere, a line for each scenario."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
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
        if not self._console.is_terminal or verdict in {Verdict.FAIL, Verdict.ERROR}:
            said = painted(verdict) + (f" ({reason.value})" if reason else "")
            place = f"{self._done}/{self._count or '?'}"
            self._console.print(
                f"{place:>8}  {said}  {escape(record.scenario)}  {record.seconds:.2f} s",
                highlight=False,
                soft_wrap=True,
            )


def show(console: Console, run: Run, catalogue: Catalogue, code: Exit, *, repeat: str) -> None:
    """The report of a run.

    Args:
        console: where.
        run: the run.
        catalogue: the clauses' words.
        code: what the command will exit with on account of this run.
        repeat: the beginning of the command that runs one scenario again.
    """
    client = run.client
    name = f"{client.name} {client.version}" + (f" +{client.variant}" if client.variant else "")
    console.print(f"\n{escape(name)}", style="bold", highlight=False)
    for clause, result in run.clauses.items():
        console.print(_line(catalogue[clause], result), highlight=False, soft_wrap=True)
    for text in failures(run, catalogue, repeat):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    for text in (*run.surprises, *run.troubles):
        console.print(f"! {text}", highlight=False, soft_wrap=True, markup=False, style="magenta")
    counts = ", ".join(
        f"{count} {painted(verdict)}" for verdict, count in run.totals.items() if count
    )
    known = sum(result.expected for result in run.clauses.values())
    counts += f" ({known} of the failures expected)" if known else ""
    console.print(
        f"{escape(name)}: {counts or 'nothing ran'}; {len(run.scenarios)} scenarios in "
        f"{run.wall_seconds:.1f} s: {SAYS[code]}",
        highlight=False,
        soft_wrap=True,
    )


SAYS = {
    Exit.CONFORMS: "[green]conforms[/]",
    Exit.DEVIATES: "[red]does not conform[/]",
    Exit.INTERRUPTED: "[yellow]interrupted, so this is a part only[/]",
    Exit.SUITE_TROUBLE: "[magenta]the suite itself was in trouble[/]",
    Exit.NOTHING_RAN: "[yellow]nothing ran[/]",
    Exit.ADAPTER_TROUBLE: "[magenta]the adapter is in trouble: see xdspec doctor[/]",
}


def _line(clause: Clause, result: ClauseResult) -> str:
    """A clause in one line: its verdict, what it is about, and what its editions or choices say."""
    said = result.verdict.value + (f" ({result.reason.value})" if result.reason else "")
    said += " expected" if result.expected else ""
    more = ""
    if result.verdict is Verdict.SEEN:
        more = ": " + ", ".join(result.seen)
    elif len(clause.editions) > 1 and result.editions_consistent is not None:
        more = f": fits {', '.join(result.editions_consistent) or 'no edition'}"
    return (
        f"  {clause.id:13}  {painted(result.verdict, f'{said:14}')}  {escape(clause.title + more)}"
    )


def failures(run: Run, catalogue: Catalogue, repeat: str) -> Iterable[str]:
    """A text for each clause that failed or erred: what a maintainer needs to act on it."""
    by_id = {scenario.id: scenario for scenario in run.scenarios}
    for name, result in run.clauses.items():
        if result.verdict not in {Verdict.FAIL, Verdict.ERROR} or result.expected:
            continue
        clause = catalogue[name]
        reason = f" ({result.reason.value})" if result.reason else ""
        lines = [f"\n{result.verdict.value.upper()}{reason}  {name}  {clause.title}"]
        lines.append(f"  text      {clause.document}, {clause.section} [{clause.strength.value}]")
        lines += [f"  {edition:8}  {text}" for edition, text in clause.wordings.items()]
        if len(clause.wordings) > 1 and result.editions_consistent is not None:
            lines.append("  fits      " + (", ".join(result.editions_consistent) or "none of them"))
        lines += [f"  saw       {text}" for text in result.seen]
        for scenario in result.scenarios:
            one = by_id[scenario]
            if one.clauses[name] is not result.verdict:
                continue
            lines.append(f"  scenario  {scenario}")
            if one.evidence:
                lines.append(f"  evidence  {one.evidence}")
            lines.append(f"  repeat    {repeat} --scenario '{scenario}'")
        if not is_fatal(result, strict=False) and result.verdict is Verdict.FAIL:
            lines.append("  (no MUST: fails the run only with --strict)")
        yield "\n".join(lines)


def decision_lines(decisions: Iterable[Decision], catalogue: Catalogue) -> Iterable[str]:
    """Verdicts of one scenario with all that they rest on."""
    for decision in decisions:
        clause = catalogue[decision.clause]
        reason = f" ({decision.reason.value})" if decision.reason else ""
        yield f"{decision.verdict.value.upper()}{reason}  {clause.id}  {clause.title}"
        edition = decision.edition or next(iter(clause.wordings))
        yield f"  clause    {clause.wordings.get(edition, clause.title)} ({edition})"
        yield f"  text      {clause.document}, {clause.section} [{clause.strength.value}]"
        for name, text in (
            ("wanted", decision.wanted),
            ("oracle", decision.oracle),
            ("saw", decision.saw),
            ("fits", ", ".join(decision.choices or decision.editions_consistent or ())),
        ):
            if text:
                yield f"  {name:8}  {text}"
