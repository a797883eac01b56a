"""A gRPC server for one connection: HTTP/2 by h2, in the process and loop of the gate before it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final, cast

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import Frame, GoAwayFrame

from test_servers.server_call import LARGEST_HEADERS, Method, ServerCall

_CONFIG: Final = h2.config.H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)

_LARGEST_DECODED: Final = 1 << 20
"""Bytes of a header block in full; one that is larger ends the connection, not only its stream."""

_SETTINGS: Final = {
    h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 2**31 - 1,
    h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: LARGEST_HEADERS,
}
"""As of grpcio's server: no scenario is about a limit of the backend."""


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
