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
    category: str = ""
    """Of EDS, if it drops requests: whatever fails without being received was dropped."""

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
        drops, categories = 0, dict[str, int]()
        if self.category:
            drops, categories = seen.lost, {self.category: seen.lost}
            wanted += f"; and of {drops} drops by {self.category}"
        saw = _told(reported)
        if self.category or seen.drops:
            listed = ", ".join(f"{count} by {name}" for name, count in seen.categories.items())
            saw += f"; {seen.drops} drops, {listed or 'of no category'}"
        if strangers:
            saw += f"; reports that name {', '.join(sorted(strangers))}"
        return Finding(
            bool(counted)
            and not strangers
            and (seen.drops, seen.categories) == (drops, categories)
            and bool(drops) == bool(self.category)
            and balances(counted, reported, lost=lost),
            wanted,
            saw,
            "load.due",
        )


def _told(loads: Mapping[Place, Load]) -> str:
    return "; ".join(f"{place}: {loads[place]}" for place in sorted(loads)) or "nothing"
