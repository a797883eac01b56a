"""The options of the command line that runs and gates have in common, as one value."""

from __future__ import annotations

from pathlib import Path

import msgspec

from client_under_test.environments import Prepared
from conformance.cli.invocation import Judging, again
from conformance.cli.sharding import given
from conformance.reporting.report import Report
from conformance.reporting.shard_report import ShardInputs
from conformance.runner.selection import Selection
from conformance.runner.sharding import Shard


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    every_client: bool = False
    """True if clients that cannot be built here are left out and reported."""
    only: tuple[str, ...]
    """The clauses of a gRFC; empty: no matter which."""
    scenario_patterns: tuple[str, ...]
    clauses: tuple[str, ...]
    seed: int
    jobs: int | None
    environment: dict[str, str]
    wrap: tuple[str, ...]
    """The tool that each client is started by."""
    json_path: Path | None = None
    junit_path: Path | None = None
    out: Path
    keep_evidence: bool = False
    no_baseline: bool = False
    baseline: Path | None = None
    """A user's own, over the client's."""
    strict: bool = False
    hold: bool = False
    times: int = 1
    """How often each selected scenario runs."""
    fast: bool
    isolated: bool = False
    """Set if no two scenarios may share a process of a client."""
    verbose: bool = False
    """True if everything is printed, and not only what needs attention."""
    worker: str | None
    """What is called in place of Python for a worker of xdist."""
    source: Path | None = None
    """What the client is built from, instead of a release."""
    commit: str | None = None
    """The commit of it, if not its files as they are."""
    shard: Shard | None = None
    """This machine's shard of a run that several machines share."""
    durations: Report | None = None
    """How long scenarios took, beside what the suite has recorded."""

    exactly: tuple[str, ...] = ()
    """The ids of the only selected scenarios that run; empty: all of them."""

    def selection(self) -> Selection:
        """Which scenarios they select."""
        return Selection(
            only=self.only,
            scenarios=self.scenario_patterns,
            clauses=self.clauses,
            exactly=tuple(("", name) for name in self.exactly),
        )

    def again(self, client: Prepared) -> str:
        """Return the beginning of a command that runs one scenario again, judged alike."""
        return again(
            client,
            seed=self.seed,
            fast=self.fast,
            isolated=self.isolated,
            variables=self.environment,
            judging=Judging(
                no_baseline=self.no_baseline, baseline=self.baseline, strict=self.strict
            ),
        )

    def shard_inputs(self) -> ShardInputs:
        """Return the options in which all shards of a run must agree."""
        return given(
            self.selection(),
            fast=self.fast,
            strict=self.strict,
            environment=self.environment,
            wrap=self.wrap,
        )
