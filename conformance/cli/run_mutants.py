"""``xdspec mutants``: every mutant of the reference client against the scenarios of its clause."""

from __future__ import annotations

import random
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from client_under_test.environments import Prepared, prepare
from client_under_test.manifests.clients import find
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE
from client_under_test.reference.editions.mutants import NoSuchRule
from conformance.cli.error_report import TROUBLE, forget, in_a_line
from conformance.cli.failures import Failure, require_machine
from conformance.cli.invocation import program
from conformance.judging.evidence import Record
from conformance.mutation.results import (
    DeclaredMutant,
    Matrix,
    declared_mutants,
    fully_tried,
    matrix,
    to_repeat,
)
from conformance.reporting.live import Live
from conformance.reporting.report import Exit
from conformance.reporting.stdout import from_here
from conformance.runner import files
from conformance.runner.collection import scenarios
from conformance.runner.jobs import default_jobs
from conformance.runner.run import Ran, run
from conformance.runner.settings import Settings
from conformance.runner.targets import subject_for
from conformance.spec.catalogue import Catalogue


class MutantOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    clauses: tuple[str, ...]
    areas: tuple[str, ...]
    names: tuple[str, ...]
    jobs: int | None
    json_path: Path | None
    out: Path
    worker: str | None
    """What is called in place of Python for a worker of xdist."""


def run_mutants(options: MutantOptions, catalogue: Catalogue, screen: Console) -> Exit:
    """Run them, print and write the kill matrix; the exit code says whether all are killed."""
    try:
        everything = declared_mutants()
    except NoSuchRule as error:
        raise Failure(str(error)) from None
    _check(everything, options, catalogue)
    chosen = [
        mutant
        for mutant in everything
        if (not options.clauses or mutant.clause in options.clauses)
        and (not options.areas or any(map(mutant.is_in, options.areas)))
        and (not options.names or mutant.id in options.names)
    ]
    if not chosen:
        folder = "conformance/mutation/mutants"
        raise Failure(f"no mutant matches: they are in {folder}/TOPIC/FILE.py", Exit.NOTHING_RAN)
    require_machine(options.jobs or default_jobs())
    there = scenarios()
    if len(chosen) < len(everything):
        there = fully_tried(there, chosen=chosen, of=everything)
    reference: dict[str, Prepared] = {
        variant: prepare(find(f"reference+{variant}"))
        for variant in sorted({mutant.variant for mutant in chosen})
    }
    out = options.out.absolute() / "mutants"
    forget(out / TROUBLE)

    def ran_once(mutants: Sequence[DeclaredMutant], title: str) -> Ran:
        subjects = tuple(
            subject_for(
                reference[mutant.variant],
                mutant=mutant.id,
                clause=mutant.clause,
                environment={MUTANT_VARIABLE: mutant.place},
            )
            for mutant in mutants
        )
        with Live(screen, title, quiet=True) as progress:
            return run(
                Settings(
                    subjects=subjects, seed=random.SystemRandom().getrandbits(32), out=str(out)
                ),
                jobs=options.jobs,
                worker=options.worker,
                progress=progress,
                interrupted=lambda _: None,
            )

    runs = [ran_once(chosen, f"{len(chosen)} mutants")]
    records = [_by_mutant(runs[0])]
    while not runs[-1].troubles and (once := to_repeat(chosen, records, catalogue)):
        runs.append(ran_once(once, f"{len(once)} mutants that passed once"))
        records.append(_by_mutant(runs[-1]))
    made = matrix(chosen, records, there, catalogue)
    troubles = [trouble for ran in runs for trouble in ran.troubles]
    seconds = sum(ran.wall_seconds for ran in runs)
    _show(screen, made, chosen, seconds, [in_a_line(each, out / TROUBLE) for each in troubles])
    if options.json_path:
        files.write_json(options.json_path, made)
    if troubles:
        return Exit.SUITE_TROUBLE
    survived = any(mutant.verdict == "survived" for mutant in made.mutants)
    return Exit.DEVIATES if survived or made.without_mutant or made.idle else Exit.CONFORMS


def _check(
    mutants: tuple[DeclaredMutant, ...], options: MutantOptions, catalogue: Catalogue
) -> None:
    for mutant in mutants:
        if mutant.clause not in catalogue:
            raise Failure(f"mutant {mutant.id} breaks {mutant.clause}, which is not a clause")
    for area in options.areas:
        if not any(mutant.is_in(area) for mutant in mutants):
            known = ", ".join(sorted({mutant.module.partition("/")[0] for mutant in mutants}))
            raise Failure(
                f"{area} is not an area of mutants: {known}, or a file of one, as ring_hash/ring"
            )
    for name in options.names:
        if name not in {mutant.id for mutant in mutants}:
            raise Failure(f"there is no mutant {name}: run without --mutant to see all")


SHOWN = 20
"""Mutants whose evidence folders are named: of more, `--json` has them."""


def _by_mutant(ran: Ran) -> Mapping[str, list[Record]]:
    records: dict[str, list[Record]] = defaultdict(list)
    for record in ran.records:
        records[record.mutant].append(record)
    return records


def _show(
    screen: Console,
    made: Matrix,
    chosen: list[DeclaredMutant],
    seconds: float,
    troubles: Iterable[str],
) -> None:
    words = {mutant.id: mutant.broken for mutant in chosen}
    # Survivors come last, next to the total, so that the end of a log shows them.
    for mutant in sorted(made.mutants, key=lambda mutant: mutant.verdict):
        colour = {"killed": "green", "untried": "yellow", "survived": "red"}[mutant.verdict]
        by = f"; fails in {escape(', '.join(mutant.by))}" if mutant.by else ""
        also = f"; also failed: {', '.join(mutant.also_failed)}" if mutant.also_failed else ""
        passed = f"; passed {mutant.passed} of {mutant.runs} runs" if mutant.passed else ""
        what = f"{mutant.clause:13}  {mutant.id}: {escape(words[mutant.id])}{passed}{by}{also}"
        screen.print(
            f"[{colour}]{mutant.verdict:8}[/]  {what}",
            highlight=False,
            soft_wrap=True,
        )
        if mutant.evidence and len(made.mutants) <= SHOWN:
            command = f"{program()} show {shlex.quote(from_here(mutant.evidence))}"
            screen.print(f"          {command}", highlight=False, soft_wrap=True, markup=False)
        if mutant.trouble:
            screen.print(
                f"          {mutant.trouble}", highlight=False, soft_wrap=True, markup=False
            )
    for clause in made.without_mutant:
        screen.print(f"[red]no mutant breaks[/]  {clause}", highlight=False)
    for scenario in made.idle:
        screen.print(f"[red]kills no mutant[/]  {escape(scenario)}", highlight=False)
    for trouble in troubles:
        screen.print(f"! {trouble}", highlight=False, soft_wrap=True, markup=False)
    killed, untried = (
        sum(mutant.verdict == verdict for mutant in made.mutants)
        for verdict in ("killed", "untried")
    )
    rest = f"; this machine let {untried} of them not be tried" if untried else ""
    screen.print(
        f"{killed} of {len(made.mutants)} mutants killed in {seconds:.1f} s{rest}",
        highlight=False,
    )
