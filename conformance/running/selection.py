"""Which scenarios run: by their ids, their clauses, or one by one."""

from __future__ import annotations

from fnmatch import fnmatchcase

import msgspec

from conformance.judging.claims import Claims

Ident = tuple[str, str]
"""Of a mutant, or of no mutant, and of a scenario: what runs once in a run."""


def is_named(scenario: str, pattern: str) -> bool:
    """Whether a pattern is for a scenario; its very id is, whose brackets may be left out."""
    return pattern in {scenario, scenario.partition("[")[0]} or fnmatchcase(scenario, pattern)


class Selection(msgspec.Struct, frozen=True):
    """Which scenarios run; empty means all."""

    only: tuple[str, ...] = ()
    """Clauses, such as those of a gRFC, of which a scenario must decide one."""
    scenarios: tuple[str, ...] = ()
    """Ids, or shell patterns of ids."""
    clauses: tuple[str, ...] = ()
    """More such clauses: a scenario must decide one of these, too."""
    exactly: tuple[Ident, ...] = ()
    """Just these, of all that."""


def is_selected(name: str, claims: Claims, selection: Selection) -> bool:
    """Whether a scenario is one of those asked for."""
    for clauses in (selection.only, selection.clauses):
        if clauses and not set(clauses) & set(claims.clauses):
            return False
    return not selection.scenarios or any(
        is_named(name, pattern) for pattern in selection.scenarios
    )
