"""Shards of a run put together: what the whole says, and which of them are none of one run."""

from __future__ import annotations

from datetime import date

import msgspec
import pytest

from conformance.judging.evidence import Record
from conformance.judging.verdicts import Cause, Reason, Verdict
from conformance.reporting import diff, merging, report
from conformance.reporting.baseline import Entry
from conformance.reporting.report import (
    Exit,
    NotRun,
    Report,
    exit_of,
)
from conformance.reporting.shard_report import ShardInputs
from tests.conformance.reporting.sample_shards import (
    CATALOGUE,
    CRASH,
    FREE,
    GO,
    ID,
    MUST,
    OF_CLUSTERS,
    OTHER,
    PASSES,
    dealt,
    decision,
    ended_by,
    entry,
    failed,
    named,
    of_runs,
    record,
    shards,
    whole,
)

REFUSED = Cause(resource="cluster", words="…: unsupported policy: 2")

RUNS: dict[str, tuple[tuple[Record, ...], tuple[Entry, ...], Exit]] = {
    "all pass": (PASSES, (), Exit.CONFORMS),
    "fewer scenarios than shards": (PASSES[:2], (), Exit.CONFORMS),
    "one fails": ((*PASSES, record("ring.a", failed(MUST))), (), Exit.DEVIATES),
    "a clause that passes in one shard and fails in another": (
        (record("ring.a", decision(MUST)), record("ring.b", failed(MUST))),
        (),
        Exit.DEVIATES,
    ),
    "an expected failure, and its clause passes in another shard": (
        (record("ring.a", failed(MUST)), record("ring.b", decision(MUST)), *PASSES),
        (entry(MUST, "ring.a"),),
        Exit.CONFORMS,
    ),
    "an expected failure that does not come": (
        (record("ring.a", decision(MUST)), *PASSES),
        (entry(MUST, "ring.a"),),
        Exit.DEVIATES,
    ),
    "an expected failure of which no scenario ran": (
        PASSES,
        (entry(MUST, "ring.a"),),
        Exit.CONFORMS,
    ),
    "two that follow different editions": (
        (
            record(
                "ring.a", failed(MUST, reason=Reason.EDITION, editions_consistent=("A42-2021",))
            ),
            record("ring.b", decision(MUST, editions_consistent=("A42",))),
        ),
        (),
        Exit.DEVIATES,
    ),
    "refused everywhere: one fails, the others are blocked": (
        (
            ended_by(REFUSED, "ring.a", MUST),
            ended_by(REFUSED, "ring.b", OTHER),
            ended_by(REFUSED, "cluster.c", OF_CLUSTERS),
            record("ring.d", decision(FREE)),
        ),
        (entry(OF_CLUSTERS, "cluster.c", shows="unsupported"),),
        Exit.CONFORMS,
    ),
    "crashed in one scenario alone": (
        (ended_by(CRASH, "ring.a", MUST), *PASSES),
        (),
        Exit.DEVIATES,
    ),
    "crashed in nearly all": (
        tuple(ended_by(CRASH, f"ring.{number}", (MUST, OTHER)[number % 2]) for number in range(5)),
        (),
        Exit.DEVIATES,
    ),
    "an error of the suite": (
        (*PASSES, record("ring.a", decision(MUST, Verdict.ERROR, reason=Reason.TIMING))),
        (),
        Exit.SUITE_TROUBLE,
    ),
    "nothing was judged": (
        (record("ring.a", decision(MUST, Verdict.SKIP, reason=Reason.CAPABILITY)),),
        (),
        Exit.NOTHING_RAN,
    ),
}


@pytest.mark.parametrize("of", [1, 2, 4])
@pytest.mark.parametrize("case", RUNS)
def test_merged_they_are_the_whole_run(case: str, of: int) -> None:
    records, entries, code = RUNS[case]
    wanted = whole(records, entries)
    found = merging.merged(named(shards(records, of, entries))[::-1], CATALOGUE)
    assert found.runs == (wanted,)
    assert report.code_of(found, strict=False) is exit_of(wanted) is code
    assert diff.diff(of_runs(wanted), found).is_empty


@pytest.mark.parametrize("of", [2, 4])
@pytest.mark.parametrize("case", RUNS)
def test_a_shard_says_of_the_client_only_what_the_whole_says_too(case: str, of: int) -> None:
    records, entries, _ = RUNS[case]
    of_all = whole(records, entries)
    for shard in shards(records, of, entries):
        (run,) = shard.runs
        assert {*run.surprises} <= {*of_all.surprises}
        fails = {name for name, said in run.clauses.items() if said.verdict is Verdict.FAIL}
        assert fails <= {n for n, said in of_all.clauses.items() if said.verdict is Verdict.FAIL}
        assert exit_of(run) in {Exit.CONFORMS, exit_of(of_all)}


def test_what_others_may_have_ended_by_too_is_open_in_a_shard() -> None:
    """Its entry speaks of the clause that fails for all of them, and that is elsewhere."""
    records, entries, _ = RUNS["refused everywhere: one fails, the others are blocked"]
    first, *_ = shards(records, 4, entries)
    (run,) = first.runs
    assert (run.clauses[MUST].verdict, run.clauses[MUST].reason) == (Verdict.SKIP, Reason.BLOCKED)
    assert exit_of(run) is Exit.CONFORMS
    assert (
        exit_of(whole(dealt(records, 4)[0], entries)) is Exit.DEVIATES
    )  # were it a run of its own


def test_entries_that_end_are_judged_by_the_day_of_the_first() -> None:
    entries = (entry(MUST, "ring.a", until=date(2026, 11, 21)),)
    records = (record("ring.a", failed(MUST)), *PASSES)
    reports = shards(records, 2, entries, today=date(2026, 11, 21))
    later = began(reports[1], "2026-11-22T00:10:00+00:00")
    found = merging.merged(named([later, reports[0]]), CATALOGUE)
    assert found.runs == (whole(records, entries, today=date(2026, 11, 21)),)
    assert found.provenance.started == reports[0].provenance.started
    assert [source.part for source in found.sources] == [1, 2]
    assert found.sources[1].started == later.provenance.started


def began(shard: Report, when: str) -> Report:
    origin = msgspec.structs.replace(shard.provenance, started=when)
    return msgspec.structs.replace(shard, provenance=origin)


def test_clients_one_after_another_and_one_that_cannot_be_had() -> None:
    left = (NotRun(client="java", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words="no JDK"),)
    reports = [
        msgspec.structs.replace(
            shard,
            runs=(*shard.runs, msgspec.structs.replace(shard.runs[0], client=GO)),
            not_run=left,
        )
        for shard in shards(PASSES, 2)
    ]
    found = merging.merged(named(reports), CATALOGUE)
    assert [run.client for run in found.runs] == [ID, GO]
    assert found.not_run == left
    assert merging.issues(named(reports)) == ("https://x", "https://x")
    built = msgspec.structs.replace(left[0], verdict=Verdict.ERROR, reason=Reason.ADAPTER)
    bad = msgspec.structs.replace(found, not_run=(built,))
    assert report.code_of(bad, strict=False) is Exit.ADAPTER_TROUBLE


def test_strict_is_what_the_shards_were_told() -> None:
    assert not merging.is_strict(named(shards(PASSES, 2)))
    assert merging.is_strict(named(shards(PASSES, 2, given=ShardInputs(strict=True))))
