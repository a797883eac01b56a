"""The clients of one command, one after another: made, tried, run, reported; its exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from client_under_test.contract.exceptions import (
    BuildFailed,
    ClientTrouble,
    ConversationFailed,
    MissingToolchain,
    NoWheel,
    UnfitSource,
)
from client_under_test.environments import Prepared, prepare
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import Client
from conformance import timing
from conformance.cli import repeated_runs
from conformance.cli.error_report import TROUBLE, forget, in_a_line
from conformance.cli.failures import Failure, client_trouble
from conformance.cli.interactive import InteractiveSession
from conformance.cli.invocation import pasteable
from conformance.cli.run_options import RunOptions
from conformance.cli.sharding import Share, durations_of, share
from conformance.judging import causes
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import console, junit, report
from conformance.reporting.baseline import FILE, Entry, applying
from conformance.reporting.build_run import build_run
from conformance.reporting.failure_texts import Ignored
from conformance.reporting.live import Live, patience
from conformance.reporting.provenance import provenance
from conformance.reporting.report import ClientId, Exit, NotRun, Report, Run
from conformance.reporting.shard_report import ShardReport
from conformance.reporting.stdout import Screen, echo, from_here, say
from conformance.runner import evidence_files
from conformance.runner.calibration import calibrated, start_and_end
from conformance.runner.files import can_be_replaced, scratch
from conformance.runner.interruption import postponed
from conformance.runner.jobs import room_for
from conformance.runner.progress import Known, nobody_knows
from conformance.runner.run import Ran, run
from conformance.runner.selection import Selection
from conformance.runner.settings import Settings
from conformance.runner.targets import Target, subject_for
from conformance.spec.catalogue import Catalogue
from regular_files import copy


class Session:
    """The clients of one command, and what is known of them so far: all of it is in the report."""

    def __init__(
        self,
        options: RunOptions,
        catalogue: Catalogue,
        screen: Console,
        entries: Mapping[Path, tuple[Entry, ...]],
        *,
        several: bool,
        conclude: Callable[[Console, Report], None] | None = None,
        shows_totals: bool = True,
        evidence_in: str = "",
    ) -> None:
        """Clients of one command.

        Args:
            options: of the command line.
            catalogue: the clauses.
            screen: the console for all output.
            entries: the known failures, by the folder of a client.
            several: whether more than one client is run.
            conclude: prints the result of all clients at the end; then each gets a short one only.
            shows_totals: whether each client gets this short one.
            evidence_in: a folder for the evidence, within that of runs, which they do not replace.
        """
        self._several = several
        self._conclude = conclude
        self._shows_totals = shows_totals
        self._evidence = options.out.absolute() / evidence_in
        self._options = options
        self._catalogue = catalogue
        self._screen = screen
        self._entries = entries
        self._origin = provenance(catalogue, options.seed)
        self._runs: list[tuple[Run, tuple[Exit, ...]]] = []
        self._not_run: list[NotRun] = []
        self.records: tuple[Record, ...] = ()
        """Those of the last client's run."""
        self._unwritten = ""
        """Why the reports for programs could not be written, the last time."""
        self._write(begins=True)

    @property
    def made(self) -> Report:
        """The report so far."""
        return Report(
            provenance=self._origin,
            runs=tuple(run for run, _ in self._runs),
            not_run=tuple(self._not_run),
        )

    # A client that cannot be run ends the command if the user named it; otherwise it is reported.

    def prepare(self, client: Client) -> Prepared | None:
        """Make what a client needs; None if that cannot be done, which is in the report then."""
        try:
            since = time.monotonic()
            with patience(self._screen, client.preparation):
                made = prepare(client, self._options.environment)
            if (took := time.monotonic() - since) > timing.PATIENCE:
                say(self._screen, f"{client} is ready after {took:.0f} s")
            return msgspec.structs.replace(made, wrap=self._options.wrap)
        except (MissingToolchain, NoWheel) as trouble:
            if not self._options.every_client:
                raise Failure(str(trouble)) from None
            self._leave_out(str(client), Verdict.SKIP, Reason.ENVIRONMENT, str(trouble))
        except UnfitSource as trouble:
            if not self._options.every_client:
                raise Failure(str(trouble)) from None
            self._leave_out(str(client), Verdict.ERROR, Reason.ADAPTER, str(trouble))
        except BuildFailed as trouble:
            self._leave_out(str(client), Verdict.ERROR, Reason.ADAPTER, str(trouble))
        except ClientTrouble:
            with client_trouble():
                raise
        return None

    def comes_up(self, client: Prepared) -> bool:
        """Start the client once, and return whether it says hello; report a failure here."""
        with scratch() as folder:
            stderr, kept = folder / "stderr.log", self.folder(client)
            stderr.touch()
            try:
                with patience(self._screen, f"waiting for the hello of {client.name}"):
                    asyncio.run(
                        start_and_end(
                            client, self._options.environment, stderr, partial(say, self._screen)
                        )
                    )
                with contextlib.suppress(OSError):  # of an earlier run
                    (kept / stderr.name).unlink(missing_ok=True)
                shutil.rmtree(kept / evidence_files.LEFT, ignore_errors=True)
            except ConversationFailed as failure:
                words, files = causes.of(failure).what, str(kept)
                try:
                    kept.mkdir(parents=True, exist_ok=True)
                    copy(stderr, kept / stderr.name)
                    ran = ClientProcess.folder_of(stderr)
                    evidence_files.keep_what_it_left(ran, kept / evidence_files.LEFT)
                except OSError as error:
                    files = f"none, as {kept} cannot be written ({error.strerror})"
                words += f"\nfiles: {files}; `xdspec doctor` checks an adapter"
                self._leave_out(client.name, Verdict.ERROR, Reason.ADAPTER, words)
                return False
        return True

    def _leave_out(self, client: str, verdict: Verdict, reason: Reason, words: str) -> None:
        left = NotRun(client=client, verdict=verdict, reason=reason, words=words)
        self._not_run.append(left)
        self._write()
        console.show_not_run(self._screen, left)

    def run(self, client: Prepared, exactly: Sequence[str] = ()) -> None:
        """Run the scenarios against a client that is there, and report.

        Args:
            client: which comes up.
            exactly: the ids of the only selected scenarios that run; empty: all of them.
        """
        evidence_files.hide_from_git(self._options.out)
        forget(self.folder(client) / TROUBLE)
        if client.release and not self._conclude:
            say(
                self._screen,
                f"{client.client.name}: {client.release} (released; --source PATH judges a "
                "checkout)",
            )
        for note in client.notes:
            say(self._screen, note)
        if self._several and not self._conclude:
            self._screen.print(f"\n{client.name}", style="bold", highlight=False, markup=False)
        subject = self.target(client)
        with postponed():  # scenarios handle signals themselves, to report what is done
            self._run(client, subject, exactly)

    def target(self, client: Prepared) -> Target:
        """Return a client that is there as the target of scenarios, with its ring keys."""
        with scratch() as folder:
            return calibrated(
                subject_for(client, environment=self._options.environment),
                self._catalogue,
                seed=self._options.seed,
                scratch=folder,
                out=self.folder(client),
                meanwhile=partial(patience, self._screen),
            )

    def _run(self, client: Prepared, subject: Target, exactly: Sequence[str]) -> None:
        entries = [entry for entry in self.known(client) if not entry.is_over(self._today)]

        def known(scenario: str, decision: Decision) -> bool:
            return any(entry.knows(scenario, decision) for entry in entries)

        settings, own = self._settings(subject), None
        if exactly:
            chosen = tuple(("", name) for name in exactly)
            selection = msgspec.structs.replace(settings.selection, exactly=chosen)
            settings = msgspec.structs.replace(settings, selection=selection)
        if self._options.shard:
            durations = durations_of(self._options.durations, client.client.name)
            own = share(self._options.shard, settings, durations)
        if own:
            settings = msgspec.structs.replace(settings, selection=own.selection)
        cores = client.client.manifest.start.cores
        quiet = self._conclude is not None
        held = self._options.hold
        with (
            _interactive_session(client.name) if held else contextlib.nullcontext() as interactive,
            Live(
                self._screen,
                client.name,
                known=nobody_knows if self._options.no_baseline else known,
                quiet=quiet,
                bar=not held,
                verbose=self._options.verbose,
            ) as progress,
        ):

            def interrupted(ran: Ran) -> None:
                with contextlib.suppress(Exception):
                    progress.__exit__()
                self._begin_last_words()
                self._judge(subject, self._counted(ran, known), own, interrupted=True)
                self.end()

            ran = run(
                settings,
                jobs=0 if held else self._options.jobs,
                known=known,
                at_once=None if self._options.jobs else room_for(cores),  # who says a number has it
                worker=self._options.worker,
                progress=progress,
                interrupted=interrupted,
                beside=[interactive] if interactive else [],
            )
        self._judge(subject, self._counted(ran, known), own)
        if settings.selection == Selection() and not ran.troubles:
            evidence_files.forget_others(
                self.folder(client), [record.scenario for record in ran.records]
            )

    def _counted(self, ran: Ran, known: Known) -> Ran:
        """Return the worst record of each scenario, and say how often each ended how."""
        if self._options.times == 1:
            return ran
        for line in repeated_runs.rates(ran.records):
            say(self._screen, line)
        return msgspec.structs.replace(ran, records=repeated_runs.worst_of(ran.records, known))

    def known(self, client: Prepared) -> tuple[Entry, ...]:
        """Return a client's expected failures, including expired ones."""
        return () if self._options.no_baseline else self._applying(client)

    def _ignored(self, client: Prepared) -> Ignored | None:
        """Return the baseline, if the user does without it."""
        if not self._options.no_baseline:
            return None
        return Ignored(self._applying(client), from_here(client.client.folder / FILE))

    def _applying(self, client: Prepared) -> tuple[Entry, ...]:
        entries = self._entries[client.client.folder]
        manifest = client.client.manifest
        released = manifest.python.version if manifest.python else manifest.version
        return applying(entries, client.version, client.client.variant, released)

    @property
    def _today(self) -> date:
        """Return the day on which the command started; its runs may last until the next day."""
        return datetime.fromisoformat(self._origin.started).date()

    def _judge(
        self, subject: Target, ran: Ran, own: Share | None, *, interrupted: bool = False
    ) -> None:
        options, client, self.records = self._options, subject.prepared, ran.records
        folder = self.folder(client)
        made = self.run_of(
            client,
            ran.records,
            wall_seconds=ran.wall_seconds,
            complete=ran.complete and not interrupted,
            troubles=tuple(in_a_line(trouble, folder / TROUBLE) for trouble in ran.troubles),
            part=own.part(ran.records, self.known(client), self._options.shard_inputs())
            if own
            else None,
        )
        codes = report.said_of(made, strict=options.strict)
        if interrupted and codes[0] is not Exit.INTERRUPTED:
            codes = (Exit.INTERRUPTED, *codes)
        self._runs.append((made, codes))
        self._write()  # first, in case the user interrupts what follows
        if not self._conclude:
            self.show(client, made, codes)
        elif self._shows_totals or interrupted:
            console.show_total(self._screen, made, codes, strict=options.strict)

    def run_of(
        self,
        client: Prepared,
        records: Iterable[Record],
        *,
        wall_seconds: float = 0.0,
        complete: bool = True,
        troubles: tuple[str, ...] = (),
        part: ShardReport | None = None,
    ) -> Run:
        """Judge the records of a client together; `build_run` describes the arguments."""
        return build_run(
            records,
            self._catalogue,
            client=ClientId(client.client.name, client.version, client.client.variant, client.told),
            follows=client.editions,
            wall_seconds=wall_seconds,
            complete=complete,
            entries=self.known(client),
            today=self._today,
            troubles=troubles,
            repeat=self._options.again(client),
            identity=client.identity,
            part=part,
        )

    def show(self, client: Prepared, made: Run, codes: Sequence[Exit]) -> None:
        """Print the whole report of a client's run; these exit codes apply to it."""
        console.show(
            self._screen,
            made,
            self._catalogue,
            codes,
            repeat=pasteable(self._options.again(client)),
            issues=client.client.manifest.issues,
            brief=self._several,
            strict=self._options.strict,
            verbose=self._options.verbose,
            ignored=self._ignored(client),
        )

    def break_off(self) -> None:
        """Print the summary so far after an interruption between two clients."""
        self._begin_last_words()
        self.end()

    def _begin_last_words(self) -> None:
        """Use a new screen: the signal may have interrupted a write to the old one."""
        self._screen = Screen()
        self._screen.show_cursor()

    def end(self) -> Exit:
        """Print the summary of several clients, and return the exit code of the command."""
        if self._conclude:
            self._conclude(self._screen, self.made)
        elif self._several:
            strict = self._options.strict
            console.summarize(self._screen, self._runs, self._not_run, strict=strict)
        codes = [said[0] for _, said in self._runs]
        if self._unwritten:
            self._screen.print(
                f"! {self._unwritten}", soft_wrap=True, markup=False, style="magenta"
            )
            codes.append(Exit.SUITE_TROUBLE)
        if any(skipped.verdict is Verdict.ERROR for skipped in self._not_run):
            codes.append(Exit.ADAPTER_TROUBLE)
        return report.first_of(codes)

    def _settings(self, subject: Target) -> Settings:
        return Settings(
            subjects=repeated_runs.targets(subject, self._options.times),
            seed=self._options.seed,
            out=str(self.folder(subject.prepared)),
            keep_evidence=self._options.keep_evidence,
            fast=self._options.fast,
            isolated=self._options.isolated,
            known_failures=tuple(
                scenario for entry in self.known(subject.prepared) for scenario in entry.scenarios
            ),
            repeat=self._options.again(subject.prepared),
            selection=self._options.selection(),
        )

    def folder(self, client: Prepared) -> Path:
        """Return where the evidence of a client goes."""
        return self._evidence / client.name.replace(os.sep, "-")

    def _write(self, *, begins: bool = False) -> None:
        """Write the reports for programs, as far as they are; the command goes on without them.

        Before the first client they are without a run: so it shows that they can be written, and
        no reader mistakes the reports of an earlier command for those of this one.
        """
        made = self.made
        troubles = []
        for path, write in (
            (self._options.json_path, report.write_json),
            (self._options.junit_path, junit.write),
        ):
            try:
                if path and (not begins or can_be_replaced(path)):
                    write(made, path)
            except OSError as error:
                troubles.append(f"{path} cannot be written: {error.strerror}")
        if troubles and begins:
            raise Failure("; ".join(troubles))
        self._unwritten = "; ".join(troubles)


@contextlib.contextmanager
def _interactive_session(client: str) -> Iterator[InteractiveSession]:
    """Where a person has the worlds of a client at their end."""
    with scratch() as folder:
        yield InteractiveSession(_on_the_side, adapter=client, folder=folder, is_for_steps=False)


def _on_the_side(words: str, style: str = "") -> None:
    """Tell the person who holds a world, where no report is."""
    del style
    echo(words, err=True)
