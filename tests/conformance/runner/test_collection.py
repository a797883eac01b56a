"""What is collected: all, and those that are asked for without the others."""

from __future__ import annotations

import pytest

from conformance.runner.collection import scenarios, scenarios_named
from conformance.runner.selection import is_named


@pytest.mark.parametrize(
    "patterns",
    [
        ("ring.size[by-weight]",),
        ("ring.size", "depth.*"),
        ("*.a_locality_*",),
        ("ring.size[by-weight]", "ring.there_is_none_of_it"),
        ("there.is_none_of_it",),
    ],
)
def test_those_of_a_name_are_those_of_all_that_have_it(patterns: tuple[str, ...]) -> None:
    everything = scenarios()
    there = {
        name: scenario
        for name, scenario in everything.items()
        if any(is_named(name, pattern) for pattern in patterns)
    }
    assert scenarios_named(patterns) == there
    assert len(there) < len(everything)
