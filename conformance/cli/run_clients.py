"""One ``xdspec run``: the clients that it is for, and the failures that are known of them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from client_under_test.manifests.clients import Client, built_in
from conformance.cli.failures import Failure, client_trouble, require_machine
from conformance.cli.lookup import found_client, from_source
from conformance.cli.run_options import RunOptions
from conformance.cli.session import Session
from conformance.reporting import baseline
from conformance.reporting.baseline import BadBaseline, Entry
from conformance.reporting.near_names import no_scenario
from conformance.reporting.report import Exit
from conformance.runner.collection import scenarios, scenarios_named
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.runner.selection import is_named, is_selected
from conformance.spec.catalogue import Catalogue

NOT_REAL = {"interop", "reference"}
"""Built-in clients that are no real gRPC implementations: ``--all`` leaves them out."""


def run_clients(
    names: tuple[str, ...], options: RunOptions, catalogue: Catalogue, screen: Console
) -> Exit:
    """Run the scenarios against each client, and report."""
    if options.every_client:
        names = tuple(name for name in built_in() if name not in NOT_REAL)
    with client_trouble():
        clients = [
            from_source(found_client(name), options.source, options.commit) for name in names
        ]
    entries = baselines(clients, catalogue, options.scenario_patterns, options.baseline)
    require_machine(options.jobs or default_jobs())
    session = Session(options, catalogue, screen, entries, several=len(clients) > 1)
    with last_words(session.break_off):
        for subject in [made for client in clients if (made := session.prepare(client))]:
            if session.comes_up(subject):
                session.run(subject)
        return session.end()


def require_scenarios(options: RunOptions) -> None:
    """Raise Failure if the options together select no scenario, before anything is built."""
    given = {
        "--only": options.only,
        "--scenario": options.scenario_patterns,
        "--clause": options.clauses,
    }
    named = [option for option, value in given.items() if value]
    if len(named) > 1:
        wanted = options.selection()
        if not any(is_selected(name, claims, wanted) for name, claims in scenarios().items()):
            both = "both" if len(named) == 2 else "all of"  # noqa: PLR2004 - two options
            raise Failure(f"no scenario matches {both} {' and '.join(named)}", Exit.NOTHING_RAN)


def baselines(
    clients: list[Client], catalogue: Catalogue, patterns: Collection[str], over: Path | None
) -> dict[Path, tuple[Entry, ...]]:
    """Read the baseline in each client's folder; the patterns and expected scenarios must exist."""
    files = {client.folder: client.folder / baseline.FILE for client in clients}
    try:
        found = {folder: baseline.read(path, catalogue) for folder, path in files.items()}
        if over:
            if len(files) > 1:
                raise Failure("--baseline is for one client: name one")
            found = {
                folder: baseline.read_over(over, catalogue, entries)
                for folder, entries in found.items()
            }
            files = dict.fromkeys(files, over)
        expected = [
            scenario
            for entries in found.values()
            for entry in entries
            for scenario in entry.scenarios
        ]
        with contextlib.suppress(RuntimeError):  # the run itself tells why none is collected
            there = _scenarios({*patterns, *expected})
            for pattern in patterns:
                if not any(is_named(name, pattern) for name in there):
                    raise Failure(no_scenario(pattern, there))
            for folder, entries in found.items():
                baseline.check_scenarios(entries, there, files[folder])
    except BadBaseline as error:
        raise Failure(str(error)) from None
    return found


def _scenarios(patterns: Collection[str]) -> dict[str, Collection[str]]:
    """Return the clauses of each matching scenario; of all scenarios if a pattern matches none."""
    if not patterns:
        return {}
    there = scenarios_named(tuple(sorted(patterns)))
    if not all(any(is_named(name, pattern) for name in there) for pattern in patterns):
        there = scenarios()
    return {name: scenario.clauses for name, scenario in there.items()}
