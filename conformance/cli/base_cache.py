"""Keep what scenarios showed of a base, one by one, so that the next gate runs only the others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from client_under_test.environments import Prepared, fingerprint
from client_under_test.environments.places import cache
from conformance.cli.run_options import RunOptions
from conformance.judging import json_files
from conformance.judging.blocking import ended_early
from conformance.judging.evidence import JudgedClient, Record
from conformance.reporting.provenance import suite
from conformance.reporting.shard_report import Ended, ended_as, record_of
from conformance.runner import files
from conformance.runner.progress import Known, has_new_failure

FOLDER: Final = "gate"
"""Where bases are kept, in the cache."""

BASES: Final = 32
"""Bases that are kept."""

DIGITS: Final = 16
"""Digits of the digest that names a base's file."""


class KeptScenario(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario showed of a base."""

    at: str
    """When, in UTC."""
    ended: Ended


class KeptBase(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one base."""

    schema: Literal[2] = 2
    client: JudgedClient
    """As all scenarios judged it."""
    scenarios: tuple[KeptScenario, ...]

    def of(self, names: Collection[str]) -> tuple[KeptScenario, ...]:
        """Return what is kept of these scenarios."""
        return tuple(kept for kept in self.scenarios if kept.ended.scenario in names)

    def records(self, names: Collection[str]) -> tuple[Record, ...]:
        """Return the records of these scenarios, as far as they are kept."""
        return tuple(record_of(kept.ended, self.client) for kept in self.of(names))

    @property
    def names(self) -> frozenset[str]:
        """Return the scenarios that are kept."""
        return frozenset(kept.ended.scenario for kept in self.scenarios)


def place_of(client: Prepared, options: RunOptions) -> Path | None:
    """Return where a base is kept; None if it is not known to be the same later.

    The selection of scenarios is no part of it, so gates with different selections share it.
    """
    if options.environment or options.wrap:
        return None
    here, identity = suite(), client.identity
    if not identity.tree and identity.is_adapter:
        return None
    adapter = client.client
    about = (
        (here.version, here.content),
        (adapter.name, adapter.variant, client.version, identity.tree),
        "" if adapter.is_shipped else fingerprint.digest([adapter.folder]),
        (options.fast, options.isolated, options.no_baseline),
        {name: os.environ[name] for name in sorted(os.environ) if name.startswith("XDSPEC_")},
    )
    key = hashlib.sha256(msgspec.json.encode(about)).hexdigest()[:DIGITS]
    return cache() / FOLDER / f"{key}.json"


def read(place: Path | None) -> KeptBase | None:
    """Return what is kept of a base, if anything is."""
    try:
        return json_files.read(place, KeptBase) if place else None
    except (json_files.Unreadable, json_files.ForeignFile):
        return None


def with_more(
    kept: KeptBase | None, records: Sequence[Record], at: str, known: Known
) -> KeptBase | None:
    """Return what is kept, with what a run showed.

    A scenario with an error is not kept, nor one that ended early: another scenario of that run
    knew why. A failure that no baseline lists is not kept either: if the base fails by chance once,
    no later change could break that clause.

    Args:
        kept: what is there.
        records: of the run.
        at: when it ran, in UTC.
        known: tells which failures the baseline lists.
    """
    judged = records[0].client if records else None
    if judged is None:
        return kept
    fit = [
        record for record in records if not (ended_early(record) or has_new_failure(record, known))
    ]
    new = {record.scenario for record in records}
    old = kept.scenarios if kept and kept.client == judged else ()
    more = (KeptScenario(at=at, ended=ended_as(record)) for record in fit)
    return KeptBase(
        client=judged,
        scenarios=(*(there for there in old if there.ended.scenario not in new), *more),
    )


def add(
    place: Path,
    kept: KeptBase | None,
    records: Sequence[Record],
    at: datetime,
    known: Known,
) -> None:
    """Add the records of a run to what is kept of a base, and mark it as used.

    Bases that were used long ago are removed.
    """
    more = with_more(kept, records, at.isoformat(timespec="seconds"), known)
    if more is None:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(place, more)
    for old in _oldest_first(place.parent.glob("*.json"))[:-BASES]:
        old.unlink(missing_ok=True)


def _oldest_first(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.stat().st_mtime)
