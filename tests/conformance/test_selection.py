"""Which scenarios run: what is asked for, and nothing else."""

from __future__ import annotations

import pytest

from conformance.declare import Declaration
from conformance.plugin import is_selected
from conformance.settings import Selection

NAME = "ring.size[by-weight]"
DECLARED = Declaration(clauses=("A42-RING-09", "A42-RING-04"))


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (Selection(), True),
        (Selection(scenarios=(NAME,)), True),  # by its id, though brackets are a pattern's
        (Selection(scenarios=("ring.*",)), True),
        (Selection(scenarios=("ring.size*",)), True),
        (Selection(scenarios=("header.*", "ring.*")), True),
        (Selection(scenarios=("ring",)), False),
        (Selection(scenarios=("Ring.*",)), False),
        (Selection(scenarios=("ring.size[no-larger]",)), False),
        (Selection(clauses=("A42-RING-04",)), True),
        (Selection(clauses=("A42-RING-05",)), False),
        (Selection(clauses=("A42-RING-05", "A42-RING-09")), True),
        (Selection(only="a42"), True),
        (Selection(only="a4"), False),
        (Selection(only="a76"), False),
        (Selection(only="a42", scenarios=("ring.*",), clauses=("A42-RING-09",)), True),
        (Selection(only="a76", scenarios=("ring.*",)), False),
        (Selection(scenarios=("ring.*",), clauses=("A42-RING-05",)), False),
    ],
)
def test_selection(selection: Selection, *, selected: bool) -> None:
    assert is_selected(NAME, DECLARED, selection) is selected
