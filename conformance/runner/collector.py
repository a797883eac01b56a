"""What the command takes from the processes that run scenarios."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Collection, Mapping

import msgspec
import pytest
from xdist.remote import Producer
from xdist.workermanage import WorkerController

from conformance.judging.blocking import attributed, once_each
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Cause, Verdict
from conformance.runner.evidence_files import write_comparison
from conformance.runner.growth import Growing
from conformance.runner.plugin.recording import PROPERTY
from conformance.runner.progress import Known, Progress, nobody_knows
from conformance.runner.retry import (
    cause_of,
    confirmed,
    ident,
    is_at_odds,
    is_doubtful,
    to_confirm,
    with_what_stands,
    worse,
)
from conformance.runner.scheduling import Overlapping, Waiting
from conformance.runner.selection import Ident
from conformance.spec.catalogue import Catalogue


class Collector:
    """A pytest plugin in the command's own process."""

    def __init__(
        self,
        progress: Progress,
        waiting: Waiting,
        known: Known = nobody_knows,
        *,
        grows: bool = False,
    ) -> None:
        self.progress = progress
        self.growing = Growing(enabled=grows)
        self.waiting = waiting
        self.known = known
        self.records: list[Record] = []
        self.troubles: list[str] = []
        self._trusted: set[Cause] = set()
        self._doubted: set[Cause] = set()
        self._repeated: set[Ident] = set()
        self._waited: set[Ident] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Overlapping:
        """Have scenarios that wait overlap with the others."""

        def start_another(node: WorkerController) -> None:
            session = config.pluginmanager.getplugin("dsession")
            session._clone_node(node)  # noqa: SLF001 - as xdist replaces a worker that crashed

        return Overlapping(config, log, self.waiting, self.growing, start_another)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: WorkerController) -> None:
        """Wait for the process that execnet started, which may only hand over to the worker.

        It has ended by then, and execnet waits for it when the run is over.
        """
        started: subprocess.Popen[bytes] = node.gateway._io.popen  # noqa: SLF001 - no public API has it
        threading.Thread(target=started.wait, daemon=True).start()

    def take_early(self, refuted: Collection[Cause], catalogue: Catalogue) -> dict[Ident, Record]:
        """Give away the records of scenarios that ended early and must run to their ends.

        An early end blocks clauses, and fails none: so a scenario runs again if a clause would fail
        by it alone, or if its cause was refuted after it had ended.
        """
        failing = {
            ident(record)
            for record in once_each(self.records, catalogue)
            if any(decision.verdict is Verdict.FAIL for decision in record.decisions)
        }

        def is_meant(record: Record) -> bool:
            if record.trouble is None or not record.trouble.early or ident(record) in self._waited:
                return False
            return record.trouble.cause in refuted or ident(record) in failing

        taken = self._take(is_meant)
        self._waited |= taken.keys()
        return taken

    def keep(self, earlier: Mapping[Ident, Record]) -> None:
        """Keep the earlier record of each scenario that left none when it ran again."""
        again = {ident(record) for record in self.records}
        self.records += [record for name, record in earlier.items() if name not in again]

    def attribute(self, known: Collection[Cause], catalogue: Catalogue) -> None:
        """Name the known cause of each scenario that waited to its end."""
        self.records = [*attributed(self.records, known, catalogue)]

    def take_unconfirmed(self) -> dict[Ident, Record]:
        """Give away the records of failures that must be seen in an own process of the client."""
        chosen = to_confirm(self.records, self.known, trusted=self._trusted, doubted=self._doubted)
        taken = self._take(lambda record: ident(record) in chosen.keys() - self._repeated)
        self._repeated |= taken.keys()
        return taken

    def confirm(self, shared: Mapping[Ident, Record]) -> None:
        """Replace these records by those of processes that no other scenario used.

        A scenario that did not come to its end the second time keeps the record that it had.
        """
        again = {ident(record): record for record in self.records}
        for name, first in shared.items():
            second = confirmed(again[name], first) if name in again else first
            again[name] = second
            if cause := cause_of(first):
                (self._doubted if second.in_shared_process else self._trusted).add(cause)
        self.records = list(again.values())

    def take_at_odds(self) -> dict[Ident, Record]:
        """Give away the records of scenarios that failed in a shared process alone."""
        return self._take(is_at_odds)

    def weigh(self, before: Mapping[Ident, Record]) -> None:
        """Keep these records, unless the scenario has failed in a process of its own by now."""
        again = {ident(record): record for record in self.records}
        for name, record in before.items():
            again[name] = worse(again[name], record) if name in again else record
        self.records = list(again.values())

    def write_comparisons(self) -> None:
        """Add to the evidence what differs between a shared process and an own one."""
        for record in self.records:
            if record.in_shared_process:
                write_comparison(record)

    def take_doubtful(self) -> dict[Ident, Record]:
        """Give away the records of scenarios that an idle machine may judge otherwise."""
        return self._take(lambda record: is_doubtful(record, self.known))

    def _take(self, is_meant: Callable[[Record], bool]) -> dict[Ident, Record]:
        taken = {ident(record): record for record in self.records if is_meant(record)}
        self.records = [record for record in self.records if ident(record) not in taken]
        self.waiting = Waiting()
        return taken

    def tell_of(self, earlier: Mapping[Ident, Record]) -> None:
        """Add to the records of scenarios that ran again what they had said before.

        One that did not come through the second time keeps the record that it had.
        """
        again = {ident(record) for record in self.records}
        self.records = [
            with_what_stands(record, earlier[ident(record)]) if ident(record) in earlier else record
            for record in self.records
        ]
        self.records += [record for name, record in earlier.items() if name not in again]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a scenario's record from the report of its teardown."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                record = msgspec.json.decode(str(value), type=Record)
                self.records.append(record)
                self.growing.was_late(record.lateness)
                if record.lost:
                    self.troubles.append(f"evidence could not be kept: {record.lost}")
                self.progress.finished(record)
        if report.when not in {"setup", "call", "teardown"}:  # xdist, of a worker that died
            self.troubles.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note scenarios that cannot even be collected."""
        if report.failed:
            self.troubles.append(f"{report.nodeid or 'scenarios'}: {report.longreprtext}")

    def pytest_internalerror(self, excrepr: object) -> bool:
        """Note what pytest itself died of; it need not tell the user, too."""
        self.troubles.append(str(excrepr))
        return True
