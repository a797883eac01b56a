"""Compute which scenarios kill each mutant of the reference client: proof that a check can fail.

A mutant breaks one clause, and runs only the scenarios that decide that clause. A scenario kills
the mutant if it fails the clause, or, if the text leaves a choice, reports the mutant's choice. A
crash or an exit of the mutant is not a kill, because a mutant that cannot run proves nothing. A
blocked clause is not a kill either. If this machine can run none of its scenarios, the mutant is
untried, which proves nothing either way.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from client_under_test.reference.editions.mutants import Mutant
from conformance.judging.blocking import once_each
from conformance.judging.declaration import Declaration
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision, Reason, Verdict, leaves_a_choice
from conformance.spec.catalogue import Catalogue

MUTANTS = "conformance.mutation.mutants"
"""The package of all mutants: a package for each topic, a module for each file of rows."""

SURVIVOR_RUNS = 10
"""Runs of a mutant that passed the first. A mutant that passes once in 1,000 runs then turns one of
100,000 results red, one that passes once in ten still every sixteenth, and one that passes half of
its runs every second."""

DEATHS = {Reason.CRASHED, Reason.EXITED, Reason.FLOODED}


class DeclaredMutant(msgspec.Struct, frozen=True, kw_only=True):
    """A declared mutant."""

    id: str
    """``hash_policy.hash_of_32_bits``: the file, and the name."""
    clause: str
    broken: str
    variant: str
    reports: str
    issue: str
    place: str
    """``module:name``, for the process of the client to import it."""

    @property
    def module(self) -> str:
        """The file of the mutant without its suffix, such as ``ring_hash/ring``."""
        return self.place.partition(":")[0].removeprefix(f"{MUTANTS}.").replace(".", "/")

    def is_in(self, area: str) -> bool:
        """Return whether the mutant is in an area: a topic, or a file (``ring_hash/ring``)."""
        return area in {self.module, self.module.partition("/")[0]}


class MutantResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a mutant."""

    id: str
    clause: str
    verdict: Literal["killed", "survived", "untried"]
    by: tuple[str, ...]
    """The scenarios that killed it."""
    evidence: str = ""
    """The evidence folder of the first of them; empty if there is none."""
    also_failed: tuple[str, ...]
    """Other clauses that failed in the scenarios that ran."""
    trouble: str = ""
    """Why the mutant has no verdict or could not run; empty otherwise."""
    runs: int = 1
    """How many times it ran: several if it passed the first time."""
    passed: int = 0
    """How many of these runs it passed. A killed mutant passes at most one of `SURVIVOR_RUNS`:
    scenarios that draw values miss one by chance now and then."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The output of ``xdspec mutants --json``."""

    schema: Literal[1] = 1
    mutants: tuple[MutantResult, ...]
    without_mutant: tuple[str, ...]
    """Clauses that a scenario decides and no mutant breaks."""
    idle: tuple[str, ...]
    """Scenarios that ran and killed no mutant, and neither did another row of their table."""


def declared_mutants() -> tuple[DeclaredMutant, ...]:
    """Return every mutant, in the order of the files and of the names in them."""
    found = []
    packages = importlib.import_module(MUTANTS).__path__
    for info in pkgutil.walk_packages(packages, prefix=f"{MUTANTS}."):
        module = importlib.import_module(info.name)
        found += [
            _declared(info.name.rpartition(".")[2], name, info.name, value)
            for name, value in vars(module).items()
            if isinstance(value, Mutant)
        ]
    return tuple(found)


def _declared(section: str, name: str, place: str, mutant: Mutant) -> DeclaredMutant:
    return DeclaredMutant(
        id=f"{section}.{name}",
        clause=mutant.clause,
        broken=mutant.broken,
        variant=mutant.variant,
        reports=mutant.reports,
        issue=mutant.issue,
        place=f"{place}:{name}",
    )


def result_of(
    mutant: DeclaredMutant, records: Iterable[Record], catalogue: Catalogue
) -> MutantResult:
    """Return whether any of the scenarios that ran against a mutant killed it."""
    ran = once_each(list(records), catalogue)
    kills = sorted(
        (record for record in ran if any(_kills(d, mutant, catalogue) for d in record.decisions)),
        key=lambda record: record.scenario,
    )
    others = {
        decision.clause
        for record in ran
        for decision in record.decisions
        if decision.verdict is Verdict.FAIL and decision.clause != mutant.clause
    }
    troubles = [
        f"{record.scenario}: {decision.saw}"
        for record in ran
        for decision in record.decisions
        if decision.verdict is Verdict.ERROR or decision.reason in DEATHS
    ]
    trouble = "" if kills else next(iter(troubles), "" if ran else "no scenario claims its clause")
    verdict: Literal["killed", "survived", "untried"] = "killed" if kills else "survived"
    if ran and all(map(_was_kept_out, ran)):
        why = (d.saw for d in ran[0].decisions if d.reason is Reason.ENVIRONMENT)
        verdict, trouble = "untried", f"{ran[0].scenario}: {next(why)}"
    return MutantResult(
        id=mutant.id,
        clause=mutant.clause,
        verdict=verdict,
        by=tuple(record.scenario for record in kills),
        evidence=next((record.evidence for record in kills if record.evidence), ""),
        also_failed=tuple(sorted(others)),
        trouble=trouble,
    )


def _was_kept_out(record: Record) -> bool:
    """Return whether this machine could not run a scenario."""
    looked_at = {decision.reason for decision in record.decisions} - {Reason.EDITION, Reason.FAST}
    return looked_at == {Reason.ENVIRONMENT}


def _kills(decision: Decision, mutant: DeclaredMutant, catalogue: Catalogue) -> bool:
    if decision.clause != mutant.clause:
        return False
    if leaves_a_choice(catalogue[mutant.clause]):
        is_told = decision.verdict is Verdict.SEEN or decision.reason is Reason.STATED
        return is_told and decision.choices == (mutant.reports,)
    return decision.verdict is Verdict.FAIL and decision.reason not in DEATHS


def fully_tried(
    scenarios: Mapping[str, Declaration],
    *,
    chosen: Iterable[DeclaredMutant],
    of: Iterable[DeclaredMutant],
) -> dict[str, Declaration]:
    """Return the scenarios whose mutants all run; only these can be idle in a partial run.

    Args:
        scenarios: all scenarios.
        chosen: mutants that run.
        of: all mutants.
    """
    runs = {mutant.id for mutant in chosen}
    mutants: dict[str, set[str]] = defaultdict(set)
    for mutant in of:
        mutants[mutant.clause].add(mutant.id)
    found = {}
    for name, claims in scenarios.items():
        due = set().union(*(mutants[clause] for clause in claims.clauses))
        if due and due <= runs:
            found[name] = claims
    return found


Records = Mapping[str, Iterable[Record]]
"""What one run left of the mutants in it, by their ids."""


def to_repeat(
    mutants: Sequence[DeclaredMutant], ran: Sequence[Records], catalogue: Catalogue
) -> list[DeclaredMutant]:
    """Return the mutants that have passed once, of fewer runs than `SURVIVOR_RUNS`."""
    results = (_settled(mutant, ran, catalogue) for mutant in mutants)
    return [
        mutant
        for mutant, result in zip(mutants, results, strict=True)
        if result.passed == 1 and result.runs < SURVIVOR_RUNS
    ]


def _settled(mutant: DeclaredMutant, ran: Sequence[Records], catalogue: Catalogue) -> MutantResult:
    """Return the result of a mutant over all its runs: it survives if it passes two of them."""
    first, *more = ran
    runs = [
        result_of(mutant, records, catalogue)
        for records in (first.get(mutant.id, ()), *(r[mutant.id] for r in more if mutant.id in r))
    ]
    passed = sum(run.verdict == "survived" for run in runs)
    killed = [run for run in runs if run.verdict == "killed"]
    shown = killed[0] if killed and passed == 1 else runs[0]
    return msgspec.structs.replace(shown, runs=len(runs), passed=passed)


def matrix(
    mutants: Iterable[DeclaredMutant],
    ran: Sequence[Records],
    scenarios: Mapping[str, Declaration],
    catalogue: Catalogue,
) -> Matrix:
    """Return the results of all mutants, and the clauses and scenarios that they do not prove.

    Args:
        mutants: the mutants that ran.
        ran: the run of all of them, then those of the ones that were repeated.
        scenarios: the scenarios that could have run.
        catalogue: the clauses.
    """
    results = tuple(_settled(mutant, ran, catalogue) for mutant in mutants)
    broken = {result.clause for result in results}
    decided = {clause for scenario in scenarios.values() for clause in scenario.clauses}
    busy = {_table(scenario) for result in results for scenario in result.by}
    busy |= {
        _table(record.scenario)
        for each in ran[0].values()
        for record in each
        if _was_kept_out(record)
    }
    return Matrix(
        mutants=results,
        without_mutant=tuple(sorted(decided - broken)),
        idle=tuple(sorted(scenario for scenario in scenarios if _table(scenario) not in busy)),
    )


def _table(scenario: str) -> str:
    """Return a scenario's name without its row; a mutant of one row proves the checks of all."""
    return scenario.partition("[")[0]
