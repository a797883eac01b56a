"""``xdspec gate``: judge a change of a client and its base, and report what the change breaks."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from client_under_test import Client, Prepared
from client_under_test.contract.exceptions import UnfitSource
from client_under_test.environments import commits
from client_under_test.environments.identity import SHORT
from client_under_test.environments.places import cache
from client_under_test.manifests.version_ranges import is_version
from conformance.cli.failures import Failure, client_trouble, require_machine
from conformance.cli.invocation import conditions, running_options, suite_variables
from conformance.cli.lookup import found_client, from_source
from conformance.cli.option_values import absolute
from conformance.cli.run_clients import baselines
from conformance.cli.session import RunOptions, Session
from conformance.judging.verdicts import Verdict
from conformance.reporting import gate as gates
from conformance.reporting import gate_texts, report
from conformance.reporting.baseline import Entry
from conformance.reporting.gate import Gate, Shown
from conformance.reporting.provenance import suite
from conformance.reporting.report import BadReport, Exit, Report, Run, shown_command
from conformance.reporting.stdout import Screen, echo
from conformance.runner import files
from conformance.runner.collection import scenarios
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.runner.quick import Quick, quick
from conformance.runner.selection import is_selected
from conformance.runner.sharding import recorded
from conformance.spec.catalogue import Catalogue

FOLDER: Final = "gate"
"""Where runs of bases are kept, in the cache."""

KEPT: Final = 32
"""Runs that are kept."""
REPORT: Final = ".json"
"""Ends the name of a report; another file may be a package."""

TROUBLES: Final = {Exit.INTERRUPTED, Exit.SUITE_TROUBLE, Exit.ADAPTER_TROUBLE}


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, and where the result goes."""

    base: str
    """A commit of the source's checkout, a version, or the path of a report or of other sources."""
    quick: bool
    json_path: Path | None
    junit_path: Path | None
    markdown: bool


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """What the change is compared with."""

    client: Client | None
    """None: its run is in a report, and it cannot be had again."""
    recorded: Run | None = None
    """Its run, from a report."""


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
    base = _base(client, wish.base, options)
    left_out: tuple[str, ...] = ()
    if wish.quick:
        chosen = _quick(options, base)
        options = msgspec.structs.replace(options, exactly=chosen.scenarios)
        left_out = chosen.left_out
    entries = baselines(
        [side for side in (head, base.client) if side], catalogue, options.scenario_patterns, None
    )
    require_machine(options.jobs or default_jobs())
    session = Session(options, catalogue, screen, entries, several=True, conclude=lambda *_: None)
    both = Both(session, options, catalogue, screen, entries)
    with last_words(session.break_off):
        found = both.compare(head, base, wish.base, left_out)
    if isinstance(found, Exit):
        return found
    compared, run = found
    if wish.json_path:
        gate_texts.write_json(compared, wish.json_path)
    if wish.junit_path:
        gate_texts.write_junit(compared, run, catalogue, run.repeat, wish.junit_path)
    text = gate_texts.markdown if wish.markdown else gate_texts.lines
    for line in text(compared, run, catalogue, run.repeat):
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
            label = f"base-{commit[:SHORT]}"
            return Base(client=client.built_from(options.source, commit, label))
        if is_version(named):
            return Base(client=msgspec.structs.replace(client, version=named))
        if path.exists():
            return Base(client=client.built_from(absolute(path), label="base"))
        if options.source:
            commits.named(options.source, named)  # says what is wrong with it
    raise Failure(
        f"{named} is no base: name a version such as 1.85.0, a report that --json has written, "
        "other sources or, with --source, a commit of that checkout"
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
        if path.suffix != REPORT and client.manifest.source:
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


def place_of(client: Prepared, options: RunOptions) -> Path | None:
    """Return where the run of a base is kept; None if it is not known to be the same later."""
    if options.environment or options.wrap:
        return None
    here, identity = suite(), client.identity
    if not identity.tree and identity.is_adapter:
        return None
    about = (
        (here.version, here.content),
        (client.client.name, client.client.variant, client.version, identity.tree),
        (options.selection(), options.fast, options.isolated, options.no_baseline),
        {name: os.environ[name] for name in sorted(os.environ) if name.startswith("XDSPEC_")},
    )
    key = hashlib.sha256(msgspec.json.encode(about)).hexdigest()
    return cache() / FOLDER / f"{key}.json"


class Both:
    """The runs of a change and of its base."""

    def __init__(
        self,
        session: Session,
        options: RunOptions,
        catalogue: Catalogue,
        screen: Console,
        entries: Mapping[Path, tuple[Entry, ...]],
    ) -> None:
        self._session = session
        self._options = options
        self._catalogue = catalogue
        self._screen = screen
        self._entries = entries

    def compare(
        self, head: Client, base: Base, named: str, left_out: tuple[str, ...]
    ) -> tuple[Gate, Run] | Exit:
        """Run what has to be run, and compare; or return the code of what kept it from that."""
        made = self._session.prepare(head)
        on_base = self._session.prepare(base.client) if base.client else None
        if made is None or (base.client and on_base is None):
            return self._why_not()
        after = self._run(made)
        if after is None:
            return self._why_not()
        if (code := report.exit_of(after)) in TROUBLES:
            return code
        before = base.recorded or (self._of_base(on_base, after) if on_base else None)
        if before is None:
            return self._why_not()
        if {scenario.id for scenario in before.scenarios} != {
            scenario.id for scenario in after.scenarios
        }:
            raise Failure(_other_scenarios(named))
        head_alone, base_alone = self._repeat(before, after, made, on_base)
        compared = gates.gate(
            before,
            after,
            self._catalogue,
            on_base=base_alone,
            on_head=head_alone,
            strict=self._options.strict,
            left_out=left_out,
        )
        return compared, after

    def _why_not(self) -> Exit:
        for skipped in self._session.made.not_run:
            self._screen.print(f"{skipped.client}: {skipped.words}", markup=False, highlight=False)
        return report.code_of(self._session.made, strict=False)

    def _run(self, client: Prepared, names: Sequence[str] = (), of: int = 0) -> Run | None:
        """Run the selected scenarios, or only the named ones of these; `of` is their number."""
        if not self._session.comes_up(client):
            return None
        if names and len(names) < of:
            self._screen.print(
                f"the base runs {len(names)} of {of} scenarios: the change passes the clauses of "
                "the others",
                highlight=False,
            )
        self._session.run(client, exactly=names)
        run = self._session.made.runs[-1]
        return run if run.complete else None

    def _of_base(self, base: Prepared, after: Run) -> Run | None:
        """Return the run of a base; of scenarios that it need not run, what the change showed."""
        known = {entry.clause for entry in self._session.known(base)}
        names = {*gates.wanted_of_base(after, known)}
        kept = self._kept(base)
        there = {scenario.id for scenario in kept.scenarios} if kept else set()
        if kept is None or not names <= there:
            # What an earlier change needed runs again too, so that the next one may need nothing.
            of_now = {scenario.id for scenario in after.scenarios}
            names |= there & of_now
            kept = self._run(base, tuple(sorted(names)), len(of_now))
            if kept is None:
                return None
            self._keep(base, kept)
        elif (place := place_of(base, self._options)) is not None:
            self._say_kept(kept, place)
        return gates.completed(kept, after)

    def _repeat(
        self, before: Run, after: Run, head: Prepared, base: Prepared | None
    ) -> tuple[list[Shown], list[Shown]]:
        """Run scenarios that differ again alone on both sides, and unclear ones ten times."""
        on_head: list[Shown] = []
        on_base: list[Shown] = []
        names = gates.suspects(before, after)
        for number in range(gates.ALONE):
            if number:
                names = gates.unclear(before, after, on_base, on_head)
            if not names:
                break
            if number <= 1:
                count = "1 scenario" if len(names) == 1 else f"{len(names)} scenarios"
                times = f", {gates.ALONE} times" if number else ""
                words = f"running {count} again alone on both sides{times}"
                self._screen.print(words, highlight=False)
            on_head.append(self._alone(head, names))
            if base:
                on_base.append(self._alone(base, names))
        return on_head, on_base

    def _alone(self, client: Prepared, names: Collection[str]) -> Shown:
        options = msgspec.structs.replace(
            self._options,
            exactly=tuple(names),
            jobs=1,
            isolated=True,
            out=self._options.out / "again",
            json_path=None,
            junit_path=None,
        )
        hushed = Screen(quiet=True)
        session = Session(
            options,
            self._catalogue,
            hushed,
            self._entries,
            several=True,
            conclude=lambda *_: None,
        )
        session.run(client)
        return gates.shown(session.made.runs[-1])

    # A base is judged once: after another push, only the change runs.

    def _kept(self, client: Prepared) -> Run | None:
        place = place_of(client, self._options)
        if place is None or not place.is_file():
            return None
        try:
            made = report.read(place)
        except BadReport:
            return None
        (run,) = made.runs
        return run

    def _say_kept(self, run: Run, place: Path) -> None:
        self._screen.print(
            f"{run.title}: its kept run is reused (delete {shlex.quote(str(place))} to repeat it)",
            highlight=False,
            markup=False,
        )

    def _keep(self, client: Prepared, run: Run) -> None:
        """Keep the run of a base, unless something in it is doubtful."""
        place = place_of(client, self._options)
        if place is None or run.troubles or run.totals.get(Verdict.ERROR):
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        made: Report = msgspec.structs.replace(self._session.made, runs=(run,), not_run=())
        files.write_json(place, made)
        for old in sorted(place.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)[
            :-KEPT
        ]:
            old.unlink(missing_ok=True)
