"""The expectation of an ACK or a NACK."""

from __future__ import annotations

import msgspec

from conformance.expectations.weighing import Finding, WrongKind
from conformance.seen import Answer, Seen


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The client ACKs the response, or NACKs it."""

    acked: bool

    def finding(self, seen: Seen) -> Finding:
        """Weigh an answer."""
        if not isinstance(seen, Answer):
            raise WrongKind(f"an answer is expected here, not {type(seen).__name__}")
        said = "ACK" if seen.acked else f"NACK: {seen.error_detail}"
        wanted = f"{'ACK' if self.acked else 'NACK'} of {seen.kind} version {seen.version}"
        return Finding(seen.acked == self.acked, wanted, said)
