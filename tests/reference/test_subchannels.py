"""Subchannels: their states, backoff and end, against a scripted server."""

from __future__ import annotations

import asyncio

from client_under_test.reference.transport.status import OK
from client_under_test.reference.values import State
from tests.reference.scripted_server import (
    Scripted,
    Watched,
    stream_of,
    unary,
)

from .rig import FAST, until

# Subchannels.


async def test_ready_means_that_the_settings_have_come(
    scripted: Scripted, watched: Watched
) -> None:
    scripted.silent = True
    watched.subchannel.connect()
    await until(lambda: scripted.connections)
    assert watched.states == [State.CONNECTING]
    scripted.server.greet()
    await watched.reached(State.CONNECTING, State.READY)


async def test_a_server_that_stays_silent_is_given_up(scripted: Scripted) -> None:
    scripted.silent = True
    watched = Watched(scripted.address, connect_timeout=5.0)
    watched.subchannel.connect()
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    status = watched.statuses[1]
    assert status is not None
    assert "did not get ready within 5 s" in status.details
    watched.subchannel.close()


async def test_a_failure_lasts_for_its_backoff_and_only_connect_ends_idleness(
    scripted: Scripted,
) -> None:
    failures: list[int] = []

    def delay(count: int, _draw: float) -> float:
        failures.append(count)
        return 3.0

    scripted.silent = True
    watched = Watched(scripted.address, delay=delay)
    loop = asyncio.get_running_loop()
    for attempt in (1, 2):
        began = loop.time()
        watched.subchannel.connect()
        await until(lambda: len(scripted.connections) == attempt)  # noqa: B023 - waited for here
        scripted.server.end()
        await watched.reached(*[State.CONNECTING, State.TRANSIENT_FAILURE, State.IDLE] * attempt)
        assert loop.time() - began >= 3.0 * FAST
    assert failures == [1, 2]
    watched.subchannel.close()


async def test_connect_counts_only_while_idle(scripted: Scripted, watched: Watched) -> None:
    await watched.ready()
    watched.subchannel.connect()
    assert watched.states == [State.CONNECTING, State.READY]
    assert len(scripted.connections) == 1


async def test_success_makes_the_next_failure_the_first(scripted: Scripted) -> None:
    failures: list[int] = []

    def delay(count: int, _draw: float) -> float:
        failures.append(count)
        return 0.5

    watched = Watched(scripted.address, delay=delay)
    for silent in (True, False, True):
        scripted.silent = silent
        seen = len(scripted.connections)
        watched.subchannel.connect()
        await until(lambda: len(scripted.connections) > seen)  # noqa: B023 - waited for here
        if not silent:
            await until(lambda: watched.subchannel.connection is not None)
        scripted.server.end()
        await until(lambda: watched.subchannel.state is State.IDLE)
    assert failures == [1, 2, 1]
    watched.subchannel.close()


async def test_a_lost_connection_makes_it_idle_and_fails_its_calls(
    scripted: Scripted, watched: Watched
) -> None:
    _, answer = unary(await watched.ready())
    await stream_of(scripted)
    scripted.server.end()
    assert (await answer.over()).code == "UNAVAILABLE"
    await watched.reached(State.CONNECTING, State.READY, State.IDLE)


async def test_nobody_there(scripted: Scripted) -> None:
    watched = Watched("127.0.0.1:1")
    watched.subchannel.connect()
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    assert not scripted.connections
    watched.subchannel.close()


async def test_what_is_no_http2(scripted: Scripted, watched: Watched) -> None:
    scripted.silent = True
    watched.subchannel.connect()
    await until(lambda: scripted.connections)
    transport = scripted.server.transport
    assert transport is not None
    transport.write(b"\0\0\5\4\0\0\0\0\0" + bytes(5))  # SETTINGS are of six bytes each
    await until(lambda: State.TRANSIENT_FAILURE in watched.states)
    status = watched.statuses[1]
    assert status is not None
    assert "broke HTTP/2" in status.details


async def test_after_goaway_streams_go_on_and_no_new_ones_start(
    scripted: Scripted, watched: Watched
) -> None:
    _, taken = unary(await watched.ready())
    stream = await stream_of(scripted)
    server = scripted.server
    server.h2._data_to_send += _goaway(stream)
    server.flush()
    await watched.reached(State.CONNECTING, State.READY, State.IDLE)
    assert watched.subchannel.connection is None
    server.answer(stream)
    assert await taken.over() == OK
    await until(lambda: server.transport is not None and server.transport.is_closing())


def _goaway(last: int) -> bytes:
    """Made by hand: h2 would not send anything after it."""
    payload = last.to_bytes(4) + (0).to_bytes(4)
    return len(payload).to_bytes(3) + b"\x07\x00" + bytes(4) + payload
