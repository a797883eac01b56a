"""Which scenarios run: what is asked for, and nothing else."""

from __future__ import annotations

import pytest

from conformance.judging.declaration import Declaration
from conformance.runner.selection import Selection, is_selected, may_be_selected
from conformance.spec.catalogue import load

NAME = "ring.size[by-weight]"
DECLARED = Declaration(clauses=("A42-RING-09", "A42-RING-04"))

A42, A76 = (tuple(clause.id for clause in load().only(name)) for name in ("a42", "a76"))


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (Selection(), True),
        (Selection(scenarios=(NAME,)), True),  # by its id, though brackets are a pattern's
        (Selection(scenarios=("ring.*",)), True),
        (Selection(scenarios=("ring.size*",)), True),
        (Selection(scenarios=("ring.size",)), True),  # all its rows
        (Selection(scenarios=("header.*", "ring.*")), True),
        (Selection(scenarios=("ring",)), False),
        (Selection(scenarios=("Ring.*",)), False),
        (Selection(scenarios=("ring.size[no-larger]",)), False),
        (Selection(clauses=("A42-RING-04",)), True),
        (Selection(clauses=("A42-RING-05",)), False),
        (Selection(clauses=("A42-RING-05", "A42-RING-09")), True),
        (Selection(only=A42), True),
        (Selection(only=A76), False),
        (Selection(only=A42, scenarios=("ring.*",), clauses=("A42-RING-09",)), True),
        (Selection(only=A76, scenarios=("ring.*",)), False),
        (Selection(only=A76, clauses=("A42-RING-09",)), False),
        (Selection(scenarios=("ring.*",), clauses=("A42-RING-05",)), False),
    ],
)
def test_selection(selection: Selection, *, selected: bool) -> None:
    assert is_selected(NAME, DECLARED, selection) is selected
    function, _, _ = NAME.partition("[")
    clauses = {*DECLARED.clauses, "A42-RING-01"}  # another row's
    assert may_be_selected(function, clauses, selection) or not selected


@pytest.mark.parametrize(
    ("selection", "may_be"),
    [
        (Selection(), True),
        (Selection(scenarios=("header.*",)), False),
        (Selection(scenarios=("ring.sizes",)), True),  # it begins alike, which is good enough
        (Selection(scenarios=("ring.s[io]ze*",)), True),
        (Selection(scenarios=("*.size",)), True),
        (Selection(only=A76), False),
        (Selection(clauses=("A42-RING-05",)), False),
        (Selection(exactly=(("", NAME), ("", "header.other"))), True),
        (Selection(exactly=(("a-mutant", "header.other"),)), False),
    ],
)
def test_what_is_not_even_made(selection: Selection, *, may_be: bool) -> None:
    assert may_be_selected("ring.size", set(DECLARED.clauses), selection) is may_be


def test_a_grfc_has_what_amends_it() -> None:
    keys = Declaration(clauses=("A76-KEY-01",))
    assert is_selected("endpoint_key.hash_key", keys, Selection(only=A42))
    assert is_selected("endpoint_key.hash_key", keys, Selection(only=A76))
