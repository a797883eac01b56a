"""The rule of a bootstrap for each channel, for adapters that state `bootstrap_per_channel`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Final

from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import MissingCapability, Violation

_TARGET: Final = "xds:///doctor.test"


class _ControlPlane:
    """A listener in the place of a control plane: it accepts connections and says nothing."""

    def __init__(self) -> None:
        self.port = 0
        self.asked = asyncio.Event()

    @classmethod
    @contextlib.asynccontextmanager
    async def listening(cls) -> AsyncIterator[_ControlPlane]:
        """Listen on a loopback port until the end of the block."""
        plane = cls()
        server = await asyncio.start_server(plane._accept, "127.0.0.1", 0)
        plane.port = server.sockets[0].getsockname()[1]
        try:
            yield plane
        finally:
            server.close()

    def _accept(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        writer.close()

    @property
    def bootstrap(self) -> str:
        """The bootstrap configuration that leads here."""
        server = {
            "server_uri": f"127.0.0.1:{self.port}",
            "channel_creds": [{"type": "insecure"}],
            "server_features": ["xds_v3"],
        }
        return json.dumps({"xds_servers": [server], "node": {"id": "doctor", "locality": {}}})


@check(
    "own-bootstrap",
    rule="each channel uses the bootstrap of its open_channel, and no other one",
    advice=(
        "give the channel the `bootstrap` of its request by the means that the library has for "
        "this, or leave `bootstrap_per_channel` out of the hello of versions without such means"
    ),
    after="unary",
    needs=("bootstrap_per_channel",),
)
async def _bootstrap_per_channel(adapter: AdapterUnderCheck) -> None:
    process = await adapter.process()
    if "bootstrap_per_channel" not in process.hello.capabilities:
        raise MissingCapability("this version of the library does not have it, as its hello says")
    channels = []
    async with contextlib.AsyncExitStack() as stack:
        for which in ("first", "second"):
            plane = await stack.enter_async_context(_ControlPlane.listening())
            channel = await process.open_channel(
                _TARGET, deadline=ANSWER_DEADLINE, bootstrap=plane.bootstrap
            )
            channels.append(channel)
            batch = await channel.start_calls([adapter.call()])
            try:
                async with asyncio.timeout(ANSWER_DEADLINE):
                    await plane.asked.wait()
            except TimeoutError:
                raise Violation(
                    f"the {which} of two channels did not connect to the control plane of its "
                    f"bootstrap within {ANSWER_DEADLINE:g} s of a call"
                ) from None
            await batch.cancel(deadline=ANSWER_DEADLINE)
    for channel in channels:
        await channel.close(deadline=ANSWER_DEADLINE)


CHECKS: Final = (_bootstrap_per_channel,)
