"""The report of one or several runs, as plain frozen data: JSON, and nothing else, stands on it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import structs

from client_under_test.environments import Identity
from conformance.judging import json_files
from conformance.judging.former_ids import current_id
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import (
    PRECEDENCE,
    ClauseResult,
    Decision,
    Reason,
    Verdict,
)
from conformance.reporting.baseline import Entry
from conformance.reporting.provenance import Machine, Provenance
from conformance.reporting.shard_report import ShardReport
from conformance.runner import files
from conformance.runner.settings import LEAST
from conformance.spec.catalogue import Catalogue, Clause, Strength

SCHEMA_FILE = Path(__file__).with_name("report.schema.json")


class BadReport(Exception):
    """A report with which nothing can be done; the text says why."""


class Exit(IntEnum):
    """Exit codes; they extend pytest's."""

    CONFORMS = 0
    DEVIATES = 1
    INTERRUPTED = 2
    SUITE_TROUBLE = 3
    BAD_INPUT = 4
    NOTHING_RAN = 5
    ADAPTER_TROUBLE = 6


class ClientId(msgspec.Struct, frozen=True, rename={"settings": "told"}):
    """Which client a run judged."""

    name: str
    version: str
    variant: str | None
    settings: str = ""
    """What the user set where the manifest asks for it: of a stock client, its command.

    In a report the field is `told`.
    """

    def __str__(self) -> str:
        variant = f" +{self.variant}" if self.variant else ""
        settings = f" ({self.settings})" if self.settings else ""
        return " ".join(f"{self.name} {self.version}{variant}{settings}".split())


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of a run."""

    id: str
    verdict: Verdict
    reason: Reason | None
    seconds: float
    clauses: dict[str, Verdict]
    evidence: str | None
    left: tuple[str, ...] = ()
    """Files in it that the client itself left where it ran, such as a core file."""
    findings: tuple[Decision, ...] = ()
    """The decisions that are no pass: what was wanted, by which oracle, and what was seen."""
    served: tuple[str, ...] = ()
    """A description of the served configuration, if the scenario failed."""
    lateness: float = 0.0
    starved: float = 0.0
    """For how many seconds the client had to wait for a processor, if the scenario failed."""
    beside_others: tuple[Decision, ...] = ()
    """What it had said before it was run again alone, because a late machine made it doubtful."""
    shared_process: bool = False
    """Set if other scenarios could use its process of the client, before or after it."""
    earlier: tuple[str, ...] = ()
    """The scenarios that had used that process before, if this one failed there."""
    in_shared_process: tuple[Decision, ...] = ()
    """What it had decided there, if a process of its own led to another result."""
    cause: str = ""
    """What ended the scenario before it compared anything, or kept it waiting, if other
    scenarios may share the cause."""
    ended_early: bool = False
    """True if it did not wait to its end, since the run knew the cause."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One client's run."""

    client: ClientId
    follows: tuple[str, ...]
    """The editions that the client states."""
    wall_seconds: float
    complete: bool
    """False if it was interrupted, or broke off."""
    scenarios: tuple[Scenario, ...]
    clauses: dict[str, ClauseResult]
    totals: dict[Verdict, int]
    """Clauses by verdict; expected failures are under ``fail`` too."""
    ring_keys: RingKeys = RingKeys()
    """By which its rings were judged."""
    known: tuple[Entry, ...] = ()
    """Baseline entries whose failure was seen."""
    surprises: tuple[str, ...] = ()
    """Baseline entries that are not true."""
    endings: tuple[str, ...] = ()
    """Baseline entries of failures that were seen, and that end soon or have ended."""
    troubles: tuple[str, ...] = ()
    """What ended the run itself, if something did."""
    part: ShardReport | None = None
    """The data of one shard, from which `xdspec merge` makes the whole report."""
    repeat: str = ""
    """The beginning of the command that runs one scenario again, without the values that ``--env``
    gave; empty in reports of before there was such a word."""
    identity: Identity = Identity()
    """What was judged, beyond name and version; empty in reports that are older than this field."""
    mended: tuple[str, ...] = ()
    """Baseline entries whose failure was not seen in a client that was built from sources."""

    @property
    def title(self) -> str:
        """The client, and what tells it from others of its version."""
        identity = " ".join(f"{self.identity}".split())
        return f"{self.client} ({identity})" if identity else f"{self.client}"


def command(name: str, version: str, variant: str | None, seed: int) -> str:
    """Return the start of the command that repeats one scenario of a client.

    For what was recorded before this was written down: a folder and options are not in it.
    """
    named = f"{name}@{version}" + (f"+{variant}" if variant else "")
    return shlex.join(("xdspec", "run", named, "--seed", f"{seed}"))


def shown_command(text: str) -> str:
    """Return a command of a report or of evidence, if it is one of this suite; else nothing.

    A user will copy it into a shell, and a stranger may have written it. So its words are quoted
    again: none of them can start another command.
    """
    try:
        words = shlex.split(text) if text.isprintable() else []
    except ValueError:  # a quotation without its end
        return ""
    ours = [word for word in words if word.partition("=")[0] not in LEAST]
    is_ours = ours[:2] in ([name, "run"] for name in ("xdspec", "./xdspec"))
    return shlex.join(words) if is_ours or ours[:3] == ["pytest", "-p", "pytest_xdspec"] else ""


def repeat_of(run: Run, seed: int) -> str:
    """Return the start of the command that repeats one scenario of a run."""
    client = run.client
    return shown_command(run.repeat) or command(client.name, client.version, client.variant, seed)


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """A client of the command that could not be run at all."""

    client: str
    """As it was named."""
    verdict: Verdict
    """SKIP for want of a toolchain, ERROR where its build failed or it did not come up."""
    reason: Reason
    words: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shard ran, of a report that was merged."""

    part: int
    started: str
    machine: Machine
    wall_seconds: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` writes."""

    schema: Literal[1] = 1
    provenance: Provenance
    runs: tuple[Run, ...]
    not_run: tuple[NotRun, ...] = ()
    sources: tuple[Source, ...] = ()
    """The shards of which it was merged; the provenance is that of the first that began."""


def _totals(clauses: Mapping[str, ClauseResult]) -> dict[Verdict, int]:
    counts = Counter(result.verdict for result in clauses.values())
    return {verdict: counts[verdict] for verdict in PRECEDENCE}


def exit_of(run: Run, *, strict: bool = False) -> Exit:
    """Return the exit code of a run: the first that applies, in the order of the docs."""
    return said_of(run, strict=strict)[0]


def said_of(run: Run, *, strict: bool = False) -> tuple[Exit, ...]:
    """All exit codes that apply to a run, the one that holds first."""
    results = run.clauses.values()
    findings = [found for scenario in run.scenarios for found in scenario.findings]
    reasons = {found.reason for found in findings if found.verdict is Verdict.ERROR}
    deviates = run.surprises or any(is_fatal(result, strict=strict) for result in results)
    applies = {
        Exit.INTERRUPTED: not run.complete and not run.troubles,
        Exit.SUITE_TROUBLE: run.troubles or reasons & {Reason.SUITE, Reason.TIMING},
        Exit.ADAPTER_TROUBLE: Reason.ADAPTER in reasons,
        Exit.DEVIATES: deviates,
    }
    bad = tuple(code for code, does in applies.items() if does)
    if bad:
        return bad
    is_judged = any(result.verdict is not Verdict.SKIP for result in results)
    return (Exit.CONFORMS if is_judged or run.part else Exit.NOTHING_RAN,)


def why_skipped(clause: Clause, result: ClauseResult) -> str:
    """Why nothing is said of a clause that was skipped."""
    if clause.grpc_only is not None and clause.grpc_only in result.seen:
        return f"gRPC only: {clause.grpc_only.removesuffix('.')}"
    if result.blocked_by is not None:
        return f"by {result.blocked_by}"
    if result.reason is Reason.EDITION:
        return f"a clause of {', '.join(clause.editions)}, which the client does not declare"
    return "; ".join(result.seen)


def blocked(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the blocked clauses, by the failing clause that blocks them."""
    found: dict[str, list[str]] = {}
    for name, result in run.clauses.items():
        if result.blocked_by is not None:
            found.setdefault(result.blocked_by, []).append(name)
    return {name: tuple(clauses) for name, clauses in found.items()}


def is_fatal(result: ClauseResult, *, strict: bool, even_known: bool = False) -> bool:
    """Return whether a clause's result alone makes a run fail.

    No text lets a client die, hang, lie or break what its manifest states, whatever the strength
    of the clause.

    Args:
        result: of the clause.
        strict: whether a failed SHOULD clause counts.
        even_known: whether a failure counts that is in the baseline.
    """
    counts = strict or result.strength is Strength.MUST or result.reason in NEVER_RIGHT
    is_new = even_known or not result.expected
    return result.verdict is Verdict.FAIL and counts and is_new


NEVER_RIGHT = {
    Reason.CRASHED,
    Reason.EXITED,
    Reason.HUNG,
    Reason.FLOODED,
    Reason.LIED,
    Reason.STATED,
}

FIRST = (
    Exit.INTERRUPTED,
    Exit.SUITE_TROUBLE,
    Exit.ADAPTER_TROUBLE,
    Exit.DEVIATES,
    Exit.CONFORMS,
)
"""The order of precedence of exit codes: the command exits with the first that a run has."""


def first_of(codes: Iterable[Exit]) -> Exit:
    """Return the exit code of several runs; "nothing judged" only if it applies to all."""
    found = set(codes)
    return next((code for code in FIRST if code in found), Exit.NOTHING_RAN)


def code_of(report: Report, *, strict: bool) -> Exit:
    """Return the exit code of a command that wrote this report."""
    codes = [exit_of(run, strict=strict) for run in report.runs]
    if any(skipped.verdict is Verdict.ERROR for skipped in report.not_run):
        codes.append(Exit.ADAPTER_TROUBLE)
    return first_of(codes)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report."""
    made = msgspec.json.schema(Report)
    for definition in made["$defs"].values():
        if "properties" in definition:  # what has a default here is written all the same
            definition["required"] = sorted(definition["properties"])
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "xdspec report, schema 1"
    return made


def write_json(report: Report, path: Path) -> None:
    """Write the report for programs."""
    files.write_json(path, report)


def read_any(path: Path) -> Report:
    """Read what ``--json`` has written, of a shard or of a run that broke off, too.

    Raises:
        BadReport: it cannot be read, or is none of this suite.
    """
    try:
        return with_present_ids(json_files.read(path, Report))
    except json_files.Unreadable as error:
        raise BadReport(f"{path} cannot be read: {error}") from None
    except json_files.ForeignFile as error:
        if _is_comparison(path):
            raise BadReport(
                f"{path} is a comparison, as `gate --json` writes it: give a report, as `run "
                "--json` writes it"
            ) from None
        raise BadReport(f"{path} is not a report of this suite: {error}") from None


class _Comparison(msgspec.Struct, frozen=True):
    """What of a gate's file is in no report."""

    head: str
    base: str
    changes: list[msgspec.Raw]


def _is_comparison(path: Path) -> bool:
    try:
        json_files.read(path, _Comparison)
    except (json_files.Unreadable, json_files.ForeignFile):
        return False
    return True


def with_present_ids(report: Report) -> Report:
    """Return a report, which may be an old one, with the present ids of its scenarios."""
    return structs.replace(report, runs=tuple(map(_with_present_ids, report.runs)))


def _with_present_ids(run: Run) -> Run:
    scenarios = tuple(
        structs.replace(
            scenario,
            id=current_id(scenario.id),
            earlier=tuple(map(current_id, scenario.earlier)),
        )
        for scenario in run.scenarios
    )
    clauses = {
        name: structs.replace(result, scenarios=tuple(map(current_id, result.scenarios)))
        for name, result in run.clauses.items()
    }
    known = tuple(
        structs.replace(entry, scenarios=tuple(map(current_id, entry.scenarios)))
        for entry in run.known
    )
    return structs.replace(run, scenarios=scenarios, clauses=clauses, known=known)


def is_shard(path: Path) -> bool:
    """Return whether a file is the report of one shard of a run."""
    try:
        return any(run.part for run in read_any(path).runs)
    except BadReport:
        return False


def read(path: Path) -> Report:
    """Read what ``--json`` has written.

    Raises:
        BadReport: it cannot be read, is none of this suite, or holds a part of a run at most.
    """
    report = read_any(path)
    if not (report.runs or report.not_run):
        raise BadReport(
            f"{path} contains no runs: the command that wrote it failed before starting one"
        )
    for run in report.runs:
        if not run.complete:
            raise BadReport(f"{path} has a run of {run.client} that did not finish")
        if run.part:
            raise BadReport(f"{path} is {run.part} of a run: join all parts with `xdspec merge`")
        if wrong := _contradiction(run):
            raise BadReport(f"{path} contradicts itself on {run.client}: {wrong}")
    return report


def require_clauses(report: Report, catalogue: Catalogue) -> None:
    """See that there is still every clause of a report, which may be an old one.

    Raises:
        BadReport: one is gone.
    """
    for run in report.runs:
        for name in run.clauses:
            if name not in catalogue:
                raise BadReport(
                    f"{run.client} was judged by {name}, which the catalogue no longer has"
                )


def _contradiction(run: Run) -> str | None:
    """Return a contradiction between fields of a run: then the file was edited."""
    scenarios = {scenario.id: scenario for scenario in run.scenarios}
    if run.totals != _totals(run.clauses):
        return "its totals are not the sums of its clauses"
    for name, result in run.clauses.items():
        if not result.scenarios or not scenarios.keys() >= {*result.scenarios}:
            return f"{name} was decided by scenarios that it does not have"
        if result.verdict in {Verdict.PASS, Verdict.SKIP}:
            continue
        decisions = (
            finding for scenario in result.scenarios for finding in scenarios[scenario].findings
        )
        if not any(
            (decision.clause, decision.verdict) == (name, result.verdict) for decision in decisions
        ):
            return f"{name} is {result.verdict}, and nothing says by what"
    return None


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(schema(), indent=1, sort_keys=True) + "\n", "utf-8")
