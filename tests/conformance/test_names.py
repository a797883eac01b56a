"""Names by which users call things: each stands for one thing, in whatever folder that is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from conformance.mutation import mutants
from conformance.runner.collection import SCENARIOS


def twice(folder: Path, *, beside: str = "") -> list[str]:
    """The stems that several modules of a folder have."""
    files = [path for path in folder.rglob("*.py") if path.parent.name != beside]
    stems = Counter(path.stem for path in files if path.stem != "__init__")
    return [stem for stem, count in stems.items() if count > 1]


def test_a_scenario_is_named_by_its_module_alone() -> None:
    assert not twice(SCENARIOS, beside="helpers")


def test_a_mutant_is_named_by_its_module_alone() -> None:
    (folder,) = map(Path, mutants.__path__)
    assert not twice(folder)
