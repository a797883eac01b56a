"""What a test tells the control plane to do, beside serving its snapshots.

Settings (holds, order, delays, refusals, what load reports are asked for) stay until they are
taken back; faults are sent once, to streams that are open. The script knows no sockets: it acts
through a `Stage`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Final, Protocol

import grpc
import msgspec

from fake_control_plane.events import Service
from fake_control_plane.exceptions import BadFault
from fake_control_plane.kinds import MAKE_BEFORE_BREAK, TYPE_URL_PREFIX, Kind
from fake_control_plane.snapshot import Packed, Snapshot
from fake_control_plane.stream import AdsStream, Outgoing
from fake_control_plane.transcript import Push

# A field number of wire type 7, which does not exist: no parser reads a message from this.
MALFORMED: Final = b"\x0f"

# A type that every client can know and that is no xDS resource.
NO_RESOURCE_TYPE: Final = TYPE_URL_PREFIX + "google.protobuf.Empty"


class Ending(msgspec.Struct, frozen=True):
    """The status with which a stream ends."""

    code: grpc.StatusCode
    details: str = ""


class LoadReporting(msgspec.Struct, frozen=True, kw_only=True):
    """What the load reporting service asks its clients for."""

    interval: float = 1.0
    """Seconds; the shortest that every client honours (C-core takes less for 1 s)."""
    clusters: tuple[str, ...] | None = None
    """Cluster names, or None for `send_all_clusters`."""
    endpoint_granularity: bool = False


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
        """The version of the response; `ordinal` counts the faults of a control plane."""

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """The response on one stream, or None where the type was never asked for."""


class Resend(msgspec.Struct, frozen=True):
    """All that is subscribed to of a type once more, with an old version or nonce."""

    kind: Kind
    as_version: str | None = None
    """None: the version as it is."""
    nonce: Nonce | str = Nonce.FRESH
    """A text is sent as it is, so that it can be one that was never given."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """The version asked for, or the one in force."""
        del ordinal
        return str(snapshot.version(self.kind)) if self.as_version is None else self.as_version

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """A response with the resources as they are."""
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
    """Whether what is subscribed to is left out; of listeners and clusters that deletes it."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """A version of its own, so that its NACK cannot be taken for another one's."""
        return f"{snapshot.version(self.kind)}-malformed-{ordinal}"

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """A response with the malformed Any as its last."""
        broken = Packed("", self.kind.type_url, MALFORMED)
        return _with_stray(self, broken, stream, snapshot, version, "malformed")


class WrongType(msgspec.Struct, frozen=True):
    """An Any that names another type than the response does."""

    kind: Kind
    type_url: str = NO_RESOURCE_TYPE
    alone: bool = False
    """Whether what is subscribed to is left out; of listeners and clusters that deletes it."""

    def version(self, ordinal: int, snapshot: Snapshot) -> str:
        """A version of its own, so that its NACK cannot be taken for another one's."""
        return f"{snapshot.version(self.kind)}-wrong-type-{ordinal}"

    def render(self, stream: AdsStream, snapshot: Snapshot, version: str) -> Outgoing | None:
        """A response with the Any of another type as its last."""
        stray = Packed("", self.type_url, b"")
        return _with_stray(self, stray, stream, snapshot, version, "wrong type")


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


class Stage(Protocol):
    """What the script needs of the shell."""

    def pump(self) -> None:
        """Send what has become due."""

    def inject(self, fault: Fault, node: str | None) -> Push:
        """Send a fault on the open streams."""

    def end_streams(self, service: Service, ending: Ending, node: str | None) -> None:
        """End the open streams."""

    def ask_for_loads(self) -> None:
        """Send what load reports are asked for to the open load streams."""


class Script:
    """The settings in force, and the verbs that change them.

    Args:
        stage: What carries them out.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._held: set[Kind] = set()
        self._withheld: set[tuple[Kind, str]] = set()
        self._order: tuple[Kind, ...] = MAKE_BEFORE_BREAK
        self._delays: dict[Kind, float] = {}
        self._refusals: dict[Service, Ending] = {}
        self._load_reporting: LoadReporting | None = LoadReporting()

    @property
    def held(self) -> frozenset[Kind]:
        """The types whose responses are held."""
        return frozenset(self._held)

    @property
    def withheld(self) -> frozenset[tuple[Kind, str]]:
        """The resources that are served as if they did not exist."""
        return frozenset(self._withheld)

    @property
    def order_of_types(self) -> tuple[Kind, ...]:
        """The order in which the types of one push are sent."""
        return self._order

    @property
    def load_reporting(self) -> LoadReporting | None:
        """What load reports are asked for; None: silence."""
        return self._load_reporting

    def delay_of(self, kind: Kind) -> float:
        """Seconds by which responses of a type are late."""
        return self._delays.get(kind, 0.0)

    def refusal(self, service: Service) -> Ending | None:
        """The status with which new streams of a service end at once, if they do."""
        return self._refusals.get(service)

    def hold(self, *kinds: Kind) -> None:
        """Hold back responses of some types, or of all when none is named."""
        self._held.update(kinds or Kind)

    def release(self, *kinds: Kind) -> None:
        """Send responses of some types again, or of all; what became due is sent now.

        Versions that came and went while a type was held are never sent.
        """
        self._held.difference_update(kinds or Kind)
        self._stage.pump()

    def withhold(self, kind: Kind, name: str) -> None:
        """Serve as if a resource did not exist, whether it is set or not.

        A listener or cluster that a client already has is thereby deleted.
        """
        self._withheld.add((kind, name))
        self._stage.pump()

    def permit(self, kind: Kind, name: str) -> None:
        """Serve a withheld resource again."""
        self._withheld.discard((kind, name))
        self._stage.pump()

    def order(self, *kinds: Kind) -> None:
        """Send the types of one push in this order; those left out follow in the usual order."""
        rest = (kind for kind in MAKE_BEFORE_BREAK if kind not in kinds)
        self._order = (*dict.fromkeys(kinds), *rest)

    def delay(self, kind: Kind, seconds: float) -> None:
        """Let responses of a type be so late from now on; zero ends it."""
        if seconds < 0:
            raise BadFault(f"A delay of {seconds:g} s is negative: give 0 to end a delay.")
        self._delays[kind] = seconds

    def resend(
        self,
        kind: Kind,
        *,
        version: str | None = None,
        nonce: Nonce | str = Nonce.FRESH,
        node: str | None = None,
    ) -> Push:
        """Send what is subscribed to again, with a version or nonce of choice."""
        return self._stage.inject(Resend(kind, version, nonce), node)

    def send_malformed(self, kind: Kind, *, alone: bool = False, node: str | None = None) -> Push:
        """Send an Any whose bytes are no message, beside what is subscribed to or alone."""
        return self._stage.inject(Malformed(kind, alone), node)

    def send_wrong_type(
        self,
        kind: Kind,
        *,
        type_url: str = NO_RESOURCE_TYPE,
        alone: bool = False,
        node: str | None = None,
    ) -> Push:
        """Send an Any of another type, beside what is subscribed to or alone."""
        return self._stage.inject(WrongType(kind, type_url, alone), node)

    def end_streams(
        self,
        code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE,
        details: str = "ended by the script",
        *,
        service: Service = Service.ADS,
        node: str | None = None,
    ) -> None:
        """End the open streams of a service; clients may come back."""
        self._stage.end_streams(service, Ending(code, details), node)

    def refuse_streams(
        self,
        code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE,
        details: str = "refused by the script",
        *,
        service: Service = Service.ADS,
    ) -> None:
        """End each new stream of a service at once; open ones stay."""
        if code is grpc.StatusCode.OK:
            raise BadFault("A stream cannot be refused with OK: give another status.")
        self._refusals[service] = Ending(code, details)

    def accept_streams(self, service: Service = Service.ADS) -> None:
        """Take new streams again."""
        self._refusals.pop(service, None)

    def report_loads(
        self,
        *,
        interval: float = 1.0,
        clusters: Collection[str] | None = None,
        endpoint_granularity: bool = False,
    ) -> None:
        """Ask for load reports, on open load streams and on those to come.

        Args:
            interval: Seconds between reports.
            clusters: The clusters to report, or None for all.
            endpoint_granularity: Whether endpoints are reported one by one.
        """
        if interval <= 0:
            raise BadFault(f"A load reporting interval of {interval:g} s is not above 0.")
        self._load_reporting = LoadReporting(
            interval=interval,
            clusters=None if clusters is None else tuple(clusters),
            endpoint_granularity=endpoint_granularity,
        )
        self._stage.ask_for_loads()

    def be_silent_about_loads(self) -> None:
        """Answer nothing on load streams to come."""
        self._load_reporting = None
