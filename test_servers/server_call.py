"""One RPC to a backend, as its handler sees it."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NoReturn, Protocol

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from test_servers.ledger import Metadata
from test_servers.messages import (
    MessageReader,
    Unreadable,
    header_of,
    metadata_of,
    prefixed,
    status_headers,
    timeout_of,
)

LARGEST_HEADERS: Final = 16384
_HEADER_OVERHEAD: Final = 32
"""Bytes that each header counts beside its name and value (RFC 9113, section 6.5.2)."""

_RESPONSE: Final = [(b":status", b"200"), (b"content-type", b"application/grpc")]

Handler = Callable[[Any, Any], Awaitable[Any]]


class Connection(Protocol):
    """The connection of a call, as `http2_server.ServerConnection` implements it."""

    origin: Any
    find: Callable[[str], Method]
    report: Callable[[str], None]

    def send_headers(self, stream: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Send response headers."""

    def send_data(self, stream: int, data: memoryview) -> int:
        """Send as much of the data as the window allows, and return how much that is."""

    def send_last_headers(
        self, stream: int, headers: list[tuple[bytes, bytes]], *, is_reset: bool
    ) -> None:
        """Send trailers; reset a stream that the client has not half-closed."""

    def cancel(self, call: ServerCall) -> None:
        """Cancel a call, and its handler if that still runs."""


class Method:
    """A handler of a path.

    Args:
        handler: Gets the request (or an iterator of them) and the call, and returns a response;
            one that streams writes its responses to the call and returns nothing. The request is
            None if the RPC was cancelled before it came.
        decode: Makes a request of bytes.
        encode: Makes bytes of a response.
        requests: Whether it gets an iterator of requests.
        responses: Whether it streams.
    """

    def __init__(
        self,
        handler: Handler,
        decode: Callable[[bytes], Any] = bytes,
        encode: Callable[[Any], bytes] = bytes,
        *,
        requests: bool = False,
        responses: bool = False,
    ) -> None:
        self.handler = handler
        self.decode = decode
        self.encode = encode
        self.requests = requests
        self.responses = responses


class ServerCall:
    """One RPC, for its handler: as much of grpcio's `ServicerContext` as handlers here use."""

    def __init__(
        self, connection: Connection, stream: int, headers: list[tuple[bytes, bytes]]
    ) -> None:
        fields = dict(headers)
        self._connection = connection
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._reader = MessageReader(fields.get(b"grpc-encoding", b"identity"))
        self._messages: collections.deque[bytes] = collections.deque()
        self._half_closed = False
        self._changed: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._headers_sent = False
        self._trailers: list[tuple[bytes, bytes]] = []
        self._code = grpc.StatusCode.OK
        self._details = ""
        self._is_over = False
        self._expires: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        if (seconds := timeout_of(fields.get(b"grpc-timeout", b""))) is not None:
            self._expires = self._loop.time() + seconds
            self._timer = self._loop.call_later(seconds, self._expire)
        self.method = connection.find(fields.get(b":path", b"").decode(errors="replace"))
        self._metadata: Metadata = ()
        try:
            _check_size(headers)
            self._metadata = metadata_of(headers)
        except Unreadable as why:
            self.end(why.code, why.details)
            return
        if self.method.requests:
            self._start(self._requests())

    @property
    def origin(self) -> Any:
        """Return where the connection comes from."""
        return self._connection.origin

    # For the connection.

    @property
    def is_over(self) -> bool:
        """Return whether the status was sent, or the client gave up."""
        return self._is_over

    def receive(self, data: bytes) -> None:
        """Take in bytes of the request."""
        if self._is_over:
            return
        try:
            self._messages += self._reader.feed(data)
        except Unreadable as why:
            self._break_off(why.code, why.details)
            return
        if self._messages and self._task is None:
            try:
                request = self._next()
            except Unreadable as why:
                self._break_off(why.code, why.details)
                return
            self._start(request)
        self._wake()

    def _next(self) -> Any:
        try:
            return self.method.decode(self._messages.popleft())
        except DecodeError as error:
            details = f"the message cannot be decoded: {error}"
            raise Unreadable(grpc.StatusCode.INTERNAL, details) from None

    def half_close(self) -> None:
        """Note that no more of the request comes."""
        self._half_closed = True
        if self._task is None and not self._is_over:
            self.end(grpc.StatusCode.INTERNAL, "the request has no message")
        self._wake()

    def cancel(self) -> asyncio.Task[None] | None:
        """Cancel the handler, and return its task if that is not over.

        The handler starts in any case: an RPC whose reset comes with its headers was received.
        """
        if self._task is None and not self._is_over:
            self._start(None)
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is None or self._task.done():
            return None
        self._loop.call_soon(self._task.cancel)  # after its first step
        return self._task

    def _expire(self) -> None:
        self._break_off(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")

    def _break_off(self, code: grpc.StatusCode, details: str) -> None:
        self.end(code, details)
        self._connection.cancel(self)

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def window_opened(self) -> None:
        """Continue to send what waits for the client's window."""
        self._wake()

    async def _change(self) -> None:
        self._changed = self._loop.create_future()
        await self._changed

    async def _requests(self) -> AsyncIterator[Any]:
        while True:
            while self._messages:
                yield self._next()
            if self._half_closed:
                return
            await self._change()

    def _start(self, request: Any) -> None:
        self._task = self._loop.create_task(self._run(request))

    async def _run(self, request: Any) -> None:
        try:
            response = await self.method.handler(request, self)
            if not self.method.responses and not self._is_over:
                await self.write(response)
        except grpc.aio.AbortError:
            pass
        except Unreadable as why:
            self._code, self._details = why.code, why.details
        except Exception as error:  # noqa: BLE001 - reported, and the client gets a status
            self._connection.report(f"a backend failed: {error!r}")
            self._code, self._details = grpc.StatusCode.UNKNOWN, "the backend failed"
        self.end(self._code, self._details)

    def end(self, code: grpc.StatusCode, details: str) -> None:
        """Send the status, unless the call is over."""
        if self._is_over:
            return
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        before = [] if self._headers_sent else _RESPONSE
        headers = [*before, *status_headers(code, details), *self._trailers]
        self._connection.send_last_headers(self._stream, headers, is_reset=not self._half_closed)

    # For the handler.

    def invocation_metadata(self) -> Metadata:
        """Return the request's metadata."""
        return self._metadata

    def time_remaining(self) -> float | None:
        """Return the seconds to the deadline; None without one."""
        return None if self._expires is None else max(self._expires - self._loop.time(), 0.0)

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        """Send the response headers."""
        self._send_headers(metadata)

    def _send_headers(self, metadata: Metadata) -> None:
        if not self._is_over:
            self._headers_sent = True
            headers = [*_RESPONSE, *(header_of(key, value) for key, value in metadata)]
            self._connection.send_headers(self._stream, headers)

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """Set what is sent with the status."""
        self._trailers = [header_of(key, value) for key, value in metadata]

    async def write(self, response: Any) -> None:
        """Send a response, as fast as the client's window allows."""
        if not self._headers_sent:
            self._send_headers(())
        left = memoryview(prefixed(self.method.encode(response)))
        while left and not self._is_over:
            sent = self._connection.send_data(self._stream, left)
            left = left[sent:]
            if not sent:
                await self._change()

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        """End the call with this status.

        Raises:
            grpc.aio.AbortError: always.
        """
        self._code, self._details = code, details
        raise grpc.aio.AbortError

    def code(self) -> grpc.StatusCode:
        """Return the status that `abort` has set."""
        return self._code


def _check_size(headers: list[tuple[bytes, bytes]]) -> None:
    size = sum(len(key) + len(value) + _HEADER_OVERHEAD for key, value in headers)
    if size > LARGEST_HEADERS:
        details = f"the headers are larger than {LARGEST_HEADERS:,} bytes"
        raise Unreadable(grpc.StatusCode.RESOURCE_EXHAUSTED, details)
