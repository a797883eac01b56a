"""Scenarios of one run end early once others have waited in vain for the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.conftest import ADAPTERS

ALIKE = ("late_resources.clusters*", "lost.before_*", "lost.stream_ended_after*", "tree.many_paths")
REFUTES = "tree.two_aggregates_of_the_same_leaves"
"""Here the client requests a cluster that an aggregate names, since it is called as a root is."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_refuted",
    [False, True],
    ids=["confirmed", "refuted"],
)
async def test_a_scenario_ends_early_only_for_a_cause_that_nothing_refutes(
    xdspec: Any, monkeypatch: pytest.MonkeyPatch, *, is_refuted: bool
) -> None:
    monkeypatch.setenv("XDSPEC_TIME_SCALE", "0.5")
    patterns = (*ALIKE, REFUTES) if is_refuted else ALIKE
    chosen = [word for pattern in patterns for word in ("--scenario", pattern)]
    ended = await xdspec.run(
        "run", str(ADAPTERS / "leafless"), *chosen, "--jobs", "2", "--seed", "3"
    )
    assert ended.code == 5, ended.said
    (run,) = ended.report["runs"]
    early = {scenario["id"] for scenario in run["scenarios"] if scenario["ended_early"]}
    causes = {scenario["cause"] for scenario in run["scenarios"]}
    assert all(scenario["verdict"] == "skip" for scenario in run["scenarios"])
    if is_refuted:
        assert not early
    else:
        assert 1 <= len(early) <= len(run["scenarios"]) - 2  # two have confirmed the cause
        assert any("never requests a cluster that an aggregate" in cause for cause in causes)
