"""Run single scenarios of a change and of its base again, side by side."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from client_under_test.environments import Prepared
from conformance.cli.error_report import TROUBLE, in_a_line
from conformance.cli.run_options import RunOptions
from conformance.cli.session import Session
from conformance.judging import evidence
from conformance.judging.evidence import Record
from conformance.reporting import repeats
from conformance.reporting.live import Live
from conformance.reporting.outcome import counted
from conformance.reporting.repeats import Shown
from conformance.reporting.stdout import say
from conformance.runner.evidence_files import folder_name
from conformance.runner.files import scratch
from conformance.runner.interruption import postponed
from conformance.runner.jobs import room_for
from conformance.runner.run import Ran, run
from conformance.runner.selection import Selection, with_scenario
from conformance.runner.settings import Settings
from conformance.runner.targets import Target

CHANGE: Final = "change"
BASE: Final = "base"


class Repetition:
    """Runs of single scenarios of both sides at once, each in a process of its own."""

    def __init__(
        self,
        session: Session,
        options: RunOptions,
        screen: Console,
        head: Prepared,
        base: Prepared | None,
    ) -> None:
        self._session = session
        self._options = options
        self._screen = screen
        self._clients = {CHANGE: head} | ({BASE: base} if base else {})
        self._targets: dict[str, Target] = {}
        self.on_head: list[Shown] = []
        """What each run of the change showed."""
        self.on_base: list[Shown] = []
        self.base_evidence: dict[str, str] = {}
        """The folder of each scenario in which the base showed it, for `xdspec show`."""

    def run(self, names: Sequence[str], times: int) -> None:
        """Run these scenarios on both sides; `times` is how often each of them runs."""
        if not names:
            return
        for side, client in self._clients.items():
            if side not in self._targets:
                self._targets[side] = self._session.target(client)
        targets = {
            f"{side}.{number}": msgspec.structs.replace(target, side=f"{side}.{number}")
            for side, target in self._targets.items()
            for number in range(times)
        }
        with postponed(), scratch() as folder:
            ran = self._ran(names, targets, folder)
            self._keep(record for record in ran.records if record.side == f"{BASE}.0")
        what = counted(len(names), "scenario") + ("" if times == 1 else f" {times} more times")
        where = "on both sides " if BASE in self._clients else ""
        say(
            self._screen, f"run again, to rule out races: {what} {where}in {ran.wall_seconds:.0f} s"
        )
        for trouble in ran.troubles:
            say(self._screen, f"! {in_a_line(trouble, self._options.out.absolute() / TROUBLE)}")
        by_label: dict[str, list[Record]] = {label: [] for label in targets}
        for record in ran.records:
            by_label[record.side].append(record)
        for label, records in by_label.items():
            side = label.partition(".")[0]
            shown = repeats.shown(self._session.run_of(self._clients[side], records))
            (self.on_head if side == CHANGE else self.on_base).append(shown)

    def _keep(self, records: Iterable[Record]) -> None:
        """Keep the evidence of the base's scenarios, unless it is there from before."""
        for record in records:
            if record.evidence and record.scenario not in self.base_evidence:
                client = self._clients[BASE]
                place = self._session.folder(client) / folder_name(record.scenario)
                repeat = with_scenario(self._options.again(client), record.scenario)
                with contextlib.suppress(OSError):  # then there is a comparison without it
                    shutil.rmtree(place, ignore_errors=True)
                    shutil.move(record.evidence, place)
                    named = msgspec.structs.replace(record, evidence=str(place), repeat=repeat)
                    evidence.write(place, named)
                    self.base_evidence[record.scenario] = str(place)

    def _ran(self, names: Sequence[str], targets: Mapping[str, Target], folder: Path) -> Ran:
        options = self._options
        settings = Settings(
            subjects=tuple(targets.values()),
            seed=options.seed,
            out=str(folder),
            keep_evidence=True,
            fast=options.fast,
            isolated=True,
            selection=Selection(
                exactly=tuple((label, name) for label in targets for name in names)
            ),
        )
        cores = self._clients[CHANGE].client.manifest.start.cores
        with Live(self._screen, "again", quiet=True) as progress:
            return run(
                settings,
                jobs=options.jobs,
                at_once=None if options.jobs else room_for(cores),
                worker=options.worker,
                progress=progress,
                interrupted=lambda _: self._session.break_off(),
            )
