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
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from client_under_test.nursery import Nurseries
from conformance import evidence, timing, troubles
from conformance.catalogue import Catalogue, edition_for, is_foreign, load
from conformance.declare import (
    MARK,
    MUTANT_MARK,
    Declaration,
    claimable,
    declaration,
    scenario_id,
)
from conformance.evidence import Record, Trouble
from conformance.hold import hold
from conformance.material import write_exception, write_material
from conformance.settings import FAILOVER_KNOB, Selection, Settings, Subject, is_named
from conformance.starvation import starved
from conformance.verdicts import Reason, Verdict, leaves_a_choice
from conformance.world import ClientAstray, ClientUnable, Launched, World, launch
from test_servers import Fleet

PROPERTY = "xdspec"
"""The name under which a report carries the scenario's record, as JSON."""

SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
RECORD: pytest.StashKey[Record] = pytest.StashKey()
TROUBLE: pytest.StashKey[BaseException] = pytest.StashKey()
STARTED_AT: pytest.StashKey[float] = pytest.StashKey()
NEXT: pytest.StashKey[pytest.Item | None] = pytest.StashKey()

NO_MUTANT = "no mutant"
"""Stands for the subject of a scenario that no mutant is for."""

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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a scenario to every mutant that breaks a clause of it; else to the one client."""
    mutants = [one for one in metafunc.config.stash[SETTINGS].subjects if one.mutant]
    if mutants:
        clauses = claimable(metafunc.definition)
        for_it = [one for one in mutants if one.clause in clauses]
        ids = [f"{MUTANT_MARK}{one.mutant}" for one in for_it]
        if for_it:
            metafunc.parametrize("subject", for_it, ids=ids, indirect=True)
        else:
            metafunc.parametrize("subject", [NO_MUTANT], ids=[MUTANT_MARK], indirect=True)


def subject_of(item: pytest.Item) -> Subject:
    """The client, or mutant, that an item is for."""
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    chosen = parameters.get("subject")
    return chosen if isinstance(chosen, Subject) else item.config.stash[SETTINGS].subjects[0]


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
    kept = [
        item
        for item in items
        if is_selected(scenario_id(item), declared[item], selection)
        and is_for_its_mutant(item, declared[item])
        and runs_again(item, selection)
    ]
    kept.sort(key=lambda item: -declared[item].seconds)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def is_selected(name: str, declared: Declaration, selection: Selection) -> bool:
    """Whether a scenario is one of those asked for."""
    for clauses in (selection.only, selection.clauses):
        if clauses and not set(clauses) & set(declared.clauses):
            return False
    return not selection.scenarios or any(
        is_named(name, pattern) for pattern in selection.scenarios
    )


def runs_again(item: pytest.Item, selection: Selection) -> bool:
    """Whether an item is one of those that run once more, if that is all that runs."""
    again = selection.exactly
    return not again or (subject_of(item).mutant, scenario_id(item)) in again


def is_for_its_mutant(item: pytest.Item, declared: Declaration) -> bool:
    """Whether an item's mutant, if it has one, breaks a clause of that very row."""
    if not item.config.stash[SETTINGS].subjects:
        return True
    if hasattr(item, "callspec") and item.callspec.params.get("subject") is NO_MUTANT:
        return False
    return subject_of(item).clause in {"", *declared.clauses}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Remember which scenario follows in this process."""
    item.stash[NEXT] = nextitem
    item.stash[STARTED_AT] = time.monotonic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """End a scenario that never does; in the command's own process the user may take all day."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    with bounded():
        return (yield)


class Endless(Exception):
    """A scenario did not end: a mistake of the suite."""


@contextmanager
def bounded() -> Iterator[None]:
    """Have what runs inside end in time, though it spin or wait for ever.

    Raises:
        Endless: it did neither end nor fail by itself.
    """

    def end(_number: int, _frame: object) -> None:
        raise Endless(f"the scenario went on for more than {timing.SCENARIO:g} s; please report it")

    before = signal.signal(signal.SIGALRM, end)
    # Again each second: an event loop may keep the first to itself, if it hit another task.
    signal.setitimer(signal.ITIMER_REAL, timing.SCENARIO, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
        trouble = troubles.of(error)

    def leave(folder: Path) -> None:
        if error is not None:
            write_exception(folder, error)

    return _with_evidence(_record(item, trouble=trouble), item.config.stash[SETTINGS], leave)


def _record(item: pytest.Item, **more: Any) -> Record:
    subject = subject_of(item)
    record = Record(
        scenario=scenario_id(item),
        clauses=declaration(item).clauses,
        untimed=untimed(item),
        unasked=unasked(item),
        client=subject.judged,
        mutant=subject.mutant,
        seed=item.config.stash[SETTINGS].seed,
        seconds=round(time.monotonic() - item.stash[STARTED_AT], 3),
        **more,
    )
    decisions = evidence.decisions_of(record, item.config.stash[CATALOGUE])
    return msgspec.structs.replace(record, decisions=decisions)


def asks_nothing(item: pytest.Item) -> bool:
    """Whether all that a scenario decides is foreign to its client, or not to be judged now."""
    catalogue, follows = item.config.stash[CATALOGUE], subject_of(item).judged.follows
    clauses = set(declaration(item).clauses) - set(untimed(item)) - set(unasked(item))
    return all(is_foreign(catalogue[clause], follows) for clause in clauses)


def unasked(item: pytest.Item) -> tuple[str, ...]:
    """The clauses of a scenario that is left out under --fast: whatever is seen, it is a skip."""
    if not item.config.stash[SETTINGS].fast:
        return ()
    names, follows = declaration(item).clauses, subject_of(item).judged.follows
    clauses = [item.config.stash[CATALOGUE][name] for name in names]
    told = any(leaves_a_choice(one) or edition_for(one, follows) for one in clauses)
    return () if told else names


def is_hurried(item: pytest.Item) -> bool:
    """Whether the client's failover timer is shortened in this scenario."""
    return declaration(item).failover and item.config.stash[SETTINGS].hurries(subject_of(item))


def untimed(item: pytest.Item) -> tuple[str, ...]:
    """The clauses of a scenario that are not judged, as their timer is shortened."""
    return declaration(item).timed if is_hurried(item) else ()


class Wanted(msgspec.Struct, frozen=True):
    """What a scenario wants its world to be launched with."""

    subject: Subject
    knobs: dict[str, int]

    @classmethod
    def by(cls, item: pytest.Item) -> Wanted:
        """What this one wants."""
        knobs = declaration(item).knobs
        if is_hurried(item):
            knobs = {**knobs, FAILOVER_KNOB: round(timing.FAST_FAILOVER.seconds * 1000)}
        return cls(subject_of(item), knobs)

    def missing(self) -> str:
        """What the client lacks for these knobs, in words; empty if nothing."""
        offered = self.subject.prepared.client.manifest.knobs
        return ", ".join(knob for knob in self.knobs if knob not in offered)


class Worlds:
    """Launches worlds; the next one is launched while a scenario runs: its client warms up."""

    def __init__(self, scratch: str) -> None:
        self._scratch = Path(scratch)
        self._nurseries = Nurseries(
            self._scratch / f"{os.getpid()}-imports.stderr", deadline=timing.HELLO
        )
        self._warm: tuple[Wanted, Launched] | None = None
        self._count = 0

    async def _launch(self, wanted: Wanted) -> Launched:
        self._count += 1
        return await launch(
            wanted.subject.prepared,
            environment=wanted.subject.environment,
            knobs=wanted.knobs,
            nurseries=self._nurseries,
            stderr=self._scratch / f"{os.getpid()}-{self._count}.stderr",
        )

    async def take(self, wanted: Wanted, following: Wanted | None) -> Launched:
        """A world as it is wanted, whose client has said hello.

        Args:
            wanted: of this scenario.
            following: of the next one in this process, to be launched meanwhile.

        Raises:
            ConversationFailed: the adapter did not come up.
        """
        warm, self._warm = self._warm, None
        if warm is not None and warm[0] == wanted:
            taken = warm[1]
        else:
            if warm is not None:
                await warm[1].close()
            taken = await self._launch(wanted)
        if following is not None and not following.missing():
            self._warm = (following, await self._launch(following))
        try:
            await taken.process.greet(deadline=timing.HELLO)
        except BaseException:
            await taken.close()
            raise
        return taken

    async def close(self) -> None:
        """End a world that was launched and never taken, and what worlds were made of."""
        if self._warm is not None:
            await self._warm[1].close()
        await self._nurseries.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def worlds(request: pytest.FixtureRequest) -> AsyncIterator[Worlds]:
    """The worlds of this process."""
    made = Worlds(request.config.stash[SETTINGS].scratch)
    yield made
    await made.close()


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Subject:
    """The client under test, or the mutant."""
    return subject_of(request.node)


@pytest_asyncio.fixture(loop_scope="session")
async def world(
    request: pytest.FixtureRequest, worlds: Worlds, subject: Subject
) -> AsyncIterator[World]:
    """The world of one scenario."""
    item = request.node
    settings = request.config.stash[SETTINGS]
    if asks_nothing(item):
        pytest.skip("nothing that it decides is asked of this client")
    able = subject.prepared.client.manifest.capabilities
    if missing := [need for need in declaration(item).needs if need not in able]:
        pytest.skip(f"the adapter cannot do this: {', '.join(missing)}")
    wanted = Wanted.by(item)
    if wanted.missing():
        pytest.skip(f"the client has no knob for this: {wanted.missing()}")
    following = item.stash[NEXT]
    if following is not None and asks_nothing(following):
        following = None
    launched = await worlds.take(wanted, Wanted.by(following) if following else None)
    made = World(
        launched,
        await Fleet.start(),
        catalogue=request.config.stash[CATALOGUE],
        client=subject.judged,
        rng=random.Random(f"{settings.seed} {scenario_id(item)}"),
        failover=timing.FAST_FAILOVER if is_hurried(item) else timing.FAILOVER,
        soak=timing.FAST_SOAK if settings.fast else timing.SOAK,
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
    trouble, waited = None, 0.0
    if made.process.failure is None:
        try:
            made.demand_a_stream()
        except ClientAstray as astray:
            error = astray
    if error is not None:
        waited = round(starved(made.process.pid), 3)
        trouble = troubles.of(error, lateness=made.lateness.worst, starved=waited, seconds=made.now)
    if made.fleet.troubles:
        what = "; ".join(made.fleet.troubles)
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
    told: dict[str, Any] = {
        "notes": tuple(made.notes),
        "served": tuple(made.history),
        "lateness": round(made.lateness.worst, 3),
    }
    record = _record(item, checks=tuple(made.checks), trouble=trouble, **told)
    if any(one.verdict is Verdict.FAIL for one in record.decisions):
        waited = waited or round(starved(made.process.pid), 3)
        try:
            await made.demand_gates_that_work()
        except ClientUnable as unable:
            record = _record(item, trouble=troubles.of(unable), **told)
    record = msgspec.structs.replace(record, starved=waited)
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
    folder = Path(settings.out) / record.mutant / record.scenario.replace("/", "-")
    if folder.exists():
        shutil.rmtree(folder)
    named = msgspec.structs.replace(record, evidence=str(folder))
    evidence.write(folder, named)
    leave(folder)
    return named
