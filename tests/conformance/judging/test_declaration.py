"""What scenarios claim."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.judging.declaration import AS_ALWAYS, Bootstrap, Declaration, declaration_of

WITH_A = Bootstrap(server_features=("a",))
WITH_B = Bootstrap(fields={"b": {}})


class Row:
    """A row of a scenario's table, which has marks of its own before those of the function."""

    def __init__(self, *claims: Declaration) -> None:
        self._claims = claims

    def iter_markers(self, _name: str) -> Iterator[Any]:
        return (SimpleNamespace(args=(claim,)) for claim in self._claims)


@pytest.mark.parametrize(
    ("of_the_row", "of_the_function", "claimed"),
    [
        (AS_ALWAYS, AS_ALWAYS, AS_ALWAYS),
        (WITH_A, AS_ALWAYS, WITH_A),
        (AS_ALWAYS, WITH_B, WITH_B),
        (WITH_A, WITH_B, WITH_A),
    ],
)
def test_a_bootstrap_is_the_rows_own(
    of_the_row: Bootstrap, of_the_function: Bootstrap, claimed: Bootstrap
) -> None:
    row: Any = Row(
        Declaration(clauses=("A42-X-01",), bootstrap=of_the_row),
        Declaration(clauses=("A42-X-02",), bootstrap=of_the_function),
    )
    claims = declaration_of(row)
    assert claims.bootstrap == claimed
    assert claims.clauses == ("A42-X-02", "A42-X-01")
