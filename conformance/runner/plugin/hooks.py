"""The pytest plugin of the processes that run scenarios: its hooks, and nothing else.

They select and order the scenarios, note what ends one early, and attach its record to the report
of its teardown, from where the command takes it (``conformance.runner.collector``), across
processes where there are several.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from conformance.judging.declaration import (
    MARK,
    TARGET_MARK,
    declaration_of,
    declared_clauses,
    scenario_id,
)
from conformance.runner.plugin.alarm import bounded
from conformance.runner.plugin.items import (
    CATALOGUE,
    NEXT,
    RECORD,
    SETTINGS,
    STARTED_AT,
    TROUBLE,
    is_for_its_mutant,
    runs_again,
    targets_for,
)
from conformance.runner.plugin.recording import PROPERTY, without_world
from conformance.runner.selection import is_selected, may_be_selected
from conformance.runner.settings import Settings
from conformance.spec.catalogue import load
from request_filter import keep_folders_in

PR_SET_PDEATHSIG = 1
_PREFIX: Final = "test_"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the path of the settings."""
    parser.addoption("--xdspec-settings", help="path of the run's settings")


def pytest_configure(config: pytest.Config) -> None:
    """Read the settings; a worker process makes sure that it dies with the command."""
    config.addinivalue_line("markers", f"{MARK}(claims): the clauses that a scenario decides")
    config.stash[CATALOGUE] = load()
    path = config.getoption("--xdspec-settings")
    config.stash[SETTINGS] = Settings.read(Path(path)) if path else Settings()
    if path:  # in a folder of the command, which outlives a worker, and which a signal removes
        keep_folders_in(Path(path).parent)
        config.add_cleanup(lambda: keep_folders_in(None))
    if hasattr(config, "workerinput"):
        _die_with(config.stash[SETTINGS].command)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends its workers itself


def _die_with(command: int) -> None:
    """Have the kernel kill this process when the command dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != command:  # it has died already
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> list[pytest.Item] | None:
    """Make no scenarios of a function of which none would be kept: it takes most of a start."""
    if not name.startswith(_PREFIX):
        return None
    settings = collector.config.stash[SETTINGS]
    clauses = declared_clauses(getattr(obj, "pytestmark", ()))
    function = f"{collector.path.stem}.{name.removeprefix(_PREFIX)}"
    is_for_some = not settings.labeled or bool(targets_for(clauses, settings))
    return None if is_for_some and may_be_selected(function, clauses, settings.selection) else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a scenario to every mutant that breaks a clause of it, or to each client of the run."""
    settings = metafunc.config.stash[SETTINGS]
    if settings.labeled:
        for_it = targets_for(declared_clauses(metafunc.definition.iter_markers()), settings)
        ids = [f"{TARGET_MARK}{subject.label}" for subject in for_it]
        metafunc.parametrize("subject", for_it, ids=ids, indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is selected, longest first: workers take them in this order."""
    config.option.tbstyle = "native"  # tracebacks are not shown; other styles parse sources
    selection = config.stash[SETTINGS].selection
    catalogue = config.stash[CATALOGUE]
    claims = {item: declaration_of(item) for item in items}
    for item, claim in claims.items():
        unknown = [clause for clause in claim.clauses if clause not in catalogue]
        if unknown:
            message = f"{scenario_id(item)} decides {unknown[0]}, which the catalogue has not"
            raise pytest.UsageError(message)
    kept = [
        item
        for item in items
        if is_selected(scenario_id(item), claims[item], selection)
        and is_for_its_mutant(item, claims[item])
        and runs_again(item, selection)
    ]
    kept.sort(key=lambda item: -claims[item].seconds)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what ended a scenario early; attach its record when it is over."""
    report = yield
    if call.excinfo is not None and TROUBLE not in item.stash:
        item.stash[TROUBLE] = call.excinfo.value
    if call.when == "teardown":
        record = item.stash.get(RECORD, None) or without_world(item)
        report.user_properties.append((PROPERTY, msgspec.json.encode(record).decode()))
    return report
