"""Which scenarios run: by their ids, their clauses, or one by one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

import msgspec

from conformance.judging.declaration import Declaration
from conformance.judging.former_ids import all_functions, all_ids, function_of

Ident = tuple[str, str]
"""The label of a target, or an empty string, and the id of a scenario: what runs once in a run."""


def with_scenario(begun: str, scenario: str) -> str:
    """Return the command that runs one scenario, from its beginning."""
    return f"{begun} --scenario {shlex.quote(scenario)}"


def is_named(scenario: str, pattern: str) -> bool:
    """Return whether a pattern matches an id of a scenario, with or without its brackets.

    Former ids count, too.
    """
    return any(
        pattern in {name, function_of(name)} or fnmatchcase(name, pattern)
        for name in all_ids(scenario)
    )


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


def is_selected(name: str, claims: Declaration, selection: Selection) -> bool:
    """Return whether a scenario is selected."""
    for clauses in (selection.only, selection.clauses):
        if clauses and not set(clauses) & set(claims.clauses):
            return False
    return not selection.scenarios or any(
        is_named(name, pattern) for pattern in selection.scenarios
    )


def may_be_selected(function: str, clauses: AbstractSet[str], selection: Selection) -> bool:
    """Return whether a scenario of this function may be selected, before any scenario is made.

    Args:
        function: its module and name, as in the ids of its scenarios.
        clauses: all that they claim.
        selection: what is asked for.
    """
    if any(some and clauses.isdisjoint(some) for some in (selection.only, selection.clauses)):
        return False
    again = {scenario.partition("[")[0] for _, scenario in selection.exactly}
    if again and function not in again:
        return False
    # As far as a pattern is no pattern yet, one begins with the other.
    starts = [re.split(r"[*?\[]", pattern, maxsplit=1)[0] for pattern in selection.scenarios]
    return not starts or any(
        name.startswith(start) or start.startswith(name)
        for name in all_functions(function)
        for start in starts
    )
