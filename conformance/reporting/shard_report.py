"""What a report has of one shard of a run: all that its verdicts are made of, once all are there.

What the scenarios of other shards decide, too, is open until then: whether a clause is blocked, and
which one fails for what ended several scenarios.
"""

from __future__ import annotations

from typing import Any

import msgspec

from conformance.judging.evidence import JudgedClient, Record, Trouble
from conformance.judging.verdicts import Decision
from conformance.reporting.baseline import Entry


class ShardInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the user said, as far as it decides what is run and how it is judged."""

    only: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    fast: bool = False
    strict: bool = False
    environment: str = ""
    """The names of what the client was given by ``--env``; older reports have a digest of it."""
    wrap: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    """The suite's environment variables that `conformance.timing` reads."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario's record without what only weighing it again needs: that is in the evidence."""

    scenario: str
    clauses: tuple[str, ...]
    seed: int
    seconds: float
    lateness: float
    starved: float
    trouble: Trouble | None
    served: tuple[str, ...]
    decisions: tuple[Decision, ...]
    beside_others: tuple[Decision, ...]
    evidence: str | None
    left: tuple[str, ...]
    shared_process: bool = False
    earlier: tuple[str, ...] = ()
    in_shared_process: tuple[Decision, ...] = ()


class ShardReport(msgspec.Struct, frozen=True, kw_only=True):
    """One shard of a run."""

    number: int
    of: int
    plan: str
    """A digest of which shard has which scenarios."""
    given: ShardInputs
    entries: tuple[Entry, ...]
    """The baseline, as far as it speaks of this client."""
    client: JudgedClient | None
    """As all scenarios judged it; None if there is none."""
    ended: tuple[Ended, ...]
    """The scenarios."""

    def __str__(self) -> str:
        return f"part {self.number} of {self.of}"

    @property
    def records(self) -> tuple[Record, ...]:
        """Return the record of each scenario, with the fields that a report needs."""
        if self.client is None:
            return ()
        return tuple(record_of(result, self.client) for result in self.ended)


def ended_as(record: Record) -> Ended:
    """Return the part of a record that the run's report keeps."""
    return Ended(**{name: getattr(record, name) for name in Ended.__struct_fields__})


def record_of(ended: Ended, client: JudgedClient) -> Record:
    """Return the record of a scenario, with the fields that a report needs."""
    fields: dict[str, Any] = {name: getattr(ended, name) for name in Ended.__struct_fields__}
    return Record(client=client, **fields)
