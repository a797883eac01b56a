"""How `xdspec test` deals the tests out to its workers: one by one, to whichever comes free.

So slow ones are spread, wherever they stand. But tests that share what is costly to make run on one
worker, which makes it once; these begin first.

And how Hypothesis goes about it: with the same examples in each run, and without a word on how long
they took to make, as machines may be busy.
"""

from __future__ import annotations

import ctypes
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "xdspec",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("xdspec"), max_examples=200)
settings.load_profile("xdspec")

SLOW = "start many processes, build clients or search many examples"

if (here := Path(__file__).parent).name != "tests":
    # In a wheel the folder is called xdspec_tests; modules of it import others as they do here.
    sys.modules["tests"] = ModuleType("tests")
    sys.modules["tests"].__path__ = [str(here)]

PR_SET_CHILD_SUBREAPER = 36

COSTLY = frozenset(
    {"documentation", "fakes", "findings", "kept", "lasts", "passing", "registrars", "versions"}
)
"""Fixtures that run commands, or many clients."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs everything."""
    parser.addoption(
        "--slow", action="store_true", help="also run slow tests, and more examples of properties"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of slow tests; choose how many examples of a property are tried."""
    config.addinivalue_line("markers", f"slow: tests that {SLOW}; --slow runs them")
    if config.getoption("--slow") and not config.getoption("--hypothesis-profile"):
        settings.load_profile("thorough")


def leaves_out_slow(config: pytest.Config) -> bool:
    """Return whether slow tests do not run: nothing asks for them, neither an option nor a name."""
    is_named = any("::" in name or Path(name).is_file() for name in config.args)
    asked = config.getoption("--slow") or "slow" in config.getoption("-m")
    return not (is_named or asked)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a line that says what is left out: workers of xdist do not report it."""
    return "slow tests are left out: --slow runs them" if leaves_out_slow(config) else None


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, and have tests of one costly fixture stay together."""
    if leaves_out_slow(config):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    for item in items:
        for name in COSTLY.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


@pytest.fixture(scope="module", autouse=True)
def _no_orphans() -> Iterator[None]:
    """Leave what others orphan to the system, which waits for it.

    A test that forks clients makes its process the reaper of all descendants. Later modules kill
    commands, and nobody would wait for what these had started.
    """
    yield
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A `Browser`. It is loaded by its path: from a wheel these tests are no package."""
    chromium = runpy.run_path(str(Path(__file__).with_name("chromium.py")))
    if chromium["CHROMIUM"] is None:
        pytest.skip("there is no Chromium: see ci/browser")
    made = chromium["Browser"](tmp_path_factory.mktemp("profile"))
    yield made
    made.close()
