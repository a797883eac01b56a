"""``xdspec bundle`` and ``xdspec replay``: a failure as a bug report, and seen again from it."""

from __future__ import annotations

import os
import re
import shlex
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from client_under_test.manifests.clients import Client, built_in, find
from client_under_test.manifests.version_ranges import is_version
from conformance.cli.failures import Failure, client_trouble
from conformance.cli.invocation import program
from conformance.cli.lookup import found_client, from_source
from conformance.cli.run_clients import run_clients
from conformance.cli.run_options import RunOptions
from conformance.judging import evidence, json_files
from conformance.judging.evidence import BadEvidence
from conformance.judging.verdicts import Decision
from conformance.reporting.bundle import expected_failure
from conformance.reporting.bundle.contents import files
from conformance.reporting.bundle.expected_failure import Again, BadBundle
from conformance.reporting.bundle.readme import Case
from conformance.reporting.failure_texts import without_version
from conformance.reporting.rendering.folder import opened_folder, read_folder
from conformance.reporting.report import BadReport, Exit, Report, Run, Scenario, read
from conformance.reporting.stdout import Screen
from conformance.runner.collection import scenarios_named
from conformance.runner.evidence_files import BOOTSTRAP
from conformance.runner.terminal_escape import short
from conformance.spec.catalogue import Catalogue
from regular_files import UntrustedFolder, file_name, new_folder

ZIP = ".zip"

REPLAYED = "replayed"
STDERR = "stderr.log"
MOST_WORDS = 200_000
"""Bytes of a client's stderr, the last ones."""


def bundle(
    report: Path, scenario: str, catalogue: Catalogue, *, client: str | None, out: Path | None
) -> Path:
    """Write the bundle of a failure.

    Args:
        report: that ``--json`` has written.
        scenario: which failed in it.
        catalogue: the clauses.
        client: whose run is meant, where there are several.
        out: a folder, or a file that ends in .zip; None: a folder named after both, here.

    Returns:
        what was written.

    Raises:
        Failure: there is no such failure, its evidence is gone, or nothing can be written.
    """
    case = _case(report, scenario, catalogue, client)
    target = out or Path(file_name(f"{case.client.name}-{case.client.version}-{scenario}"))
    if os.path.lexists(target):
        raise Failure(f"{target} is there already: name another by -o")
    try:
        _write(target, files(case, catalogue))
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror}"
        raise Failure(message, Exit.SUITE_TROUBLE) from None
    return target


def _case(path: Path, scenario: str, catalogue: Catalogue, client: str | None) -> Case:
    try:
        report = read(path)
    except BadReport as error:
        raise Failure(str(error)) from None
    run, found = _found(report, path, scenario, client)
    try:
        place = opened_folder(found.evidence, path) if found.evidence else None
        if place is None:
            where = found.evidence or "no folder, as the run could write none"
            raise Failure(f"the evidence of {scenario} is gone: the report names {where}")
        with place:
            folder = place.place
            record = evidence.read_in(place)
            own = (record.scenario, record.client.name, record.client.version, record.seed)
            meant = (scenario, run.client.name, run.client.version, report.provenance.seed)
            if own != meant:
                raise Failure(f"{folder} has the evidence of another run")
            case = Case(
                origin=report.provenance,
                client=run.client,
                is_built_in=run.client.name in built_in(),
                built_from="" if run.identity.is_adapter else f"{run.identity}",
                folder=read_folder(place, record),
                bootstrap=_bootstrap(place),
                stderr=_last_words(place),
                entries=run.known,
            )
    except BadEvidence as error:
        raise Failure(str(error)) from None
    if unknown := [failure.clause for failure in case.failures if failure.clause not in catalogue]:
        raise Failure(f"{folder} judges {unknown[0]}, which the catalogue does not know")
    if not case.failures:
        raise Failure(f"{run.client} fails nothing in {scenario}: there is nothing to report")
    return case


def _found(report: Report, path: Path, scenario: str, client: str | None) -> tuple[Run, Scenario]:
    """Return the run and the scenario that the user named."""
    ran = [
        (run, result)
        for run in report.runs
        if client
        in {None, run.client.name, str(run.client), f"{run.client.name}@{run.client.version}"}
        for result in run.scenarios
        if result.id == scenario
    ]
    if not ran:
        of_whom = f" of {client}" if client else ""
        raise Failure(f"{path} has no scenario {scenario}{of_whom}: `xdspec list scenarios`")
    failed = [pair for pair in ran if pair[1].verdict == "fail"]
    if len(failed) > 1:
        names = ", ".join(str(run.client) for run, _ in failed)
        raise Failure(f"{scenario} fails for {names}: choose one with --client")
    return failed[0] if failed else ran[0]


def _bootstrap(place: UntrustedFolder) -> bytes:
    """Return the client's bootstrap as it was; empty in old evidence."""
    path = place.place / BOOTSTRAP
    try:
        content = place.read_bytes(BOOTSTRAP)
        json_files.decoded(content, dict[str, Any])
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadEvidence(f"{path} cannot be read: {error.strerror}") from None
    except json_files.ForeignFile as error:
        raise BadEvidence(f"{path} is broken: {error}") from None
    return content


def _last_words(place: UntrustedFolder) -> str:
    """Return the end of what the client wrote to stderr."""
    try:
        return place.read_end(STDERR, most=MOST_WORDS).decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        path = place.place / STDERR
        raise BadEvidence(f"{path} cannot be read: {error.strerror}") from None


def _write(target: Path, contents: dict[str, bytes]) -> None:
    if target.suffix == ZIP:
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as file:
            for name, content in contents.items():
                file.writestr(f"{target.stem}/{name}", content)
        return
    target.mkdir(parents=True)
    for name, content in contents.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


class ReplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line of `replay`."""

    out: Path | None = None
    """For the evidence; None: a new folder in the bundle."""
    environment: dict[str, str] = {}
    yes: bool = False
    """Run it without asking."""
    source: Path | None = None
    commit: str | None = None


def replay(
    folder: Path,
    client: str | None,
    catalogue: Catalogue,
    screen: Screen,
    options: ReplayOptions,
) -> Iterator[str | Exit]:
    """Run the scenario of a bundle again, and say what of its failures is shown.

    A bundle is data: it names a scenario and a client that comes with the suite, and nothing in it
    is run. What will run is shown before.

    Args:
        folder: the bundle.
        client: which client; None: that of the bundle, if it comes with the suite.
        catalogue: the clauses.
        screen: the console that shows the run.
        options: those of the command line.

    Yields:
        lines, and at last the exit code.

    Raises:
        Failure: it is no bundle, names no client of the suite and the user names none, or the user
            does not want what was shown.
    """
    try:
        asked = expected_failure.read(folder)
    except BadBundle as error:
        raise Failure(str(error)) from None
    if asked.built_from and not (client or options.source):
        raise Failure(
            f"the bundle's client was built from {short(asked.built_from)}: name its sources with "
            f"--source, or a release, as in {program()} replay {shlex.quote(str(folder))} CLIENT"
        )
    if client is None:
        client = _shipped(asked, folder)
    with client_trouble():
        if options.source:
            client = without_version(client)
        found = from_source(found_client(client), options.source, options.commit)
    with suppress(RuntimeError):  # the run itself tells why none is collected
        if asked.scenario not in scenarios_named((asked.scenario,)):
            raise Failure(f"{folder} names the scenario {asked.scenario}, which there is not")
    yield from _what_will_run(asked, found)
    if not options.yes:
        _require_consent()
    place = _place_for(options.out, folder)
    report = place / "report.json"
    code = run_clients(
        (client,), _options(asked, report, place / "evidence", options), catalogue, screen
    )
    if code is Exit.INTERRUPTED:
        yield code
        return
    decisions = _decisions(report)
    compared = [*expected_failure.compare(asked.failed, decisions)]
    yield ""
    for comparison in compared:
        yield str(comparison)
        saw = [said.saw for said in comparison.now if said.saw]
        if comparison.again is Again.SAME and any(
            expected_failure.alike(comparison.failed.saw, said) for said in saw
        ):
            yield "    observed again, but for addresses and numbers"
        else:
            yield from (
                f"    before    {comparison.failed.saw}",
                *(f"    now       {said}" for said in saw),
            )
    is_shown = all(comparison.again is Again.SAME for comparison in compared)
    yield _said(len(compared), is_shown=is_shown)
    is_trouble = code in {Exit.SUITE_TROUBLE, Exit.ADAPTER_TROUBLE}
    yield Exit.CONFORMS if is_shown else code if is_trouble else Exit.DEVIATES


def _shipped(asked: expected_failure.Bundle, folder: Path) -> str:
    """Return the client of a bundle, if it is a release of one that comes with the suite.

    A bundle must name no other client: no folder, branch or commit, whose code may be a stranger's.

    Raises:
        Failure: it is none.
    """
    named = re.fullmatch(r"([^@+]+)(?:@([^@+]+))?(?:\+[^@+]+)?", asked.client)
    if named and named[1] in built_in() and (named[2] is None or is_version(named[2])):
        found = find(f"{named[1]}@{named[2]}" if named[2] else named[1])
        if not found.ref:
            return asked.client
    raise Failure(
        f"the bundle's client, {short(asked.client)}, is no release of one that comes with xdspec: "
        f"name it, as in {program()} replay {shlex.quote(str(folder))} CLIENT"
    )


def _what_will_run(asked: expected_failure.Bundle, client: Client) -> Iterator[str]:
    """Yield the commands of a replay, as the client's manifest states them."""
    manifest = client.manifest
    yield f"scenario  {asked.scenario}, seed {asked.seed}"
    yield f"client    {client}, from {client.folder}"
    if manifest.python:
        yield f"installs  {manifest.python.distribution}, in an environment of its own"
    if manifest.build:
        yield f"builds    {shlex.join(manifest.build.command)}"
    yield f"starts    {shlex.join(manifest.start.command)}"


def _require_consent() -> None:
    """See that the user wants what was shown.

    Raises:
        Failure: the user declines, or there is no terminal to ask on.
    """
    if not _can_answer():
        raise Failure("there is no terminal to ask on: add --yes")
    if not click.confirm("Run this?", default=False):
        raise Failure("nothing was run")


def _can_answer() -> bool:
    return sys.stdin.isatty()


def _place_for(out: Path | None, folder: Path) -> Path:
    """Where the evidence of a replay goes: where the user says, or in a folder made for it.

    What a bundle brings along under that name is left alone: it may be a link to elsewhere.
    """
    place = (out or folder / REPLAYED).absolute()
    try:
        if out is None:
            return new_folder(place)
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{place} cannot be made: {error.strerror}: name another by --out") from None
    return place


def _said(count: int, *, is_shown: bool) -> str:
    what = "the failure of the bundle is" if count == 1 else f"the {count} failures of it are"
    return f"{what} {'' if is_shown else 'not '}shown again"


def _decisions(report: Path) -> tuple[Decision, ...]:
    """Return the scenario's own decisions, before other failures could block or share them."""
    made = read(report)
    scenarios = [scenario for run in made.runs for scenario in run.scenarios]
    if not scenarios or scenarios[0].evidence is None:
        return ()
    return evidence.read(Path(scenarios[0].evidence)).decisions


def _options(
    asked: expected_failure.Bundle, report: Path, out: Path, given: ReplayOptions
) -> RunOptions:
    return RunOptions(
        every_client=False,
        only=(),
        scenario_patterns=(asked.scenario,),
        clauses=(),
        seed=asked.seed,
        jobs=1,
        environment=given.environment,
        source=given.source,
        commit=given.commit,
        wrap=(),
        json_path=report,
        junit_path=None,
        out=out,
        keep_evidence=True,
        no_baseline=True,
        baseline=None,
        strict=False,
        hold=False,
        fast=asked.fast,
        worker=None,
    )
