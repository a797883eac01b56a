"""A failure with all that is known of it: what a bundle is made of."""

from __future__ import annotations

import msgspec

from conformance.judging.verdicts import Decision, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.provenance import Provenance
from conformance.reporting.rendering.folder import Folder
from conformance.reporting.report import ClientId


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that failed, with all that a report and its evidence know of it."""

    origin: Provenance
    client: ClientId
    is_built_in: bool
    folder: Folder
    bootstrap: bytes
    """The JSON text, which is well formed; empty in evidence of a suite that did not keep it."""
    stderr: str
    entries: tuple[Entry, ...]
    """Failures that the baseline of the run knew."""

    @property
    def failures(self) -> tuple[Decision, ...]:
        """What failed."""
        return tuple(
            decision
            for decision in self.folder.record.decisions
            if decision.verdict is Verdict.FAIL
        )

    @property
    def named(self) -> str:
        """The client as a command names it."""
        version = f"@{self.client.version}" if self.client.version else ""
        variant = f"+{self.client.variant}" if self.client.variant else ""
        return f"{self.client.name}{version}{variant}"

    @property
    def suite(self) -> str:
        """The suite that saw it."""
        commit = self.origin.suite.commit
        return f"xdspec {self.origin.suite.version}" + (f", commit {commit}" if commit else "")
