"""What the transcript holds: one frozen event a message or a stream's begin and end."""

from __future__ import annotations

import enum

import msgspec

from fake_control_plane.kinds import Kind
from fake_control_plane.loads import ClusterLoad, Locality
from fake_control_plane.snapshot import Packed
from fake_control_plane.stream import AckOrNack


class Service(enum.Enum):
    """The two services of the control plane."""

    ADS = "ads"
    LRS = "lrs"


class Side(enum.Enum):
    """The side that ended a stream."""

    CLIENT = "client"
    SCRIPT = "script"
    STOP = "stop"
    """The control plane was stopped."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What a request's `node` field says about the client."""

    id: str
    cluster: str = ""
    locality: Locality = Locality()
    user_agent_name: str = ""
    user_agent_version: str = ""
    client_features: tuple[str, ...] = ()


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    at: float
    """`time.monotonic()` of the control plane's process, in seconds."""
    stream: int
    """Counts the streams of a control plane, of both services, from 1."""
    node: str
    """The node id; empty until the stream's first request has said it."""


class StreamOpened(_Event, frozen=True, kw_only=True, tag=True):
    """A client began a stream."""

    service: Service
    peer: str

    def __str__(self) -> str:
        return f"stream {self.stream} ({self.service.value}) opened by {self.peer}"


class StreamClosed(_Event, frozen=True, kw_only=True, tag=True):
    """A stream ended."""

    service: Service
    by: Side
    code: str = ""
    """The name of the gRPC status that the control plane gave it; empty if the client left."""
    details: str = ""

    def __str__(self) -> str:
        status = f" with {self.code} {self.details!r}" if self.code else ""
        return f"stream {self.stream} ended by {self.by.value}{status}"


class Request(_Event, frozen=True, kw_only=True, tag=True):
    """A discovery request, and what it meant."""

    kind: Kind | None
    type_url: str
    names: tuple[str, ...]
    version: str
    nonce: str
    answer: AckOrNack | None = None
    """Set in the first request with a response's nonce: its ACK or NACK."""
    answered_version: str = ""
    stale: bool = False
    subscribed: tuple[str, ...] = ()
    """Names that this request added; `*` is the wildcard."""
    unsubscribed: tuple[str, ...] = ()
    error_code: int = 0
    error_detail: str = ""
    identity: Identity | None = None
    """What the request's `node` field said, where it had one."""

    @property
    def is_ack(self) -> bool:
        """Return whether the request ACKs a response."""
        return self.answer is AckOrNack.ACK

    def __str__(self) -> str:
        what = _called(self.kind, self.type_url)
        text = f"request for {what} [{_few(self.names)}] on stream {self.stream}"
        if self.answer is not None:
            text += f", {self.answer.name} of version {self.answered_version}"
        return f"{text}: {self.error_detail}" if self.error_detail else text


class Response(_Event, frozen=True, kw_only=True, tag=True):
    """A discovery response, recorded when it is handed to gRPC."""

    kind: Kind | None
    type_url: str
    version: str
    nonce: str
    resources: tuple[Packed, ...]
    fault: str = ""
    """What the script made wrong about it, in words."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the resources that it carries."""
        return tuple(resource.name for resource in self.resources)

    def __str__(self) -> str:
        what = _called(self.kind, self.type_url)
        text = f"{what} version {self.version} [{_few(self.names)}] sent on stream {self.stream}"
        return f"{text} ({self.fault})" if self.fault else text


class LoadRequest(_Event, frozen=True, kw_only=True, tag=True):
    """A load report; the first one of a stream carries the node and no load."""

    clusters: tuple[ClusterLoad, ...]
    identity: Identity | None = None

    def __str__(self) -> str:
        named = _few(tuple(load.cluster for load in self.clusters))
        return f"load report of [{named}] on stream {self.stream}"


class LoadResponse(_Event, frozen=True, kw_only=True, tag=True):
    """What the load reporting service asked for."""

    interval: float
    """Seconds between reports."""
    clusters: tuple[str, ...]
    send_all_clusters: bool
    endpoint_granularity: bool

    def __str__(self) -> str:
        named = "all clusters" if self.send_all_clusters else f"[{_few(self.clusters)}]"
        return (
            f"load reports of {named} every {self.interval:g} s asked for on stream {self.stream}"
        )


class Dropped(_Event, frozen=True, kw_only=True, tag=True):
    """In the place of the oldest events, where a bounded transcript keeps them no longer.

    Its time is that of the last of them; it is of no stream.
    """

    count: int

    def __str__(self) -> str:
        return f"{self.count} events that are kept no longer"


class Note(_Event, frozen=True, kw_only=True, tag=True):
    """Something that the control plane did on its own; stream 0 if it concerns no stream."""

    text: str

    def __str__(self) -> str:
        return f"{self.text} (stream {self.stream})" if self.stream else self.text


Event = (
    StreamOpened | StreamClosed | Request | Response | LoadRequest | LoadResponse | Dropped | Note
)

_FEW = 5


def _called(kind: Kind | None, type_url: str) -> str:
    return kind.value if kind is not None else repr(type_url)


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
