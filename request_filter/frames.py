"""Frames of HTTP/2 in a stream of bytes (RFC 9113, section 4.1): where each ends. No I/O."""

from __future__ import annotations

_HEADER = 9
"""Bytes before each payload; the first three are its length."""


class Frames:
    """The frames that one side of a connection has sent so far; a server sends nothing else."""

    def __init__(self) -> None:
        self.count = 0
        """How many have been seen to their ends; the first one has the server's SETTINGS."""
        self._header = b""
        self._left = 0

    @property
    def is_between(self) -> bool:
        """Return whether the last frame is complete, so that the next byte starts a frame."""
        return not self._header and not self._left

    def feed(self, data: bytes) -> int | None:
        """Take in what came next.

        Returns:
            How many of these bytes belong to the frame that ends first among them; None if none
            does.
        """
        first, at = None, 0
        while at < len(data):
            if not self._left:
                wanted = _HEADER - len(self._header)
                self._header += data[at : at + wanted]
                at += wanted
                if len(self._header) < _HEADER:
                    break
                self._left = int.from_bytes(self._header[:3])
                self._header = b""
            else:
                taken = min(self._left, len(data) - at)
                self._left -= taken
                at += taken
            if not self._left:
                self.count += 1
                first = at if first is None else first
        return first
