"""gRPC over one HTTP/2 stream: request headers, length-prefixed messages, the status at the end."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final, Protocol

from hpack import NeverIndexedHeaderTuple

from client_under_test.reference.transport import backend_metrics
from client_under_test.reference.transport import status as statuses
from client_under_test.reference.transport.http2 import Connection, Header, Stream
from client_under_test.reference.values import BackendMetrics, Metadata, Status

USER_AGENT: Final = b"xdspec-reference/1"

# What gRPC itself writes into a request: a call's metadata cannot set it.
RESERVED: Final = frozenset({"content-type", "te", "user-agent", "host", "connection"})

_PREFIX: Final = 5  # one byte for compression, four for the length
_LARGEST_MESSAGE: Final = 1 << 28

_TIMEOUT_DIGITS: Final = 8


class RpcListener(Protocol):
    """Receives the events of an RPC. `finished` comes exactly once, and last."""

    def opened(self, headers: Sequence[Header]) -> None:
        """Take the response headers; a response may follow."""

    def message(self, data: bytes) -> None:
        """Take a whole response message."""

    def finished(self, status: Status, metrics: BackendMetrics | None = None) -> None:
        """Note that the RPC is over; `metrics` is the load that its backend reported."""


class Rpc:
    """One RPC on one connection.

    Args:
        connection: where it is sent.
        authority: the server's name as the channel has it.
        path: `/package.Service/Method`.
        metadata: pairs with lower-case names; values are bytes for names that end in -bin.
        timeout: seconds sent to the server as the deadline, or None.
        listener: receives the events.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        authority: str,
        path: str,
        metadata: Metadata = (),
        timeout: float | None = None,
        listener: RpcListener,
    ) -> None:
        self._listener = listener
        self._buffer = bytearray()
        self._last_headers: dict[bytes, bytes] = {}
        self._opened = False
        headers: list[Header] = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b":authority", authority.encode()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
            (b"user-agent", USER_AGENT),
        ]
        if timeout is not None:
            headers.append(NeverIndexedHeaderTuple(b"grpc-timeout", _timeout(timeout)))
        # What differs from call to call would only push what does not out of HPACK's table.
        headers += [
            NeverIndexedHeaderTuple(name.encode(), _on_the_wire(value))
            for name, value in metadata
            if name not in RESERVED and not name.startswith((":", "grpc-"))
        ]
        self._stream: Stream = connection.start_stream(headers, self)

    def send(self, message: bytes, *, end: bool = False) -> None:
        """Send a message; `end` says that it was the last one."""
        self._stream.send(b"\0" + len(message).to_bytes(4) + message, end=end)

    def cancel(self) -> None:
        """Give the RPC up: its listener hears no more of it."""
        self._stream.reset()

    # What the stream reports.

    def headers(self, headers: Sequence[Header]) -> None:
        """Keep the headers: those that end the stream have the status."""
        self._last_headers = dict(headers)
        if not self._opened and b"grpc-status" not in self._last_headers:
            self._opened = True
            if self._last_headers.get(b":status") == b"200":
                self._listener.opened(headers)

    def data(self, data: bytes) -> None:
        """Cut messages out of the body."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= _PREFIX:
            size = int.from_bytes(buffer[1:_PREFIX])
            if buffer[0] or size > _LARGEST_MESSAGE:
                self.cancel()
                words = "a compressed message came" if buffer[0] else f"a message has {size} bytes"
                self._listener.finished(Status("INTERNAL", words))
                return
            if len(buffer) < _PREFIX + size:
                return
            message = bytes(buffer[_PREFIX : _PREFIX + size])
            del buffer[: _PREFIX + size]
            self._listener.message(message)

    def ended(self) -> None:
        """Finish with the status of the trailers."""
        metrics = backend_metrics.of_trailers(self._last_headers)
        self._listener.finished(statuses.of_trailers(self._last_headers), metrics)

    def broken(self, error_code: int | None) -> None:
        """Finish without trailers."""
        status = statuses.lost() if error_code is None else statuses.of_reset(error_code)
        self._listener.finished(status)


def _on_the_wire(value: str | bytes) -> bytes:
    if isinstance(value, bytes):
        return base64.b64encode(value).rstrip(b"=")
    return value.encode()


def _timeout(seconds: float) -> bytes:
    """Format the `grpc-timeout` header: at most eight digits and a unit."""
    micros = max(1, round(seconds * 1_000_000))
    for unit, each in (("u", 1), ("m", 1000), ("S", 1_000_000)):
        if len(str(micros // each)) <= _TIMEOUT_DIGITS:
            return f"{micros // each}{unit}".encode()
    return b"9" * _TIMEOUT_DIGITS + b"S"
