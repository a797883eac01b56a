"""One ``xdspec run``: its clients one after another, its baseline, its reports, its exit code."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from client_under_test import Prepared, find, prepare
from client_under_test.clients import BUILT_IN
from conformance import baseline, console, junit, report
from conformance.baseline import BadBaseline
from conformance.catalogue import Catalogue
from conformance.cli import Failure, client_trouble
from conformance.evidence import Judged
from conformance.provenance import provenance
from conformance.report import ClientId, Exit, Report, Run
from conformance.run import Ran, default_jobs, run
from conformance.settings import Selection, Settings, Subject


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    only: str | None
    scenario_patterns: tuple[str, ...]
    clauses: tuple[str, ...]
    seed: int
    jobs: int | None
    environment: dict[str, str]
    json_path: Path | None
    junit_path: Path | None
    out: Path
    keep_evidence: bool
    no_baseline: bool
    strict: bool
    hold: bool

    def selection(self) -> Selection:
        """Which scenarios they select."""
        return Selection(
            only=self.only.lower() if self.only else None,
            scenarios=self.scenario_patterns,
            clauses=self.clauses,
        )


def run_clients(
    names: tuple[str, ...], options: Options, catalogue: Catalogue, screen: Console
) -> Exit:
    """Run the scenarios against each client, and report."""
    with client_trouble():
        clients = [find(name) for name in names]
    entries = {}
    for client in clients:
        try:
            entries[client.folder] = baseline.read(client.folder / baseline.FILE, catalogue)
        except BadBaseline as error:
            raise Failure(str(error)) from None
    prepared = []
    for client in clients:
        with client_trouble(), screen.status(f"making what {client} needs"):
            prepared.append(prepare(client))
    origin = provenance(catalogue, options.seed)
    done: list[Run] = []

    def judge(client: Prepared, ran: Ran, *, complete: bool) -> Exit:
        made = report.build_run(
            ran.records,
            catalogue,
            client=_id(client),
            follows=client.editions,
            wall_seconds=ran.wall_seconds,
            complete=complete,
            entries=() if options.no_baseline else entries[client.client.folder],
            whole=not options.scenario_patterns,
            troubles=ran.troubles,
        )
        done.append(made)
        code = report.exit_of(made, strict=options.strict)
        console.show(
            screen,
            made,
            catalogue,
            code,
            repeat=_repeat(client, options),
            issues=client.client.manifest.issues,
        )
        _write(Report(provenance=origin, runs=tuple(done)), options)
        return code

    codes = []
    for one in prepared:
        for note in one.notes:
            screen.print(note, highlight=False, markup=False)
        jobs = 0 if options.hold else options.jobs or _enough_jobs(options)
        with console.Live(screen, one.name) as progress:
            ran = run(
                _settings(one, options),
                jobs=jobs,
                progress=progress,
                interrupted=lambda ran, one=one, live=progress: _interrupted(  # type: ignore[misc]
                    live, lambda: judge(one, ran, complete=False)
                ),
            )
        codes.append(judge(one, ran, complete=True))
    return report.first_of(codes)


def _enough_jobs(options: Options) -> int:
    """No more workers than scenarios, where that is known beforehand."""
    patterns = options.scenario_patterns
    if patterns and not any(set(pattern) & set("*?") for pattern in patterns):
        return min(default_jobs(), len(patterns))
    return default_jobs()


def _interrupted(progress: console.Live, judge: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        progress.__exit__()
    judge()


def _id(client: Prepared) -> ClientId:
    return ClientId(client.client.name, client.version, client.client.variant)


def subject_of(client: Prepared, **more: Any) -> Subject:
    """A client as scenarios are run against it."""
    judged = Judged(
        name=client.client.name,
        version=client.version,
        variant=client.client.variant,
        follows=client.editions,
        issues=client.client.manifest.issues,
    )
    return Subject(prepared=client, judged=judged, **more)


def _settings(client: Prepared, options: Options) -> Settings:
    folder = options.out.absolute() / client.name.replace(os.sep, "-")
    return Settings(
        subjects=(subject_of(client, environment=options.environment),),
        seed=options.seed,
        out=str(folder),
        keep_evidence=options.keep_evidence,
        hold=options.hold,
        selection=options.selection(),
    )


def _repeat(client: Prepared, options: Options) -> str:
    """The beginning of a command that runs one scenario of this run again."""
    program = "./xdspec" if Path(sys.argv[0]).name == "__main__.py" else "xdspec"
    name = client.name
    if client.client.folder.parent != BUILT_IN:
        name = name.replace(client.client.name, str(client.client.folder), 1)
    words = [program, "run", name, "--seed", str(options.seed)]
    for key, value in options.environment.items():
        words += ["--env", f"{key}={value}"]
    return shlex.join(words)


def _write(made: Report, options: Options) -> None:
    try:
        if options.json_path:
            report.write_json(made, options.json_path)
        if options.junit_path:
            junit.write(made, options.junit_path)
    except OSError as error:
        raise Failure(f"the report cannot be written: {error}") from None
