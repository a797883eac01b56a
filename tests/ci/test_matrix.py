"""The cells of the matrix: each two values of different columns meet, and each cell has its day."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "matrix.py").is_file():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci import matrix  # noqa: E402


def test_each_two_values_meet_in_a_cell() -> None:
    columns = (matrix.USERS, matrix.PLACES, matrix.SYSTEMS)
    met = set().union(*(cell.pairs() for cell in matrix.cells()))
    for column, other in itertools.combinations(columns, 2):
        assert set(itertools.product(column, other)) <= met


def test_there_are_far_fewer_cells_than_combinations() -> None:
    every = len(matrix.USERS) * len(matrix.PLACES) * len(matrix.SYSTEMS)
    assert len(matrix.cells()) == len({*matrix.cells()}) < every / 3


def test_each_cell_has_its_day() -> None:
    there = matrix.cells()
    assert {matrix.of_day(day, there) for day in range(1, 367)} == {*there}


def test_a_cell_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(matrix.FORCED, raising=False)
    assert matrix.chosen(["2"]) == [matrix.cells()[1]]
    assert matrix.chosen(["all"]) == matrix.cells()
    monkeypatch.setenv(matrix.FORCED, "3")
    assert matrix.chosen([]) == [matrix.cells()[2]]
    for bad in ("0", "none", f"{len(matrix.cells()) + 1}"):
        with pytest.raises(ValueError, match="there is no cell"):
            matrix.chosen([bad])


def test_the_script_knows_each_value_and_runs_tests_that_are_there() -> None:
    script = (ROOT / "ci" / "matrix").read_text("utf-8")
    as_it_is = {"root", "plain", "this"}
    for value in {*matrix.USERS, *matrix.PLACES, *matrix.SYSTEMS} - as_it_is:
        assert re.sub("^debian-.*", "debian-*", value) in script, value
    listed = script.split("\ntests=(")[1].partition(")")[0].split()
    assert all((ROOT / path).exists() for path in listed)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may become another user")
def test_who_is_not_root_is_told_what_to_do() -> None:
    ran = subprocess.run(
        [ROOT / "ci" / "matrix", "1"], capture_output=True, encoding="utf-8", check=False
    )
    assert (ran.returncode, "sudo ci/matrix" in ran.stderr) == (4, True)
