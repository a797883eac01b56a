"""Record a bundle's failure for `xdspec replay`, and compare it with the failure of the replay.

Pure but for reading the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from conformance.judging import json_files
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.baseline import PORT, uniform
from regular_files import UntrustedFolder

SCHEMA = 1
FILE = "bundle.json"


class BadBundle(Exception):
    """A folder that is no bundle; the text says why."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A clause that failed."""

    clause: str
    reason: Reason | None
    saw: str


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be known to play a scenario again."""

    schema: int = SCHEMA
    suite: str
    """Version and commit of the suite that saw it."""
    scenario: str
    client: str
    """As a command names it; of one that does not come with the suite, its manifest's name."""
    is_built_in: bool
    """What the suite that wrote it knew; for readers, as a stranger may have written it."""
    built_from: str = ""
    """What a client was built from that is no release; empty for a release, and in old bundles."""
    seed: int
    fast: bool
    failed: tuple[Failed, ...]


def read(folder: Path) -> Bundle:
    """Read a bundle.

    Raises:
        BadBundle: the folder is none.
    """
    path = folder / FILE
    try:
        with UntrustedFolder(folder) as opened:
            found = json_files.decoded(opened.read_bytes(FILE), Bundle)
    except OSError as error:
        raise BadBundle(f"{path} cannot be read: {error.strerror}") from None
    except json_files.ForeignFile as error:
        raise BadBundle(f"{path} is of no bundle of this suite: {error}") from None
    if found.schema != SCHEMA:
        raise BadBundle(f"{path} has schema {found.schema}, this suite reads {SCHEMA}")
    return found


class Again(StrEnum):
    """What a replay shows of a failure."""

    SAME = "shown again"
    OTHERWISE = "fails otherwise"
    NOT = "not shown again"


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A failure beside what the replay said of its clause."""

    failed: Failed
    again: Again
    now: tuple[Decision, ...]

    def __str__(self) -> str:
        now = ", ".join(
            dict.fromkeys(_verdict(decision.verdict, decision.reason) for decision in self.now)
        )
        said = (
            f"{self.failed.clause}  {self.again.value}: then {_verdict('fail', self.failed.reason)}"
        )
        return f"{said}, now {now or 'nothing'}"


def compare(failed: Iterable[Failed], decisions: Collection[Decision]) -> Iterator[Compared]:
    """Hold each failure against the decisions of another run of its scenario."""
    for failure in failed:
        now = tuple(said for said in decisions if said.clause == failure.clause)
        failures = [said for said in now if said.verdict is Verdict.FAIL]
        again = Again.OTHERWISE if failures else Again.NOT
        if any(said.reason is failure.reason for said in failures):
            again = Again.SAME
        yield Compared(failed=failure, again=again, now=now)


def alike(text: str, other: str) -> bool:
    """Return whether two observations agree, apart from addresses and other numbers."""
    return without_numbers(text) == without_numbers(other)


def without_numbers(text: str) -> str:
    """Return a text without the parts that differ from run to run."""
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "#", PORT.sub("address", uniform(text)))


def _verdict(verdict: str, reason: Reason | None) -> str:
    return f"{verdict} ({reason.value})" if reason else verdict
