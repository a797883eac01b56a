"""Report a cause that ended several scenarios once: one clause fails, others are blocked. Pure.

A client that rejects every Cluster with RING_HASH, or dies as soon as it builds a ring, has one
fault, however many scenarios it ends. The first clause about that fault fails. The other clauses
were not observed, so they are blocked. This is no amnesty: for each cause a MUST clause that the
client states has failed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import msgspec

from client_under_test.contract.exceptions import ClientCrashed, ClientExited, signal_name
from conformance.judging.evidence import Record, decisions_of
from conformance.judging.verdicts import Cause, Reason, Verdict, blocked
from conformance.spec.catalogue import Catalogue, Strength, edition_for

VARIES = re.compile(
    r"\d+\.\d+\.\d+\.\d+:\d+"  # an address
    r"|\b(?:version|nonce|index|node|line|pid|id)\b[\s:=#\"']*\d+",
    re.IGNORECASE,
)
"""Parts of a NACK's text, in addition to names, that differ from scenario to scenario.

Other numbers stay: the number of an unknown LB policy distinguishes one cause from another.
"""


def refusal(resource: str, words: str, names: Collection[str]) -> Cause:
    """Return the cause of a scenario that ended because the client rejected its set-up.

    Args:
        resource: the kind of resource, as the catalogue names it.
        words: of the NACK.
        names: the resources and whatever else the scenario has named.
    """
    for name in sorted(filter(None, names), key=len, reverse=True):
        words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "…", words)
    # One response may hold several resources that are refused for the same.
    parts = re.split(r"[;\n]", VARIES.sub("…", words))
    told = dict.fromkeys(" ".join(part.split()).strip(" .,[]") for part in parts)
    return Cause(resource=resource, words="; ".join(filter(None, told)))


def death(error: BaseException) -> Cause | None:
    """Return the cause if the error is the client's death; None otherwise."""
    if isinstance(error, ClientCrashed):
        return Cause(words=signal_name(error.signal))
    if isinstance(error, ClientExited):
        return Cause(words=f"exit code {error.code}")
    return None


def once_each(records: Sequence[Record], catalogue: Catalogue) -> tuple[Record, ...]:
    """Block all clauses but one of each cause that ended several scenarios.

    What a scenario had judged before it ended stays as it is.
    """
    by_cause: dict[Cause, list[Record]] = defaultdict(list)
    for record in records:
        if record.trouble is not None and record.trouble.cause is not None:
            by_cause[record.trouble.cause].append(record)
    asked = sum(
        any(decision.verdict is not Verdict.SKIP for decision in record.decisions)
        for record in records
    )
    blockers = {
        cause: blocker
        for cause, several in by_cause.items()
        if _is_one(cause, len(several), asked)
        if (blocker := _blocker(cause, several, catalogue))
    }
    return tuple(_resting(_with(record, blockers), catalogue) for record in records)


def attributed(
    records: Iterable[Record], known: Collection[Cause], catalogue: Catalogue
) -> tuple[Record, ...]:
    """Return the records, with the cause of each scenario that waited to its end, if it is known.

    A cause that is not known is left out.

    Only the end of a scenario has a cause: what it compared keeps its verdict.

    Args:
        records: of a run.
        known: causes that several scenarios confirmed and none refuted.
        catalogue: the clauses.
    """
    return tuple(_attributed(record, known, catalogue) for record in records)


def _attributed(record: Record, known: Collection[Cause], catalogue: Catalogue) -> Record:
    trouble = record.trouble
    ignores = tuple(cause for cause in record.ignores if cause in known)
    record = msgspec.structs.replace(record, ignores=ignores)
    if trouble is None or not ignores or trouble.cause is not None:
        return record
    if trouble.verdict is not Verdict.FAIL or trouble.reason not in {Reason.DEVIATES, Reason.HUNG}:
        return record
    found = msgspec.structs.replace(
        record, trouble=msgspec.structs.replace(trouble, cause=ignores[0], excusable=False)
    )
    return msgspec.structs.replace(found, decisions=decisions_of(found, catalogue))


def left_open(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a part of a run without failures that another part may report.

    Such a failure counts as blocked by an unknown clause until all records are available.
    """
    return tuple(
        msgspec.structs.replace(
            record,
            decisions=tuple(
                msgspec.structs.replace(blocked(decision, ""), blocked_by=None)
                if decision.cause and decision.verdict is Verdict.FAIL
                else decision
                for decision in record.decisions
            ),
        )
        for record in records
    )


def _is_one(cause: Cause, ended: int, asked: int) -> bool:
    """Return whether the scenarios with this cause ended by one and the same fault.

    A NACK mostly has a text to compare. A death has none, and two deaths may be unrelated, so
    deaths count as one fault only if they ended more than half of the scenarios that ran.
    """
    has_words = bool(cause.resource and cause.words)
    return ended > 1 and (has_words or 2 * ended > asked)


def _blocker(cause: Cause, several: Iterable[Record], catalogue: Catalogue) -> str | None:
    """Return the clause that fails for a cause: the first about it, or else the first of all.

    A scenario that ended early names it only if no scenario that waited to its end does. None where
    no MUST that the client states would fail: then nothing is blocked.
    """
    several = [*several]
    waited = [record for record in several if not ended_early(record)]
    return _first_failed(cause, waited, catalogue) or _first_failed(cause, several, catalogue)


def ended_early(record: Record) -> bool:
    """Return whether a scenario did not wait to its end, since the cause was known."""
    return record.trouble is not None and record.trouble.early


def _first_failed(cause: Cause, several: Iterable[Record], catalogue: Catalogue) -> str | None:
    places = {clause.id: place for place, clause in enumerate(catalogue)}
    failed = {
        decision.clause
        for record in several
        for decision in record.decisions
        if decision.verdict is Verdict.FAIL and decision.cause == cause
        if catalogue[decision.clause].strength is Strength.MUST
        and edition_for(catalogue[decision.clause], record.client.follows)
    }

    failed = {clause for clause in failed if catalogue[clause].rests_on not in failed}

    def is_elsewhere(clause: str) -> bool:
        return bool(cause.resource) and catalogue[clause].about != cause.resource

    return min(failed, key=lambda clause: (is_elsewhere(clause), places[clause]), default=None)


def _resting(record: Record, catalogue: Catalogue) -> Record:
    """Block each clause that rests on another one which failed here for the same cause."""
    failed = {
        decision.clause
        for decision in record.decisions
        if decision.verdict is Verdict.FAIL and decision.cause
    }
    decisions = tuple(
        blocked(decision, below)
        if decision.cause and (below := catalogue[decision.clause].rests_on) in failed and below
        else decision
        for decision in record.decisions
    )
    return msgspec.structs.replace(record, decisions=decisions)


def _with(record: Record, blockers: dict[Cause, str]) -> Record:
    decisions = tuple(
        blocked(decision, blocker)
        if decision.cause
        and (blocker := blockers.get(decision.cause)) not in {None, decision.clause}
        else decision
        for decision in record.decisions
    )
    return msgspec.structs.replace(record, decisions=decisions)
