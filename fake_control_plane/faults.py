"""What a healthy control plane would not send; each is sent once, to streams that are open."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from fake_control_plane.injection import fault
from fake_control_plane.kinds import TYPE_URL_PREFIX, Kind
from fake_control_plane.snapshot import Packed, Snapshot
from fake_control_plane.stream import AdsStream, Outgoing
from fake_control_plane.transcript import Push

# A field number of wire type 7, which does not exist: no parser reads a message from this.
MALFORMED: Final = b"\x0f"

# A type that every client can know and that is no xDS resource.
NO_RESOURCE_TYPE: Final = TYPE_URL_PREFIX + "google.protobuf.Empty"

# A type of resource without a definition.
UNKNOWN_TYPE: Final = TYPE_URL_PREFIX + "xdspec.test.UnknownResource"


class Nonce(enum.Enum):
    """Nonces that are chosen stream by stream."""

    FRESH = "fresh"
    OLD = "old"
    """The nonce before the newest one of the type; the newest if there is no other."""


class Fault(Protocol):
    """Something that a healthy control plane would not send."""

    @property
    def kind(self) -> Kind:
        """The type of the response that it makes."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """Return the version of the response; `ordinal` counts the faults of a control plane."""

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """Return the response on one stream; None if the client never requested the type."""


class Resend(msgspec.Struct, frozen=True):
    """All that is subscribed to of a type once more, with an old version or nonce."""

    kind: Kind
    as_version: str | None = None
    """None: the version as it is."""
    nonce: Nonce | str = Nonce.FRESH
    """A text is sent as it is, so that it can be one that was never given."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """Return the requested version, or the current version."""
        del ordinal
        return snapshot.version_info(self.kind) if self.as_version is None else self.as_version

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """Return a response with the unchanged resources."""
        resources = stream.subscribed(self.kind, snapshot)
        if resources is None:
            return None
        nonce: str | None
        match self.nonce:
            case Nonce.FRESH:
                nonce = None
            case Nonce.OLD:
                nonce = stream.earlier_nonce(self.kind)
            case text:
                nonce = text
        return stream.disturb(
            self.kind,
            version=version,
            resources=tuple(resource.packed for resource in resources),
            fault="resend",
            nonce=nonce,
        )


class Malformed(msgspec.Struct, frozen=True):
    """An Any of the right type whose bytes are no message at all."""

    kind: Kind
    alone: bool = False
    """Set to leave the subscribed resources out, which deletes listeners and clusters."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """Return a unique version, so that its NACK cannot be mistaken for another NACK."""
        return f"{snapshot.version_info(self.kind)}-malformed-{ordinal}"

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """Return a response whose last resource is the malformed Any."""
        broken = Packed("", self.kind.type_url, MALFORMED)
        return _with_stray(self, broken, stream, snapshot, version, "malformed")


class WrongType(msgspec.Struct, frozen=True):
    """An Any that names another type than the response does."""

    kind: Kind
    type_url: str = NO_RESOURCE_TYPE
    alone: bool = False
    """Set to leave the subscribed resources out, which deletes listeners and clusters."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """Return a unique version, so that its NACK cannot be mistaken for another NACK."""
        return f"{snapshot.version_info(self.kind)}-wrong-type-{ordinal}"

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """Return a response whose last resource is the Any of another type."""
        stray = Packed("", self.type_url, b"")
        return _with_stray(self, stray, stream, snapshot, version, "wrong type")


class ExtraResponse(msgspec.Struct, frozen=True):
    """A response with just these resources, requested or not; a name may repeat."""

    kind: Kind
    resources: tuple[Any, ...]
    """Messages of that type."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """Return a unique version, so that its answer cannot be mistaken for another one."""
        return f"{snapshot.version_info(self.kind)}-extra-{ordinal}"

    def render(self, stream: AdsStream, _: Snapshot, version: str) -> Outgoing | None:
        """Return the response."""
        packed = (
            Packed("", self.kind.type_url, resource.SerializeToString())
            for resource in self.resources
        )
        return stream.disturb(self.kind, version=version, resources=tuple(packed), fault="extra")


class UnknownTypeResponse(msgspec.Struct, frozen=True):
    """A response of a type that no client knows."""

    kind: Kind
    """The type by which a push knows its version; the response is not of it."""
    resources: int = 0
    """How many resources it has."""

    def version(self, ordinal: int, _: Snapshot) -> str:
        """Return a unique version."""
        return f"unknown-type-{ordinal}"

    def render(self, _stream: AdsStream, _: Snapshot, version: str) -> Outgoing | None:
        """Return the response. The stream expects no answer to it."""
        return Outgoing(
            type_url=UNKNOWN_TYPE,
            version=version,
            nonce=version,
            resources=(Packed("", UNKNOWN_TYPE, b""),) * self.resources,
            fault="unknown type",
        )


def _with_stray(
    fault: Malformed | WrongType,
    stray: Packed,
    stream: AdsStream,
    snapshot: Snapshot,
    version: str,
    name: str,
) -> Outgoing | None:
    subscribed = stream.subscribed(fault.kind, snapshot)
    if subscribed is None:
        return None
    good = () if fault.alone else tuple(resource.packed for resource in subscribed)
    return stream.disturb(fault.kind, version=version, resources=(*good, stray), fault=name)


class Faults:
    """The faults that a script can have sent.

    Args:
        inject: Sends one on the open streams, to all nodes or to one.
    """

    def __init__(self, inject: Callable[[Fault, str | None], Push]) -> None:
        self._inject = inject

    @fault("resend")
    def resend(
        self,
        kind: Kind,
        *,
        version: str | None = None,
        nonce: Nonce | str = Nonce.FRESH,
        node: str | None = None,
    ) -> Push:
        """Send what is subscribed to again, with a version or nonce of choice."""
        return self._inject(Resend(kind, version, nonce), node)

    @fault("malformed")
    def send_malformed(self, kind: Kind, *, alone: bool = False, node: str | None = None) -> Push:
        """Send an Any whose bytes are no message, beside what is subscribed to or alone."""
        return self._inject(Malformed(kind, alone), node)

    @fault("wrong_type")
    def send_wrong_type(
        self,
        kind: Kind,
        *,
        type_url: str = "",
        alone: bool = False,
        node: str | None = None,
    ) -> Push:
        """Send an Any of another type, beside what is subscribed to or alone.

        By default the type is one that every client can know and that is no xDS resource.
        """
        return self._inject(WrongType(kind, type_url or NO_RESOURCE_TYPE, alone), node)
