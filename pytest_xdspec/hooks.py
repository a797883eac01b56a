"""The hooks of the plugin: clients are made once, each is given each test, tests are concluded."""

from __future__ import annotations

import inspect
import time
from collections.abc import Generator
from typing import Any

import pytest

from conformance.judging.verdicts import Verdict
from conformance.runner.settings import Settings
from pytest_xdspec import options
from pytest_xdspec.client_setup import ready
from pytest_xdspec.items import (
    HELD,
    MARK,
    NEXT,
    NO_CLIENT,
    SETTINGS,
    STARTED_AT,
    SUBJECT,
    TOLD,
    WISH,
    claimed_by,
    has_world,
    subject_of,
)
from pytest_xdspec.teardown import conclude

WORKER_INPUT = "xdspec_settings"
LOOP = "session"
"""The scope of the event loop in which worlds live, and so the tests that have one."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take what the user may say."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Look up the clients, of which none is made yet."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(requires, settings, bootstrap): capabilities and knobs without which a client "
        "skips the test, and its bootstrap configuration (fixture `world`)",
    )
    if not any(
        getattr(plugin, "__name__", "") == "pytest_asyncio.plugin" for plugin in _plugins(config)
    ):
        raise pytest.UsageError(
            "xdspec: worlds need pytest-asyncio, which is not loaded: add -p pytest_asyncio.plugin"
        )
    config.stash[WISH] = options.wish(config)
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    if encoded := worker_input.get(WORKER_INPUT):
        config.stash[SETTINGS] = Settings.decoded(encoded)
    elif config.stash[WISH].clients:
        config.stash[SETTINGS] = options.settings(config)


def _plugins(config: pytest.Config) -> set[object]:
    return config.pluginmanager.get_plugins()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what may be given to repeat the session."""
    if not config.stash[WISH].clients:
        return []
    names = ", ".join(config.stash[WISH].clients)
    return [f"xdspec: {names}, seed {config.stash[SETTINGS].seed}"]


# A test for each client.


@pytest.hookimpl(wrapper=True, trylast=True)  # before pytest-asyncio sees what was made
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Have tests that have a world run in its event loop, in whatever mode of pytest-asyncio."""
    made = yield
    for item in made if isinstance(made, list) else [made]:
        if isinstance(item, pytest.Function) and has_world(item) and _is_coroutine(item):
            item.add_marker(pytest.mark.asyncio(loop_scope=LOOP), append=False)
    return made


def _is_coroutine(item: pytest.Function) -> bool:
    return inspect.iscoroutinefunction(item.obj)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that has a world to each client."""
    clients = metafunc.config.stash[WISH].clients
    if SUBJECT not in metafunc.fixturenames:
        return
    try:
        claimed_by(metafunc.definition)
    except TypeError as wrong:
        pytest.fail(str(wrong), pytrace=False)
    if clients:
        metafunc.parametrize(
            SUBJECT,
            range(len(clients)),
            ids=list(clients),
            indirect=True,
            scope="session",
        )


# Clients are made once: by the process that runs the tests, or by the one that has workers for it.


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the clients, if there is a test for them."""
    config = session.config
    if hasattr(config, "workerinput") or config.getoption("collectonly"):
        return
    if any(map(has_world, session.items)):
        if not config.stash[WISH].clients:
            raise pytest.UsageError(f"xdspec: {NO_CLIENT}")
        _ready(config, jobs=1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[object]) -> None:
    """Make them before there are workers, which cannot say yet whether there is a test for them."""
    if config.stash[WISH].clients and not config.getoption("collectonly"):
        _ready(config, jobs=len(specs))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of them."""
    if settings := node.config.stash.get(SETTINGS, None):
        node.workerinput[WORKER_INPUT] = settings.encoded()


def _ready(config: pytest.Config, *, jobs: int) -> None:
    config.stash[SETTINGS] = ready(config.stash[WISH], config.stash[SETTINGS], jobs=jobs)


# A test runs.


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Remember which test follows in this process: its client warms up meanwhile."""
    item.stash[NEXT] = nextitem
    item.stash[STARTED_AT] = time.monotonic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Look at a test's world before it goes: what client and backends say may contradict a pass."""
    error: BaseException | None = None
    result = None
    try:
        result = yield
    except (pytest.skip.Exception, pytest.exit.Exception):
        raise
    except (Exception, pytest.fail.Exception) as caught:  # noqa: BLE001 - it goes on below
        error = caught
    held, subject = item.stash.get(HELD, None), subject_of(item)
    if held is not None and subject is not None:
        settings = item.config.stash[SETTINGS]
        found = held.loop.run_until_complete(conclude(item, held.world, subject, settings, error))
        item.stash[TOLD] = found.told
        if found.trouble is not None:
            if found.trouble.verdict is Verdict.SKIP:
                pytest.skip(found.said)
            pytest.fail(found.said, pytrace=False)
    if error is not None:
        raise error
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say below a failure what was served, and where the evidence is."""
    report = yield
    if call.when == "call" and report.failed and (told := item.stash.get(TOLD, "")):
        report.sections.append(("xdspec", told))
    return report
