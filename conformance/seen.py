"""What was seen: plain frozen data, written to evidence and judged again without a client."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One RPC: what the client was asked to send, what it says, and where it really went."""

    id: str
    channel: str
    path: str
    metadata: tuple[tuple[str, str], ...]
    """In the order sent; values of ``-bin`` keys in base64."""
    status: str
    """gRPC's name of the status, as the client reports it."""
    details: str = ""
    endpoint: str | None = None
    """``ip:port`` of the endpoint whose backend received it; None: no backend did."""


class Calls(msgspec.Struct, frozen=True, tag="calls"):
    """RPCs, in the order in which they were asked for."""

    calls: tuple[Call, ...]

    def __iter__(self) -> Iterator[Call]:
        """Go over the calls."""
        return iter(self.calls)

    def __len__(self) -> int:
        """How many calls."""
        return len(self.calls)


class Contrast(msgspec.Struct, frozen=True, tag="contrast"):
    """The same requests before and after a change: pairwise by position."""

    before: Calls
    after: Calls


class Answer(msgspec.Struct, frozen=True, tag="answer", kw_only=True):
    """How the client answered a response of the control plane."""

    kind: str
    """``LDS``, ``RDS``, ``CDS`` or ``EDS``."""
    version: str
    acked: bool
    error_detail: str = ""
    """The message of a NACK."""


class Connections(msgspec.Struct, frozen=True, tag="connections"):
    """Connection attempts at each endpoint, by address."""

    attempts: dict[str, int]


Seen = Calls | Contrast | Answer | Connections
