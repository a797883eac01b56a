"""Runs the scenarios against one prepared client: pytest in this process, its workers in others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from conformance import timing
from conformance.judging.declaration import Declaration
from conformance.judging.evidence import Record
from conformance.runner.collection import arguments, collect, isolated
from conformance.runner.collector import Collector
from conformance.runner.files import scratch
from conformance.runner.growth import Growing
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.runner.known_causes import KnownCauses
from conformance.runner.progress import Known, Progress, nobody_knows
from conformance.runner.retry import MORE, ident
from conformance.runner.scheduling import MOST_WAITING, waiting_of, workers_for
from conformance.runner.selection import Ident, Selection
from conformance.runner.settings import Settings
from conformance.spec.catalogue import load

FRESH = "in fresh processes"
"""How a scenario is repeated, unless the machine was busy."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a run left."""

    records: tuple[Record, ...]
    troubles: tuple[str, ...]
    """Errors that ended the run or a part of it: each in a line, or with pytest's whole output."""
    wall_seconds: float
    complete: bool
    """Set if every selected scenario has left its record."""


def run(
    settings: Settings,
    *,
    jobs: int | None = None,
    at_once: int | None = None,
    worker: str | None = None,
    known: Known = nobody_knows,
    progress: Progress,
    interrupted: Callable[[Ran], None],
    beside: Sequence[object] = (),
) -> Ran:
    """Run what the settings select.

    Args:
        settings: the run.
        jobs: scenarios at once, each in a process of its own, beside those that only wait for a
            timer; 0: one after another in this process, 1: in another one. None: as many as
            the processors carry, so more if they are idle.
        at_once: the most scenarios at once, including those that only wait for a timer.
        worker: what to call in place of Python for each of those processes.
        known: failures of the client that need not be seen a second time, should it have been kept
            from working.
        progress: receives the progress.
        interrupted: receives the results so far if a signal ends the command, after all its
            processes have ended.
        beside: more plugins of pytest in this process, such as the session of interactive mode.
    """
    grows = jobs is None and at_once is None
    jobs = default_jobs() if jobs is None else jobs
    try:
        found = collect(settings)
    except RuntimeError as error:
        return Ran(records=(), troubles=(str(error),), wall_seconds=0.0, complete=False)
    planned = len(found)
    progress.planned(planned)
    waits = {
        name: scenario.seconds * _shortened(scenario, settings)
        for name, scenario in found.items()
        if scenario.waits and jobs > 1
    }
    work = sum(scenario.seconds for name, scenario in found.items() if name not in waits)
    working, most = min(jobs, len(found) - len(waits)), MOST_WAITING
    if grows:
        working = min(working, workers_for(work))
    if at_once is not None:
        working = min(working, max(1, at_once // 2))
        most = min(most, at_once - working)
    waiting = waiting_of(waits, meanwhile=work / max(working, 1), most=most)
    collector = Collector(progress, waiting, known, grows=grows)
    started = time.monotonic()

    def so_far() -> Ran:
        return Ran(
            records=tuple(collector.records),
            troubles=tuple(dict.fromkeys(collector.troubles)),
            wall_seconds=time.monotonic() - started,
            complete=len({ident(record) for record in collector.records}) == len(found),
        )

    def through(chosen: Settings, processes: int, folder: Path) -> None:
        path = folder / "settings.json"
        msgspec.structs.replace(chosen, scratch=str(folder), command=os.getpid()).write(path)
        with isolated():
            code = pytest.main(arguments(path, processes, worker), plugins=[collector, *beside])
        if code in {pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}:
            collector.troubles.append(f"pytest ended with {pytest.ExitCode(code).name}")

    def repeat(
        folder: Path, chosen: Mapping[Ident, Record], processes: int, how: str = FRESH
    ) -> None:
        """Run these scenarios again, each with a process of the client of its own."""
        nonlocal planned
        planned += len(chosen)
        progress.planned(planned, f"scenarios repeated {how}")
        selection = Selection(exactly=tuple(chosen))
        again = msgspec.structs.replace(settings, selection=selection, isolated=True, all_wait=True)
        through(again, processes, folder)

    with last_words(lambda: interrupted(so_far())), scratch() as folder:
        through(settings, working + waiting.workers, folder)
        most = working + waiting.workers
        _repeat_early(collector, partial(repeat, folder), most, KnownCauses(folder))
        _repeat_failures(collector, partial(repeat, folder), most)
        collector.growing = Growing(enabled=False)
        if jobs > 1 and (doubtful := collector.take_doubtful()):
            repeat(folder, doubtful, 1, "alone, since the machine was busy")
            collector.tell_of(doubtful)
        ran = so_far()
        if not ran.complete:
            left = f"{len(ran.records)} of {len(found)} scenarios came to their end"
            ran = msgspec.structs.replace(ran, troubles=(*ran.troubles, left))
        return ran


def _repeat_early(
    collector: Collector,
    repeat: Callable[[Mapping[Ident, Record], int], None],
    most: int,
    causes: KnownCauses,
) -> None:
    """Run scenarios to their ends whose early end is not good enough.

    Args:
        collector: has the records.
        repeat: runs these scenarios again, with this number of workers.
        most: the number of workers at most.
        causes: what the run has learned.
    """
    catalogue = load()
    collector.attribute(causes.known(), catalogue)
    while early := collector.take_early(causes.refuted(), catalogue):
        repeat(early, min(most, len(early)))
        collector.keep(early)
        collector.attribute(causes.known(), catalogue)


def _repeat_failures(
    collector: Collector, repeat: Callable[[Mapping[Ident, Record], int], None], most: int
) -> None:
    """Run what failed in a shared process again, each scenario in a process of its own.

    Args:
        collector: has the records.
        repeat: runs these scenarios again, with this number of workers.
        most: the number of workers at most.
    """
    while unconfirmed := collector.take_unconfirmed():
        repeat(unconfirmed, min(most, len(unconfirmed)))
        collector.confirm(unconfirmed)
    for _ in range(MORE):
        if at_odds := collector.take_at_odds():
            repeat(at_odds, min(most, len(at_odds)))
            collector.weigh(at_odds)
    collector.write_comparisons()


def _shortened(scenario: Declaration, settings: Settings) -> float:
    """Return the fraction of a scenario's time that remains with shortened or skipped timers."""
    if scenario.absence and settings.fast:
        return 0.0
    if scenario.failover and any(map(settings.hurries, settings.subjects)):
        return timing.FAST_FAILOVER.seconds / timing.FAILOVER.seconds
    if scenario.resolutions and all(subject.resolves_soon for subject in settings.subjects):
        return timing.SOON_AGAIN.apart / timing.RESOLUTIONS.apart
    return 1.0
