"""A run's report: how records become one, the exit code that it deserves, JSON and JUnit."""

from __future__ import annotations

import itertools
import json
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from rich.console import Console

from conformance.judging.evidence import Record
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import ClauseResult, Reason, Verdict
from conformance.reporting import advice, console, failure_texts, report
from conformance.reporting.provenance import provenance
from conformance.reporting.report import Exit, Report, Run, exit_of, first_of
from conformance.spec.catalogue import Strength
from tests.conformance.reporting.sample_runs import (
    CATALOGUE,
    CONTROL,
    FAILED,
    FREE,
    KNOWN,
    MUST,
    PASSED,
    SHOULD,
    SKIPPED,
    WHOLE,
    decision,
    error,
    of,
    record,
    run,
)


def test_why_a_clause_was_skipped() -> None:
    def words(clause: str, reason: Reason, saw: str) -> str:
        made = run(record("ring.a", decision(clause, Verdict.SKIP, reason, saw)))
        return report.why_skipped(CATALOGUE[clause], made.clauses[clause])

    assert words(MUST, Reason.CAPABILITY, "it cannot") == "it cannot"
    assert words(MUST, Reason.EDITION, "all calls") == (
        "a clause of A42-2021, A42, which the client does not declare"
    )
    alone = CATALOGUE["A42-CHAN-01"].grpc_only or ""
    assert words("A42-CHAN-01", Reason.EDITION, alone) == f"gRPC only: {alone[:-1]}"


@pytest.mark.parametrize(("verdict", "advised"), [(Verdict.FAIL, 1), (Verdict.SKIP, 0)])
def test_another_edition_is_advised_for_failures_only(verdict: Verdict, advised: int) -> None:
    otherwise = decision("A42-PRO-10", verdict, Reason.EDITION)
    fitting = msgspec.structs.replace(otherwise, editions_consistent=("A61",))
    assert len([*advice.advice(run(record("ring.a", fitting)))]) == advised


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (RingKeys(format="ip:port_i"), []),
        (
            RingKeys(format="ip:port_i", is_found=True),
            ["look like ip:port_i (measured)"],
        ),
        (
            RingKeys(note="client.toml says so"),
            ["only the sizes of its arcs are judged", "client.toml says so"],
        ),
    ],
)
def test_ring_keys_that_are_not_stated_are_told(keys: RingKeys, words: list[str]) -> None:
    recorded = of(MUST, PASSED)
    judged = msgspec.structs.replace(recorded.client, ring_keys=keys)
    made = run(msgspec.structs.replace(recorded, client=judged))
    assert made.ring_keys == keys
    told = " ".join(console.ring_keys(made))
    assert all(each in told for each in words)
    assert bool(told) is bool(words)


@pytest.mark.parametrize(
    ("clause", "line", "advised"),
    [
        ("A42-RING-03", "client.toml, [[ring-key-formats]]: correct", 1),
        (FREE, f'client.toml, [[choices]] with clause = "{FREE}": correct', 0),
    ],
)
def test_the_line_of_a_manifest_that_is_not_true_is_named(
    clause: str, line: str, advised: int
) -> None:
    made = run(of(clause, (Verdict.FAIL, Reason.STATED)))
    text, _ = failure_texts.failures(made, CATALOGUE, "xdspec run", "https://example.com")
    assert line in text
    assert "--strict" not in text
    assert len([*advice.advice(made), *advice.first_to_read(made)]) == advised


def test_the_clauses_used_here_are_what_their_names_say() -> None:
    strengths = [CATALOGUE[clause].strength for clause in (MUST, SHOULD, FREE)]
    assert strengths == [Strength.MUST, Strength.SHOULD, Strength.UNSPECIFIED]


OTHERWISE = msgspec.structs.replace(KNOWN, reason=Reason.CRASHED)


@pytest.mark.parametrize(
    ("given", "code", "strict_code"),
    [
        (run(of(MUST, PASSED)), Exit.CONFORMS, Exit.CONFORMS),
        (run(of(MUST, FAILED)), Exit.DEVIATES, Exit.DEVIATES),
        (run(of(FREE, (Verdict.FAIL, Reason.STATED))), Exit.DEVIATES, Exit.DEVIATES),
        (run(of(SHOULD, FAILED)), Exit.CONFORMS, Exit.DEVIATES),
        (run(of(MUST, SKIPPED)), Exit.NOTHING_RAN, Exit.NOTHING_RAN),
        (run(of(MUST, SKIPPED), of(SHOULD, PASSED)), Exit.CONFORMS, Exit.CONFORMS),
        (run(of(FREE, (Verdict.SEEN, None))), Exit.CONFORMS, Exit.CONFORMS),
        (run(), Exit.NOTHING_RAN, Exit.NOTHING_RAN),
        (run(error(Reason.ADAPTER)), Exit.ADAPTER_TROUBLE, Exit.ADAPTER_TROUBLE),
        (run(error(Reason.SUITE)), Exit.SUITE_TROUBLE, Exit.SUITE_TROUBLE),
        (run(error(Reason.TIMING)), Exit.SUITE_TROUBLE, Exit.SUITE_TROUBLE),
        (run(of(MUST, FAILED), entries=[KNOWN]), Exit.CONFORMS, Exit.CONFORMS),
        (run(of(MUST, FAILED), entries=[OTHERWISE]), Exit.DEVIATES, Exit.DEVIATES),
        (
            run(record(KNOWN.scenarios[0], decision(MUST, *PASSED)), entries=[KNOWN]),
            *(Exit.DEVIATES, Exit.DEVIATES),
        ),
        (run(troubles=("a worker died",)), Exit.SUITE_TROUBLE, Exit.SUITE_TROUBLE),
        (run(complete=False), Exit.INTERRUPTED, Exit.INTERRUPTED),
    ],
)
def test_exit_code(given: Run, code: Exit, strict_code: Exit) -> None:
    assert exit_of(given) is code
    assert exit_of(given, strict=True) is strict_code


SIGNS: dict[Exit, Any] = {
    Exit.INTERRUPTED: {"complete": False},
    Exit.SUITE_TROUBLE: {"troubles": ("a worker died",)},
    Exit.ADAPTER_TROUBLE: (of(SHOULD, (Verdict.ERROR, Reason.ADAPTER)),),
    Exit.DEVIATES: (of(MUST, FAILED),),
    Exit.CONFORMS: (of(FREE, PASSED),),
}


BROKEN_OFF = (Exit.INTERRUPTED, Exit.SUITE_TROUBLE)
"""What is not complete as something ended it was not interrupted by anybody."""


@pytest.mark.parametrize(
    ("first", "second"), [*{*itertools.combinations(SIGNS, 2)} - {BROKEN_OFF}], ids=str
)
def test_the_first_that_applies(first: Exit, second: Exit) -> None:
    records: tuple[Record, ...] = ()
    more: dict[str, Any] = {}
    for sign in (SIGNS[first], SIGNS[second]):
        if isinstance(sign, dict):
            more |= sign
        else:
            records += sign
    assert exit_of(run(*records, **more)) is first
    says_all = (first,) if second is Exit.CONFORMS else (first, second)
    assert report.said_of(run(*records, **more)) == says_all


def test_what_broke_off_was_not_interrupted() -> None:
    made = run(complete=False, troubles=("a worker died",))
    assert report.said_of(made) == (Exit.SUITE_TROUBLE,)


def test_trouble_of_the_suite_in_a_clause_that_failed_elsewhere_is_not_lost() -> None:
    """The clause fails, and the scenario with the error fails by another clause."""
    both = record(
        "ring.both",
        decision(SHOULD, *FAILED),
        decision(MUST, Verdict.ERROR, Reason.SUITE),
    )
    made = run(both, of(MUST, FAILED))
    assert made.clauses[MUST].verdict is Verdict.FAIL
    assert exit_of(made) is Exit.SUITE_TROUBLE


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ([Exit.CONFORMS, Exit.CONFORMS], Exit.CONFORMS),
        ([Exit.NOTHING_RAN, Exit.CONFORMS], Exit.CONFORMS),
        ([Exit.NOTHING_RAN, Exit.NOTHING_RAN], Exit.NOTHING_RAN),
        ([], Exit.NOTHING_RAN),
        ([Exit.NOTHING_RAN, Exit.DEVIATES], Exit.DEVIATES),
        ([Exit.DEVIATES, Exit.ADAPTER_TROUBLE], Exit.ADAPTER_TROUBLE),
        ([Exit.ADAPTER_TROUBLE, Exit.SUITE_TROUBLE], Exit.SUITE_TROUBLE),
        ([Exit.SUITE_TROUBLE, Exit.INTERRUPTED], Exit.INTERRUPTED),
    ],
)
def test_exit_code_of_several_clients(codes: list[Exit], code: Exit) -> None:
    assert first_of(codes) is code


def test_the_codes_are_the_documented_ones() -> None:
    assert {code.name: code.value for code in Exit} == {
        "CONFORMS": 0,
        "DEVIATES": 1,
        "INTERRUPTED": 2,
        "SUITE_TROUBLE": 3,
        "BAD_INPUT": 4,
        "NOTHING_RAN": 5,
        "ADAPTER_TROUBLE": 6,
    }


def test_scenarios_are_in_order_and_clauses_combined() -> None:
    assert [scenario.id for scenario in WHOLE.scenarios] == ["ring.a", "ring.b", "ring.c", "ring.d"]
    assert WHOLE.clauses[MUST].verdict is Verdict.FAIL
    assert WHOLE.clauses[MUST].scenarios == ("ring.a", "ring.b")
    assert WHOLE.totals == {
        Verdict.FAIL: 1,
        Verdict.ERROR: 1,
        Verdict.PASS: 0,
        Verdict.SEEN: 0,
        Verdict.SKIP: 1,
    }
    assert WHOLE.wall_seconds == 1.235


def test_what_was_measured_is_told_even_of_a_pass() -> None:
    took = [
        msgspec.structs.replace(decision("A56-TIMER-01", *PASSED), seconds=seconds)
        for seconds in (10.018, 10.204)
    ]
    made = run(record("timer.a", took[0]), record("timer.b", took[1]), of(MUST, PASSED))
    assert made.clauses["A56-TIMER-01"].seconds == (10.018, 10.204)
    said = StringIO()
    screen = Console(file=said, width=200)
    console.show(
        screen,
        made,
        CATALOGUE,
        [Exit.CONFORMS],
        repeat="xdspec run",
        issues="",
        brief=False,
        verbose=True,
    )
    (line,) = [row for row in said.getvalue().splitlines() if "A56-TIMER-01" in row]
    assert line.endswith(f"{CATALOGUE['A56-TIMER-01'].title}: 10.02 s, 10.20 s")


def test_what_was_not_judged_is_counted_by_edition() -> None:
    out = (Verdict.SKIP, Reason.EDITION)
    names = ("A76-KEY-01", "A76-KEY-02", "A113-WEIGHT-01")
    left_out = [of(name, out) for name in names]
    assert list(console.not_judged(run(of(MUST, PASSED), *left_out), CATALOGUE)) == [
        "2 clauses of A76 skipped: client.toml does not declare it",
        "1 clause of A113 skipped: client.toml does not declare it",
    ]
    assert not list(console.not_judged(run(of(MUST, SKIPPED)), CATALOGUE))
    foreign = decision("A76-KEY-06", *out, CATALOGUE["A76-KEY-06"].grpc_only or "")
    assert not list(console.not_judged(run(record("ring.a", foreign)), CATALOGUE))


def test_a_scenario_says_what_went_wrong() -> None:
    failed = WHOLE.scenarios[1]
    assert (failed.verdict, failed.reason) == FAILED
    assert failed.clauses == {MUST: Verdict.FAIL, SHOULD: Verdict.PASS}
    assert [finding.saw for finding in failed.findings] == [CONTROL]
    assert (failed.served, failed.evidence) == (("four endpoints",), "out/b")
    assert WHOLE.scenarios[0].served == ()


def least_shape(value: Report) -> None:
    """What the issue promises to programs."""
    read = json.loads(msgspec.json.encode(value))
    assert read["schema"] == 1
    first_run = read["runs"][0]
    assert {"name", "version", "variant"} <= set(first_run["client"])
    assert first_run["wall_seconds"] > 0
    for scenario in first_run["scenarios"]:
        assert {"id", "verdict", "reason", "seconds", "clauses", "evidence"} <= set(scenario)
    for clause in first_run["clauses"].values():
        names = {"verdict", "reason", "strength", "scenarios", "editions_consistent", "seen"}
        assert names <= set(clause)
    assert first_run["totals"]["pass"] >= 0


WRITTEN = Report(provenance=provenance(CATALOGUE, seed=1), runs=(WHOLE,))


def test_json(tmp_path: Path) -> None:
    least_shape(WRITTEN)
    report.write_json(WRITTEN, tmp_path / "r.json")
    assert msgspec.json.decode((tmp_path / "r.json").read_bytes(), type=Report) == WRITTEN


def test_the_schema_that_is_checked_in_is_current() -> None:
    """Made by `python -m conformance.reporting.report`."""
    assert json.loads(report.SCHEMA_FILE.read_text()) == json.loads(json.dumps(report.schema()))


def test_the_schema_validates_a_report_and_refuses_others() -> None:
    schema = json.loads(report.SCHEMA_FILE.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    good = json.loads(msgspec.json.encode(WRITTEN))
    validator.validate(good)
    for spoil in ("runs", "schema"):
        assert not validator.is_valid({name: good[name] for name in good if name != spoil})
    good["runs"][0]["scenarios"][0]["verdict"] = "fine"
    assert not validator.is_valid(good)


def test_a_result_is_plain_data() -> None:
    result = WHOLE.clauses[MUST]
    assert msgspec.json.decode(msgspec.json.encode(result), type=ClauseResult) == result
