"""Check that the row, the scenarios and the mutants of a clause are in files of one name."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from conformance.judging.declaration import declaration_of, scenario_id
from conformance.mutation.results import declared_mutants
from conformance.runner.collection import SCENARIOS, _items
from conformance.spec.catalogue import load
from conformance.spec.catalogue.loader import BASICS, FOLDER
from regular_files import read_text


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The topic and file of each clause's row, such as ring_hash/ring."""
    return {clause: file.removesuffix(".toml") for clause, file in load().files.items()}


@pytest.fixture(scope="module")
def scenarios() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The topic and file of each scenario, and the clauses that it decides, the main one first."""
    return {
        scenario_id(item): (
            item.path.relative_to(SCENARIOS).with_suffix("").as_posix(),
            declaration_of(item).clauses,
        )
        for item in _items(None)
    }


def test_a_scenario_is_in_the_file_of_its_first_clause(
    files: dict[str, str], scenarios: dict[str, tuple[str, tuple[str, ...]]]
) -> None:
    wrong = [
        f"{scenario} is in {file}, and the row of {clauses[0]} in {files[clauses[0]]}: move one of "
        "them, or name first the clause that the scenario is about"
        for scenario, (file, clauses) in scenarios.items()
        if file != files[clauses[0]]
    ]
    assert not wrong


def test_each_decided_clause_has_a_scenario_in_its_file(
    files: dict[str, str], scenarios: dict[str, tuple[str, tuple[str, ...]]]
) -> None:
    decided = defaultdict[str, set[str]](set)
    for file, clauses in scenarios.values():
        for clause in clauses:
            decided[clause].add(file)
    wrong = [
        f"the row of {clause} is in {files[clause]}, and its scenarios in {sorted(there)}"
        for clause, there in decided.items()
        if files[clause] not in there
    ]
    assert not wrong


def test_a_mutant_is_in_the_file_of_its_clause(files: dict[str, str]) -> None:
    wrong = [
        f"{mutant.id} is in {mutant.module}, and the row of {mutant.clause} in "
        f"{files[mutant.clause]}"
        for mutant in declared_mutants()
        if mutant.module != files[mutant.clause]
    ]
    assert not wrong


def test_a_file_name_stands_for_one_topic(files: dict[str, str]) -> None:
    """Ids of scenarios and mutants start with the file alone."""
    names = Counter(Path(file).name for file in {*files.values()})
    assert {name for name, count in names.items() if count > 1} == set()


def test_the_order_of_basics_has_every_file_once() -> None:
    listed = Counter(tomllib.loads(read_text(FOLDER / BASICS))["order"])
    assert listed == Counter({*load().files.values()}), f"bring {BASICS} up to date"
