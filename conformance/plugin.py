"""The pytest plugin that runs scenarios; ``conformance.run`` loads it, nothing else does.

It selects and orders the scenarios, gives each its world, and attaches its record to the report of
its teardown, from where the command takes it, across processes where there are several.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from conformance import evidence, timing, troubles
from conformance.catalogue import Catalogue, load
from conformance.declare import MARK, Declaration, declaration, scenario_id
from conformance.evidence import Record, Trouble
from conformance.hold import hold
from conformance.material import write_exception, write_material
from conformance.settings import Selection, Settings
from conformance.verdicts import Reason, Verdict
from conformance.world import Launched, World, launch
from test_servers import Fleet

PROPERTY = "xdspec"
"""The name under which a report carries the scenario's record, as JSON."""

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
RECORD: pytest.StashKey[Record] = pytest.StashKey()
TROUBLE: pytest.StashKey[BaseException] = pytest.StashKey()
STARTED_AT: pytest.StashKey[float] = pytest.StashKey()
IS_LAST: pytest.StashKey[bool] = pytest.StashKey()

PR_SET_PDEATHSIG = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the path of the settings."""
    parser.addoption("--xdspec-settings", help="path of the run's settings")


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings; a worker process makes sure that it dies with the command."""
    config.addinivalue_line("markers", f"{MARK}(declaration): the clauses that a scenario decides")
    config.stash[CATALOGUE] = load()
    config.stash[SETTINGS] = Settings.read(Path(config.getoption("--xdspec-settings")))
    if hasattr(config, "workerinput"):
        _die_with(config.stash[SETTINGS].command)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends its workers itself


def _die_with(command: int) -> None:
    """Have the kernel kill this process when the command dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != command:  # it has died already
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is selected, longest first: workers take them in this order."""
    selection = config.stash[SETTINGS].selection
    catalogue = config.stash[CATALOGUE]
    declared = {item: declaration(item) for item in items}
    for item, one in declared.items():
        unknown = [clause for clause in one.clauses if clause not in catalogue]
        if unknown:
            message = f"{scenario_id(item)} decides {unknown[0]}, which the catalogue has not"
            raise pytest.UsageError(message)
    kept = [item for item in items if is_selected(scenario_id(item), declared[item], selection)]
    kept.sort(key=lambda item: -declared[item].seconds)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def is_selected(name: str, declared: Declaration, selection: Selection) -> bool:
    """Whether a scenario is one of those asked for."""
    if selection.only and not any(
        clause.lower().startswith(f"{selection.only}-") for clause in declared.clauses
    ):
        return False
    if selection.clauses and not set(selection.clauses) & set(declared.clauses):
        return False
    return not selection.scenarios or any(
        name == pattern or fnmatchcase(name, pattern) for pattern in selection.scenarios
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Remember whether another scenario follows in this process."""
    item.stash[IS_LAST] = nextitem is None
    item.stash[STARTED_AT] = time.monotonic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what ended a scenario early; attach its record when it is over."""
    report = yield
    if call.excinfo is not None and TROUBLE not in item.stash:
        item.stash[TROUBLE] = call.excinfo.value
    if call.when == "teardown":
        record = item.stash.get(RECORD, None) or _without_world(item)
        report.user_properties.append((PROPERTY, msgspec.json.encode(record).decode()))
    return report


def _without_world(item: pytest.Item) -> Record:
    """The record of a scenario that never got its world, or lost it."""
    error = item.stash.get(TROUBLE, None)
    if isinstance(error, pytest.skip.Exception):
        trouble = Trouble(
            verdict=Verdict.SKIP, reason=Reason.CAPABILITY, what=error.msg or "skipped"
        )
    else:
        error = error or RuntimeError("the scenario left no record")
        trouble = troubles.of(error, lateness=0)

    def leave(folder: Path) -> None:
        if error is not None:
            write_exception(folder, error)

    return _with_evidence(_record(item, trouble=trouble), item.config.stash[SETTINGS], leave)


def _record(item: pytest.Item, **more: Any) -> Record:
    settings = item.config.stash[SETTINGS]
    assert settings.judged is not None
    record = Record(
        scenario=scenario_id(item),
        clauses=declaration(item).clauses,
        client=settings.judged,
        seed=settings.seed,
        seconds=round(time.monotonic() - item.stash[STARTED_AT], 3),
        **more,
    )
    decisions = evidence.decisions_of(record, item.config.stash[CATALOGUE])
    return msgspec.structs.replace(record, decisions=decisions)


class Worlds:
    """Launches worlds; the next one is launched while a scenario runs: its client warms up."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._warm: Launched | None = None
        self._count = 0

    async def _launch(self, knobs: Mapping[str, int]) -> Launched:
        assert self._settings.prepared is not None
        self._count += 1
        return await launch(
            self._settings.prepared,
            environment=self._settings.environment,
            knobs=knobs,
            stderr=Path(self._settings.scratch) / f"{os.getpid()}-{self._count}.stderr",
        )

    async def take(self, knobs: Mapping[str, int], *, warm_next: bool) -> Launched:
        """A world whose client has these knobs and has said hello.

        Raises:
            ConversationFailed: the adapter did not come up.
        """
        if knobs or self._warm is None:
            taken = await self._launch(knobs)
        else:
            taken, self._warm = self._warm, None
        if warm_next and self._warm is None:
            self._warm = await self._launch({})
        try:
            await taken.process.greet(deadline=timing.HELLO)
        except BaseException:
            await taken.close()
            raise
        return taken

    async def close(self) -> None:
        """End a world that was launched and never taken."""
        if self._warm is not None:
            await self._warm.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def worlds(request: pytest.FixtureRequest) -> AsyncIterator[Worlds]:
    """The worlds of this process."""
    made = Worlds(request.config.stash[SETTINGS])
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def world(request: pytest.FixtureRequest, worlds: Worlds) -> AsyncIterator[World]:
    """The world of one scenario."""
    item = request.node
    settings = request.config.stash[SETTINGS]
    prepared, judged = settings.prepared, settings.judged
    assert prepared is not None
    assert judged is not None
    declared = declaration(item)
    manifest = prepared.client.manifest
    if missing := [need for need in declared.needs if need not in manifest.capabilities]:
        pytest.skip(f"the adapter cannot do this: {', '.join(missing)}")
    if missing := [knob for knob in declared.knobs if knob not in manifest.knobs]:
        pytest.skip(f"the client has no knob for this: {', '.join(missing)}")
    launched = await worlds.take(declared.knobs, warm_next=not item.stash[IS_LAST])
    made = World(
        launched,
        await Fleet.start(),
        catalogue=request.config.stash[CATALOGUE],
        client=judged,
        rng=random.Random(f"{settings.seed} {scenario_id(item)}"),
    )
    try:
        with made.lateness:
            yield made
        await _finish(item, made, settings)
    finally:
        await made.close()


async def _finish(item: pytest.Item, made: World, settings: Settings) -> None:
    """Decide, and leave the evidence, while everything is still there to be asked."""
    error = made.process.failure or item.stash.get(TROUBLE, None)
    trouble = None
    if error is not None:
        trouble = troubles.of(error, lateness=made.lateness.worst)
    if made.fleet.troubles:
        what = "; ".join(made.fleet.troubles)
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
    record = _record(
        item,
        checks=tuple(made.checks),
        trouble=trouble,
        notes=tuple(made.notes),
        served=tuple(made.history),
        lateness=round(made.lateness.worst, 3),
    )
    if settings.hold:
        await hold(made, record)
    item.stash[RECORD] = _with_evidence(
        record, settings, lambda folder: write_material(folder, made, error)
    )


def _with_evidence(record: Record, settings: Settings, leave: Callable[[Path], None]) -> Record:
    """Leave the folder of a scenario that went wrong, or of every one; the record names it.

    Args:
        record: what the verdicts rest on.
        settings: the run.
        leave: writes what else the scenario has to show.
    """
    went_wrong = any(one.verdict in {Verdict.FAIL, Verdict.ERROR} for one in record.decisions)
    if not (went_wrong or settings.keep_evidence):
        return record
    folder = Path(settings.out) / record.scenario.replace("/", "-")
    if folder.exists():
        shutil.rmtree(folder)
    named = msgspec.structs.replace(record, evidence=str(folder))
    evidence.write(folder, named)
    leave(folder)
    return named
