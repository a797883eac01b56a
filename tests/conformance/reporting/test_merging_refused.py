"""Shards that are not of one whole run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.environments import Identity
from conformance.cli import commands
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting import merging, report
from conformance.reporting.report import (
    BadReport,
    Exit,
    NotRun,
    Report,
)
from conformance.reporting.shard_report import ShardInputs
from tests.conformance.cli.mutations import SEEDS, mutated_json
from tests.conformance.reporting.sample_shards import (
    CATALOGUE,
    CRASH,
    FREE,
    GO,
    ID,
    MUST,
    OTHER,
    PASSES,
    decision,
    ended_by,
    entry,
    failed,
    judged,
    named,
    record,
    shards,
)

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
    "2.json: provenance.started is 'soon', not a time": lambda shard: with_origin(
        shard, started="soon"
    ),
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
