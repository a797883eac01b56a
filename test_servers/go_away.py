"""The frame with which a backend says that it takes no more requests."""

from __future__ import annotations

from hyperframe.frame import GoAwayFrame

__all__ = ["GO_AWAY"]

GO_AWAY = GoAwayFrame(last_stream_id=2**31 - 1).serialize()
"""The first of the two with which a server ends a connection in good order (RFC 9113, section 6.8):
new requests belong elsewhere, and none of those under way is lost."""
