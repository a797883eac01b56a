"""Find what ``xdspec explain`` describes: an edition, clauses or scenarios, by name or prefix."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from conformance.cli.failures import Failure
from conformance.cli.invocation import program
from conformance.cli.lookup import known_clause
from conformance.judging.declaration import Declaration
from conformance.reporting.explain import (
    explain_clause,
    explain_edition,
    explain_scenario,
    terms_of,
)
from conformance.runner.selection import with_scenario
from conformance.spec.catalogue import Catalogue


def explained(name: str, catalogue: Catalogue) -> Iterator[str]:
    """Return the descriptions of what has a name, or of all whose names start with it.

    Raises:
        Failure: nothing has this name; the text names the nearest one.
    """
    from conformance.runner.collection import scenarios  # noqa: PLC0415 - pytest is slow to load

    for edition in catalogue.editions.ids:
        if name.upper() == edition.upper():
            yield explain_edition(edition, catalogue, program())
            return
    declared = scenarios()
    clauses = [clause.id for clause in catalogue if _stands_for(name.upper(), clause.id)]
    several = [scenario for scenario in declared if _stands_for(name, scenario)]
    if not (clauses or several):
        _fail(name, catalogue, declared)
    run = f"{program()} run CLIENT"
    texts = [explain_clause(catalogue[clause], declared, run) for clause in clauses]
    texts += [
        f"{explain_scenario(scenario, declared, catalogue)}\n"
        f"  run       {with_scenario(run, scenario)}"
        for scenario in several
    ]
    whole = "\n\n".join(texts)
    yield whole
    if terms := [*terms_of(whole)]:
        yield "\n".join(("\nTerms:", *terms))


def _stands_for(name: str, full: str) -> bool:
    """Return whether a name is another one, or a beginning of it that ends where a part does."""
    return full == name or full.startswith(tuple(f"{name.rstrip('-.[*')}{sign}" for sign in "-.["))


def _fail(name: str, catalogue: Catalogue, declared: Mapping[str, Declaration]) -> None:
    """Say that nothing has this name, and which name is nearest."""
    modules = dict.fromkeys(scenario.partition(".")[0] for scenario in declared)
    functions = dict.fromkeys(scenario.partition("[")[0] for scenario in declared)
    near = difflib.get_close_matches(name, [*declared, *functions, *modules], n=1)
    if near:
        raise Failure(f"no clause, scenario or edition is called {name}: did you mean {near[0]}?")
    known_clause(catalogue, name)
