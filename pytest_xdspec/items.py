"""What hooks and fixtures leave for each other; which tests have a world, and what they want."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final, NamedTuple

import pytest

from conformance.judging.declaration import AS_ALWAYS, Bootstrap
from conformance.runner.plugin.worlds import Wanted
from conformance.runner.settings import Settings
from conformance.runner.targets import Target
from pytest_xdspec.options import PluginOptions
from pytest_xdspec.user_world import World

SUBJECT: Final = "xdspec_subject"
"""The fixture on which that of a world rests: a test that has it has a world."""

MARK: Final = "xdspec"


class HeldClients(NamedTuple):
    """A world while its test runs."""

    world: World
    loop: asyncio.AbstractEventLoop


WISH: pytest.StashKey[PluginOptions] = pytest.StashKey()
SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
HELD: pytest.StashKey[HeldClients] = pytest.StashKey()
NEXT: pytest.StashKey[pytest.Item | None] = pytest.StashKey()
STARTED_AT: pytest.StashKey[float] = pytest.StashKey()
TOLD: pytest.StashKey[str] = pytest.StashKey()
"""What stands below the failure of a test."""

NO_CLIENT: Final = (
    "a test wants a world, and no client is named: add --xdspec-client CLIENT, such as "
    "--xdspec-client python, or `xdspec_clients` to pytest's configuration file"
)


def has_world(item: pytest.Item | None) -> bool:
    """Return whether a test requests a world, directly or through another fixture."""
    return SUBJECT in getattr(item, "fixturenames", ())


def name_of(item: pytest.Item) -> str:
    """``tests.test_tenants.test_one[go]``: a test as evidence and seeds name it."""
    return re.sub(r"(\.py)?::|/", ".", item.nodeid)


def subject_of(item: pytest.Item) -> Target | None:
    """Return the client of a test; None if no client is named."""
    settings = item.config.stash.get(SETTINGS, None)
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    number = parameters.get(SUBJECT)
    return settings.subjects[number] if settings and isinstance(number, int) else None


class Claimed(NamedTuple):
    """The arguments of a test's ``@pytest.mark.xdspec(…)``."""

    requires: tuple[str, ...] = ()
    """Capabilities."""
    settings: dict[str, int] = {}  # noqa: RUF012 - it is never changed
    bootstrap: Bootstrap = AS_ALWAYS


def claimed_by(item: pytest.Item) -> Claimed:
    """Return the arguments of a test's marks; a mark nearer to the test overrides a farther one.

    Raises:
        TypeError: a mark has unknown arguments.
    """
    given: dict[str, Any] = {}
    for mark in item.iter_markers(MARK):
        given = {**mark.kwargs, **given}
        if mark.args or not given.keys() <= {*Claimed._fields}:
            raise TypeError(
                f"{item.nodeid}: the mark `{MARK}` takes {', '.join(Claimed._fields)} by name"
            )
    return Claimed(**{**given, "requires": tuple(given.get("requires", ()))})


def wanted_by(item: pytest.Item | None) -> Wanted | None:
    """Return the launch requirements of a test's world; None if it has none."""
    if item is None or not has_world(item) or (subject := subject_of(item)) is None:
        return None
    claimed = claimed_by(item)
    return Wanted(subject, claimed.settings, claimed.bootstrap)
