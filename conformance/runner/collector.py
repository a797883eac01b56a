"""What the command takes from the processes that run scenarios."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping

import msgspec
import pytest
from xdist.remote import Producer
from xdist.workermanage import WorkerController

from conformance.judging.evidence import Record
from conformance.runner.plugin.recording import PROPERTY
from conformance.runner.progress import Known, Progress, nobody_knows
from conformance.runner.retry import ident, is_doubtful, with_what_stands
from conformance.runner.scheduling import Overlapping, Waiting
from conformance.runner.selection import Ident


class Collector:
    """A pytest plugin in the command's own process."""

    def __init__(
        self,
        progress: Progress,
        waiting: Waiting,
        known: Known = nobody_knows,
    ) -> None:
        self.progress = progress
        self.waiting = waiting
        self.known = known
        self.records: list[Record] = []
        self.troubles: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> Overlapping:
        """Have scenarios that wait overlap with the others."""
        return Overlapping(config, log, self.waiting)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: WorkerController) -> None:
        """Wait for the process that execnet started, which may only hand over to the worker.

        It has ended by then, and execnet waits for it when the run is over.
        """
        started: subprocess.Popen[bytes] = node.gateway._io.popen  # noqa: SLF001 - nobody gives it away
        threading.Thread(target=started.wait, daemon=True).start()

    def take_doubtful(self) -> dict[Ident, Record]:
        """Give away the records of scenarios that an idle machine may judge otherwise."""
        doubtful = (one for one in self.records if is_doubtful(one, self.known))
        taken = {ident(one): one for one in doubtful}
        self.records = [one for one in self.records if ident(one) not in taken]
        self.waiting = Waiting()
        return taken

    def tell_of(self, earlier: Mapping[Ident, Record]) -> None:
        """Add to the records of scenarios that ran again what they had said before.

        One that did not come through the second time keeps the record that it had.
        """
        again = {ident(one) for one in self.records}
        self.records = [
            with_what_stands(one, earlier[ident(one)]) if ident(one) in earlier else one
            for one in self.records
        ]
        self.records += [one for name, one in earlier.items() if name not in again]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a scenario's record from the report of its teardown."""
        for name, value in report.user_properties:
            if name == PROPERTY:
                record = msgspec.json.decode(str(value), type=Record)
                self.records.append(record)
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
