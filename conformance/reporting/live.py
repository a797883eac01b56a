"""What a person sees while something goes on: progress of a run, and what is waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from conformance import timing
from conformance.judging.evidence import Record
from conformance.judging.verdicts import BAD, Cause, Verdict, worst
from conformance.reporting.colours import painted
from conformance.running.progress import Known, Progress, nobody_knows


class Live(Progress):
    """Progress on a terminal: a bar; elsewhere, a line for each scenario unless quiet."""

    def __init__(
        self,
        console: Console,
        title: str,
        *,
        quiet: bool = False,
        bar: bool = True,
        known: Known = nobody_knows,
    ) -> None:
        """Progress of a run with this title; failures that are `known` are expected.

        Without a bar where somebody else talks to the terminal meanwhile.
        """
        self._console = console
        self._quiet = quiet
        self._known = known
        self._causes: dict[Cause, str] = {}
        """What ended scenarios early, each with the first that ended so."""
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (bar and console.is_terminal),
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
        cause = record.trouble.cause if record.trouble else None
        first = self._causes.setdefault(cause, record.scenario) if cause else record.scenario
        # Which of them fails is only known at the end: until then the cause is told with the first.
        is_news = verdict in BAD and first == record.scenario
        if not self._console.is_terminal or is_news:
            said = painted(verdict) + (f" ({reason.value})" if reason else "")
            failed = [one for one in record.decisions if one.verdict is Verdict.FAIL]
            known = failed and all(self._known(record.scenario, one) for one in failed)
            said += " expected" if known else ""
            said += f" like {escape(first)}" if first != record.scenario else ""
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
