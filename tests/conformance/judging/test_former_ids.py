"""Former ids of scenarios stay valid."""

from __future__ import annotations

import pytest

from conformance.judging.former_ids import all_functions, all_ids, current_id, function_of, table
from conformance.runner.collection import scenarios, scenarios_named
from conformance.runner.selection import Selection, is_named, may_be_selected

SPLIT = {
    "dns.several_addresses",
    "empty_leaves.without_endpoints",
    "header.hash_of_the_value",
    "leaf_limits.limit_of_each_leaf",
    "load_streams.requested_clusters",
    "load_streams.requests_in_progress",
    "tree.depth",
}
"""Former ids that are present ones, too, of fewer clauses."""


def test_each_former_id_leads_to_a_scenario() -> None:
    declared = scenarios()
    functions = {function_of(name) for name in declared}
    for former, present in table().items():
        by_clause = {"": present} if isinstance(present, str) else present
        for clause, name in by_clause.items():
            assert name in declared or name in functions, former
            rows = [row for row in declared if name in {row, function_of(row)}]
            assert not clause or any(clause in declared[row].clauses for row in rows), former


def test_no_former_id_is_taken_again() -> None:
    present = {name for scenario in scenarios() for name in (scenario, function_of(scenario))}
    assert table().keys() & present == SPLIT


@pytest.mark.parametrize(
    ("former", "clause", "present"),
    [
        ("absent.routes", "", "missing_resources.changed_routes"),
        ("absent.clusters[first-of-three]", "", "missing_resources.clusters[first-of-three]"),
        ("validation.refused[types]", "", "validation.rejected[types]"),
        ("validation.refused[security]", "", "tls.rejected"),
        ("validation.taken[eds]", "A37-VALID-02", "validation.accepted[eds]"),
        ("validation.taken[eds]", "A50-CDS-08", "outlier_detection.empty"),
        ("header.hash_of_the_value", "A42-HDR-02", "header.hash_of_the_value"),
        ("header.hash_of_the_value", "A42-RING-01", "ring.hashes_of_entries"),
        ("load_streams.long_calls", "A27-LRS-07", "load_streams.report_interval"),
        ("load_streams.long_calls", "A27-LRS-09", "load_streams.requests_in_progress"),
        ("ring.search", "", "ring.search"),
        ("no.scenario[row]", "", "no.scenario[row]"),
    ],
)
def test_present_id(former: str, clause: str, present: str) -> None:
    assert current_id(former, clause) == present


def test_all_ids() -> None:
    assert all_ids("ring.search") == ("ring.search",)
    assert all_ids("validation.accepted[eds]") == (
        "validation.accepted[eds]",
        "validation.taken[eds]",
    )
    assert set(all_functions("tls.rejected")) == {"tls.rejected", "validation.refused"}
    assert all_ids("header.hash_of_the_value") == ("header.hash_of_the_value",)
    assert all_ids("ring.hashes_of_entries") == ("ring.hashes_of_entries",)


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        ("absent.routes", {"missing_resources.changed_routes"}),
        ("absent.rout*", {"missing_resources.changed_routes"}),
        ("validation.refused[[]security]", {"tls.rejected"}),
        ("validation.left_open", {"outlier_detection.unspecified_threshold"}),
        ("circuit_breaking.a_thousand", {"circuit_breaking.default_limit[unset]"}),
    ],
)
def test_a_former_id_selects(pattern: str, selected: set[str]) -> None:
    found = scenarios_named((pattern,))
    assert selected <= found.keys()
    selection = Selection(scenarios=(pattern,))
    for name in selected:
        assert is_named(name, pattern)
        assert may_be_selected(function_of(name), frozenset(found[name].clauses), selection)
