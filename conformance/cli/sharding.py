"""What one shard has of a client's run, and what its report needs for the whole to be made."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.cli.failures import Failure
from conformance.judging.evidence import Record
from conformance.reporting.baseline import Entry
from conformance.reporting.report import BadReport, Report, read
from conformance.reporting.shard_report import ShardInputs, ShardReport, ended_as
from conformance.runner.collection import collect_scenarios
from conformance.runner.selection import Selection
from conformance.runner.settings import LEAST, Settings
from conformance.runner.sharding import Shard, plan_of, recorded, shares


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one shard has of a client's run."""

    shard: Shard
    selection: Selection
    plan: str

    def part(
        self, records: Sequence[Record], entries: tuple[Entry, ...], given: ShardInputs
    ) -> ShardReport:
        """Return the shard's part of a report, after it ran."""
        return ShardReport(
            number=self.shard.number,
            of=self.shard.of,
            plan=self.plan,
            given=given,
            entries=entries,
            client=next((record.client for record in records), None),
            ended=tuple(map(ended_as, records)),
        )


def share(shard: Shard, settings: Settings, durations: Mapping[str, float]) -> Share | None:
    """Return a shard's share of the selected scenarios; None if no scenario can be collected.

    Args:
        shard: which.
        settings: the whole run, of one client.
        durations: what is recorded beside the table of the suite, and counts more than that.
    """
    try:
        there = collect_scenarios(settings)
    except RuntimeError:  # the run itself tells why
        return None
    dealt_out = shares(there, {**recorded(), **durations}, shard.of)
    own = tuple(("", name) for name in dealt_out[shard.number - 1])
    selection = msgspec.structs.replace(settings.selection, exactly=own or NOTHING)
    return Share(shard=shard, selection=selection, plan=plan_of(dealt_out))


NOTHING = (("", ""),)
"""A selection of no scenario: none has this name."""


def durations_of(report: Report | None, client: str) -> dict[str, float]:
    """How many seconds each scenario took at most: in the runs of this client, or in all.

    Args:
        report: that is named for it, if one is.
        client: by its name.
    """
    runs = report.runs if report else ()
    own = [run for run in runs if run.client.name == client] or runs
    longest: dict[str, float] = {}
    for scenario in (scenario for run in own for scenario in run.scenarios):
        longest[scenario.id] = max(scenario.seconds, longest.get(scenario.id, 0.0))
    return longest


def read_durations(path: Path | None) -> Report | None:
    """Read the report with durations that the user named.

    Raises:
        Failure: there is none, or none with whole runs.
    """
    try:
        return read(path) if path else None
    except BadReport as error:
        raise Failure(str(error)) from None


def given(
    selection: Selection,
    *,
    fast: bool,
    strict: bool,
    environment: Iterable[str],
    wrap: tuple[str, ...],
) -> ShardInputs:
    """Return the user's options, which `xdspec merge` compares with those of other shards."""
    return ShardInputs(
        only=selection.only,
        scenarios=selection.scenarios,
        clauses=selection.clauses,
        fast=fast,
        strict=strict,
        environment=", ".join(sorted(environment)),
        wrap=wrap,
        variables={name: os.environ[name] for name in LEAST if name in os.environ},
    )
