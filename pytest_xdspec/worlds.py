"""The fixtures: a world for each test, whose client warms up while the test before it runs."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from client_under_test.contract.exceptions import ConversationFailed
from conformance.judging import causes
from conformance.runner.plugin.worlds import Worlds
from conformance.runner.settings import Settings
from conformance.runner.targets import Target
from conformance.spec.catalogue import load
from pytest_xdspec.items import (
    HELD,
    NEXT,
    NO_CLIENT,
    SETTINGS,
    HeldClients,
    claimed_by,
    name_of,
    wanted_by,
)
from pytest_xdspec.user_world import World
from test_servers import Fleet


@pytest.fixture(scope="session")
def xdspec_subject(request: pytest.FixtureRequest) -> Target:
    """Provide the client that tests run against."""
    number = getattr(request, "param", None)
    if number is None:
        pytest.fail(NO_CLIENT, pytrace=False)
    settings: Settings = request.config.stash[SETTINGS]
    chosen: Target = settings.subjects[number]
    return chosen


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def xdspec_worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """Provide the launcher of this process's worlds."""
    made = Worlds(str(tmp_path_factory.mktemp("xdspec")))
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def world(
    request: pytest.FixtureRequest, xdspec_worlds: Worlds, xdspec_subject: Target
) -> AsyncIterator[World]:
    """Provide a control plane, backends and a client process for this test alone."""
    item = request.node
    wanted = wanted_by(item)
    assert wanted is not None, "a test that has this fixture has its client"
    able = xdspec_subject.prepared.client.manifest.capabilities
    if lacks := [need for need in claimed_by(item).requires if need not in able]:
        pytest.skip(f"the adapter cannot do this: {', '.join(lacks)}")
    if wanted.missing():
        pytest.skip(f"the client has no knob for this: {wanted.missing()}")
    try:
        launched = await xdspec_worlds.take(wanted, wanted_by(item.stash[NEXT]))
    except ConversationFailed as failure:
        pytest.fail(causes.of(failure).what, pytrace=False)
    made = World(
        launched,
        await Fleet.start(),
        catalogue=load(),
        client=xdspec_subject.judged,
        rng=random.Random(f"{request.config.stash[SETTINGS].seed} {name_of(item)}"),
    )
    item.stash[HELD] = HeldClients(made, asyncio.get_running_loop())
    try:
        with made.clock.lateness:
            yield made
    finally:
        del item.stash[HELD]
        await made.close()
        for process in made.channels.processes:
            shutil.rmtree(process.folder, ignore_errors=True)
