"""What load reports a control plane asks its clients for."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec
from msgspec.structs import replace

from fake_control_plane.exceptions import BadFault
from fake_control_plane.loads import LONGEST_DURATION


class LoadReporting(msgspec.Struct, frozen=True, kw_only=True):
    """What the load reporting service asks its clients for."""

    interval: float = 1.0
    """Seconds; the shortest that every client honours (C-core takes less for 1 s)."""
    clusters: tuple[str, ...] | None = None
    """Cluster names, or None for `send_all_clusters`."""
    endpoint_granularity: bool = False


class LoadScript:
    """The setting in force, and the verbs that change it.

    Args:
        ask: Sends what is asked for to the open load streams.
    """

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask = ask
        self._asked_for: LoadReporting | None = LoadReporting()

    @property
    def asked_for(self) -> LoadReporting | None:
        """What load reports are asked for; None: silence."""
        return self._asked_for

    def ask(
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
        if not 0 < interval <= LONGEST_DURATION:
            raise BadFault(
                f"A load reporting interval of {interval:g} s is not above 0, or no Duration."
            )
        self._asked_for = LoadReporting(
            interval=interval,
            clusters=None if clusters is None else tuple(clusters),
            endpoint_granularity=endpoint_granularity,
        )
        self._ask()

    def name(self, clusters: Collection[str]) -> None:
        """Ask for these clusters from now on, as often as before; who asks nothing stays silent."""
        if self._asked_for is not None:
            self._asked_for = replace(self._asked_for, clusters=tuple(clusters))
            self._ask()

    def be_silent(self) -> None:
        """Answer nothing on load streams to come."""
        self._asked_for = None
