"""Get the scenario, the client or mutant, and the judged clauses of a pytest item."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from conformance.judging.declaration import (
    Declaration,
    declaration_of,
    scenario_id,
)
from conformance.judging.evidence import Record
from conformance.judging.verdicts import leaves_a_choice
from conformance.runner.selection import Selection
from conformance.runner.settings import Settings
from conformance.runner.targets import Target
from conformance.spec.catalogue import Catalogue, edition_for, is_foreign

# What hooks and fixtures leave for each other, at the configuration and at an item.
SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
CATALOGUE: pytest.StashKey[Catalogue] = pytest.StashKey()
RECORD: pytest.StashKey[Record] = pytest.StashKey()
TROUBLE: pytest.StashKey[BaseException] = pytest.StashKey()
STARTED_AT: pytest.StashKey[float] = pytest.StashKey()
NEXT: pytest.StashKey[pytest.Item | None] = pytest.StashKey()


def subject_of(item: pytest.Item) -> Target:
    """Return the client, or mutant, of an item."""
    parameters: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    chosen = parameters.get("subject")
    return chosen if isinstance(chosen, Target) else item.config.stash[SETTINGS].subjects[0]


def runs_again(item: pytest.Item, selection: Selection) -> bool:
    """Return whether an item runs: in a second try, only the selected items do."""
    again = selection.exactly
    return not again or (subject_of(item).label, scenario_id(item)) in again


def targets_for(clauses: AbstractSet[str], settings: Settings) -> tuple[Target, ...]:
    """Return the clients of a comparison, or the mutants that break one of these clauses."""
    return tuple(target for target in settings.labeled if target.clause in {"", *clauses})


def is_for_its_mutant(item: pytest.Item, claims: Declaration) -> bool:
    """Return whether the scenario claims the clause that the item's mutant breaks, if any."""
    if not item.config.stash[SETTINGS].subjects:
        return True
    return subject_of(item).clause in {"", *claims.clauses}


def asks_nothing(item: pytest.Item) -> bool:
    """Return whether every clause of a scenario is foreign to its client, or not judged now."""
    catalogue, follows = item.config.stash[CATALOGUE], subject_of(item).judged.follows
    clauses = set(declaration_of(item).clauses) - set(untimed(item)) - set(unasked(item))
    return all(is_foreign(catalogue[clause], follows) for clause in clauses)


def unasked(item: pytest.Item) -> tuple[str, ...]:
    """Return the clauses of a scenario that --fast leaves out: they are a skip."""
    if not item.config.stash[SETTINGS].fast:
        return ()
    names, follows = declaration_of(item).clauses, subject_of(item).judged.follows
    clauses = [item.config.stash[CATALOGUE][name] for name in names]
    told = any(leaves_a_choice(clause) or edition_for(clause, follows) for clause in clauses)
    return () if told else names


def is_hurried(item: pytest.Item) -> bool:
    """Return whether the client's failover timer is shortened in this scenario."""
    return declaration_of(item).failover and item.config.stash[SETTINGS].hurries(subject_of(item))


def resolves_soon(item: pytest.Item) -> bool:
    """Return whether the minimum time between two resolutions is short in this scenario."""
    return declaration_of(item).resolutions and subject_of(item).resolves_soon


def untimed(item: pytest.Item) -> tuple[str, ...]:
    """Return the clauses of a scenario that --fast does not judge because of a timer."""
    claims = declaration_of(item)
    if claims.absence and item.config.stash[SETTINGS].fast:
        return claims.clauses
    return claims.timed if is_hurried(item) else ()
