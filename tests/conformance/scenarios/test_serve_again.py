"""Endpoints that serve again: what counts as having been tried."""

import asyncio
from functools import partial

import pytest

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.scenarios.helpers.localities import serve_again
from conformance.world import World
from test_servers import BackendEndpoint, Close, Ledger, Mode


async def try_once(world: World, endpoint: BackendEndpoint) -> None:
    """Connect as a client would, and wait until it has been seen."""
    host, _, port = endpoint.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    await world.attempts.require_count(endpoint, why="it is tried here")
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
    set_mode = BackendEndpoint.set_mode

    async def and_try(endpoint: BackendEndpoint, mode: object) -> None:
        await set_mode(endpoint, mode)  # type: ignore[arg-type]
        if endpoint is first:
            await try_once(world, first)

    monkeypatch.setattr(BackendEndpoint, "set_mode", and_try)
    await serve_again(world, members)


async def test_an_attempt_that_still_failed_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = world.attempts
    monkeypatch.setattr(watch, "require_one", partial(watch.require_one, within=timing.QUIET))
    members = await world.endpoints(2, mode=Close())
    second = members[1]
    set_mode = BackendEndpoint.set_mode

    async def and_try(endpoint: BackendEndpoint, mode: object) -> None:
        if endpoint is second:
            await try_once(world, second)
        await set_mode(endpoint, mode)  # type: ignore[arg-type]

    monkeypatch.setattr(BackendEndpoint, "set_mode", and_try)
    with pytest.raises(PreconditionTimeout, match="expected an attempt to connect"):
        await serve_again(world, members)
