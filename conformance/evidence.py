"""The folder that a scenario leaves, and judging it again.

``scenario.json`` holds everything that the verdicts rest on; the other files are for people:
what was served, what was said on each stream, which connections and RPCs came, stderr.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from conformance.catalogue import Catalogue, Clause, is_foreign
from conformance.verdicts import Check, Decision, Reason, Verdict, decide

SCHEMA = 1
FILE = "scenario.json"


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The client that a scenario judged, as far as verdicts depend on it."""

    name: str
    version: str
    variant: str | None
    follows: tuple[str, ...]
    """The editions that it states."""
    issues: str = ""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What ended a scenario early, or spoiled it as a whole."""

    verdict: Verdict
    reason: Reason
    what: str


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that ran, or was skipped."""

    schema: int = SCHEMA
    scenario: str
    clauses: tuple[str, ...]
    client: Judged
    mutant: str = ""
    """Of a mutant of the reference client: its id."""
    seed: int
    seconds: float
    lateness: float = 0.0
    """By how many seconds the suite's own event loop was late, at worst."""
    checks: tuple[Check, ...] = ()
    trouble: Trouble | None = None
    notes: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    """What was served, one after the other, in words."""
    decisions: tuple[Decision, ...] = ()
    evidence: str | None = None
    """The folder's path."""


class BadEvidence(Exception):
    """A folder that cannot be judged again; the text says why."""


def decisions_of(record: Record, catalogue: Catalogue) -> tuple[Decision, ...]:
    """The verdicts on the clauses that the scenario claims; one clause may have several.

    Trouble is one more verdict on every clause: a failure or an error outweighs what a client that
    lies or dies seemed to do right. Of a clause that is foreign to the client nothing is said but
    that.
    """
    follows = record.client.follows
    foreign = [one for one in record.clauses if is_foreign(catalogue[one], follows)]
    claimed = dict.fromkeys(one for one in record.clauses if one not in foreign)
    decisions = [_not_asked(catalogue[one]) for one in dict.fromkeys(foreign)]
    decisions += [
        decide(check, catalogue[check.clause], follows)
        for check in record.checks
        if check.clause in claimed
    ]
    trouble = record.trouble
    surplus = {check.clause for check in record.checks} - set(record.clauses)
    if surplus and trouble is None:
        what = f"the scenario judged {', '.join(sorted(surplus))} without claiming to decide it"
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
    for clause in claimed:
        if trouble is not None:
            verdict, reason, saw = trouble.verdict, trouble.reason, trouble.what
        elif any(decision.clause == clause for decision in decisions):
            continue
        else:
            verdict, reason = Verdict.ERROR, Reason.SUITE
            saw = "the scenario ended without a verdict on this clause"
        decisions.append(Decision(clause=clause, verdict=verdict, reason=reason, saw=saw))
    return tuple(decisions)


def _not_asked(clause: Clause) -> Decision:
    return Decision(
        clause=clause.id, verdict=Verdict.SKIP, reason=Reason.EDITION, saw=clause.grpc_only or ""
    )


def write(folder: Path, record: Record) -> None:
    """Write what the verdicts rest on."""
    folder.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.format(msgspec.json.encode(record), indent=1)
    (folder / FILE).write_bytes(encoded)


def read(folder: Path) -> Record:
    """Read a folder's record.

    Raises:
        BadEvidence: it is none, or of another version of the suite.
    """
    path = folder / FILE
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadEvidence(f"{path} cannot be read: {error.strerror}") from None
    try:
        record = msgspec.json.decode(raw, type=Record)
    except msgspec.DecodeError as error:
        raise BadEvidence(f"{path} is no evidence of this suite: {error}") from None
    if record.schema != SCHEMA:
        raise BadEvidence(f"{path} has schema {record.schema}, this suite reads {SCHEMA}")
    return record


def judge(folder: Path, catalogue: Catalogue) -> tuple[Record, tuple[Decision, ...]]:
    """Decide a folder's checks again, by the oracles and the catalogue of today."""
    record = read(folder)
    named = (*record.clauses, *(check.clause for check in record.checks))
    unknown = [clause for clause in named if clause not in catalogue]
    if unknown:
        raise BadEvidence(f"{folder} judges {unknown[0]}, which the catalogue does not know")
    if not record.clauses:
        raise BadEvidence(f"{folder} decides no clause")
    try:
        return record, decisions_of(record, catalogue)
    except (LookupError, TypeError, ValueError) as error:
        raise BadEvidence(f"{folder} cannot be weighed by this suite: {error}") from None
