"""Shards of a run put together: what the whole says, and which of them are none of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test import Identity
from conformance.cli import commands
from conformance.judging.evidence import JudgedClient, Record, Trouble
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import Cause, Decision, Reason, Verdict
from conformance.reporting import diff, merging, report
from conformance.reporting.baseline import Entry
from conformance.reporting.report import (
    BadReport,
    ClientId,
    Exit,
    NotRun,
    Report,
    Run,
    build_run,
    exit_of,
)
from conformance.reporting.shard_report import ShardInputs, ShardReport, ended_as
from conformance.runner.sharding import plan_of
from conformance.spec.catalogue import load
from tests.conformance.cli.mutations import SEEDS, mutated_json
from tests.conformance.reporting import sample_reports

CATALOGUE = load()
ORIGIN = sample_reports.report().provenance
ID = ClientId("python", "1.85.1", None)
CLIENT = JudgedClient(
    name="python", version="1.85.1", variant=None, follows=("A42",), issues="https://x"
)
MUST, OTHER, FREE, OF_CLUSTERS = "A42-RING-05", "A42-RING-07", "A42-RING-10", "A42-CDS-01"
REFUSED = Cause(resource="cluster", words="…: unsupported policy: 2")
CRASH = Cause(words="SIGSEGV")


def decision(clause: str, verdict: Verdict = Verdict.PASS, **more: Any) -> Decision:
    return Decision(clause=clause, verdict=verdict, **more)


def failed(clause: str, saw: str = "16 entries", **more: Any) -> Decision:
    return decision(
        clause, Verdict.FAIL, reason=more.pop("reason", Reason.DEVIATES), saw=saw, **more
    )


def record(name: str, *decisions: Decision, **more: Any) -> Record:
    clauses = tuple(dict.fromkeys(decided.clause for decided in decisions))
    fields = {"client": CLIENT, "seed": 1, "seconds": 0.5, "decisions": decisions, **more}
    return Record(scenario=name, clauses=clauses, **fields)


def ended_by(cause: Cause, name: str, clause: str) -> Record:
    """A scenario that could not go on."""
    reason = Reason.DEVIATES if cause.resource else Reason.CRASHED
    trouble = Trouble(verdict=Verdict.FAIL, reason=reason, what=cause.words, cause=cause)
    return record(name, failed(clause, cause.words, reason=reason, cause=cause), trouble=trouble)


def entry(clause: str, *scenarios: str, **more: Any) -> Entry:
    said = {"reason": Reason.DEVIATES, "seen": "calls", "shows": "entries"}
    said |= {"explanation": "is known"}
    return Entry(clause=clause, scenarios=scenarios, **(said | more))


def dealt(records: Sequence[Record], of: int) -> list[list[Record]]:
    return [[*records[number::of]] for number in range(of)]


def whole(records: Iterable[Record], entries: Sequence[Entry] = (), **more: Any) -> Run:
    told: dict[str, Any] = {
        "client": ID,
        "follows": ("A42",),
        "wall_seconds": 2.0,
        "entries": entries,
    }
    return build_run(records, CATALOGUE, **(told | more))


def of_runs(*runs: Run) -> Report:
    return Report(provenance=ORIGIN, runs=runs)


def shards(
    records: Sequence[Record],
    of: int,
    entries: Sequence[Entry] = (),
    *,
    given: ShardInputs | None = None,
    **more: Any,
) -> list[Report]:
    """The reports of the shards of a run."""
    piles = dealt(records, of)
    plan = plan_of([item.scenario for item in pile] for pile in piles)
    return [
        of_runs(
            whole(
                pile,
                entries,
                part=ShardReport(
                    number=number,
                    of=of,
                    plan=plan,
                    given=given or ShardInputs(),
                    entries=tuple(entries),
                    client=pile[0].client if pile else None,
                    ended=tuple(map(ended_as, pile)),
                ),
                **more,
            )
        )
        for number, pile in enumerate(piles, 1)
    ]


def named(reports: Iterable[Report]) -> list[tuple[str, Report]]:
    return [(f"{number}.json", shard) for number, shard in enumerate(reports, 1)]


PASSES = tuple(record(f"ring.passes[{number}]", decision(FREE)) for number in range(4))

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


GO = ClientId("go", "1.80.0", None)


def test_strict_is_what_the_shards_were_told() -> None:
    assert not merging.is_strict(named(shards(PASSES, 2)))
    assert merging.is_strict(named(shards(PASSES, 2, given=ShardInputs(strict=True))))


# What is no whole.


def with_run(shard: Report, **fields: Any) -> Report:
    return msgspec.structs.replace(shard, runs=(msgspec.structs.replace(shard.runs[0], **fields),))


def with_part(shard: Report, **fields: Any) -> Report:
    assert shard.runs[0].part
    return with_run(shard, part=msgspec.structs.replace(shard.runs[0].part, **fields))


def with_origin(shard: Report, **fields: Any) -> Report:
    return msgspec.structs.replace(
        shard, provenance=msgspec.structs.replace(shard.provenance, **fields)
    )


def judged(**fields: Any) -> dict[str, Any]:
    return {"client": msgspec.structs.replace(CLIENT, **fields)}


MIXED: dict[str, Callable[[Report], Report]] = {
    "different number of shards: 4 in 1.json, 5 in 2.json": lambda shard: with_part(shard, of=5),
    "different version of the suite: 0.1.0 in 1.json, 0.2.0 in 2.json": lambda shard: with_origin(
        shard, suite=msgspec.structs.replace(shard.provenance.suite, version="0.2.0")
    ),
    "different commit of the suite: 0123456789abcdef in 1.json, none in 2.json": lambda shard: (
        with_origin(shard, suite=msgspec.structs.replace(shard.provenance.suite, commit=None))
    ),
    "different content of the suite: none in 1.json, aa in 2.json": lambda shard: with_origin(
        shard, suite=msgspec.structs.replace(shard.provenance.suite, content="aa")
    ),
    "different catalogue: ": lambda shard: with_origin(shard, catalogue="0"),
    "different seed: 1 in 1.json, 2 in 2.json": lambda shard: with_origin(shard, seed=2),
    "different version of grpcio: ": lambda shard: with_origin(
        shard, dependencies={**shard.provenance.dependencies, "grpcio": "1.0.0"}
    ),
    "different clients not run: none in 1.json, java in 2.json": lambda shard: (
        msgspec.structs.replace(
            shard,
            not_run=(
                NotRun(client="java", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words="no"),
            ),
        )
    ),
    "python 1.85.1 is in 1.json and not in 2.json": lambda shard: with_run(
        shard, client=msgspec.structs.replace(ID, version="1.86.0")
    ),
    "different editions of python 1.85.1 in 1.json and 2.json": lambda shard: with_run(
        shard, follows=("A61",)
    ),
    "different commit of python 1.85.1: none in 1.json, bbbbbbbbbbbb with changes in 2.json": (
        lambda shard: with_run(shard, identity=Identity(source="/a", commit="b" * 40, dirty=True))
    ),
    "different content of its sources of python 1.85.1: none in 1.json, cccccccccccc in 2.json": (
        lambda shard: with_run(shard, identity=Identity(source="/a", tree="c" * 64))
    ),
    "different --fast of python 1.85.1: False in 1.json, True in 2.json": lambda shard: with_part(
        shard, given=ShardInputs(fast=True)
    ),
    "different --strict of": lambda shard: with_part(shard, given=ShardInputs(strict=True)),
    "different --only of": lambda shard: with_part(shard, given=ShardInputs(only=(MUST,))),
    "different --scenario of": lambda shard: with_part(
        shard, given=ShardInputs(scenarios=("ring.*",))
    ),
    "different --clause of": lambda shard: with_part(shard, given=ShardInputs(clauses=(MUST,))),
    "different names given by --env of python 1.85.1: none in 1.json, A, TOKEN in 2.json": (
        lambda shard: with_part(shard, given=ShardInputs(environment="A, TOKEN"))
    ),
    "different --wrap of": lambda shard: with_part(shard, given=ShardInputs(wrap=("valgrind",))),
    "different set of variables of": lambda shard: with_part(
        shard, given=ShardInputs(variables={"XDSPEC_SOAK": "30"})
    ),
    "different baseline of": lambda shard: with_part(shard, entries=(entry(MUST, "ring.a"),)),
    "different plan of who has which scenarios of": lambda shard: with_part(shard, plan="0" * 64),
    "different key format of its rings of python 1.85.1: unknown in 1.json, ip:port_i in 2.json": (
        lambda shard: with_part(shard, **judged(ring_keys=RingKeys(format="ip:port_i")))
    ),
    "different set of stated choices of": lambda shard: with_part(
        shard, **judged(choices={FREE: "upwards"})
    ),
    "2.json is not a part of a run: it was written without --shard": lambda shard: with_run(
        shard, part=None
    ),
    "2.json: part 2 of 4 of python 1.85.1 did not finish": lambda shard: with_run(
        shard, complete=False
    ),
    "2.json contains no runs": lambda shard: msgspec.structs.replace(shard, runs=()),
    "2.json has several runs of one client": lambda shard: msgspec.structs.replace(
        shard, runs=shard.runs * 2
    ),
    "2.json has several parts of one run": lambda shard: msgspec.structs.replace(
        shard, runs=(*shard.runs, with_part(with_run(shard, client=GO), number=3).runs[0])
    ),
    "part 1 of 4 is given twice: 1.json and 2.json": lambda shard: with_part(shard, number=1),
    "the shards of python 1.85.1 lack scenarios that the plan assigned to them": (
        lambda shard: with_part(shard, ended=())
    ),
    "2.json has no verdict on a clause of ring.passes[1]": lambda shard: with_ended(
        shard, decisions=()
    ),
    "2.json has no verdict on a clause of ring.passes[1] ": lambda shard: with_ended(
        shard, clauses=(FREE, MUST)
    ),
    "2.json judges A42-RING-99, which is not a clause": lambda shard: with_ended(
        shard, clauses=("A42-RING-99",), decisions=(decision("A42-RING-99"),)
    ),
}


def with_ended(shard: Report, **more: Any) -> Report:
    """The report of a shard with another end of its first scenario."""
    part = shard.runs[0].part
    assert part
    first, *others = part.ended
    return with_part(shard, ended=(msgspec.structs.replace(first, **more), *others))


@pytest.mark.parametrize("words", MIXED)
def test_what_is_no_shard_of_one_run_is_refused(words: str) -> None:
    first, second, *others = shards(PASSES, 4)
    with pytest.raises(BadReport) as refused:
        merging.merged(named([first, MIXED[words](second), *others]), CATALOGUE)
    assert words.strip() in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ([0, 1, 3], "part 3 of 4 is missing"),
        ([2], "parts 1, 2, 4 of 4 are missing"),
        ([0, 1, 2, 3, 1], "part 2 of 4 is given twice: 2.json and 5.json"),
    ],
)
def test_gaps_and_doubles(left: list[int], words: str) -> None:
    reports = shards(PASSES, 4)
    with pytest.raises(BadReport, match=words):
        merging.merged(named([reports[number] for number in left]), CATALOGUE)


def test_another_suite_merges_nothing() -> None:
    reports = [with_origin(shard, catalogue="2020") for shard in shards(PASSES, 2)]
    with pytest.raises(BadReport, match=r"1\.json is of catalogue 2020, and this suite has"):
        merging.merged(named(reports), CATALOGUE)


def test_no_other_command_takes_a_part_for_the_whole(tmp_path: Path) -> None:
    first, *_ = shards(PASSES, 2)
    path = tmp_path / "first.json"
    report.write_json(first, path)
    assert report.read_any(path) == first
    with pytest.raises(BadReport, match="is part 1 of 2 of a run: join all parts with"):
        report.read(path)


def test_mangled_shards_are_merged_or_refused_in_one_sentence(tmp_path: Path) -> None:
    records = (*PASSES, record("ring.a", failed(MUST)), ended_by(CRASH, "ring.b", OTHER))
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for shard, path in zip(shards(records, 2), paths, strict=True):
        report.write_json(shard, path)
    good = paths[0].read_bytes()
    wrong = []
    for seed in SEEDS:
        for number in range(4):
            paths[0].write_bytes(mutated_json(good, Random(f"shard {seed} {number}")))
            words = ["merge", str(tmp_path / "all.json"), *map(str, paths)]
            ended = CliRunner().invoke(commands.main, words)
            if ended.exit_code == Exit.SUITE_TROUBLE and "please report" in ended.output:
                wrong.append(f"{seed} {number}: {ended.output[-300:]}")
    assert not wrong
