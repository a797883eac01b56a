"""Rules of the connectivity that a channel tells, and of the wish to connect."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from client_under_test.contract.messages import StateName
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE, QUIET
from client_under_test.doctor.requirements import require


@check(
    "watch",
    rule="a watch reports the state at once and does not make the channel connect",
    advice="read the state without connecting; write `state` at once and at each change",
    after="open-channel",
    needs=("watch",),
)
async def _watch(adapter: AdapterUnderCheck) -> None:
    async with _listening() as (address, accepted):
        watch = await (await adapter.channel(address)).watch(deadline=ANSWER_DEADLINE)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIET):
                await accepted.wait()
        require(not accepted.is_set(), "the channel connected")
        require(watch.states[0].state == "IDLE", f"the first state was {watch.states[0].state}")


@check(
    "connect",
    rule="connect makes an idle channel connect, and a watch reports it",
    advice=(
        "ask the library to connect the channel, and write `done` without waiting for the "
        "connection"
    ),
    after="watch",
    needs=(
        "watch",
        "connect",
    ),
)
async def _connect(adapter: AdapterUnderCheck) -> None:
    channel = await adapter.channel()
    watch = await channel.watch(deadline=ANSWER_DEADLINE)
    await channel.connect(deadline=ANSWER_DEADLINE)
    ready: StateName = "READY"
    await watch.reached(ready, deadline=ANSWER_DEADLINE)


@contextlib.asynccontextmanager
async def _listening() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Listen at an address; yield it, and an event that is set at the first connection."""
    accepted = asyncio.Event()

    def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", accepted


CHECKS: Final = (_watch, _connect)
