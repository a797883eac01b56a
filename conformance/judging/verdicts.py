"""Verdicts: the closed set, how one is decided, and how several become one. Pure.

A *check* is what a scenario puts before the judge: a clause, what was seen, and what each wording
of the clause expects. Deciding a check needs nothing else but the catalogue and the editions that
the client states, so that a written check can be decided again without a client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from functools import reduce
from typing import TypeVar

import msgspec

from conformance.judging.expectations import Expectation, MatchesRing, fits, kind_of
from conformance.judging.observations import Observation
from conformance.spec.catalogue import ENVOY, Clause, Strength, edition_for

ExpectationT = TypeVar("ExpectationT", bound=Expectation)


class Verdict(StrEnum):
    """The verdict of a scenario, or of all scenarios, on a clause."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    SEEN = "seen"
    """The text leaves a choice: the report names the client's choice, and no client fails."""
    SKIP = "skip"
    ERROR = "error"


class Reason(StrEnum):
    """Why a verdict is not a pass."""

    # fail
    DEVIATES = "deviates"
    """No wording of the clause fits what was seen."""
    EDITION = "edition"
    """Another wording of the clause fits than that of the edition which the client states."""
    CRASHED = "crashed"
    EXITED = "exited"
    HUNG = "hung"
    FLOODED = "flooded"
    LIED = "lied"
    """What the client reported and what the backends counted cannot both be true."""
    STATED = "stated"
    """The text leaves the choice to the client, and its manifest states another than was seen."""
    # skip; EDITION too: the clause belongs to an amendment that the client does not state
    CAPABILITY = "capability"
    ENVIRONMENT = "environment"
    FAST = "fast"
    """The clause is about the length of a timer that was shortened on the user's wish."""
    BLOCKED = "blocked"
    """Another clause fails for what kept this one from being judged."""
    # error
    ADAPTER = "adapter"
    SUITE = "suite"
    TIMING = "timing"


BAD = frozenset({Verdict.FAIL, Verdict.ERROR})
"""Verdicts that need attention: the clause failed, or the suite could not judge it."""

PRECEDENCE = (Verdict.FAIL, Verdict.ERROR, Verdict.PASS, Verdict.SEEN, Verdict.SKIP)
"""Several verdicts on one clause: the first of these that is among them holds.

A clause that is blocked in one scenario is so as a whole, unless it fails or errs in another:
the blocked scenario might have failed it, so the client has not passed the clause.
"""


UNSEEN = "not to be seen"
"""So begins what stands in the place of a choice where a scenario ended before it saw one."""


NONE_KNOWN = ("none of the known",)
"""Represents a choice that the suite does not know."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """What ended a scenario early, as far as other scenarios may have ended by the very same."""

    resource: str = ""
    """The kind of resource that the client refused; empty if its process died."""
    words: str
    """The NACK's text without names and numbers that vary by scenario; else how the client died."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A clause to judge, with the observation and the expectations."""

    clause: str
    seen: Observation
    expected: dict[str, Expectation]
    """By edition; an edition that is not named here expects what the latest earlier one does.

    For a clause that leaves a choice: by the name of the choice.
    """
    before: MatchesRing | None = None
    """The ring before the current one, for calls that are overdue."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one clause in one scenario."""

    clause: str
    verdict: Verdict
    reason: Reason | None = None
    edition: str | None = None
    """The wording that the client is judged by."""
    editions_consistent: tuple[str, ...] | None = None
    """The wordings that fit what was seen; None where nothing was judged by wording."""
    saw: str = ""
    wanted: str = ""
    oracle: str = ""
    differs: str = ""
    """The rows that differ, if many rows were compared."""
    choices: tuple[str, ...] = ()
    """The choices that fit, for a clause that leaves a choice."""
    seconds: float | None = None
    """The measured time, for a clause about a time."""
    excusable: bool = False
    """True for a failure that lateness alone can cause in a conforming client."""
    cause: Cause | None = None
    """Where nothing of the clause was seen, as the scenario had ended before: what ended it."""
    blocked_by: str | None = None
    """The clause that fails for what kept this one from being judged."""
    expected: bool = False
    """True if the baseline lists this failure in this scenario with this text."""
    expectation: str = ""
    """The kind of expectation that was not met; empty in records before this was written."""
    wrong: float | None = None
    """The share of observations that differ from what was expected; None if not counted."""

    @property
    def is_against(self) -> bool:
        """Return whether the decision counts against the client, or would without lateness."""
        return self.verdict is Verdict.FAIL or self.reason is Reason.TIMING

    @property
    def is_before_check(self) -> bool:
        """Return whether the client failed at a step before its scenario compared anything."""
        return self.verdict is Verdict.FAIL and self.reason is Reason.DEVIATES and not self.wanted

    @property
    def rank(self) -> int:
        """The precedence among decisions on one clause or in one scenario: the least rank holds."""
        if self.reason is Reason.BLOCKED:
            return 2 * PRECEDENCE.index(Verdict.PASS) - 1
        return 2 * PRECEDENCE.index(self.verdict)


class ClauseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a whole run on one clause."""

    verdict: Verdict
    reason: Reason | None
    strength: Strength
    edition: str | None = None
    """The wording that the client was judged by, if it was judged by one."""
    scenarios: tuple[str, ...]
    editions_consistent: tuple[str, ...] | None
    seen: tuple[str, ...]
    seconds: tuple[float, ...] = ()
    """The times that each scenario measured, for a clause about a time."""
    blocked_by: str | None = None
    """The clause whose failure blocks this one, if it is blocked."""
    expected: bool = False
    """True if the baseline lists every observed failure of the clause."""


def leaves_a_choice(clause: Clause, edition: str | None = None) -> bool:
    """Return whether no client can fail the clause, or its wording of that edition."""
    return clause.strength.is_open or edition in (*clause.open_in, *clause.superseded_in)


def expectation_of(
    clause: Clause, expected: Mapping[str, ExpectationT], edition: str
) -> ExpectationT | None:
    """Return the expectation of an edition's wording, or of the latest earlier wording with one.

    Envoy's is neither earlier nor later than the others, so it has its own or none.
    """
    if edition == ENVOY:
        return expected.get(ENVOY)
    found = None
    for wording in clause.editions:
        found = expected.get(wording, found)
        if wording == edition:
            break
    return found


def decide(
    check: Check, clause: Clause, follows: Collection[str], stated: str | None = None
) -> Decision:
    """Judge one check for a client.

    Args:
        check: what was seen and expected.
        clause: the clause.
        follows: the editions that the client states.
        stated: what it states to choose, if the clause leaves a choice and it does.

    Raises:
        ValueError: the scenario expects nothing of the wording that the client is judged by.
    """
    if leaves_a_choice(clause):
        return _report_choice(check, clause, stated)
    by_wording = {
        wording: expectation
        for wording in clause.editions
        if (expectation := expectation_of(clause, check.expected, wording)) is not None
    }
    edition = edition_for(clause, follows)
    if not by_wording or (edition is not None and edition not in by_wording):
        message = f"the scenario expects nothing of {clause.id} in its wording of {edition}"
        raise ValueError(message)
    shown = by_wording[edition] if edition else next(iter(by_wording.values()))
    finding = shown.finding(check.seen)
    consistent = tuple(
        wording
        for wording, choice in by_wording.items()
        if (finding.holds if choice is shown else fits(choice, check.seen))
    )
    verdict: Verdict
    reason: Reason | None
    choices: tuple[str, ...] = ()
    if edition is None:
        verdict, reason = Verdict.SKIP, Reason.EDITION
    elif leaves_a_choice(clause, edition):
        verdict, reason = Verdict.SEEN, None
        superseded = edition if edition in clause.superseded_in else None
        choices = (behavior_text(consistent, superseded=superseded),)
    elif finding.holds:
        verdict, reason = Verdict.PASS, None
    elif finding.doubtful:
        verdict, reason = Verdict.ERROR, Reason.TIMING
    else:
        verdict, reason = Verdict.FAIL, Reason.EDITION if consistent else Reason.DEVIATES
    return Decision(
        clause=clause.id,
        verdict=verdict,
        reason=reason,
        edition=edition,
        editions_consistent=consistent,
        saw=finding.saw,
        wanted=finding.wanted,
        oracle=finding.oracle,
        differs="" if finding.holds else finding.differs,
        choices=choices,
        seconds=finding.seconds,
        expectation="" if finding.holds else kind_of(shown),
        wrong=None if finding.holds else finding.wrong,
        excusable=verdict is Verdict.FAIL and shown.is_timing_sensitive(check.seen, check.before),
    )


def behavior_text(wordings: Collection[str], *, superseded: str | None = None) -> str:
    """Say which wordings of a clause the behavior matches.

    Args:
        wordings: the editions whose wordings it matches.
        superseded: the edition that the client declares, if its wording was superseded.
    """
    judged = f"judged by {superseded} (superseded); " if superseded else ""
    return f"{judged}the behavior is that of {' and '.join(wordings) or 'no wording'}"


def _report_choice(check: Check, clause: Clause, stated: str | None) -> Decision:
    fitting = tuple(
        name for name, expectation in check.expected.items() if fits(expectation, check.seen)
    )
    is_kept = stated is None or stated in fitting
    named = stated if stated in check.expected else None
    shown = check.expected[named or (fitting[0] if fitting else next(iter(check.expected)))]
    finding = shown.finding(check.seen)
    choices = fitting or NONE_KNOWN
    decision = Decision(
        clause=clause.id,
        verdict=Verdict.SEEN,
        saw=finding.saw,
        wanted="any of: " + ", ".join(check.expected),
        oracle=finding.oracle,
        choices=choices,
    )
    if is_kept:
        return decision
    if finding.doubtful:
        return msgspec.structs.replace(decision, verdict=Verdict.ERROR, reason=Reason.TIMING)
    return msgspec.structs.replace(
        decision,
        verdict=Verdict.FAIL,
        reason=Reason.STATED,
        wanted=f"{stated}, as the client's manifest states",
        saw=f"{', '.join(choices)}: {finding.saw}",
        expectation=kind_of(shown),
        wrong=finding.wrong,
        excusable=shown.is_timing_sensitive(check.seen, check.before),
    )


def blocked(decision: Decision, by: str) -> Decision:
    """Return the decision as blocked: the clause `by` fails instead of the decision's clause."""
    return Decision(
        clause=decision.clause,
        verdict=Verdict.SKIP,
        reason=Reason.BLOCKED,
        saw=decision.saw,
        blocked_by=by,
    )


def combine(clause: Clause, decisions: Mapping[str, Iterable[Decision]]) -> ClauseResult:
    """One verdict from those of several scenarios, by scenario id.

    Scenarios that each fit some wording, but no common one, contradict each other: then the client
    follows none of the editions, although one scenario alone saw it follow another.
    """
    everything = [decision for several in decisions.values() for decision in several]
    first = min(everything, key=lambda decision: decision.rank)
    verdict, reason = first.verdict, first.reason
    decisive = [decision for decision in everything if decision.rank == first.rank]
    fits = [set(d.editions_consistent) for d in everything if d.editions_consistent is not None]
    consistent: tuple[str, ...] | None = None
    if fits:
        common = reduce(set.intersection, fits)
        consistent = tuple(wording for wording in clause.editions if wording in common)
        if reason is Reason.EDITION and verdict is Verdict.FAIL and not consistent:
            reason = Reason.DEVIATES
    said = dict.fromkeys(
        text
        for d in decisive
        for text in (d.choices if d.verdict is Verdict.SEEN else (d.saw,))
        if text
    )
    return ClauseResult(
        verdict=verdict,
        reason=reason,
        strength=clause.strength,
        edition=first.edition,
        scenarios=tuple(decisions),
        editions_consistent=consistent,
        seen=tuple(said),
        seconds=tuple(d.seconds for d in everything if d.seconds is not None),
        blocked_by=first.blocked_by,
        expected=verdict is Verdict.FAIL and all(decision.expected for decision in decisive),
    )


def worst(decisions: Iterable[Decision]) -> tuple[Verdict, Reason | None]:
    """Return the verdict on a scenario: the worst verdict on its clauses.

    Raises:
        ValueError: there is none.
    """
    first = min(decisions, key=lambda decision: decision.rank, default=None)
    if first is None:
        raise ValueError("a scenario without a decision has no verdict")
    return first.verdict, first.reason
