"""One report from those of the shards of one run. Pure.

It is made of the records of all shards, as that of a whole run is: so nothing that one of them said
by itself counts, and the two cannot be judged otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from client_under_test.environments.identity import SHORT
from conformance.reporting.build_run import build_run
from conformance.reporting.report import BadReport, ClientId, Report, Run, Source
from conformance.reporting.shard_report import ShardReport
from conformance.runner.sharding import plan_of
from conformance.spec.catalogue import Catalogue

Named = tuple[str, Report]
"""A report, and what the user calls it."""

LONGEST: Final = 40
"""Characters of the longest value that a message quotes if reports differ: a whole commit hash, but
no digest."""


def merged(named: Sequence[Named], catalogue: Catalogue) -> Report:
    """Return the report of the whole run.

    Raises:
        BadReport: these are not all shards of one run, each once; the text says why.
    """
    ordered = sorted(named, key=lambda pair: _number(*pair))
    _are_alike([(name, _origin(report)) for name, report in ordered])
    first_name, first_report = ordered[0]
    if first_report.provenance.catalogue != catalogue.version:
        raise BadReport(
            f"{first_name} is of catalogue {first_report.provenance.catalogue}, and this suite has "
            f"{catalogue.version}: merge with the version of the suite that ran them"
        )
    _are_all(ordered)
    _are_alike([(name, _left(report)) for name, report in ordered])
    reports = [report for _, report in ordered]
    days = {report.provenance.started: _day(name, report) for name, report in ordered}
    first = min((report.provenance for report in reports), key=lambda origin: origin.started)
    today = days[first.started]
    runs = []
    for client in _clients(ordered):
        several = {name: _run_of(report, client) for name, report in ordered}
        parts = {name: _part(name, run) for name, run in several.items()}
        _are_alike([(name, _conduct(run, parts[name])) for name, run in several.items()], client)
        _are_as_planned(parts, client)
        for name, part in parts.items():
            _require_verdicts(name, part, catalogue)
        run = next(iter(several.values()))
        made = build_run(
            [record for part in parts.values() for record in part.records],
            catalogue,
            client=client,
            follows=run.follows,
            wall_seconds=max(part.wall_seconds for part in several.values()),
            entries=next(iter(parts.values())).entries,
            today=today,
            troubles=tuple(words for part in several.values() for words in part.troubles),
            repeat=run.repeat,
            identity=run.identity,
        )
        runs.append(made)
    return Report(
        provenance=first,
        runs=tuple(runs),
        not_run=reports[0].not_run,
        sources=tuple(
            Source(
                part=_number(name, report)[0],
                started=report.provenance.started,
                machine=report.provenance.machine,
                wall_seconds=sum(run.wall_seconds for run in report.runs),
            )
            for name, report in ordered
        ),
    )


def _day(name: str, report: Report) -> date:
    """Return the day on which a run started.

    Raises:
        BadReport: the report has no such time.
    """
    try:
        return datetime.fromisoformat(report.provenance.started).date()
    except ValueError:
        raise BadReport(
            f"{name}: provenance.started is {report.provenance.started[:LONGEST]!r}, not a time"
        ) from None


def is_strict(named: Sequence[Named]) -> bool:
    """Return whether SHOULD clauses fail the run, too."""
    return any(run.part.given.strict for _, report in named for run in report.runs if run.part)


def issues(named: Sequence[Named]) -> tuple[str, ...]:
    """Return the issue tracker of each client."""
    found: dict[ClientId, str] = {}
    for _, report in named:
        for run in report.runs:
            where = run.part.client.issues if run.part and run.part.client else ""
            found[run.client] = found.get(run.client) or where
    return tuple(found.values())


def _number(name: str, report: Report) -> tuple[int, int]:
    """Which part of how many a report is.

    Raises:
        BadReport: it is none, or has no end.
    """
    if not report.runs:
        raise BadReport(
            f"{name} contains no runs: the command that wrote it failed before starting one"
        )
    for run in report.runs:
        part = _part(name, run)
        if not run.complete:
            raise BadReport(f"{name}: {part} of {run.client} did not finish")
    clients = [run.client for run in report.runs]
    if len(set(clients)) < len(clients):
        raise BadReport(f"{name} has several runs of one client")
    numbers = {(run.part.number, run.part.of) for run in report.runs if run.part}
    if len(numbers) > 1:
        raise BadReport(f"{name} has several parts of one run")
    return numbers.pop()


def _part(name: str, run: Run) -> ShardReport:
    if run.part is None:
        raise BadReport(f"{name} is not a part of a run: it was written without --shard")
    return run.part


def _origin(report: Report) -> dict[str, Any]:
    """Return the fields that must be equal in the suites of all shards."""
    suite = report.provenance.suite
    _, of = _number("", report)
    return {
        "number of shards": of,
        "version of the suite": suite.version,
        "commit of the suite": suite.commit or "none",
        "content of the suite": suite.content or "none",
        "catalogue": report.provenance.catalogue,
        "seed": report.provenance.seed,
        **{
            f"version of {name}": dependency
            for name, dependency in report.provenance.dependencies.items()
        },
    }


def _left(report: Report) -> dict[str, Any]:
    """Return the clients that could not be run."""
    return {
        "clients not run": ", ".join(sorted(skipped.client for skipped in report.not_run)) or "none"
    }


def _conduct(run: Run, part: ShardReport) -> dict[str, Any]:
    """Return the fields that must be equal in all shards of one client's run."""
    judged = {}
    if part.client:
        judged = {
            "key format of its rings": part.client.ring_keys.format or "unknown",
            "set of stated choices": part.client.choices,
            "backoff": part.client.backoff,
        }
    return {
        "editions": run.follows,
        "commit": _state(run.identity.commit, dirty=run.identity.dirty),
        "content of its sources": run.identity.tree[:SHORT] or "none",
        "--only": part.given.only,
        "--scenario": part.given.scenarios,
        "--clause": part.given.clauses,
        "--fast": part.given.fast,
        "--strict": part.given.strict,
        "names given by --env": part.given.environment or "none",
        "--wrap": part.given.wrap,
        "set of variables": part.given.variables,
        "baseline": part.entries,
        "plan of who has which scenarios": part.plan,
        **judged,
    }


def _state(commit: str, *, dirty: bool | None) -> str:
    return f"{commit[:SHORT] or 'none'}{' with changes' if dirty else ''}"


def _are_alike(all_told: Sequence[tuple[str, Mapping[str, Any]]], client: object = "") -> None:
    """See that what several reports tell is the same; one that is silent on a thing says nothing.

    Raises:
        BadReport: something is not.
    """
    said: dict[str, tuple[str, Any]] = {}
    for name, values in all_told:
        for thing, value in values.items():
            before, first = said.setdefault(thing, (name, value))
            if first == value:
                continue
            are_short = all(
                isinstance(item, int | str) and len(str(item)) <= LONGEST for item in (first, value)
            )
            words = f": {first} in {before}, {value} in {name}" if are_short else ""
            words = words or f" in {before} and {name}"
            of = f" of {client}" if client else ""
            raise BadReport(f"these are not shards of one run: different {thing}{of}{words}")


def _are_all(ordered: Sequence[Named]) -> None:
    """See that each shard is there, once."""
    there: dict[int, str] = {}
    for name, report in ordered:
        number, of = _number(name, report)
        if number in there:
            raise BadReport(f"part {number} of {of} is given twice: {there[number]} and {name}")
        there[number] = name
    missing = [str(number) for number in range(1, of + 1) if number not in there]
    if missing:
        parts = "part" if len(missing) == 1 else "parts"
        raise BadReport(f"{parts} {', '.join(missing)} of {of} {_are(missing)} missing")


def _are(several: Sequence[object]) -> str:
    return "is" if len(several) == 1 else "are"


def _clients(ordered: Sequence[Named]) -> Iterator[ClientId]:
    """Yield the clients of all shards; each client must have run in each shard."""
    everybody = dict.fromkeys(run.client for _, report in ordered for run in report.runs)
    for client in everybody:
        has = [any(run.client == client for run in report.runs) for _, report in ordered]
        if not all(has):
            there, gone = ordered[has.index(True)][0], ordered[has.index(False)][0]
            raise BadReport(
                f"these are not shards of one run: {client} is in {there} and not in {gone}"
            )
        yield client


def _run_of(report: Report, client: ClientId) -> Run:
    (run,) = (client_run for client_run in report.runs if client_run.client == client)
    return run


def _require_verdicts(name: str, part: ShardReport, catalogue: Catalogue) -> None:
    """See that each scenario of a shard has a verdict on each of its clauses, which there are."""
    for result in part.ended:
        decided = {said.clause for said in result.decisions}
        if not decided or not decided >= {*result.clauses}:
            raise BadReport(f"{name} has no verdict on a clause of {result.scenario}")
        for clause in decided:
            if clause not in catalogue:
                raise BadReport(f"{name} judges {clause}, which is not a clause")


def _are_as_planned(parts: Mapping[str, ShardReport], client: ClientId) -> None:
    """See that each shard has just the scenarios that are its own."""
    piles = [[result.scenario for result in part.ended] for part in parts.values()]
    if plan_of(piles) != next(iter(parts.values())).plan:
        raise BadReport(f"the shards of {client} lack scenarios that the plan assigned to them")
