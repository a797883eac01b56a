"""The expectation of reported load."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from conformance.expectations.weighing import Finding, WrongKind
from conformance.oracles.load import Load, Place, balances, due
from conformance.seen import Loads, Seen


class Balances(msgspec.Struct, frozen=True, tag="balances", kw_only=True):
    """All reports together say exactly what the backends counted, and name no other cluster."""

    places: dict[str, Place]
    """Where each address belongs; those of clusters that are not to be reported are left out."""
    lossy: bool = False
    """Whether connections were lost while requests were on their way."""

    def finding(self, seen: Seen) -> Finding:
        """Weigh loads."""
        if not isinstance(seen, Loads):
            raise WrongKind(f"loads are expected here, not {type(seen).__name__}")
        lost = seen.lost if self.lossy else 0
        counted = due(seen.received, self.places)
        reported = {one.place: one.load for one in seen.reported}
        strangers = set(seen.clusters) - {place.cluster for place in self.places.values()}
        wanted = f"reports of exactly {_told(counted)}"
        if lost:
            wanted += f"; and of {lost} more failed ones, or fewer"
        saw = _told(reported)
        if strangers:
            saw += f"; reports that name {', '.join(sorted(strangers))}"
        holds = bool(counted) and not strangers and balances(counted, reported, lost=lost)
        return Finding(holds, wanted, saw, "load.due")


def _told(loads: Mapping[Place, Load]) -> str:
    return "; ".join(f"{place}: {loads[place]}" for place in sorted(loads)) or "nothing"
