"""The cookie of stateful session affinity, as a Listener or a route configures it (A55)."""

from __future__ import annotations

from typing import Any

import msgspec

from fake_control_plane.session_affinity import stateful_session


class SessionCookie(msgspec.Struct, frozen=True, kw_only=True):
    """The cookie of a StatefulSession."""

    name: str
    path: str = ""
    ttl: tuple[int, int] | None = None
    """Seconds and nanoseconds; None leaves it unset."""

    def __str__(self) -> str:
        path = f" for {self.path}" if self.path else ""
        return f"sessions by cookie {self.name}{path}"

    def resource(self) -> Any:
        """Return the StatefulSession."""
        return stateful_session(self.name, path=self.path, ttl=self.ttl)
