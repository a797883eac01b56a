"""Which scenarios a quick run has."""

from __future__ import annotations

import pytest

from conformance import timing
from conformance.cli.lookup import catalogue
from conformance.judging.declaration import Declaration
from conformance.runner.collection import scenarios
from conformance.runner.quick import WORKERS, quick
from conformance.runner.scheduling import MOST_WAITING
from conformance.runner.sharding import recorded

CLAIMS = {
    "a.two_clauses": Declaration(clauses=("A", "B"), seconds=3.0),
    "b.first": Declaration(clauses=("A",), seconds=2.0),
    "b.second": Declaration(clauses=("B",), seconds=2.0),
    "c.timer": Declaration(clauses=("C",), seconds=5.0, waits=True),
    "d.long": Declaration(clauses=("D",), seconds=9.0),
}
EVERY = {"A", "B", "C", "D"}


def test_a_scenario_that_decides_more_comes_first() -> None:
    alone = {f"a.{number}": Declaration(clauses=("A",), seconds=3.0) for number in range(WORKERS)}
    both = {"z.two_clauses": Declaration(clauses=("A", "B"), seconds=3.0)}
    found = quick({**alone, **both}, {}, {"A", "B"}, budget=3.0)
    assert found.scenarios == ("a.0", "a.1", "a.2", "z.two_clauses")
    assert not found.left_out.clauses


def test_what_does_not_fit_is_named() -> None:
    found = quick(CLAIMS, {}, EVERY, budget=5.0)
    assert (found.left_out.clauses, found.left_out.scenarios) == (("D",), ("d.long",))
    assert "d.long" not in found.scenarios


def test_a_timer_has_a_budget_of_its_own() -> None:
    assert "c.timer" in quick(CLAIMS, {}, EVERY, budget=5.0).scenarios
    assert quick(CLAIMS, {}, EVERY, budget=4.0).left_out.clauses == ("C", "D")


def test_many_short_scenarios_cost_processor_time() -> None:
    """Recorded durations of the shortest ones do not show what their processes cost."""
    clauses = [f"{number}" for number in range(1000)]
    short = {f"a.{name}": Declaration(clauses=(name,), seconds=0.0) for name in clauses}
    timers = {
        f"b.{name}": Declaration(clauses=(name,), seconds=0.1, waits=True) for name in clauses
    }
    found = quick({**short, **timers}, {}, {*clauses}, budget=10.0)
    assert len(found.scenarios) == int(10.0 / timing.EACH)
    assert len(found.left_out.clauses) == len(clauses) - len(found.scenarios)


def test_a_scenario_without_a_recorded_duration_takes_what_it_declares() -> None:
    there = {"new.long": Declaration(clauses=("A",), seconds=40.0), "b.first": CLAIMS["b.first"]}
    found = quick(there, {"gone.scenario": 0.1}, {"A"}, budget=10.0)
    assert found.scenarios == ("b.first",)


def test_the_rest_of_the_budget_is_filled() -> None:
    assert quick(CLAIMS, {}, EVERY, budget=10.0).scenarios == tuple(sorted(CLAIMS))


def test_the_selected_clauses_come_first() -> None:
    short = dict.fromkeys(CLAIMS, timing.EACH)
    assert quick(CLAIMS, short, {"D"}, budget=timing.EACH).scenarios == ("d.long",)
    found = quick(CLAIMS, {"d.long": 0.5}, {"D"}, budget=0.5)
    assert (found.scenarios, found.left_out.clauses) == (("d.long",), ("A", "B", "C"))


def test_a_clause_without_one_of_its_scenarios_is_judged_in_part() -> None:
    found = quick(CLAIMS, {}, EVERY, budget=2.9)
    assert found.scenarios == ("b.first", "b.second")
    assert found.left_out.in_part == ("A", "B")
    assert found.left_out.scenarios == ("a.two_clauses", "c.timer", "d.long")


def test_another_function_comes_before_another_row_of_a_table() -> None:
    rows = {f"a.row[{number}]": Declaration(clauses=("A",), seconds=1.0) for number in range(9)}
    other = {"b.other": Declaration(clauses=("A",), seconds=2.0)}
    found = quick({**rows, **other}, {}, {"A"}, budget=2.0)
    assert "b.other" in found.scenarios


def test_what_is_recorded_counts_more_than_what_is_declared() -> None:
    assert quick(CLAIMS, {"d.long": 60.0}, {"D"}, budget=10.0).left_out.clauses == ("D",)


@pytest.mark.parametrize("budget", [5.0, timing.QUICK, 1000.0])
def test_all_scenarios_within_a_budget(budget: float) -> None:
    there, seconds = scenarios(), recorded()
    clauses = {clause for claims in there.values() for clause in claims.clauses}
    found = quick(there, seconds, clauses, budget=budget)
    decided = {clause for name in found.scenarios for clause in there[name].clauses}
    assert decided == clauses - {*found.left_out.clauses}
    for waits, workers in ((False, WORKERS), (True, MOST_WAITING)):
        own = [
            seconds.get(name, there[name].seconds)
            for name in found.scenarios
            if there[name].waits is waits
        ]
        assert sum(own) <= budget * workers
        assert max(own, default=0.0) <= budget
    assert len(found.scenarios) * timing.EACH <= budget
    assert bool(found.left_out.scenarios) == (budget < 1000)


def test_a_gate_of_a42_decides_every_clause_of_its_scenarios() -> None:
    """docs/judge-your-change.md says so."""
    a42 = {clause.id for clause in catalogue().only("a42")}
    there = {name: claims for name, claims in scenarios().items() if a42 & {*claims.clauses}}
    found = quick(there, recorded(), a42)
    assert not found.left_out.clauses
    assert "failover_timer.last_priority_used" in found.scenarios
