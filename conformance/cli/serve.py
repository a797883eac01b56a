"""``xdspec serve``: the world of one scenario, in the hands of a person."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NoReturn

import msgspec
from rich.console import Console

from client_under_test.environments import prepare
from conformance.cli.failures import Failure, client_trouble, require_machine
from conformance.cli.interactive import InteractiveSession
from conformance.cli.interactive.steps import is_of_two
from conformance.cli.lookup import found_client, from_source
from conformance.judging.evidence import Trouble
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.live import patience
from conformance.reporting.near_names import no_scenario
from conformance.reporting.report import Exit
from conformance.reporting.stdout import Screen, say
from conformance.runner.calibration import calibrated
from conformance.runner.collection import scenarios, scenarios_named
from conformance.runner.files import scratch
from conformance.runner.progress import Progress
from conformance.runner.run import Ran, run
from conformance.runner.selection import Selection, is_named
from conformance.runner.settings import Settings
from conformance.runner.targets import subject_for
from conformance.spec.catalogue import Catalogue

FOLDER = "by-hand"
"""In the folder of evidence: that of scenarios that were in the hands of a person."""

_SHOWN = 12
"""Scenarios that are named where one is wanted."""


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    client: str
    source: Path | None = None
    commit: str | None = None
    seed: int
    environment: dict[str, str]
    out: Path


def serve(pattern: str, options: ServeOptions, catalogue: Catalogue, screen: Console) -> Exit:
    """Run one scenario interactively until the user leaves it."""
    scenario, clauses = the_one(pattern)
    with client_trouble():
        client = from_source(found_client(options.client), options.source, options.commit)
        if "metadata" not in client.manifest.capabilities:
            raise Failure(
                f"{client} cannot make single calls for a scenario: choose another "
                "client with --with"
            )
        with patience(screen, client.preparation):
            prepared = prepare(client, options.environment)
    require_machine(jobs=1)
    out = options.out.absolute() / FOLDER
    with scratch() as folder:
        subject = calibrated(
            subject_for(prepared, environment=options.environment),
            catalogue,
            seed=options.seed,
            scratch=folder,
            out=out,
            meanwhile=partial(patience, screen),
        )
    settings = Settings(
        subjects=(subject,),
        seed=options.seed,
        out=str(out),
        keep_evidence=True,
        selection=Selection(scenarios=(scenario,)),
    )

    def tell(words: str, style: str = "") -> None:
        say(screen, words, style)

    tell(f"{scenario}, seed {options.seed}", "bold")
    for clause in clauses:
        tell(f"  {clause:<14} {catalogue[clause].title}")
    with scratch() as folder:
        interactive = InteractiveSession(
            tell, adapter=prepared.name, folder=folder, is_for_steps=True
        )

        def interrupted(_: Ran) -> None:
            nonlocal screen
            screen = Screen()  # the signal may have interrupted a line on the other one
            for words, style in interactive.so_far():
                tell(words, style)
            tell("interrupted")

        ran = run(
            settings,
            jobs=0,
            progress=Progress(),
            interrupted=interrupted,
            beside=[interactive],
        )
    return _told(ran, interactive, screen)


def the_one(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return the scenario of this name, and the clauses that it decides.

    Raises:
        Failure: there is none, or more than one.
    """
    found = scenarios_named((pattern,))
    there = [name for name in found if is_named(name, pattern)]
    if not there:
        raise Failure(no_scenario(pattern, scenarios()))
    if len(there) > 1:
        listed = ", ".join(sorted(there)[:_SHOWN])
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        raise Failure(f"{pattern} matches {len(there)} scenarios: name one of {listed}{more}")
    return there[0], found[there[0]].clauses


def _told(ran: Ran, interactive: InteractiveSession, screen: Console) -> Exit:
    """Print the result, and return the exit code."""
    for trouble in ran.troubles:
        screen.print(f"! {trouble}", markup=False, highlight=False, style="magenta")
    if not ran.records:
        return Exit.SUITE_TROUBLE
    (record,) = ran.records
    if record.evidence and interactive.has_had_a_world:
        say(screen, f"files: {record.evidence}")
    verdicts = {decision.verdict for decision in record.decisions}
    if not interactive.has_had_a_world and record.trouble is not None:
        _without_world(record.trouble)
    if ran.troubles:
        return Exit.SUITE_TROUBLE
    if Verdict.FAIL in verdicts and not is_of_two(interactive.steps):
        return Exit.DEVIATES
    return Exit.CONFORMS


def _without_world(trouble: Trouble) -> NoReturn:
    """Say why no world came up."""
    if trouble.verdict is Verdict.SKIP:
        raise Failure(f"{trouble.what}: choose another client with --with")
    is_adapters = trouble.reason is not Reason.SUITE
    raise Failure(trouble.what, Exit.ADAPTER_TROUBLE if is_adapters else Exit.SUITE_TROUBLE)
