"""The load that was reported beside the load that the backends counted. Pure."""

from __future__ import annotations

import msgspec

from conformance.judging.expectations import LoadMatches
from conformance.judging.observations import Loads, Observation
from conformance.spec.oracles.load import NOTHING, Load, due


class LoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A place, in both counts."""

    place: str
    counted: Load
    reported: Load

    @property
    def is_alike(self) -> bool:
        """Return whether both counts are equal."""
        return self.counted == self.reported


class LoadPicture(msgspec.Struct, frozen=True, kw_only=True):
    """All places of which either count has something."""

    rows: tuple[LoadRow, ...]
    strangers: tuple[str, ...]
    """Clusters that reports name and should not."""
    lost: int
    drops: tuple[str, ...]
    """What was reported as dropped, in words."""


def load_picture(expected: LoadMatches, seen: Observation) -> LoadPicture | None:
    """Both counts, where loads are what was seen."""
    if not isinstance(seen, Loads):
        return None
    counted = due(seen.received, expected.places)
    reported = {report.place: report.load for report in seen.reported}
    return LoadPicture(
        rows=tuple(
            LoadRow(
                place=str(place),
                counted=counted.get(place, NOTHING),
                reported=reported.get(place, NOTHING),
            )
            for place in sorted({*counted, *reported})
        ),
        strangers=tuple(
            sorted({*seen.clusters} - {place.cluster for place in expected.places.values()})
        ),
        lost=seen.lost,
        drops=tuple(
            f"{drop.cluster}: {count} {category or 'of no category'}"
            for drop in seen.dropped
            for category, count in sorted(drop.counts().items())
        ),
    )
