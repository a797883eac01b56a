"""Watch which references between the served resources the client follows."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from conformance import timing
from conformance.judging.aborts import CauseIsKnown
from conformance.judging.verdicts import Cause
from conformance.world import waits
from conformance.xds_config import references
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.references import Ignored
from fake_control_plane import ControlPlane, Kind

_T = TypeVar("_T")

_ORDER = (Kind.LISTENER, Kind.ROUTE, Kind.CLUSTER, Kind.ENDPOINTS)
"""Each kind leads to the next one."""


def _nothing() -> frozenset[Cause]:
    return frozenset()


class EarlyEnd(NamedTuple):
    """When a scenario ends early, as the cause of its failure is known."""

    known: Callable[[], frozenset[Cause]] = _nothing
    """Returns the causes that are known in this run."""
    after: float = timing.KNOWN_CAUSE
    """Seconds that the client has, after the resource that it ignores was sent."""


NEVER: Final = EarlyEnd()


class ReferenceWatch:
    """Knows which references the client ignores, and ends waits that they prevent.

    Args:
        plane: the control plane.
        early_end: when the scenario does not wait to the end.
    """

    def __init__(self, plane: ControlPlane, early_end: EarlyEnd) -> None:
        self._plane = plane
        self._early_end = early_end
        self._all_served: list[XdsConfig] = []

    @property
    def served(self) -> XdsConfig | None:
        """The configuration that is served now; None: none yet."""
        return self._all_served[-1] if self._all_served else None

    def add(self, served: XdsConfig) -> None:
        """Note that this configuration is served from now on."""
        self._all_served.append(served)

    def ignored(self) -> tuple[Ignored, ...]:
        """Return the kinds of references that the client ignores in what is served now."""
        if self.served is None:
            return ()
        return references.ignored(self.served, self._plane.transcript.events)

    def followed(self, *, before: float) -> frozenset[Cause]:
        """Return the causes of `ignored` that this client refutes here.

        Args:
            before: only resources sent before this moment count, by the suite's monotonic clock.
        """
        if self.served is None:
            return frozenset()
        events, earlier = self._plane.transcript.events, self._all_served[:-1]
        return references.followed(self.served, events, before=before, earlier=earlier)

    def changed_clusters(self) -> frozenset[str]:
        """Return the clusters whose type of discovery has changed in this scenario."""
        return references.changed_clusters(self._all_served)

    def all_targets(self) -> frozenset[str]:
        """Return the clusters to which any route of what is served now leads."""
        routes = self.served.routes if self.served else ()
        return frozenset(name for route in routes for name in route.targets())

    def targets(self, path: str, metadata: Sequence[tuple[str, str | bytes]]) -> frozenset[str]:
        """Return the clusters to which a call may be routed by what is served now."""
        return references.target_of(self.served, path, metadata) if self.served else frozenset()

    async def unless_ignored(
        self, waiting: Coroutine[Any, Any, _T], is_meant: Callable[[Ignored], bool]
    ) -> _T:
        """Return the awaited result, unless a cause that is known in this run prevents it.

        Args:
            waiting: the wait.
            is_meant: whether the result cannot come if the client ignores this.

        Raises:
            CauseIsKnown: a known cause prevents it.
        """
        known = self._early_end.known()
        if not known:
            return await waiting
        waited = asyncio.create_task(waiting)
        met = asyncio.create_task(self._met(known, is_meant))
        try:
            await asyncio.wait([waited, met], return_when=asyncio.FIRST_COMPLETED)
            if waited.done():
                return await waited
            found = met.result()
            raise CauseIsKnown(str(found), found.cause)
        finally:
            for task in (waited, met):
                task.cancel()
            await asyncio.gather(waited, met, return_exceptions=True)

    async def _met(self, known: Collection[Cause], is_meant: Callable[[Ignored], bool]) -> Ignored:
        """Return what the client ignores, once it has had its time to do otherwise."""
        while True:
            mark = len(self._plane.transcript)
            met = (each for each in self.ignored() if each.cause in known and is_meant(each))
            found = next(met, None)
            left = math.inf
            if found is not None:
                left = found.since + self._early_end.after - time.monotonic()
            more = self._plane.transcript.wait(lambda _: True, deadline=left, since=mark)
            if not await waits.came(more, is_noted=False) and found is not None:
                return found


def is_above(met: Ignored, kind: Kind) -> bool:
    """Return whether the client requests none of a kind that is this one, or leads to it."""
    return met.kind is not None and _ORDER.index(met.kind) <= _ORDER.index(kind)
