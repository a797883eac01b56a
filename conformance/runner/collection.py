"""Starts pytest on the scenarios: to run them, or only to see which there are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from conformance.judging.declaration import Declaration, declaration_of, scenario_id
from conformance.runner.files import scratch
from conformance.runner.plugin.items import asks_nothing
from conformance.runner.selection import Selection
from conformance.runner.settings import Settings

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@contextmanager
def isolated() -> Iterator[None]:
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


def arguments(settings: Path | None, jobs: int, worker: str | None = None) -> list[str]:
    """Return pytest's arguments; none of them comes from the user.

    Args:
        settings: the file that its processes read; None: all is as it is without.
        jobs: processes beside this one; 0: it does all itself.
        worker: what to call in place of Python for each of them.
    """
    common = [str(SCENARIOS), "-c", str(SCENARIOS / "pytest.ini"), f"--rootdir={SCENARIOS}"]
    common += ["-p", "pytest_asyncio.plugin"]
    common += ["-p", "conformance.runner.plugin.hooks", "-p", "conformance.runner.plugin.worlds"]
    common += [f"--xdspec-settings={settings}"] if settings else []
    common += ["-p", "no:terminal", "-p", "no:logging", "-s"]
    common += ["--assert=plain"]  # no scenario asserts, so none need be compiled by pytest
    common += ["-p", "no:tmpdir"]  # xdist would have it make folders that stay
    # Either plugin collects all garbage five times over at the end of each worker.
    common += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
    if jobs:
        how = f"popen//python={worker}" if worker else "popen"
        common += ["-p", "xdist.plugin", "--dist", "load", "--tx", f"{jobs}*{how}"]
    return common


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


class _Importer:
    """A pytest plugin with which modules are imported, and nothing is made of them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
        """Make none of anything."""
        return []


def collect(settings: Settings) -> dict[str, Declaration]:
    """Collect the selected scenarios, by pytest's id; a mutant's name comes before the id.

    One that asks nothing of its client takes no time, whatever it declares.

    Raises:
        RuntimeError: a scenario cannot be collected.
    """
    return {item.nodeid: _asked(item) for item in _selected(settings)}


def collect_scenarios(settings: Settings) -> dict[str, Declaration]:
    """Return the declarations of a run of one client, by scenario id.

    Raises:
        RuntimeError: a scenario cannot be collected.
    """
    return {scenario_id(item): _asked(item) for item in _selected(settings)}


def _asked(item: pytest.Item) -> Declaration:
    claims = declaration_of(item)
    if asks_nothing(item):
        return msgspec.structs.replace(claims, seconds=0.0, waits=False)
    return claims


def scenarios_named(patterns: tuple[str, ...]) -> dict[str, Declaration]:
    """Those of these ids or patterns, of which there is at least one, with what they declare.

    Most of the time that all of them take goes into those that are not asked for.

    Raises:
        RuntimeError: one of them cannot be collected.
    """
    asked = Settings(selection=Selection(scenarios=patterns))
    return {scenario_id(item): declaration_of(item) for item in _selected(asked)}


def scenarios() -> dict[str, Declaration]:
    """Every scenario by its id, with what it declares.

    Raises:
        RuntimeError: one of them cannot be collected.
    """
    # Without a file: a process that is killed, as what workers are forked from, leaves none.
    return dict(sorted((scenario_id(item), declaration_of(item)) for item in _items(None)))


def import_scenarios() -> None:
    """Have the modules of all scenarios imported, as whatever collects them will find them.

    Whatever collects them reports what cannot be imported.
    """
    with isolated():
        code = pytest.main([*arguments(None, 0), "--collect-only"], plugins=[_Importer()])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        _forget_scenarios()


def _selected(settings: Settings) -> tuple[pytest.Item, ...]:
    with scratch() as folder:
        path = folder / "settings.json"
        settings.write(path)
        return _items(path)


def _items(settings: Path | None) -> tuple[pytest.Item, ...]:
    lister = _Lister()
    with isolated():
        code = pytest.main([*arguments(settings, 0), "--collect-only"], plugins=[lister])
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        _forget_scenarios()
        words = "; ".join(lister.troubles) or f"pytest ended with {code}"
        raise RuntimeError(f"scenarios cannot be collected: {words}")
    return lister.items


def _forget_scenarios() -> None:
    """Make pytest import every module of scenarios the next time.

    pytest keeps a module whose import failed, and would next time collect what is above the error.
    """
    for name, module in [*sys.modules.items()]:
        if SCENARIOS in Path(getattr(module, "__file__", None) or "/").parents:
            del sys.modules[name]
