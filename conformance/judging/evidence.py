"""The folder that a scenario leaves, and judging it again.

``scenario.json`` holds everything that the verdicts rest on; the other files are for people:
what was served, what was said on each stream, which connections and RPCs came, stderr.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from conformance.judging import json_files
from conformance.judging.ring_keys import RingKeys
from conformance.judging.verdicts import (
    UNSEEN,
    Cause,
    Check,
    Decision,
    Reason,
    Verdict,
    blocked,
    decide,
    leaves_a_choice,
)
from conformance.spec.catalogue import Catalogue, Clause, edition_for, is_foreign
from conformance.spec.oracles.backoff import Backoff
from regular_files import UntrustedFolder

SCHEMA = 1
FILE = "scenario.json"

ALONE = "-alone"
"""The end of an evidence folder's name, of a scenario that ran again."""


SHORTENED = "it is about a timer that --fast shortens or skips"


class JudgedClient(msgspec.Struct, frozen=True, kw_only=True):
    """The client that a scenario judged, as far as verdicts depend on it."""

    name: str
    version: str
    variant: str | None
    follows: tuple[str, ...]
    """The editions that it states."""
    issues: str = ""
    ring_keys: RingKeys = RingKeys()
    """By which its rings are judged."""
    choices: dict[str, str] = {}
    """What it states to do where a clause leaves the choice to it, by clause."""
    backoff: Backoff = Backoff()
    """As its manifest states it, or as the document has it."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What ended a scenario early, or spoiled it as a whole."""

    verdict: Verdict
    reason: Reason
    what: str
    excusable: bool = False
    """True for a failure that lateness alone can cause in a conforming client."""
    cause: Cause | None = None
    """The cause, if it may have ended other scenarios too."""
    early: bool = False
    """True if the scenario did not wait for its own deadline, since the cause was known. Such a
    trouble blocks clauses and fails none."""
    at: str = ""
    """The clause that a scenario had reached, if it takes its clauses in turn."""
    expectation: str = ""
    """The kind of expectation that a precondition did not meet, if it was one."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that ran, or was skipped."""

    schema: int = SCHEMA
    scenario: str
    clauses: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Those of the clauses that the scenario does not declare: they are judged in every scenario,
    from everything up to its end. What ended the scenario therefore says nothing about them."""
    client: JudgedClient
    mutant: str = ""
    """The id of the mutant of the reference client, if the client is one."""
    side: str = ""
    """Which of several clients it is, if one run compares several."""
    seed: int
    fast: bool = False
    """True if timers were shortened as far as the client has knobs for them."""
    seconds: float
    began: float = 0.0
    """When it began, by the suite's monotonic clock: that of all times in its evidence's files."""
    lateness: float = 0.0
    """By how many seconds the suite's own event loop was late, at worst."""
    starved: float = 0.0
    """The seconds that the client waited for a processor, if the scenario failed."""
    timer: float = 0.0
    """The timer that the scenario declares, in seconds."""
    checks: tuple[Check, ...] = ()
    trouble: Trouble | None = None
    ignores: tuple[Cause, ...] = ()
    """What the client did not do up to the end, though the scenario waited: kinds of references
    between resources that it did not follow."""
    untimed: tuple[str, ...] = ()
    """Clauses on a timer that was shortened for the client, or is not waited for."""
    unasked: tuple[str, ...] = ()
    """Clauses from texts that the client does not state, if such clauses are left out."""
    notes: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    """Descriptions of the served configurations, in order."""
    decisions: tuple[Decision, ...] = ()
    beside_others: tuple[Decision, ...] = ()
    """What it had said beside others, if a time was doubtful there and it was run again alone."""
    shared_process: bool = False
    """Set if other scenarios could use its process of the client before or after it."""
    earlier: tuple[str, ...] = ()
    """The scenarios that had used that process before, oldest first."""
    in_shared_process: tuple[Decision, ...] = ()
    """What it had decided in a process that it shared, if a process of its own led to another
    result. The client's channels affect each other then."""
    evidence: str | None = None
    """The folder's path."""
    left: tuple[str, ...] = ()
    """Files there that the client itself left where it ran, such as a core file."""
    repeat: str = ""
    """The command that runs it again, without the values that ``--env`` gave; empty if unknown."""
    lost: str = ""
    """Why there is no such folder, or only a part of it, where there should be one."""


class BadEvidence(Exception):
    """A folder that cannot be judged again; the text says why."""


def decisions_of(record: Record, catalogue: Catalogue) -> tuple[Decision, ...]:
    """Return the verdicts on the clauses that the scenario claims; one clause may have several.

    Trouble adds a verdict to every clause that the scenario declares: a failure or an error
    outweighs any pass of a client that lies or dies. If the scenario takes its clauses in turn,
    trouble counts for the clause that it interrupted: earlier verdicts stand, and later clauses are
    blocked if that clause fails. A clause that is foreign to the client is only reported as
    foreign. A clause that rests on another is blocked if the other fails, so that one fault is
    reported once.
    """
    follows = record.client.follows
    foreign = {clause for clause in record.clauses if is_foreign(catalogue[clause], follows)}
    unasked = {
        clause: catalogue[clause].grpc_only if clause in foreign else None
        for clause in record.clauses
        if clause in foreign or clause in record.unasked
    }
    claimed = dict.fromkeys(
        clause
        for clause in record.clauses
        if clause not in unasked and clause not in record.untimed
    )
    decisions = [
        Decision(clause=clause, verdict=Verdict.SKIP, reason=Reason.EDITION, saw=why or "")
        for clause, why in unasked.items()
    ]
    decisions += [
        Decision(clause=clause, verdict=Verdict.SKIP, reason=Reason.FAST, saw=SHORTENED)
        for clause in record.untimed
        if clause not in unasked
    ]
    decisions += [
        decide(check, catalogue[check.clause], follows, record.client.choices.get(check.clause))
        for check in record.checks
        if check.clause in claimed
    ]
    trouble = record.trouble
    surplus = {check.clause for check in record.checks} - set(record.clauses)
    if surplus and trouble is None:
        what = f"the scenario judged {', '.join(sorted(surplus))} without claiming to decide it"
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
    judged = {decision.clause for decision in decisions}
    if trouble is None:
        what = "the scenario ended without a verdict on this clause"
        unjudged = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
        left = [clause for clause in claimed if clause not in judged]
        decisions += [_ended_by(unjudged, catalogue[clause], follows) for clause in left]
    else:
        ended = {
            clause: _ended_by(trouble, catalogue[clause], follows)
            for clause in claimed
            if clause not in record.also
        }
        decisions += _told_of(ended, ended.get(trouble.at), judged)
    return tuple(_resting(decisions, catalogue))


def _told_of(
    ended: Mapping[str, Decision], at: Decision | None, judged: Collection[str]
) -> Iterator[Decision]:
    """Select the verdicts of trouble to report: for all clauses, or for the interrupted one."""
    if at is None:
        yield from ended.values()
        return
    yield at
    for clause, decision in ended.items():
        if clause != at.clause and clause not in judged:
            yield blocked(decision, at.clause) if at.verdict is Verdict.FAIL else decision


def _resting(decisions: Collection[Decision], catalogue: Catalogue) -> Iterator[Decision]:
    """Block decisions whose clause rests on a clause that fails in the same scenario.

    Failures with a cause that other scenarios may share are left to the report, which has all
    records.
    """
    failed = {
        decision.clause
        for decision in decisions
        if decision.verdict is Verdict.FAIL and decision.cause is None
    }
    for decision in decisions:
        below = catalogue[decision.clause].rests_on
        is_asked = decision.verdict is not Verdict.SKIP and decision.cause is None
        yield blocked(decision, below) if is_asked and below in failed else decision


def _ended_by(trouble: Trouble, clause: Clause, follows: Collection[str]) -> Decision:
    """Return the verdict of trouble on a clause.

    A client that stays alive and reports truthfully, but does not reach the end of the scenario,
    fails only clauses that it states, and only if the text leaves no choice. A late machine makes
    no clause doubtful that the client does not state, nor does what it cannot do.
    """
    said = Decision(
        clause=clause.id,
        verdict=trouble.verdict,
        reason=trouble.reason,
        saw=trouble.what,
        excusable=trouble.excusable,
        cause=trouble.cause,
        expectation=trouble.expectation,
    )
    if trouble.reason not in {Reason.CAPABILITY, Reason.DEVIATES, Reason.TIMING}:
        return said
    edition = edition_for(clause, follows)
    if edition is None:
        skip = Verdict.SKIP
        return msgspec.structs.replace(said, verdict=skip, reason=Reason.EDITION, cause=None)
    if trouble.reason is Reason.DEVIATES and leaves_a_choice(clause, edition):
        choices = (f"{UNSEEN}: {trouble.what}",)
        return msgspec.structs.replace(said, verdict=Verdict.SEEN, reason=None, choices=choices)
    return said


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
    try:
        with UntrustedFolder(folder) as opened:
            return read_in(opened)
    except OSError as error:
        raise BadEvidence(f"{folder / FILE} cannot be read: {error.strerror}") from None


def read_in(folder: UntrustedFolder) -> Record:
    """Read the record from an open folder.

    Raises:
        BadEvidence: the record cannot be read or is not valid.
    """
    path = folder.place / FILE
    try:
        record = json_files.decoded(folder.read_bytes(FILE), Record)
    except OSError as error:
        raise BadEvidence(f"{path} cannot be read: {error.strerror}") from None
    except json_files.ForeignFile as error:
        raise BadEvidence(f"{path} is not evidence of this suite: {error}") from None
    if record.schema != SCHEMA:
        raise BadEvidence(f"{path} has schema {record.schema}, this suite reads {SCHEMA}")
    return record


def judge(folder: Path, catalogue: Catalogue) -> tuple[Record, tuple[Decision, ...]]:
    """Decide a folder's checks again, by the oracles and the catalogue of today."""
    return weighed(read(folder), folder, catalogue)


def weighed(
    record: Record, folder: Path, catalogue: Catalogue
) -> tuple[Record, tuple[Decision, ...]]:
    """Decide the checks of a record again that was read from this folder."""
    named = (*record.clauses, *(check.clause for check in record.checks))
    unknown = [clause for clause in named if clause not in catalogue]
    if unknown:
        raise BadEvidence(f"{folder} judges {unknown[0]}, which the catalogue does not know")
    if not record.clauses:
        raise BadEvidence(f"{folder} decides no clause: `xdspec show` draws it all the same")
    try:
        return record, decisions_of(record, catalogue)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadEvidence(f"{folder} cannot be weighed by this suite: {error}") from None
