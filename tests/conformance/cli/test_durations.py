"""What shards are dealt out by: a report that is named for it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conformance.cli.failures import Failure
from conformance.cli.sharding import durations_of, given, read_durations
from conformance.judging.evidence import JudgedClient
from conformance.judging.verdicts import Decision, Verdict
from conformance.reporting.build_run import build_run
from conformance.reporting.report import ClientId, Run
from conformance.runner.selection import Selection
from conformance.spec.catalogue import load
from tests.conformance.reporting import sample_reports


def run(name: str, *seconds: float) -> Run:
    client = JudgedClient(name=name, version="1", variant=None, follows=("A42",))
    decisions = [Decision(clause="A42-RING-05", verdict=Verdict.PASS)] * len(seconds)
    records = [
        msgspec.structs.replace(record, seconds=duration)
        for record, duration in zip(sample_reports.records(client, decisions), seconds, strict=True)
    ]
    return build_run(
        records, load(), client=ClientId(name, "1", None), follows=("A42",), wall_seconds=1
    )


def test_the_clients_own_runs_count_and_of_those_the_longest() -> None:
    report = sample_reports.report(run("go", 1.0, 2.0), run("go", 3.0), run("java", 9.0))
    assert durations_of(report, "go") == {"ring.some[0]": 3.0, "ring.some[1]": 2.0}
    assert durations_of(report, "node") == {"ring.some[0]": 9.0, "ring.some[1]": 2.0}
    assert durations_of(None, "go") == {}


def test_a_report_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="cannot be read"):
        read_durations(tmp_path / "none.json")
    assert read_durations(None) is None


def test_names_of_what_the_client_was_given_are_compared_and_no_values() -> None:
    def told(**environment: str) -> str:
        said = given(Selection(), fast=False, strict=False, environment=environment, wrap=())
        return said.environment

    assert told(TOKEN="of mine") == told(TOKEN="of yours") != told(OTHER="of mine")
    assert told() == ""
