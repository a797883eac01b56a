"""Expectations of connection attempts."""

from __future__ import annotations

import msgspec

from conformance.expectations.weighing import Finding, WrongKind
from conformance.seen import Connections, Seen


class Untouched(msgspec.Struct, frozen=True, tag="untouched"):
    """No connection is tried at any of the endpoints."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh connections."""
        if not isinstance(seen, Connections):
            raise WrongKind(f"connections are expected here, not {type(seen).__name__}")
        saw = ", ".join(f"{where}: {count}" for where, count in seen.attempts.items())
        wanted = f"no connection at {', '.join(seen.attempts)}"
        return Finding(not any(seen.attempts.values()), wanted, saw)
