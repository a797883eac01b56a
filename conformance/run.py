"""Runs the scenarios against one prepared client: pytest in this process, its workers in others."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from conformance.declare import Declaration, declaration, scenario_id
from conformance.ending import INTERRUPTED, end_everything_below
from conformance.evidence import Record
from conformance.plugin import PROPERTY
from conformance.provenance import cores
from conformance.settings import Settings

SCENARIOS = Path(__file__).with_name("scenarios")

WORKERS_PER_CORE = 1.5
"""More workers than cores, as a scenario also waits; with two for each core the suite takes as long
and every scenario longer."""


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


class _Collector:
    """A pytest plugin in the command's own process."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.records: list[Record] = []
        self.troubles: list[str] = []

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

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Say how many there are."""
        self.progress.planned(len(ids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say how many there are, where no workers are used."""
        if session.items:
            self.progress.planned(len(session.items))


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


def _arguments(settings: Path, jobs: int) -> list[str]:
    common = [str(SCENARIOS), "-c", str(SCENARIOS / "pytest.ini"), f"--rootdir={SCENARIOS}"]
    common += ["-p", "pytest_asyncio.plugin", "-p", "conformance.plugin"]
    common += [f"--xdspec-settings={settings}", "-p", "no:terminal", "-p", "no:logging", "-s"]
    if jobs:
        common += ["-p", "xdist.plugin", "-n", str(jobs), "--dist=load", "--maxschedchunk=1"]
    return common


def default_jobs() -> int:
    """How many scenarios run at once unless the user says otherwise."""
    return max(2, round(WORKERS_PER_CORE * cores()))


def run(
    settings: Settings,
    *,
    jobs: int,
    progress: Progress,
    interrupted: Callable[[Ran], None],
) -> Ran:
    """Run what the settings select.

    Args:
        settings: the run.
        jobs: scenarios at once, each in a process of its own; 0: one after another in this one.
        progress: is told of it.
        interrupted: is given what there is so far when SIGINT or SIGTERM comes, and then this
            process ends with exit code 2 and takes everything that it has started with it.
    """
    collector = _Collector(progress)
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
    try:
        path = scratch / "settings.json"
        placed = msgspec.structs.replace(settings, scratch=str(scratch), command=os.getpid())
        placed.write(path)
        with _isolated():
            code = pytest.main(_arguments(path, jobs), plugins=[collector])
        if code in {pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}:
            collector.troubles.append(f"pytest ended with {pytest.ExitCode(code).name}")
        return so_far()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        shutil.rmtree(scratch, ignore_errors=True)


class _Lister:
    """A pytest plugin that notes what is collected."""

    def __init__(self) -> None:
        self.found: dict[str, Declaration] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note it."""
        self.found = {scenario_id(item): declaration(item) for item in session.items}


def scenarios() -> dict[str, Declaration]:
    """Every scenario by its id, with what it declares."""
    lister = _Lister()
    with tempfile.TemporaryDirectory(prefix="xdspec-") as folder, _isolated():
        path = Path(folder) / "settings.json"
        Settings().write(path)
        code = pytest.main([*_arguments(path, 0), "--collect-only"], plugins=[lister])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        raise RuntimeError(f"scenarios cannot be collected: pytest ended with {code}")
    return dict(sorted(lister.found.items()))
