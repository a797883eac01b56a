"""What load reports a control plane asks its clients for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import msgspec
from msgspec.structs import replace

from fake_control_plane.exceptions import BadFault
from fake_control_plane.injection import fault
from fake_control_plane.loads import LONGEST_DURATION

OF_ALL: Final = "envoy.lrs.supports_send_all_clusters"
"""The node feature without which a client ignores `send_all_clusters` (LoadStatsResponse)."""


class LoadReporting(msgspec.Struct, frozen=True, kw_only=True):
    """What the load reporting service asks its clients for."""

    interval: float = 1.0
    """Seconds; the shortest that every client honours (C-core takes less for 1 s)."""
    clusters: tuple[str, ...] | None = None
    """Cluster names, or None for `send_all_clusters`."""
    endpoint_granularity: bool = False

    def asked_of(self, features: Collection[str], known: Collection[str]) -> LoadReporting:
        """Return the request for load reports, by cluster name if the client cannot report all.

        Args:
            features: Those of its node.
            known: The clusters that it is asked for by name instead; none: as if it could.
        """
        if self.clusters is not None or OF_ALL in features or not known:
            return self
        return replace(self, clusters=tuple(known))


class LoadScript:
    """The setting in force, and the verbs that change it.

    Args:
        ask: Sends what is asked for to the open load streams.
        ask_news: The same, but only to those for whom it has changed.
    """

    def __init__(self, ask: Callable[[], None], ask_news: Callable[[], None]) -> None:
        self._ask = ask
        self._ask_news = ask_news
        self._known: tuple[str, ...] = ()
        self._asked_for: LoadReporting | None = LoadReporting()

    @property
    def asked_for(self) -> LoadReporting | None:
        """What load reports are asked for; None: silence."""
        return self._asked_for

    @fault("load_reporting")
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

    @property
    def known(self) -> tuple[str, ...]:
        """What a client is asked for by name that cannot be asked for all clusters."""
        return self._known

    @fault("all_clusters")
    def know(self, clusters: Collection[str]) -> None:
        """Let these be all clusters, for who cannot be asked for all of them."""
        self._known = tuple(clusters)
        self._ask_news()

    @fault("load_silence")
    def be_silent(self) -> None:
        """Answer nothing on load streams to come."""
        self._asked_for = None
