"""What is collected: all, and those that are asked for without the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.runner import collection
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


def test_a_module_that_cannot_be_imported_is_told_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (collection.SCENARIOS / "pytest.ini").read_text("utf-8")
    (tmp_path / "pytest.ini").write_text(settings, "utf-8")
    (tmp_path / "broken.py").write_text("nowhere.to_be_found\n", "utf-8")
    monkeypatch.setattr(collection, "SCENARIOS", tmp_path)
    collection.import_scenarios()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"(?s)cannot be collected.*broken\.py.*nowhere"):
            scenarios()
