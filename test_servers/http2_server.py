"""A gRPC server for one connection: HTTP/2 by h2, in the process and loop of the gate before it."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NoReturn, cast

import grpc
import grpc.aio
import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from google.protobuf.message import DecodeError
from hyperframe.frame import Frame, GoAwayFrame

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

__all__ = ["Method", "ServerCall", "ServerConnection"]

_CONFIG: Final = h2.config.H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)

_LARGEST_HEADERS: Final = 16384
_HEADER_OVERHEAD: Final = 32
"""Bytes that each header counts beside its name and value (RFC 9113, section 6.5.2)."""

_LARGEST_DECODED: Final = 1 << 20
"""Bytes of a header block in full; one that is larger ends the connection, not only its stream."""

_SETTINGS: Final = {
    h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 2**31 - 1,
    h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: _LARGEST_HEADERS,
}
"""As of grpcio's server: no scenario is about a limit of the backend."""

_RESPONSE: Final = [(b":status", b"200"), (b"content-type", b"application/grpc")]

Handler = Callable[[Any, Any], Awaitable[Any]]


class Method:
    """A handler of a path.

    Args:
        handler: Gets the request (or an iterator of them) and the call, and returns a response;
            one that streams writes its responses to the call and returns nothing.
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
        self, connection: ServerConnection, stream: int, headers: list[tuple[bytes, bytes]]
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
        """Cancel the handler, and return its task if it has one that is not over."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is None or self._task.done():
            return None
        self._task.cancel()
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
            if not self.method.responses:
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
    if size > _LARGEST_HEADERS:
        details = f"the headers are larger than {_LARGEST_HEADERS:,} bytes"
        raise Unreadable(grpc.StatusCode.RESOURCE_EXHAUSTED, details)


class _Http2(h2.connection.H2Connection):
    """h2 takes GOAWAY for the end, but calls of a client that shuts down go on (RFC 9113, 6.8)."""

    def _receive_goaway_frame(
        self,
        frame: GoAwayFrame,  # noqa: ARG002 - h2's signature
    ) -> tuple[list[Frame], list[h2.events.Event]]:
        return [], []


class ServerConnection(asyncio.Transport):
    """A connection to the server, from the side of the gate: its transport.

    Args:
        origin: Where the connection comes from, for handlers.
        protocol: The gate's; receives what the server sends.
        find: Finds the handler of a path.
        report: Gets a sentence about a failure of a handler.
        ended: Called when the connection is over.
        cancelled: Gets the tasks of handlers while they end that were cancelled.
    """

    def __init__(
        self,
        origin: Any,
        protocol: asyncio.BufferedProtocol,
        find: Callable[[str], Method],
        report: Callable[[str], None],
        ended: Callable[[ServerConnection], None],
        cancelled: set[asyncio.Task[None]],
    ) -> None:
        super().__init__()
        self.origin = origin
        self.find = find
        self.report = report
        self._protocol = protocol
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, ServerCall] = {}
        self._http2 = _Http2(_CONFIG)
        self._http2.local_settings = h2.settings.Settings(
            client=False, initial_values=dict(_SETTINGS)
        )
        self._http2.initiate_connection()
        self._is_closing = False
        self._is_paused = False
        self._flushes = False
        self._cancelled = cancelled
        self._flush_soon()

    # What handlers send.

    def send_headers(self, stream: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Send response headers."""
        self._http2.send_headers(stream, headers)
        self._flush_soon()

    def send_data(self, stream: int, data: memoryview) -> int:
        """Send as much of the data as the window allows, and return how much that is."""
        window = self._http2.local_flow_control_window(stream)
        size = min(window, self._http2.max_outbound_frame_size, len(data))
        if size > 0:
            self._http2.send_data(stream, bytes(data[:size]))
            self._flush_soon()
        return max(size, 0)

    def send_last_headers(
        self, stream: int, headers: list[tuple[bytes, bytes]], *, is_reset: bool
    ) -> None:
        """Send trailers; reset a stream that the client has not half-closed."""
        if self._is_closing:
            return
        # h2 may know already of a reset or half-close that comes later in the same bytes.
        with contextlib.suppress(h2.exceptions.StreamClosedError):
            self._http2.send_headers(stream, headers, end_stream=True)
            if is_reset:
                self._http2.reset_stream(stream, h2.errors.ErrorCodes.NO_ERROR)
        self._calls.pop(stream, None)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushes = False
        if self._is_closing or self._is_paused:
            return
        self._deliver(self._http2.data_to_send())

    def _deliver(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            buffer = memoryview(self._protocol.get_buffer(len(data) - at))
            size = min(len(buffer), len(data) - at)
            buffer[:size] = data[at : at + size]
            self._protocol.buffer_updated(size)
            at += size

    # What the client sends.

    def write(self, data: Any) -> None:
        """Take in bytes of the client."""
        if self._is_closing or not data:
            return
        try:
            events = self._http2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self._deliver(self._http2.data_to_send())  # h2 says goodbye
            self.close()
            return
        for event in events:
            if (handler := _HANDLERS.get(type(event))) is not None:
                handler(self, event)
        self._flush_soon()

    def _request(self, event: h2.events.RequestReceived) -> None:
        call = ServerCall(self, event.stream_id, event.headers)
        if not call.is_over:
            self._calls[event.stream_id] = call

    def _data(self, event: h2.events.DataReceived) -> None:
        if event.flow_controlled_length:
            self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if (call := self._calls.get(event.stream_id)) is not None:
            call.receive(event.data)

    def _half_close(self, event: h2.events.StreamEnded) -> None:
        if (call := self._calls.get(event.stream_id)) is not None:
            call.half_close()

    def _reset(self, event: h2.events.StreamReset) -> None:
        if (call := self._calls.pop(event.stream_id, None)) is not None:
            self.cancel(call)

    def _window(self, _event: h2.events.Event) -> None:
        for call in tuple(self._calls.values()):
            call.window_opened()

    def _settings(self, _event: h2.events.SettingsAcknowledged) -> None:
        # h2 would end the connection for headers that are larger than announced.
        self._http2.decoder.max_header_list_size = _LARGEST_DECODED

    def cancel(self, call: ServerCall) -> None:
        """Cancel a call, and its handler if that still runs."""
        if (task := call.cancel()) is not None:
            self._cancelled.add(task)
            task.add_done_callback(self._cancelled.discard)

    # The rest of a transport.

    def write_eof(self) -> None:
        """Note that the client sends no more: a server then gives its calls up."""
        self.close()

    def is_closing(self) -> bool:
        """Return whether it is closed."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Deliver nothing for now; the client's windows bound what waits."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Deliver again."""
        self._is_paused = False
        self._flush_soon()

    def close(self) -> None:
        """Cancel every call, and end the connection."""
        if self._is_closing:
            return
        self._is_closing = True
        for call in self._calls.values():
            self.cancel(call)
        self._calls.clear()
        self._ended(self)
        self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """End the connection at once."""
        self.close()


_HANDLERS: Final = cast(
    "dict[type[h2.events.Event], Callable[[ServerConnection, h2.events.Event], None]]",
    {
        h2.events.RequestReceived: ServerConnection._request,  # noqa: SLF001 - a table of its methods
        h2.events.DataReceived: ServerConnection._data,  # noqa: SLF001
        h2.events.StreamEnded: ServerConnection._half_close,  # noqa: SLF001
        h2.events.StreamReset: ServerConnection._reset,  # noqa: SLF001
        h2.events.WindowUpdated: ServerConnection._window,  # noqa: SLF001
        h2.events.RemoteSettingsChanged: ServerConnection._window,  # noqa: SLF001
        h2.events.SettingsAcknowledged: ServerConnection._settings,  # noqa: SLF001
    },
)
