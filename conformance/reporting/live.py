"""Show what a command is doing: progress of a run, and what it waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from conformance import timing
from conformance.judging.evidence import Record
from conformance.judging.verdicts import BAD, Cause, Verdict, worst
from conformance.reporting.stdout import painted
from conformance.runner.progress import Known, Progress, nobody_knows

STEPS: Final = 10
"""Lines of progress in a log, of a run of many scenarios."""

SHORT: Final = 10.0
"""Seconds: in a log, a shorter run has only a last line of progress."""

MANY: Final = 100
"""Scenarios of a run whose progress is worth lines in a log although none of them is named."""

SHOWN: Final = 10
"""Failures that are named as they come; the report at the end has all."""


class Live(Progress):
    """Progress: a live line with the time left on a terminal, a line per 10 % in a log.

    The unit of all counts is the scenario. Scenarios that run again are counted for themselves.

    New failures are named as they come; `verbose` names every scenario.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        *,
        quiet: bool = False,
        bar: bool = True,
        verbose: bool = False,
        known: Known = nobody_knows,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the progress of a run.

        Args:
            console: where it is shown.
            title: of the run.
            quiet: whether scenarios are not named; a log then has lines of progress of long runs.
            bar: whether a live line may be shown: not while another writer uses the terminal.
            verbose: whether every scenario gets a line.
            known: tells which failures the baseline knows.
            clock: in seconds.
        """
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._known = known
        self._clock = clock
        self._begun = clock()
        self._causes: dict[Cause, str] = {}
        """What ended scenarios early, each with the first that ended so."""
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("scenarios"),
            TextColumn("{task.fields[failed]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=not (bar and console.is_terminal),
        )
        self._task = self._bar.add_task(escape(title), total=None, failed="")
        self._title = title
        self._what = "scenarios run"
        self._done = 0
        """Scenarios that have run, of those of this phase."""
        self._failed = set[str]()
        """Scenarios that failed as no baseline knows, unless they passed when they ran again."""
        self._count: int | None = None
        """Scenarios of this phase."""
        self._planned = 0
        """Scenarios of all phases: those of the run, and then those that run again."""

    def __enter__(self) -> Self:
        self._bar.start()
        self._begun = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def planned(self, count: int, what: str = "") -> None:
        """Set the length of the run; later, add scenarios that run again."""
        again = " again" if self._planned else ""
        self._count, self._done = count - self._planned, 0
        self._planned, self._begun = count, self._clock()
        self._what = what or f"scenarios run{again}"
        self._bar.reset(self._task, total=self._count, description=escape(self._title) + again)

    def finished(self, record: Record) -> None:
        """Count a scenario, and name it if it failed as no baseline knows."""
        self._done += 1
        verdict, _ = worst(record.decisions)
        known = self._is_known(record)
        # What fails in a shared process runs again before it is reported.
        is_new = verdict in BAD and not known and not record.shared_process
        self._failed.discard(record.scenario)
        if is_new:
            self._failed.add(record.scenario)
        self._bar.update(self._task, advance=1, failed=self._failures)
        if self._quiet:
            if not self._console.is_terminal and self._is_step and (self._count or 0) >= MANY:
                self._print(f"{escape(self._title)}: {self._place.strip()} {self._progress}")
            return
        cause = record.trouble.cause if record.trouble else None
        first = self._causes.setdefault(cause, record.scenario) if cause else record.scenario
        # The report decides which of them fails: until then only the first is named.
        is_news = is_new and first == record.scenario
        if self._verbose or (is_news and len(self._failed) <= SHOWN):
            self._name(record, first, known=known)
        elif is_news and len(self._failed) == SHOWN + 1:
            self._print("          further failures are in the report at the end")
        if not (self._verbose or self._console.is_terminal) and self._is_step:
            self._print(f"{self._place}  {self._progress}")

    def _is_known(self, record: Record) -> bool:
        failed = [decision for decision in record.decisions if decision.verdict is Verdict.FAIL]
        return bool(failed) and all(self._known(record.scenario, finding) for finding in failed)

    def _name(self, record: Record, first: str, *, known: bool) -> None:
        """Print the verdict of a scenario."""
        verdict, reason = worst(record.decisions)
        said = painted(verdict) + (f" ({reason.value})" if reason else "")
        said += " known" if known else ""
        said += f" like {escape(first)}" if first != record.scenario else ""
        self._print(f"{self._place}  {said}  {escape(record.scenario)}  {record.seconds:.2f} s")

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True)

    @property
    def _place(self) -> str:
        return f"{self._done}/{self._count or '?'}".rjust(8)

    @property
    def _failures(self) -> str:
        if not self._failed:
            return ""
        if self._known is nobody_knows:
            return f"{len(self._failed)} failed"
        return f"{len(self._failed)} with new failures"

    @property
    def _is_step(self) -> bool:
        """Return whether another tenth of the scenarios is over, and worth a line."""
        if not self._count:
            return False
        spent = self._clock() - self._begun
        is_short = spent * self._count / self._done < SHORT
        if is_short and self._done < self._count:
            return False
        return self._done * STEPS // self._count > (self._done - 1) * STEPS // self._count

    @property
    def _progress(self) -> str:
        count = self._count or self._done
        spent = self._clock() - self._begun
        left = max(count - self._done, 0) * spent / self._done
        parts = [self._what, self._failures]
        ran = _duration(spent) if spent >= 1 else f"{spent:.1f} s"
        parts.append(f"about {_duration(left)} left" if left else f"in {ran}")
        return ", ".join(filter(None, parts))


def _duration(seconds: float) -> str:
    """Return a duration as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


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
