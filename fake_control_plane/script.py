"""What a test tells the control plane to do, beside serving its snapshots.

Settings (holds, order, delays, refusals, what load reports are asked for) stay until they are
taken back; faults are sent once, to streams that are open. The script knows no sockets: it acts
through a `Stage`.
"""

from __future__ import annotations

from typing import Protocol

import grpc
import msgspec

from fake_control_plane.events import Service
from fake_control_plane.exceptions import BadFault
from fake_control_plane.faults import Fault, Faults
from fake_control_plane.injection import fault
from fake_control_plane.kinds import MAKE_BEFORE_BREAK, Kind
from fake_control_plane.load_reporting import LoadScript
from fake_control_plane.transcript import Push


class Ending(msgspec.Struct, frozen=True):
    """The status with which a stream ends."""

    code: grpc.StatusCode
    details: str = ""


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

    def ask_for_news_of_loads(self) -> None:
        """Send a LoadStatsResponse on each LRS stream whose last one asked for something else."""


class Script:
    """The settings in force, and the verbs that change them.

    Args:
        stage: What carries them out.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._held: set[Kind] = set()
        self._withheld: set[tuple[Kind, str]] = set()
        self._unasked: set[Kind] = set()
        self._wrapped: set[Kind] = set()
        self._order: tuple[Kind, ...] = MAKE_BEFORE_BREAK
        self._delays: dict[Kind, float] = {}
        self._refusals: dict[Service, Ending] = {}
        self.faults = Faults(stage.inject)
        """What is sent once."""
        self.loads = LoadScript(stage.ask_for_loads, stage.ask_for_news_of_loads)
        """What load reports are asked for."""

    @property
    def held(self) -> frozenset[Kind]:
        """The types whose responses are held."""
        return frozenset(self._held)

    @property
    def withheld(self) -> frozenset[tuple[Kind, str]]:
        """The resources that are served as if they did not exist."""
        return frozenset(self._withheld)

    @property
    def unasked(self) -> frozenset[Kind]:
        """The types whose responses also contain resources that the client did not request."""
        return frozenset(self._unasked)

    @property
    def wrapped(self) -> frozenset[Kind]:
        """The types whose resources go out as `Resource` messages."""
        return frozenset(self._wrapped)

    @property
    def order_of_types(self) -> tuple[Kind, ...]:
        """The order in which the types of one push are sent."""
        return self._order

    def delay_of(self, kind: Kind) -> float:
        """Seconds by which responses of a type are late."""
        return self._delays.get(kind, 0.0)

    def refusal(self, service: Service) -> Ending | None:
        """Return the status with which new streams of a service end at once, if any."""
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

    @fault("withhold")
    def hide(self, kind: Kind, name: str) -> None:
        """Serve as if a resource did not exist, whether it is set or not.

        A listener or cluster that a client already has is thereby deleted.
        """
        self._withheld.add((kind, name))
        self._stage.pump()

    @fault("permit")
    def unhide(self, kind: Kind, name: str) -> None:
        """Serve a withheld resource again."""
        self._withheld.discard((kind, name))
        self._stage.pump()

    @fault("send_unsolicited")
    def send_unsolicited(self, *kinds: Kind) -> None:
        """Send all resources of these types in each response, requested or not, from now on.

        Without arguments, responses contain only requested resources again.
        """
        self._unasked = set(kinds)

    @fault("wrap_in_resource")
    def wrap_in_resource(self, *kinds: Kind) -> None:
        """Send each resource of these types within a `Resource` message of the same name.

        Without arguments, all resources go out unwrapped again.
        """
        self._wrapped = set(kinds)

    @fault("order")
    def order(self, *kinds: Kind) -> None:
        """Send the types of one push in this order; those left out follow in the usual order."""
        rest = (kind for kind in MAKE_BEFORE_BREAK if kind not in kinds)
        self._order = (*dict.fromkeys(kinds), *rest)

    @fault("delay")
    def delay(self, kind: Kind, by: float) -> None:
        """Send responses of a type later from now on, by this many seconds; zero ends it."""
        if by < 0:
            raise BadFault(f"A delay of {by:g} s is negative: give 0 to end a delay.")
        self._delays[kind] = by

    @fault("end_streams")
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

    @fault("refuse_streams")
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

    @fault("accept_streams")
    def accept_streams(self, service: Service = Service.ADS) -> None:
        """Take new streams again."""
        self._refusals.pop(service, None)
