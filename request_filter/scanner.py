"""What a client sends over one HTTP/2 connection, checked before the server gets it. No I/O."""

from __future__ import annotations

from typing import Final

from request_filter.exceptions import BadRequest
from request_filter.header_block import check_header_block

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER: Final = 9
_HEADERS, _CONTINUATION = 1, 9
_END_HEADERS, _PADDED, _PRIORITY = 0x4, 0x8, 0x20
_PRIORITY_BYTES: Final = 5

_LARGEST_BLOCK: Final = 1 << 16
"""Bytes of one header block. grpcio's server takes 16 KiB of headers, which no code makes more than
four times as long."""


_LARGEST_HELD: Final = 2 * _LARGEST_BLOCK  # with the headers of frames

_TOO_LARGE: Final = f"sent a header block of more than {_LARGEST_BLOCK:,} bytes"


class RequestScanner:
    """Finds the header blocks in the bytes of a client, in whatever pieces these come.

    The scanner ignores a connection that does not start with the HTTP/2 preface: the server closes
    it without reading a request.
    """

    def __init__(self) -> None:
        self._preface_left = _PREFACE
        self._is_http2 = True
        self._skip = 0  # bytes of a frame without headers whose beginning was passed on
        self._kept = bytearray()  # the beginning of a frame that is not whole yet
        self._needed = _FRAME_HEADER
        self._held = bytearray()  # whole frames of a header block that is not
        self._block = bytearray()
        self._stream = 0  # whose header block is under way; 0: of none

    def feed(self, data: bytes) -> bytes:
        """Take in what came next.

        Returns:
            What the server may get now. That is nothing of a header block before the whole of it is
            known: grpcio takes a request even if the connection ends within its headers.

        Raises:
            BadRequest: a request would end the server.
        """
        if not self._is_http2:
            return data
        preface = b""
        if self._preface_left:
            preface, data, self._is_http2 = self._split_preface(data)
            if not self._is_http2:
                return preface + data
        if self._kept:
            self._kept += data
            if len(self._kept) < self._needed:
                return preface
            data = bytes(self._kept)
            self._kept.clear()
        return preface + self._frames(data)

    def _split_preface(self, data: bytes) -> tuple[bytes, bytes, bool]:
        expected = self._preface_left[: len(data)]
        self._preface_left = self._preface_left[len(expected) :]
        return data[: len(expected)], data[len(expected) :], data.startswith(expected)

    def _frames(self, data: bytes) -> bytes:
        """Look at each frame; returns those that may be passed on."""
        passed: list[bytes] = []
        begin, at, end = 0, self._skip, len(data)
        while end - at >= _FRAME_HEADER:
            length, kind = int.from_bytes(data[at : at + 3]), data[at + 3]
            size = _FRAME_HEADER + length
            if kind in (_HEADERS, _CONTINUATION):
                if length > _LARGEST_BLOCK:
                    raise BadRequest(_TOO_LARGE)
                self._needed = size
                if end - at < size:
                    break
                self._needed = _FRAME_HEADER
                passed += self._in_order(data[begin:at], data[at : at + size])
                begin = at + size
            elif self._stream:
                raise BadRequest("sent another frame before the end of a header block")
            at += size
        stop = min(at, end)
        self._kept += data[stop:]
        self._skip = at - stop
        passed.append(data[begin:stop])
        return b"".join(passed)

    def _in_order(self, before: bytes, frame: bytes) -> list[bytes]:
        """Return the frames before a header frame, and that frame once its block is complete."""
        self._held += frame
        if len(self._held) > _LARGEST_HELD:
            raise BadRequest(_TOO_LARGE)
        self._header_frame(frame)
        if self._stream:
            return [before]
        whole = bytes(self._held)
        self._held.clear()
        return [before, whole]

    def _header_frame(self, frame: bytes) -> None:
        kind, flags = frame[3], frame[4]
        stream = int.from_bytes(frame[5:9]) & 0x7FFFFFFF
        if kind == _CONTINUATION and (not stream or stream != self._stream):
            raise BadRequest("sent the continuation of no header block")
        if kind == _HEADERS and (not stream or self._stream):
            raise BadRequest("sent a header block that belongs to no stream, or within another")
        self._block += _fragment(frame) if kind == _HEADERS else frame[_FRAME_HEADER:]
        if len(self._block) > _LARGEST_BLOCK:
            raise BadRequest(_TOO_LARGE)
        self._stream = stream
        if flags & _END_HEADERS:
            block = bytes(self._block)
            self._block.clear()
            self._stream = 0
            check_header_block(block)


def _fragment(frame: bytes) -> bytes:
    """Return the header block fragment of a HEADERS frame, without padding and priority."""
    begin, end = _FRAME_HEADER, len(frame)
    if frame[4] & _PADDED:
        padding = frame[begin : begin + 1]
        begin += 1
        end -= padding[0] if padding else 0
    if frame[4] & _PRIORITY:
        begin += _PRIORITY_BYTES
    if begin > end:
        raise BadRequest("sent a frame that is shorter than its padding")
    return frame[begin:end]
