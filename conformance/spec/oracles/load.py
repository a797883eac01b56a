"""Compute the reported load from what the backends counted (LRS).

The functions take sums over reports. In a report, requests issued, succeeded and failed are counts
since the last report; requests in progress are a gauge.

Clauses: A42-LOAD-01, A42-LOAD-02, A42-LOAD-03, A42-LOAD-04, A42-LOAD-05, A42-LOAD-06, A42-LOAD-07,
A42-LOAD-08, A42-LOAD-11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace


class LoadKey(Struct, frozen=True, order=True):
    """The place in a load report under which requests count."""

    cluster: str
    service_name: str = ""
    """The cluster's EDS service name; empty if it has none."""
    locality: str = ""
    """``region/zone/sub_zone``, without empty parts at the end."""

    def __str__(self) -> str:
        service = f", service name {self.service_name}" if self.service_name else ""
        return f"cluster {self.cluster}{service}, locality {self.locality or 'without a name'}"


class Load(Struct, frozen=True, kw_only=True):
    """Requests of one place. Each issued request has succeeded, failed or is in progress."""

    issued: int = 0
    succeeded: int = 0
    errors: int = 0
    in_progress: int = 0

    def __str__(self) -> str:
        return (
            f"{self.issued} issued, {self.succeeded} succeeded, {self.errors} failed, "
            f"{self.in_progress} in progress"
        )

    def however_they_ended(self) -> Load:
        """Return this load with the failed requests counted as succeeded."""
        return replace(self, succeeded=self.succeeded + self.errors, errors=0)

    def __add__(self, other: Load) -> Load:
        return Load(
            issued=self.issued + other.issued,
            succeeded=self.succeeded + other.succeeded,
            errors=self.errors + other.errors,
            in_progress=self.in_progress + other.in_progress,
        )


NOTHING = Load()


class Received(Struct, frozen=True, kw_only=True):
    """The requests that the backend of one endpoint counted."""

    address: str
    succeeded: int = 0
    errors: int = 0
    in_progress: int = 0

    @property
    def load(self) -> Load:
        """The load that a client must report for these requests."""
        return Load(
            issued=self.succeeded + self.errors + self.in_progress,
            succeeded=self.succeeded,
            errors=self.errors,
            in_progress=self.in_progress,
        )


def due(received: Iterable[Received], places: Mapping[str, LoadKey]) -> dict[LoadKey, Load]:
    """Return the load that a client must report for each place.

    Args:
        received: the requests that each backend counted.
        places: the place of each address; the client reports nothing for other addresses.
    """
    loads: dict[LoadKey, Load] = {}
    for entry in received:
        place = places.get(entry.address)
        if place is not None and entry.load != NOTHING:
            loads[place] = loads.get(place, NOTHING) + entry.load
    return loads


def balances(
    due: Mapping[LoadKey, Load], reported: Mapping[LoadKey, Load], *, lost: int = 0
) -> bool:
    """Return whether the sum of the reports equals the load due.

    Args:
        due: the load by the backends' counts.
        reported: the load by the reports. A place without load may be missing. Issued requests
            may be missing everywhere, because the other counts imply them.
        lost: number of failed requests that no backend received. The client may have sent some of
            them on a connection that broke; it then reports them as issued and failed.
    """
    surplus = 0
    complete = _with_issued(reported)
    for place in {*due, *complete}:
        actual, wanted = complete.get(place, NOTHING), due.get(place, NOTHING)
        more = actual.issued - wanted.issued
        if more < 0 or actual != wanted + Load(issued=more, errors=more):
            return False
        surplus += more
    return surplus <= lost


class Dropped(Struct, frozen=True, kw_only=True):
    """Dropped requests of one cluster."""

    cluster: str
    total: int
    by_category: dict[str, int] = {}
    """The number of drops of each category; drops without a category are in `total` only."""

    def counts(self) -> dict[str, int]:
        """Return the drops by category; ``""`` is for drops without one (circuit breaking, A32)."""
        rest = self.total - sum(self.by_category.values())
        return {**self.by_category, **({"": rest} if rest else {})}


def drops_balance(
    expected: Mapping[str, Collection[str]], reported: Iterable[Dropped], *, lost: int
) -> bool:
    """Return whether the reports count each dropped request once, under an expected category.

    If a cluster has several categories, only the client knows which one dropped a request. So each
    category must have dropped some, and all together as many as were lost.

    Args:
        expected: the drop categories of each cluster; ``""`` is a drop without a category.
        reported: the summed drops of each cluster.
        lost: number of failed requests that no backend received.
    """
    counts = {
        (drop.cluster, category): count
        for drop in reported
        for category, count in drop.counts().items()
    }
    wanted = {(cluster, category) for cluster, of in expected.items() for category in of}
    named = {what for what, count in counts.items() if count}
    return named == wanted and sum(counts.values()) == (lost if wanted else 0)


def _with_issued(reported: Mapping[LoadKey, Load]) -> Mapping[LoadKey, Load]:
    """Return the load with issued requests filled in, if the reports leave them out everywhere."""
    if any(load.issued for load in reported.values()):
        return reported
    return {
        place: replace(load, issued=load.succeeded + load.errors + load.in_progress)
        for place, load in reported.items()
    }
