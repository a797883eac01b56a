"""Endpoints that serve again: what counts as having been tried."""

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from client_under_test import find, prepare
from conformance import timing
from conformance.judging.aborts import ClientStuck
from conformance.judging.evidence import Judged
from conformance.scenarios.helpers.priorities import serve_again
from conformance.spec.catalogue import load
from conformance.world import World, launch
from test_servers import Close, Endpoint, Fleet, Ledger, Mode


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    prepared = prepare(find("reference"))
    launched = await launch(prepared, environment={}, knobs={}, stderr=tmp_path / "stderr")
    judged = Judged(name="reference", version=prepared.version, variant=None, follows=())
    made = World(
        launched, await Fleet.start(), catalogue=load(), client=judged, rng=random.Random(1)
    )
    try:
        await launched.process.greet(deadline=timing.HELLO)
        yield made
    finally:
        await made.close()


async def try_once(world: World, endpoint: Endpoint) -> None:
    """Connect as a client would, and wait until it has been seen."""
    host, _, port = endpoint.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    await world.attempts.demand_count(endpoint, why="it is tried here")
    writer.close()


async def test_an_attempt_counts_from_the_change_of_mode_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backoff of the first may be over before the mode of the second has changed.

    It may even have been accepted before, and told of since.
    """
    told = Ledger.accepted

    def late(ledger: Ledger, endpoint: str, peer: str, mode: Mode, at: float) -> int:
        return told(ledger, endpoint, peer, mode, at - timing.QUIET / 10)

    monkeypatch.setattr(Ledger, "accepted", late)
    members = await world.endpoints(2, mode=Close())
    first = members[0]
    set_mode = Endpoint.set_mode

    async def and_try(endpoint: Endpoint, mode: object) -> None:
        await set_mode(endpoint, mode)  # type: ignore[arg-type]
        if endpoint is first:
            await try_once(world, first)

    monkeypatch.setattr(Endpoint, "set_mode", and_try)
    await serve_again(world, members)


async def test_an_attempt_that_still_failed_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = world.attempts
    monkeypatch.setattr(watch, "demand_one", partial(watch.demand_one, within=timing.QUIET))
    members = await world.endpoints(2, mode=Close())
    second = members[1]
    set_mode = Endpoint.set_mode

    async def and_try(endpoint: Endpoint, mode: object) -> None:
        if endpoint is second:
            await try_once(world, second)
        await set_mode(endpoint, mode)  # type: ignore[arg-type]

    monkeypatch.setattr(Endpoint, "set_mode", and_try)
    with pytest.raises(ClientStuck, match="no attempt to connect"):
        await serve_again(world, members)
