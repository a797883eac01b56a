"""Which mutants are of an area, and of which scenarios a part of them tells anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from client_under_test.reference.editions.mutants import Mutant, NoSuchRule
from conformance.judging.declaration import Declaration
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.mutation import results
from conformance.mutation.results import (
    MUTANTS,
    DeclaredMutant,
    MutantResult,
    declared_mutants,
    fully_tried,
    matrix,
    to_repeat,
)
from conformance.runner.collection import scenarios
from conformance.spec.catalogue.loader import load


def mutant(name: str, clause: str) -> DeclaredMutant:
    place = f"{MUTANTS}.a42.ring:{name}"
    more = {"broken": "", "variant": "", "reports": "", "issue": ""}
    return DeclaredMutant(id=f"ring.{name}", clause=clause, place=place, **more)


@pytest.mark.parametrize(
    ("area", "is_in"),
    [
        ("a42", True),
        ("a42/ring", True),
        ("a42/ring_config", False),
        ("a4", False),
        ("a37", False),
        ("ring", False),
        ("", False),
    ],
)
def test_an_area_is_a_base_text_or_a_file(area: str, is_in: bool) -> None:  # noqa: FBT001
    assert mutant("one", "A42-RING-13").is_in(area) == is_in


def test_every_mutant_is_in_an_area_of_its_own_file() -> None:
    assert all(
        declared_mutant.module.rpartition("/")[2] == declared_mutant.id.partition(".")[0]
        for declared_mutant in declared_mutants()
    )


def test_every_clause_that_a_scenario_decides_has_a_mutant() -> None:
    decided = {clause for declared in scenarios().values() for clause in declared.clauses}
    assert decided - {declared.clause for declared in declared_mutants()} == set()


FIRST, SECOND, OTHER = mutant("1", "A42-X-01"), mutant("2", "A42-X-01"), mutant("3", "A42-X-02")
SCENARIOS = {
    "of.one": Declaration(clauses=("A42-X-01",)),
    "of.both": Declaration(clauses=("A42-X-01", "A42-X-02")),
    "of.none": Declaration(clauses=("A42-X-03",)),
}


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ([FIRST], set()),
        ([FIRST, SECOND], {"of.one"}),
        ([OTHER], set()),
        ([FIRST, SECOND, OTHER], {"of.one", "of.both"}),
    ],
)
def test_a_scenario_is_idle_only_if_all_of_its_mutants_ran(
    chosen: list[DeclaredMutant], told: set[str]
) -> None:
    of = [FIRST, SECOND, OTHER]
    assert set(fully_tried(SCENARIOS, chosen=chosen, of=of)) == told


@pytest.mark.parametrize(
    ("killing", "idle"),
    [
        ("of.two[a]", ("of.one",)),
        ("of.one", ("of.two[a]", "of.two[b]")),
    ],
)
def test_one_row_of_a_table_proves_the_others(
    monkeypatch: pytest.MonkeyPatch, killing: str, idle: tuple[str, ...]
) -> None:
    monkeypatch.setattr(
        results,
        "result_of",
        lambda declared_mutant, *_: MutantResult(
            id=declared_mutant.id,
            clause=declared_mutant.clause,
            verdict="killed",
            by=(killing,),
            also_failed=(),
        ),
    )
    scenarios = dict.fromkeys(
        ("of.one", "of.two[a]", "of.two[b]"), Declaration(clauses=("A42-X-01",))
    )
    assert matrix([FIRST], [{}], scenarios, load()).idle == idle


KEPT_OUT = Decision(
    clause="A42-X-01", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, saw="no port 53 here"
)
PASSED = Decision(clause="A42-X-01", verdict=Verdict.PASS)


@pytest.mark.parametrize(
    ("decided", "verdict", "trouble", "idle"),
    [
        ([KEPT_OUT, KEPT_OUT], "untried", "of.one: no port 53 here", ("of.none",)),
        ([KEPT_OUT, PASSED], "survived", "", ("of.both", "of.none")),
        ([PASSED, PASSED], "survived", "", ("of.both", "of.none", "of.one")),
        ([], "survived", "no scenario claims its clause", ("of.both", "of.none", "of.one")),
    ],
)
def test_a_mutant_that_this_machine_lets_no_scenario_try_is_untried(
    monkeypatch: pytest.MonkeyPatch,
    decided: list[Decision],
    verdict: str,
    trouble: str,
    idle: tuple[str, ...],
) -> None:
    monkeypatch.setattr(results, "once_each", lambda records, _: records)
    monkeypatch.setattr(results, "leaves_a_choice", lambda _: False)
    catalogue: Any = {"A42-X-01": None, "A42-X-02": None, "A42-X-03": None}
    records: Any = {
        FIRST.id: [
            SimpleNamespace(scenario=scenario, decisions=(decision,), evidence=f"out/{scenario}")
            for scenario, decision in zip(SCENARIOS, decided, strict=False)
        ]
    }
    made = matrix([FIRST], [records], SCENARIOS, catalogue)
    assert (made.mutants[0].verdict, made.mutants[0].trouble) == (verdict, trouble)
    assert made.idle == idle


KILLED = Decision(clause="A42-X-01", verdict=Verdict.FAIL, reason=Reason.DEVIATES)


@pytest.mark.parametrize(
    ("first", "more", "verdict", "repeats"),
    [
        (KILLED, [], "killed", False),
        (PASSED, [], "survived", True),
        (PASSED, [KILLED], "killed", True),
        (PASSED, [KILLED] * 8, "killed", True),
        (PASSED, [KILLED] * 9, "killed", False),
        (PASSED, [PASSED], "survived", False),
        (PASSED, [KILLED] * 8 + [PASSED], "survived", False),
        (KEPT_OUT, [], "untried", False),
    ],
)
def test_a_mutant_survives_if_it_passes_two_of_ten_runs(
    monkeypatch: pytest.MonkeyPatch,
    first: Decision,
    more: list[Decision],
    verdict: str,
    repeats: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(results, "once_each", lambda records, _: records)
    monkeypatch.setattr(results, "leaves_a_choice", lambda _: False)
    catalogue: Any = {"A42-X-01": None, "A42-X-02": None, "A42-X-03": None}
    ran: Any = [
        {FIRST.id: [SimpleNamespace(scenario="of.one", evidence=None, decisions=(decision,))]}
        for decision in (first, *more)
    ]
    assert to_repeat([FIRST], ran, catalogue) == ([FIRST] if repeats else [])
    (made,) = matrix([FIRST], ran, SCENARIOS, catalogue).mutants
    assert (made.verdict, made.runs) == (verdict, 1 + len(more))
    assert made.by == (("of.one",) if verdict == "killed" else ())


def test_a_mutant_that_is_not_repeated_keeps_its_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "once_each", lambda records, _: records)
    monkeypatch.setattr(results, "leaves_a_choice", lambda _: False)
    catalogue: Any = {"A42-X-01": None, "A42-X-02": None, "A42-X-03": None}
    passed: Any = [SimpleNamespace(scenario="of.one", evidence=None, decisions=(PASSED,))]
    killed: Any = [SimpleNamespace(scenario="of.one", evidence=None, decisions=(KILLED,))]
    ran: Any = [{FIRST.id: passed, SECOND.id: killed}, {FIRST.id: killed}]
    made = matrix([FIRST, SECOND], ran, SCENARIOS, catalogue).mutants
    assert [(each.runs, each.passed) for each in made] == [(2, 1), (1, 0)]


@pytest.mark.parametrize(
    ("replaced", "words"),
    [
        ({"rules": {"find_entri": None}}, r"find_entri in `rules`.*: did you mean find_entry\?"),
        ({"xds": {"find_entry": None}}, r"find_entry in `xds`.*: it is one of `rules`"),
        ({"xds": {"qqqqqqqqqq": None}}, r"qqqqqqqqqq in `xds`.* no such rule there$"),
    ],
)
def test_a_rule_that_the_reference_does_not_have_is_named(
    replaced: dict[str, Any], words: str
) -> None:
    with pytest.raises(NoSuchRule, match=words):
        Mutant(clause="A42-RING-13", broken="nothing", **replaced)
