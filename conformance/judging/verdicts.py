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

from conformance.catalogue import ENVOY, Clause, Strength, edition_for
from conformance.expectations import Expectation, fits
from conformance.seen import Seen

Wanted = TypeVar("Wanted", bound=Expectation)


class Verdict(StrEnum):
    """What a scenario, or all of them, say of a clause."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    SEEN = "seen"
    """The text leaves a choice: what was chosen is reported and nobody is failed."""
    SKIP = "skip"
    ERROR = "error"


class Reason(StrEnum):
    """Why a verdict is no pass."""

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
    # skip; EDITION too: the clause belongs to an amendment that the client does not state
    CAPABILITY = "capability"
    ENVIRONMENT = "environment"
    FAST = "fast"
    """The clause is about the length of a timer that was shortened on the user's wish."""
    # error
    ADAPTER = "adapter"
    SUITE = "suite"
    TIMING = "timing"


PRECEDENCE = (Verdict.FAIL, Verdict.ERROR, Verdict.PASS, Verdict.SEEN, Verdict.SKIP)
"""Several verdicts on one clause: the first of these that is among them holds."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A clause put before the judge."""

    clause: str
    seen: Seen
    expected: dict[str, Expectation]
    """By edition; an edition that is not named here expects what the latest earlier one does.

    For a clause that leaves a choice: by the name of the choice.
    """


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
    choices: tuple[str, ...] = ()
    """Of a clause that leaves a choice: what fits."""
    seconds: float | None = None
    """Of a clause about a time: what was measured."""


class ClauseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a whole run on one clause."""

    verdict: Verdict
    reason: Reason | None
    strength: Strength
    scenarios: tuple[str, ...]
    editions_consistent: tuple[str, ...] | None
    seen: tuple[str, ...]
    seconds: tuple[float, ...] = ()
    """Of a clause about a time: what each scenario measured."""
    expected: bool = False
    """Whether the baseline knew of this failure."""


def leaves_a_choice(clause: Clause) -> bool:
    """Whether nobody can fail the clause, whatever is seen."""
    return clause.strength in {Strength.MAY, Strength.UNSPECIFIED}


def expectation_of(clause: Clause, expected: Mapping[str, Wanted], edition: str) -> Wanted | None:
    """What this wording expects: its own, or that of the latest earlier wording which has one.

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


def decide(check: Check, clause: Clause, follows: Collection[str]) -> Decision:
    """Judge one check for a client that states these editions.

    Raises:
        ValueError: the scenario expects nothing of the wording that the client is judged by.
    """
    if leaves_a_choice(clause):
        return _report_choice(check, clause)
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
        for wording, one in by_wording.items()
        if (finding.holds if one is shown else fits(one, check.seen))
    )
    verdict: Verdict
    reason: Reason | None
    if edition is None:
        verdict, reason = Verdict.SKIP, Reason.EDITION
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
        seconds=finding.seconds,
    )


def _report_choice(check: Check, clause: Clause) -> Decision:
    fitting = tuple(name for name, one in check.expected.items() if fits(one, check.seen))
    shown = check.expected[fitting[0] if fitting else next(iter(check.expected))]
    finding = shown.finding(check.seen)
    return Decision(
        clause=clause.id,
        verdict=Verdict.SEEN,
        saw=finding.saw,
        wanted="any of: " + ", ".join(check.expected),
        oracle=finding.oracle,
        choices=fitting or ("none of the known",),
    )


def combine(clause: Clause, decisions: Mapping[str, Iterable[Decision]]) -> ClauseResult:
    """One verdict from those of several scenarios, by scenario id.

    Scenarios that each fit some wording, but no common one, contradict each other: then the client
    follows none of the editions, although one scenario alone saw it follow another.
    """
    everything = [decision for several in decisions.values() for decision in several]
    verdict = next(kind for kind in PRECEDENCE if any(d.verdict is kind for d in everything))
    reason = next((d.reason for d in everything if d.verdict is verdict), None)
    fits = [set(d.editions_consistent) for d in everything if d.editions_consistent is not None]
    consistent: tuple[str, ...] | None = None
    if fits:
        common = reduce(set.intersection, fits)
        consistent = tuple(wording for wording in clause.editions if wording in common)
        if reason is Reason.EDITION and verdict is Verdict.FAIL and not consistent:
            reason = Reason.DEVIATES
    said = dict.fromkeys(
        text
        for d in everything
        for text in (d.choices if d.verdict is Verdict.SEEN else (d.saw,))
        if text and d.verdict is verdict
    )
    return ClauseResult(
        verdict=verdict,
        reason=reason,
        strength=clause.strength,
        scenarios=tuple(decisions),
        editions_consistent=consistent,
        seen=tuple(said),
        seconds=tuple(d.seconds for d in everything if d.seconds is not None),
    )


def worst(decisions: Iterable[Decision]) -> tuple[Verdict, Reason | None]:
    """The verdict on a scenario: the worst of those on its clauses."""
    found = list(decisions)
    for kind in PRECEDENCE:
        for decision in found:
            if decision.verdict is kind:
                return kind, decision.reason
    message = "a scenario without a decision has no verdict"
    raise ValueError(message)
