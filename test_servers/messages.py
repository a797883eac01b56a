"""Messages and headers of gRPC over HTTP/2 (PROTOCOL-HTTP2.md), as a server meets them. No I/O."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
import zlib
from collections.abc import Iterable
from typing import Final

import grpc

from test_servers.ledger import Metadata

__all__ = ["MessageReader", "Unreadable", "header_of", "metadata_of", "prefixed", "timeout_of"]

LARGEST_MESSAGE: Final = 1 << 22
"""Bytes of a request's message, as with the servers of gRPC by default."""

_PREFIX: Final = 5

_BINARY: Final = b"-bin"

_TRANSPORT: Final = frozenset(
    {b"te", b"content-type", b"grpc-timeout", b"grpc-encoding", b"grpc-accept-encoding", b"host"}
)
"""Headers of the protocol itself, which grpcio does not show its handlers."""

_TIMEOUT: Final = re.compile(rb"(\d{1,8})([HMSmun])")
_UNITS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}

_WINDOW_BITS: Final = {b"gzip": 31, b"deflate": 15}

_UNCHANGED: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


class Unreadable(Exception):
    """A request cannot be read; has the status to end it with."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class MessageReader:
    """Finds the messages in the bytes of one stream, in whatever pieces these come.

    Args:
        encoding: of the request's header `grpc-encoding`.
    """

    def __init__(self, encoding: bytes) -> None:
        self._encoding = encoding
        self._kept = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that are complete now.

        Raises:
            Unreadable: one is too large, or its compression is unknown.
        """
        data = self._kept + data
        messages: list[bytes] = []
        at = 0
        while len(data) - at >= _PREFIX:
            size = int.from_bytes(data[at + 1 : at + _PREFIX])
            _check_size(size)
            end = at + _PREFIX + size
            if len(data) < end:
                break
            message = data[at + _PREFIX : end]
            messages.append(self._decompressed(message) if data[at] else message)
            at = end
        self._kept = data[at:]
        return messages

    def _decompressed(self, message: bytes) -> bytes:
        bits = _WINDOW_BITS.get(self._encoding)
        if bits is None:
            name = self._encoding.decode(errors="replace")
            details = f"the server knows no compression {name!r}"
            raise Unreadable(grpc.StatusCode.UNIMPLEMENTED, details)
        try:
            whole = zlib.decompressobj(bits).decompress(message, LARGEST_MESSAGE + 1)
        except zlib.error as error:
            raise Unreadable(
                grpc.StatusCode.INTERNAL, f"the message cannot be decompressed: {error}"
            ) from None
        _check_size(len(whole))
        return whole


def _check_size(size: int) -> None:
    if size > LARGEST_MESSAGE:
        details = f"the message is larger than {LARGEST_MESSAGE:,} bytes"
        raise Unreadable(grpc.StatusCode.RESOURCE_EXHAUSTED, details)


def prefixed(message: bytes) -> bytes:
    """Return a message as on the wire, uncompressed."""
    return b"\0" + len(message).to_bytes(4) + message


def timeout_of(value: bytes) -> float | None:
    """Return the seconds of a header `grpc-timeout`; None if it has none."""
    found = _TIMEOUT.fullmatch(value)
    return int(found[1]) * _UNITS[found[2]] if found else None


def metadata_of(headers: Iterable[tuple[bytes, bytes]]) -> Metadata:
    """Return the metadata of a request, with repeats and `user-agent`.

    Raises:
        Unreadable: a binary value is not base64.
    """
    metadata: list[tuple[str, str | bytes]] = []
    for key, value in headers:
        if key.startswith(b":") or key in _TRANSPORT:
            continue
        name = key.decode("latin-1")
        if key.endswith(_BINARY):
            metadata += [(name, _decoded(name, part)) for part in value.split(b",")]
        else:
            metadata.append((name, _text(value)))
    return tuple(metadata)


def _decoded(name: str, value: bytes) -> bytes:
    value = value.strip()
    try:
        return base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        raise Unreadable(grpc.StatusCode.INTERNAL, f"the value of {name} is not base64") from None


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def header_of(key: str, value: str | bytes) -> tuple[bytes, bytes]:
    """Return metadata as a header."""
    if isinstance(value, bytes):
        return key.encode(), base64.b64encode(value).rstrip(b"=")
    return key.encode(), value.encode()


def status_headers(code: grpc.StatusCode, details: str) -> list[tuple[bytes, bytes]]:
    """Return the trailers that tell a status."""
    headers = [(b"grpc-status", str(code.value[0]).encode())]
    if details:
        message = urllib.parse.quote(details, safe=_UNCHANGED)
        headers.append((b"grpc-message", message.encode()))
    return headers
