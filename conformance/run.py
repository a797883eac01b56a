"""Runs the scenarios against one prepared client: pytest in this process, its workers in others."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import msgspec
import pytest
from xdist.remote import Producer

from conformance import timing
from conformance.declare import Declaration, declaration, scenario_id
from conformance.ending import INTERRUPTED, end_everything_below
from conformance.evidence import Record
from conformance.overlap import MOST_WAITING, Overlapping, piles_of
from conformance.plugin import PROPERTY, asks_nothing
from conformance.provenance import cores
from conformance.settings import Ident, Selection, Settings
from conformance.verdicts import Reason, Verdict

SCENARIOS = Path(__file__).with_name("scenarios")

WORKERS_PER_CORE = 1.5
"""More workers than cores, as a scenario also waits; with two for each core the suite takes as long
and every scenario longer."""


KnownFailure = tuple[str, Reason]
"""A clause, and why a client fails it."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What a run left."""

    records: tuple[Record, ...]
    troubles: tuple[str, ...]
    wall_seconds: float


class Progress:
    """What is told while a run goes on; the console derives from it."""

    def planned(self, count: int) -> None:
        """So many scenarios will run."""

    def finished(self, record: Record) -> None:
        """A scenario is over."""


class Collector:
    """A pytest plugin in the command's own process."""

    def __init__(
        self,
        progress: Progress,
        piles: Sequence[tuple[str, ...]],
        known: Collection[KnownFailure] = (),
    ) -> None:
        self.progress = progress
        self.piles = piles
        self.known = known
        self.records: list[Record] = []
        self.troubles: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Overlapping:
        """Have scenarios that wait overlap with the others."""
        return Overlapping(config, log, self.piles)

    def take_doubtful(self) -> dict[Ident, Record]:
        """Give away the records of scenarios that an idle machine may judge otherwise."""
        doubtful = (one for one in self.records if _is_doubtful(one, self.known))
        taken = {_ident(one): one for one in doubtful}
        self.records = [one for one in self.records if _ident(one) not in taken]
        self.piles = ()
        return taken

    def tell_of(self, earlier: Mapping[Ident, Record]) -> None:
        """Add to the records of scenarios that ran again what they had said before.

        One that did not come through the second time keeps the record that it had.
        """
        again = {_ident(one) for one in self.records}
        self.records = [
            msgspec.structs.replace(one, beside_others=earlier[_ident(one)].decisions)
            if _ident(one) in earlier
            else one
            for one in self.records
        ]
        self.records += [one for name, one in earlier.items() if name not in again]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a scenario's record from the report of its teardown."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                record = msgspec.json.decode(str(value), type=Record)
                self.records.append(record)
                self.progress.finished(record)
        if report.when not in {"setup", "call", "teardown"}:  # xdist, of a worker that died
            self.troubles.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note scenarios that cannot even be collected."""
        if report.failed:
            self.troubles.append(f"{report.nodeid or 'scenarios'}: {report.longreprtext}")

    def pytest_internalerror(self, excrepr: object) -> None:
        """Note what pytest itself died of."""
        self.troubles.append(str(excrepr))


def _ident(record: Record) -> Ident:
    return record.mutant, record.scenario


def _is_doubtful(record: Record, known: Collection[KnownFailure]) -> bool:
    """Whether the suite was late, or a client was kept from working and failed as nobody knew.

    A mutant is meant to fail, and works hard while the suite asks what it might be following.
    """
    late = any(one.reason is Reason.TIMING for one in record.decisions)
    failed = any(
        one.verdict is Verdict.FAIL and (one.clause, one.reason) not in known
        for one in record.decisions
    )
    return late or (failed and record.starved > timing.STARVED and not record.mutant)


@contextmanager
def _isolated() -> Iterator[None]:
    """Keep the user's pytest settings and plugins out of the run."""
    kept = {name: os.environ.pop(name, None) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")}
    kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _arguments(settings: Path, jobs: int, worker: str | None = None) -> list[str]:
    common = [str(SCENARIOS), "-c", str(SCENARIOS / "pytest.ini"), f"--rootdir={SCENARIOS}"]
    common += ["-p", "pytest_asyncio.plugin", "-p", "conformance.plugin"]
    common += [f"--xdspec-settings={settings}", "-p", "no:terminal", "-p", "no:logging", "-s"]
    common += ["--assert=plain"]  # no scenario asserts, so none need be compiled by pytest
    # Either plugin collects all garbage five times over at the end of each worker.
    common += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
    if jobs:
        how = f"popen//python={worker}" if worker else "popen"
        common += ["-p", "xdist.plugin", "--dist", "load", "--tx", f"{jobs}*{how}"]
    return common


def default_jobs() -> int:
    """How many scenarios run at once unless the user says otherwise, beside those that wait."""
    return max(2, round(WORKERS_PER_CORE * cores()))


def room_for(each: float | None) -> int | None:
    """How many clients that keep so much of a processor busy run well at once, if it is known."""
    return None if each is None else max(1, int(cores() / each))


def run(
    settings: Settings,
    *,
    jobs: int,
    at_once: int | None = None,
    worker: str | None = None,
    known: Collection[KnownFailure] = (),
    progress: Progress,
    interrupted: Callable[[Ran], None],
) -> Ran:
    """Run what the settings select.

    Args:
        settings: the run.
        jobs: scenarios at once, each in a process of its own, beside those that only wait for a
            timer; 0: one after another in this process, 1: in another one.
        at_once: at most so many, those included.
        worker: what to call in place of Python for each of those processes.
        known: failures of the client that need not be seen a second time, should it have been kept
            from working.
        progress: is told of it.
        interrupted: is given what there is so far when SIGINT or SIGTERM comes, and then this
            process ends with exit code 2 and takes everything that it has started with it.
    """
    try:
        found = collect(settings)
    except RuntimeError as error:
        return Ran(records=(), troubles=(str(error),), wall_seconds=0.0)
    progress.planned(len(found))
    waiting = {
        name: one.seconds * _shortened(one, settings)
        for name, one in found.items()
        if one.waits and jobs > 1
    }
    working, most = min(jobs, len(found) - len(waiting)), MOST_WAITING
    if at_once is not None:
        working = min(working, max(1, at_once // 2))
        most = min(most, at_once - working)
    work = sum(one.seconds for name, one in found.items() if name not in waiting)
    piles = piles_of(waiting, meanwhile=work / max(working, 1), most=most)
    collector = Collector(progress, piles, known)
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="xdspec-"))

    def so_far() -> Ran:
        return Ran(
            records=tuple(collector.records),
            troubles=tuple(dict.fromkeys(collector.troubles)),
            wall_seconds=time.monotonic() - started,
        )

    def stop(_number: int, _frame: FrameType | None) -> None:
        end_everything_below()
        try:
            interrupted(so_far())
            sys.stdout.flush()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            os._exit(INTERRUPTED)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def through(chosen: Settings, processes: int) -> None:
        path = scratch / "settings.json"
        msgspec.structs.replace(chosen, scratch=str(scratch), command=os.getpid()).write(path)
        with _isolated():
            code = pytest.main(_arguments(path, processes, worker), plugins=[collector])
        if code in {pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}:
            collector.troubles.append(f"pytest ended with {pytest.ExitCode(code).name}")

    try:
        through(settings, working + len(piles))
        if jobs > 1 and (doubtful := collector.take_doubtful()):
            progress.planned(len(found) + len(doubtful))
            selection = Selection(exactly=tuple(doubtful))
            through(msgspec.structs.replace(settings, selection=selection), 1)
            collector.tell_of(doubtful)
        return so_far()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        shutil.rmtree(scratch, ignore_errors=True)


def _shortened(one: Declaration, settings: Settings) -> float:
    """What is left of a scenario's time, once timers are shortened."""
    if one.failover and any(map(settings.hurries, settings.subjects)):
        return timing.FAST_FAILOVER.seconds / timing.FAILOVER.seconds
    return 1.0


class _Lister:
    """A pytest plugin that notes what is collected."""

    def __init__(self) -> None:
        self.items: tuple[pytest.Item, ...] = ()
        self.troubles: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note scenarios that cannot be collected."""
        if report.failed:
            self.troubles.append(f"{report.nodeid or 'scenarios'}: {report.longreprtext}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note it."""
        self.items = tuple(session.items)


def collect(settings: Settings) -> dict[str, Declaration]:
    """What the settings select, by pytest's id of it: a scenario, or a mutant before one.

    One that asks nothing of its client takes no time, whatever it declares.

    Raises:
        RuntimeError: a scenario cannot be collected.
    """
    return {
        item.nodeid: msgspec.structs.replace(declaration(item), seconds=0.0, waits=False)
        if asks_nothing(item)
        else declaration(item)
        for item in _items(settings)
    }


def scenarios() -> dict[str, Declaration]:
    """Every scenario by its id, with what it declares.

    Raises:
        RuntimeError: one of them cannot be collected.
    """
    return dict(sorted((scenario_id(item), declaration(item)) for item in _items(Settings())))


def _items(settings: Settings) -> tuple[pytest.Item, ...]:
    lister = _Lister()
    with tempfile.TemporaryDirectory(prefix="xdspec-") as folder, _isolated():
        path = Path(folder) / "settings.json"
        settings.write(path)
        code = pytest.main([*_arguments(path, 0), "--collect-only"], plugins=[lister])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        words = "; ".join(lister.troubles) or f"pytest ended with {code}"
        raise RuntimeError(f"scenarios cannot be collected: {words}")
    return lister.items
