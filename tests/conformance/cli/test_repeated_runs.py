"""``run --times``: scenarios that run several times, and clauses that no scenario decides."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.cli.repeated_runs import rates, worst_of
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict

CLAUSE, OTHER = "A42-RING-13", "A42-RING-06"


def ran(scenario: str, time: int, *decisions: Decision) -> Record:
    return Record(
        scenario=scenario,
        clauses=tuple(decision.clause for decision in decisions),
        client=JudgedClient(name="some", version="1", variant=None, follows=("A42",)),
        seed=1,
        seconds=1,
        decisions=decisions,
        side=f"{time}",
    )


GOOD = Decision(clause=CLAUSE, verdict=Verdict.PASS)
KNOWN = Decision(clause=OTHER, verdict=Verdict.FAIL, reason=Reason.DEVIATES)
BAD = Decision(clause=CLAUSE, verdict=Verdict.FAIL, reason=Reason.DEVIATES)


def test_the_worst_record_of_each_scenario_counts_and_a_new_failure_is_worse() -> None:
    records = [ran("a", 1, GOOD), ran("a", 2, KNOWN), ran("a", 3, BAD), ran("b", 1, GOOD)]
    chosen = worst_of(records, lambda _, decision: decision == KNOWN)
    assert chosen == tuple(
        msgspec.structs.replace(record, side="") for record in (records[2], records[3])
    )


def test_what_fails_is_counted_and_what_passes_is_one_line() -> None:
    records = [ran("a", 1, GOOD), ran("a", 2, BAD), *(ran("b", time, GOOD) for time in range(3))]
    assert [*rates(records)] == [
        f"a  2 times: 1 pass, 1 fail ({CLAUSE}: 1)",
        "1 scenario passed each time",
    ]


async def test_a_scenario_runs_as_often_as_wanted(xdspec: Any) -> None:
    words = ("--scenario", "hash_policy.policies_of_the_route", "--times", "3")
    ended = await xdspec.run("run", "reference", *words)
    assert ended.code == 0, ended.said
    assert "1 scenario passed each time" in ended.out
    assert "; 1 scenario in " in ended.out.splitlines()[-1], "the report has each scenario once"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--times", "3"), "--times is for some scenarios"),
        (("--times", "3", "--hold", "--scenario", "ring.search"), "--times excludes --hold"),
    ],
)
async def test_times_that_fit_no_run(xdspec: Any, words: tuple[str, ...], says: str) -> None:
    ended = await xdspec.run("run", "reference", *words)
    assert (ended.code, says in ended.err) == (4, True), ended.said


async def test_a_clause_without_a_scenario_says_why(xdspec: Any) -> None:
    ended = await xdspec.run("run", "reference", "--clause", "A42-CONF-08")
    assert ended.code == 5, ended.said
    assert "A42-CONF-08 is not judged: it cannot be observed. A property of the code" in ended.out
