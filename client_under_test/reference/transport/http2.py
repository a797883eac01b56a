"""One HTTP/2 connection of a client: h2 for the protocol, an asyncio transport for the bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol, cast

from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

Header = tuple[bytes, bytes]

# Large enough that flow control never holds back a control plane's largest responses.
_WINDOW: Final = 1 << 24

_CONFIG: Final = H2Configuration(
    client_side=True,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
)


class StreamListener(Protocol):
    """Receives the events of a stream; `ended` or `broken` is the last."""

    def headers(self, headers: Sequence[Header]) -> None:
        """Response headers, or the trailers."""

    def data(self, data: bytes) -> None:
        """Bytes of the body."""

    def ended(self) -> None:
        """Note that the server half-closed the stream."""

    def broken(self, error_code: int | None) -> None:
        """Note a reset of the stream (an HTTP/2 code), or the end of the connection (None)."""


class ConnectionListener(Protocol):
    """Receives the events of a connection."""

    def ready(self) -> None:
        """Note that the server's SETTINGS have arrived."""

    def draining(self) -> None:
        """Note that the server accepts no more streams; accepted streams continue."""

    def closed(self, reason: str) -> None:
        """Note that the connection is gone, and every stream with it."""


class Stream:
    """A stream of a connection; it may still wait for the server to allow one more."""

    def __init__(self, connection: Connection, listener: StreamListener) -> None:
        self._connection = connection
        self.listener = listener
        self.id: int | None = None
        self.over = False
        self.unsent: deque[tuple[bytes, bool]] = deque()

    def send(self, data: bytes, *, end: bool = False) -> None:
        """Send bytes, as flow control allows; `end` ends this side."""
        if not self.over:
            self.unsent.append((data, end))
            self._connection.pump(self)

    def reset(self) -> None:
        """Cancel the stream; its listener hears no more of it."""
        if not self.over:
            self._connection.reset(self)


class Connection(asyncio.Protocol):
    """A connection from its first byte to its last."""

    def __init__(self, listener: ConnectionListener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._h2 = H2Connection(_CONFIG)
        initial = {SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW, SettingCodes.ENABLE_PUSH: 0}
        self._h2.local_settings = Settings(client=True, initial_values=initial)
        self._streams: dict[int, Stream] = {}
        self._waiting: deque[tuple[Stream, Sequence[Header]]] = deque()
        self._blocked: set[Stream] = set()
        self._flush_due = False
        self._settled = False
        self._draining = False
        self._closed = False
        self._retired = False

    # What a client asks for.

    def start_stream(self, headers: Sequence[Header], listener: StreamListener) -> Stream:
        """Open a stream with these headers, as soon as the server allows one more."""
        stream = Stream(self, listener)
        self._waiting.append((stream, headers))
        self._open_waiting()
        return stream

    def pump(self, stream: Stream) -> None:
        """Send what the windows allow of the stream's bytes."""
        number = stream.id
        if number is None or self._closed:
            return
        try:
            while stream.unsent:
                data, end = stream.unsent[0]
                room = min(
                    self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size
                )
                if len(data) <= room:
                    self._h2.send_data(number, data, end_stream=end)
                    stream.unsent.popleft()
                elif room > 0:
                    self._h2.send_data(number, data[:room])
                    stream.unsent[0] = (data[room:], end)
                else:
                    self._blocked.add(stream)
                    break
            else:
                self._blocked.discard(stream)
        except ProtocolError:  # the server has just reset the stream: its event is on the way
            stream.unsent.clear()
        self._flush_soon()

    def reset(self, stream: Stream) -> None:
        """Cancel a stream."""
        number = stream.id
        self._forget(stream)
        if number is not None and not self._closed:
            try:
                self._h2.reset_stream(number, ErrorCodes.CANCEL)
            except ProtocolError:
                return  # it is over on both sides
            self._flush_soon()
            self._open_waiting()

    def close_when_unused(self) -> None:
        """End the connection when its last stream is over; no more are started."""
        self._retired = True
        if not self._streams and not self._waiting:
            self.close()

    def close(self) -> None:
        """End the connection; the listener is not told."""
        if not self._closed:
            self._closed = True
            if self._transport is not None:
                if not self._draining:
                    self._h2.close_connection()
                    self._transport.write(self._h2.data_to_send())
                self._transport.close()
            self._break_streams()

    # What asyncio reports.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the preface and our SETTINGS."""
        self._transport = cast("asyncio.Transport", transport)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take in bytes; a server that breaks HTTP/2 loses the connection."""
        if self._closed:
            return
        try:
            events = self._h2.receive_data(data)
        except ProtocolError as trouble:
            self._flush()
            self._lost(f"the server broke HTTP/2: {trouble or type(trouble).__name__}")
            return
        for event in events:
            _HANDLERS.get(type(event), _ignore)(self, event)
        if not self._closed:
            self._open_waiting()
            self._flush_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the transport is gone."""
        self._lost(f"the connection was lost: {exc}" if exc else "the server closed the connection")

    # Insides.

    def _open_waiting(self) -> None:
        most = self._h2.remote_settings.max_concurrent_streams
        while self._waiting and not self._closed and len(self._streams) < most:
            stream, headers = self._waiting.popleft()
            if stream.over:
                continue
            stream.id = self._h2.get_next_available_stream_id()
            self._streams[stream.id] = stream
            self._h2.send_headers(stream.id, headers)
            self.pump(stream)

    def _forget(self, stream: Stream) -> None:
        stream.over = True
        self._blocked.discard(stream)
        if stream.id is not None:
            self._streams.pop(stream.id, None)
            if self._retired and not self._streams and not self._closed:
                self._loop.call_soon(self.close)

    def _lost(self, reason: str) -> None:
        if self._closed:
            return
        self._closed = True
        if self._transport is not None:
            self._transport.close()
        self._listener.closed(reason)
        self._break_streams()

    def _break_streams(self) -> None:
        gone = [*self._streams.values(), *(stream for stream, _ in self._waiting)]
        self._waiting.clear()
        for stream in gone:
            if not stream.over:
                self._forget(stream)
                stream.listener.broken(None)

    def _flush_soon(self) -> None:
        """Write once in a round of the event loop, whatever has gathered until then."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        data = self._h2.data_to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    # Events of h2.

    def _on_settings(self, _event: RemoteSettingsChanged) -> None:
        if not self._settled:
            self._settled = True
            self._listener.ready()
        self._pump_blocked()

    def _on_window(self, _event: WindowUpdated) -> None:
        self._pump_blocked()

    def _pump_blocked(self) -> None:
        for stream in tuple(self._blocked):
            self.pump(stream)

    def _on_headers(self, event: ResponseReceived | TrailersReceived) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            stream.listener.headers(cast("Sequence[Header]", event.headers))

    def _on_data(self, event: DataReceived) -> None:
        if event.flow_controlled_length:
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            stream.listener.data(event.data)

    def _on_end(self, event: StreamEnded) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            if stream.unsent:  # the server has finished and needs no more data
                self.reset(stream)
            self._forget(stream)
            stream.listener.ended()

    def _on_reset(self, event: StreamReset) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is not None:
            self._forget(stream)
            stream.listener.broken(int(event.error_code))

    def _on_goaway(self, event: ConnectionTerminated) -> None:
        # h2 takes GOAWAY for the end, but streams that the server has taken go on (RFC 9113, 6.8).
        self._h2.state_machine.state = ConnectionState.CLIENT_OPEN
        if not self._draining:
            self._draining = True
            self._listener.draining()
        last = event.last_stream_id or 0
        refused = [stream for number, stream in self._streams.items() if number > last]
        refused += [stream for stream, _ in self._waiting]
        self._waiting.clear()
        for stream in refused:
            self._forget(stream)
            stream.listener.broken(int(ErrorCodes.REFUSED_STREAM))


def _ignore(_connection: Connection, _event: Event) -> None:
    """Events that ask for nothing: pings, which h2 answers, and acknowledgements."""


_HANDLERS: Final[dict[type[Event], Callable[[Connection, Event], None]]] = cast(
    "dict[type[Event], Callable[[Connection, Event], None]]",
    {
        RemoteSettingsChanged: Connection._on_settings,  # noqa: SLF001 - a table of its methods
        WindowUpdated: Connection._on_window,  # noqa: SLF001
        ResponseReceived: Connection._on_headers,  # noqa: SLF001
        TrailersReceived: Connection._on_headers,  # noqa: SLF001
        DataReceived: Connection._on_data,  # noqa: SLF001
        StreamEnded: Connection._on_end,  # noqa: SLF001
        StreamReset: Connection._on_reset,  # noqa: SLF001
        ConnectionTerminated: Connection._on_goaway,  # noqa: SLF001
    },
)
