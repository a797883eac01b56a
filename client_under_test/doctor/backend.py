"""The doctor's own gRPC server: it notes what comes, and treats a call as its metadata says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import grpc
import msgspec
from grpc import aio

from client_under_test.doctor.deadlines import MEETING, MOMENT
from client_under_test.launching.channels import CALL_ID_KEY
from request_filter import HiddenServer, Proxy

SERVICE: Final = "grpc.testing.TestService"
UNARY: Final = f"/{SERVICE}/UnaryCall"
DUPLEX: Final = f"/{SERVICE}/FullDuplexCall"

# The key that tells the backend how to treat a call: sleep-MILLISECONDS, status-NUMBER, or
# meet-NUMBER, which ends the call soon after NUMBER calls have been in progress at once, or after
# MEETING seconds; or headers, for an answer with RESPONSE_HEADERS.
TREATMENT: Final = "doctor"

RESPONSE_HEADERS: Final = (("set-cookie", "b=2"), ("other", "x"), ("set-cookie", "a=1"))


class Received(msgspec.Struct, frozen=True):
    """A call that reached the backend."""

    path: str
    metadata: tuple[tuple[str, str | bytes], ...]

    @property
    def call_id(self) -> str | bytes | None:
        """The id that the suite gave it."""
        return next((value for key, value in self.metadata if key == CALL_ID_KEY), None)


class Backend:
    """A gRPC server that notes what comes, and does as a call's metadata says."""

    def __init__(self) -> None:
        self.address = ""
        self.received: list[Received] = []
        self.troubles: list[str] = []
        self.refused: list[str] = []
        self.under_way = 0
        self.most_under_way = 0
        self.idle = asyncio.Event()
        self._news = asyncio.Event()
        self._half_closed = asyncio.Event()
        self._server = HiddenServer(self._make, self.troubles.append)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls) -> AsyncIterator[Backend]:
        """Serve on a loopback port until the end of the block."""
        backend = cls()
        server = backend._server
        await server.start()
        proxy = Proxy(server, backend.refused.append)
        try:
            port = await proxy.listen("127.0.0.1", 0)
            backend.address = f"127.0.0.1:{port}"
            yield backend
        finally:
            proxy.close()
            await server.stop()
            await proxy.end()

    async def probe(self) -> None:
        """Add to `troubles` if the gRPC server has ended unexpectedly and unnoticed."""
        await self._server.probe()

    async def _make(self) -> Any:
        server = aio.server(options=(("grpc.so_reuseport", 0),))
        handlers: dict[str, Any] = {
            "UnaryCall": grpc.unary_unary_rpc_method_handler(self._unary),
            "FullDuplexCall": grpc.stream_stream_rpc_method_handler(self._duplex),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        return server

    def of(self, name: str) -> list[Received]:
        """Return the received calls with this id."""
        return [call for call in self.received if call.call_id == name]

    async def was_half_closed(self, within: float) -> bool:
        """Return whether the client half-closes the last stream within `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._half_closed.wait()
        return self._half_closed.is_set()

    async def _unary(self, _request: bytes, context: Any) -> bytes:
        async with self._noted(UNARY, context) as treatment:
            kind, _, number = treatment.partition("-")
            if kind == "sleep":
                await asyncio.sleep(int(number) / 1000)
            if kind == "meet":
                await self._meet(int(number))
            if kind == "status":
                code = next(c for c in grpc.StatusCode if c.value[0] == int(number))
                await context.abort(code, f"words of {code.name}")
            return b""

    async def _meet(self, count: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MEETING):
                while self.most_under_way < count:
                    await self._news.wait()
        await asyncio.sleep(MOMENT)

    async def _duplex(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async with self._noted(DUPLEX, context):
            self._half_closed.clear()
            async for _ in requests:
                pass
            self._half_closed.set()
            await asyncio.Event().wait()  # until it is cancelled
            yield b""

    @contextlib.asynccontextmanager
    async def _noted(self, path: str, context: Any) -> AsyncIterator[str]:
        metadata = tuple((key, value) for key, value in context.invocation_metadata())
        self.received.append(Received(path, metadata))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self._news.set()
        self._news = asyncio.Event()
        self.idle.clear()
        try:
            treatment = str(dict(metadata).get(TREATMENT, ""))
            further = RESPONSE_HEADERS if treatment == "headers" else ()
            await context.send_initial_metadata((("hostname", self.address), *further))
            yield treatment
        finally:
            self.under_way -= 1
            if not self.under_way:
                self.idle.set()
