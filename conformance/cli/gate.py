"""``xdspec gate``: judge a change of a client and its base, and report what the change breaks."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import Prepared, commits
from client_under_test.environments.builds import in_words
from client_under_test.environments.identity import SHORT, identity_of
from client_under_test.manifests.clients import Client
from client_under_test.manifests.version_ranges import is_version
from conformance import timing
from conformance.cli import base_cache
from conformance.cli.base_cache import KeptBase
from conformance.cli.failures import Failure, client_trouble, require_machine
from conformance.cli.invocation import (
    conditions,
    counting_known,
    pasteable,
    running_options,
    suite_variables,
)
from conformance.cli.lookup import found_client, from_source
from conformance.cli.option_values import absolute
from conformance.cli.repetition import Repetition
from conformance.cli.run_clients import baselines, require_scenarios
from conformance.cli.run_options import RunOptions
from conformance.cli.session import Session
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision
from conformance.reporting import gate as gates
from conformance.reporting import gate_texts, repeats, report
from conformance.reporting.gate import Gate
from conformance.reporting.outcome import counted
from conformance.reporting.provenance import suite
from conformance.reporting.report import BadReport, Exit, Report, Run, shown_command
from conformance.reporting.stdout import echo, say
from conformance.runner import files
from conformance.runner.collection import scenarios
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.runner.quick import LeftOut, Quick, quick
from conformance.runner.selection import is_selected
from conformance.runner.sharding import recorded
from conformance.spec.catalogue import Catalogue

REPORT: Final = ".json"
"""Ends the name of a report; another file may be a package."""

EVIDENCE: Final = "gate"
"""The folder for evidence, within that of runs: a gate replaces no evidence of a run."""

TROUBLES: Final = {Exit.INTERRUPTED, Exit.SUITE_TROUBLE, Exit.ADAPTER_TROUBLE}


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, and where the result goes."""

    base: str
    """A commit of the source's checkout, a version, or the path of a report or of other sources."""
    quick: bool
    json_path: Path | None
    junit_path: Path | None
    markdown: bool
    summary_path: Path | None
    annotations_path: Path | None = None


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """What the change is compared with."""

    client: Client | None
    """None: its run is in a report, and it cannot be had again."""
    recorded: Run | None = None
    """Its run, from a report."""
    note: str = ""
    """What the user must know of it to read the result."""


def gate(
    name: str, options: RunOptions, wish: GateOptions, catalogue: Catalogue, screen: Console
) -> Exit:
    """Judge a change and its base, and say what the change breaks.

    Args:
        name: of the client, or its folder; a variant may follow.
        options: of the runs, with the source of the change.
        wish: what is compared, and where the result goes.
        catalogue: the clauses.
        screen: where the runs are shown.

    Raises:
        Failure: the client, the base or the source is not there, or they cannot be compared.
    """
    with client_trouble():
        client = found_client(name)
        head = from_source(client, options.source, options.commit)
    require_scenarios(options)
    base = _base(client, wish.base, options)
    left_out = LeftOut()
    if wish.quick:
        chosen = _quick(options, base)
        options = msgspec.structs.replace(options, exactly=chosen.scenarios)
        left_out = chosen.left_out
    entries = baselines(
        [side for side in (head, base.client) if side], catalogue, options.scenario_patterns, None
    )
    require_machine(options.jobs or default_jobs())
    session = Session(
        options,
        catalogue,
        screen,
        entries,
        several=True,
        conclude=lambda *_: None,
        shows_totals=False,
        evidence_in=EVIDENCE,
    )
    both = Both(session, options, catalogue, screen, is_quick=wish.quick)
    with last_words(session.break_off):
        found = both.compare(head, base, wish.base, left_out)
    if isinstance(found, Exit):
        return found
    compared, after = found
    if wish.json_path:
        gate_texts.write_json(compared, wish.json_path)
    repeat = counting_known(after.repeat)
    if wish.junit_path:
        gate_texts.write_junit(compared, after, catalogue, repeat, wish.junit_path)
    page = [*gate_texts.markdown(compared, after, catalogue, repeat)]
    if wish.summary_path:
        files.write(wish.summary_path, "".join(f"{line}\n" for line in page).encode())
    if wish.annotations_path:
        lines = gate_texts.annotation_lines(compared, after, catalogue, repeat)
        files.write(wish.annotations_path, "".join(f"{line}\n" for line in lines).encode())
    if wish.markdown:
        text: Iterable[str] = page
    else:
        text = gate_texts.lines(
            compared, after, catalogue, pasteable(repeat), verbose=options.verbose
        )
    for line in text:
        echo(line)
    return compared.exit


def _base(client: Client, named: str, options: RunOptions) -> Base:
    """Return what a user names as the base: a report, a commit, a version or other sources."""
    path = Path(named)
    if path.is_file() and (made := _report(path, client)):
        return Base(client=None, recorded=_recorded(made, path, client, options))
    with client_trouble():
        commit = _commit(named, options.source)
        if commit and options.source:
            note = _fork(named, commit, options.source, options.commit)
            label = f"base-{commit[:SHORT]}"
            return Base(client=client.built_from(options.source, commit, label), note=note)
        if is_version(named):
            note = f"the base is a release: the checkout has no {named}" if options.source else ""
            return Base(client=msgspec.structs.replace(client, version=named), note=note)
        if path.exists():
            return Base(client=client.built_from(absolute(path), label="base"))
        if path.suffix == REPORT:
            raise Failure(f"there is no file {named}: name a report that `run --json` has written")
        if options.source:
            _no_commit(named, options.source)
    raise Failure(
        f"{named} is no base: name a version such as 1.85.0, a report that --json has written, "
        "other sources or, with --source, a commit of that checkout"
    )


def _no_commit(named: str, source: Path) -> None:
    """Say why a checkout has no such commit, and what else a base may be."""
    try:
        commits.named(source, named)
    except UnfitSource as trouble:
        others = "a base is a released version, such as 1.85.0, a report or other sources, too"
        raise UnfitSource(f"{trouble}; {others}") from None


def _fork(named: str, base: str, source: Path, commit: str | None) -> str:
    """Say that a base has commits that the change lacks; empty if it has none.

    Args:
        named: the base, as the user names it.
        base: its commit.
        source: the checkout.
        commit: what is judged, if that is a commit of the checkout and not its files.

    Raises:
        UnfitSource: there is no such change.
        Failure: the change is the base.
    """
    head = commits.named(source, commit or "HEAD").id
    if base == head and (commit or identity_of(source).dirty is False):
        raise Failure(
            f"the change and its base are the same commit {base[:SHORT]}: name an older one, such "
            f"as --base {base[:SHORT]}~1"
        )
    parted = commits.fork(source, base, head)
    if not parted.lacks:
        return ""
    where = f", or use --base {parted.since[:SHORT]}" if parted.since else ""
    return (
        f"{named} has {counted(parted.lacks, 'commit')} that the change lacks. What they mend is "
        f"reported as broken, and what they break as mended: rebase the change{where}"
    )


def _commit(named: str, source: Path | None) -> str | None:
    """Return the commit that a base names: a tag of the checkout comes before a release."""
    if source is None:
        return None
    try:
        return commits.named(source, named).id
    except UnfitSource:
        return None


def _report(path: Path, client: Client) -> Report | None:
    """Return what is in a report; None if the file may be a package to build the client from."""
    try:
        return report.read(path)
    except BadReport as error:
        if path.suffix != REPORT and client.manifest.any_source:
            return None
        raise Failure(str(error)) from None


def _recorded(made: Report, path: Path, client: Client, options: RunOptions) -> Run:
    who = (client.name, client.variant)
    own = [run for run in made.runs if (run.client.name, run.client.variant) == who]
    if len(own) != 1:
        raise Failure(f"{path} has {len(own)} runs of {client.name}: a base needs exactly one")
    there, here = made.provenance.suite, suite()
    if not here.is_same(there):
        raise Failure(
            f"{path} was made by xdspec {there}, and this is {here}: run the base again with this "
            "one, so that both have the same scenarios"
        )
    (run,) = own
    _require_alike(run, path, options)
    return run


def _require_alike(run: Run, path: Path, options: RunOptions) -> None:
    """Check that the run of a report was made as the change will run.

    Raises:
        Failure: it broke off, or it had other options or other scenarios.
    """
    if not run.complete:
        raise Failure(f"{path} has a run that broke off: run the base again")
    then = conditions(shlex.split(shown_command(run.repeat)))
    given = running_options(
        fast=options.fast,
        isolated=options.isolated,
        variables=options.environment,
        wrap=options.wrap,
    )
    now = conditions([*suite_variables(), *given])
    if then != now:
        there, here = (" ".join(sorted(own)) or "none" for own in (then - now, now - then))
        raise Failure(
            f"{path} was made with other options (there: {there}; here: {here}): run both with the "
            "same options"
        )
    wanted = options.selection()
    selected = {name for name, claims in scenarios().items() if is_selected(name, claims, wanted)}
    judged = {scenario.id for scenario in run.scenarios}
    # With --fast, the client decides which scenarios are left out.
    if judged - selected or (selected - judged and not options.fast):
        raise Failure(_other_scenarios(f"{path}"))


def _other_scenarios(base: str) -> str:
    return (
        f"{base} was judged by other scenarios than the change: run both with the same "
        "--only, --scenario, --clause and --fast"
    )


def _quick(options: RunOptions, base: Base) -> Quick:
    """Return the scenarios of a quick run of what is selected."""
    if base.recorded:
        raise Failure(
            "--quick selects other scenarios than a report has: leave --quick out, or name a "
            "version or a commit as the base"
        )
    selection = options.selection()
    there = {
        name: claims for name, claims in scenarios().items() if is_selected(name, claims, selection)
    }
    decided = {clause for claims in there.values() for clause in claims.clauses}
    if named := {*selection.only, *selection.clauses}:
        decided &= named
    chosen = quick(there, recorded(), decided)
    if not chosen.scenarios:
        raise Failure(
            f"none of the {len(there)} selected scenarios is short enough for --quick: leave it out"
            if there
            else "no scenario is selected"
        )
    return chosen


class Both:
    """The runs of a change and of its base."""

    def __init__(
        self,
        session: Session,
        options: RunOptions,
        catalogue: Catalogue,
        screen: Console,
        *,
        is_quick: bool,
    ) -> None:
        self._session = session
        self._options = options
        self._catalogue = catalogue
        self._screen = screen
        self._is_quick = is_quick

    def compare(
        self, head: Client, base: Base, named: str, left_out: LeftOut
    ) -> tuple[Gate, Run] | Exit:
        """Run what has to be run, and compare; or return the code of what kept it from that."""
        made = self._session.prepare(head)
        if made is None:  # then the base is not worth its build
            return self._why_not()
        on_base = self._session.prepare(base.client) if base.client else None
        if base.client and on_base is None:
            return self._why_not()
        say(self._screen, "change: running all selected scenarios …")
        after = self._run(made)
        if after is None:
            return self._why_not()
        codes = report.said_of(after)
        if codes[0] in TROUBLES:
            self._session.show(made, after, codes)
            return codes[0]
        say(self._screen, f"change: {_ran(after)}")
        before = base.recorded or (self._of_base(on_base, after) if on_base else None)
        if before is None:
            return self._why_not()
        if {scenario.id for scenario in before.scenarios} != {
            scenario.id for scenario in after.scenarios
        }:
            raise Failure(_other_scenarios(named))
        again = Repetition(self._session, self._options, self._screen, made, on_base)

        def compared() -> Gate:
            return gates.gate(
                before,
                after,
                self._catalogue,
                on_base=again.on_base,
                on_head=again.on_head,
                base_evidence=again.base_evidence,
                strict=self._options.strict,
                left_out=left_out,
                note=base.note,
            )

        seconds = timing.QUICK_REPEATS if self._is_quick else timing.REPEATS
        budget = seconds * (self._options.jobs or default_jobs())
        again.run(repeats.to_repeat(before, after, self._catalogue, budget=budget), 1)
        races = repeats.unclear(before, after, again.on_base, again.on_head)
        found = compared()
        if races and not found.is_certain:
            again.run(races, repeats.RUNS - 1)
            found = compared()
        return found, after

    def _why_not(self) -> Exit:
        """Return the code of a side that could not run, which the session has reported."""
        return report.code_of(self._session.made, strict=False)

    def _run(self, client: Prepared, names: Collection[str] = ()) -> Run | None:
        """Run the selected scenarios, or only the named ones of these."""
        if not self._session.comes_up(client):
            return None
        self._session.run(client, exactly=sorted(names))
        run = self._session.made.runs[-1]
        return run if run.complete else None

    def _of_base(self, base: Prepared, after: Run) -> Run | None:
        """Return the run of a base; of scenarios that it need not run, what the change showed.

        What is kept of the base is reused, and what it has to run is kept.
        """
        entries = self._session.known(base)
        wanted = {*gates.wanted_of_base(after, {entry.clause for entry in entries})}
        there = {scenario.id for scenario in after.scenarios}
        place = base_cache.place_of(base, self._options)
        kept = base_cache.read(place)
        records = {record.scenario: record for record in (kept.records(there) if kept else ())}
        new: dict[str, Record] = {}

        def known(scenario: str, decision: Decision) -> bool:
            return any(entry.knows(scenario, decision) for entry in entries)

        runs: list[Run] = []
        while missing := wanted - records.keys() - new.keys():
            say(self._screen, f"base: running {counted(len(missing), 'scenario')} …")
            ran = self._run(base, missing)
            if ran is None:
                return None
            runs.append(ran)
            new |= {record.scenario: record for record in self._session.records}
            if kept and kept.client != next(iter(new.values())).client:
                records, kept = {}, None  # what is kept was judged by other ring keys
        if place and not any(run.troubles for run in runs):
            base_cache.add(place, kept, tuple(new.values()), datetime.now(UTC), known)
        words = [_ran(run) for run in runs]
        reused = wanted - new.keys()
        if kept and reused:
            words.append(f"{_reused(kept, reused, alone=not words)} (kept in {place})")
        others = len(there - wanted)
        passed = f"; {others} not needed: the change passes what they decide" if others else ""
        say(self._screen, f"base: {', '.join(words)}{passed}")
        return gates.completed(self._session.run_of(base, (records | new).values()), after)


def _ran(run: Run) -> str:
    return f"{counted(len(run.scenarios), 'scenario')} in {run.wall_seconds:.0f} s"


def _reused(kept: KeptBase, names: Collection[str], *, alone: bool) -> str:
    """Say how many scenarios are reused, and how old the oldest one is."""
    since = min(datetime.fromisoformat(scenario.at) for scenario in kept.of(names))
    age = in_words((datetime.now(UTC) - since).total_seconds())
    what = counted(len(names), "scenario") if alone else f"{len(names)}"
    return f"{what} reused from {age} ago"
