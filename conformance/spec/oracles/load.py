"""Compute the reported load from what the backends counted (LRS).

Reports are summed before: what they say of requests issued, succeeded and failed are counts since
the report before, what they say of requests in progress is a gauge.

Clauses: A42-LOAD-01, A42-LOAD-02, A42-LOAD-03, A42-LOAD-04, A42-LOAD-05, A42-LOAD-06, A42-LOAD-07,
A42-LOAD-08, A42-LOAD-11.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace


class LoadKey(Struct, frozen=True, order=True):
    """What load is reported under."""

    cluster: str
    service_name: str = ""
    """The name by which EDS knows the cluster, empty if it is none of its own."""
    locality: str = ""
    """``region/zone/sub_zone``, without empty parts at the end."""

    def __str__(self) -> str:
        service = f", service name {self.service_name}" if self.service_name else ""
        return f"cluster {self.cluster}{service}, locality {self.locality or 'without a name'}"


class Load(Struct, frozen=True, kw_only=True):
    """Requests of one place. Those that were issued have succeeded, failed or not ended yet."""

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
        """The same, where all that have ended count as succeeded."""
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
    """What the backend of one endpoint counted."""

    address: str
    succeeded: int = 0
    errors: int = 0
    in_progress: int = 0

    @property
    def load(self) -> Load:
        """The same, as it is reported."""
        return Load(
            issued=self.succeeded + self.errors + self.in_progress,
            succeeded=self.succeeded,
            errors=self.errors,
            in_progress=self.in_progress,
        )


def due(received: Iterable[Received], places: Mapping[str, LoadKey]) -> dict[LoadKey, Load]:
    """The load of each place, by what its backends counted.

    Args:
        received: what each backend counted.
        places: where each address belongs; others are in clusters that are not reported.
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
    """Whether the reports, summed, say exactly what is due.

    Args:
        due: by what the backends counted.
        reported: by the reports; a place of which nothing is told need not be there. A client need
            not tell what was issued: what it tells says that, too.
        lost: requests that failed and that no backend received. Each of them may have been sent, on
            a connection that was lost on the way, or not: if so, it was issued and has failed.
    """
    surplus = 0
    told = _with_issued(reported)
    for place in {*due, *told}:
        said, wanted = told.get(place, NOTHING), due.get(place, NOTHING)
        more = said.issued - wanted.issued
        if more < 0 or said != wanted + Load(issued=more, errors=more):
            return False
        surplus += more
    return surplus <= lost


class Dropped(Struct, frozen=True, kw_only=True):
    """Requests of one cluster that were dropped."""

    cluster: str
    total: int
    by_category: dict[str, int] = {}
    """Those of them that have a category."""

    def counts(self) -> dict[str, int]:
        """By category; those without any, as circuit breaking makes them (A32), by ``""``."""
        rest = self.total - sum(self.by_category.values())
        return {**self.by_category, **({"": rest} if rest else {})}


def drops_balance(
    expected: Mapping[str, Collection[str]], reported: Iterable[Dropped], *, lost: int
) -> bool:
    """Whether the reports say of each request that was dropped by what, and of no other one.

    By which of several categories a request was dropped is known to the client alone. So each of
    them must have dropped some, and all of them together as many as were lost.

    Args:
        expected: the categories of each cluster that drop requests; ``""`` is a drop without one.
        reported: the drops of each cluster, summed.
        lost: requests that failed and that no backend received.
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
    """The same, where nothing is told of requests issued anywhere: as many as the others."""
    if any(load.issued for load in reported.values()):
        return reported
    return {
        place: replace(load, issued=load.succeeded + load.errors + load.in_progress)
        for place, load in reported.items()
    }
