"""What runs again in an own process of the client, and which result stands."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.process_comparison import described
from conformance.judging.verdicts import Cause, Decision, Reason, Verdict
from conformance.runner.retry import (
    ONE_IN,
    confirmed,
    ident,
    is_at_odds,
    is_unconfirmed,
    to_confirm,
    worse,
)

NACK = Cause(resource="CLUSTER", words="no such policy")


def decision(verdict: Verdict = Verdict.FAIL, cause: Cause | None = None) -> Decision:
    reason = {Verdict.FAIL: Reason.DEVIATES, Verdict.ERROR: Reason.ADAPTER}.get(verdict)
    return Decision(clause="A42-RING-12", verdict=verdict, reason=reason, cause=cause)


def record(name: str, *decisions: Decision, **more: Any) -> Record:
    return Record(
        scenario=name,
        clauses=("A42-RING-12",),
        client=JudgedClient(name="a", version="1", variant=None, follows=("A42",)),
        seed=1,
        seconds=1.0,
        decisions=decisions,
        **{"shared_process": True, **more},
    )


def nothing(_scenario: str, _decision: Decision) -> bool:
    return False


@pytest.mark.parametrize(
    ("verdict", "is_shared", "known", "again"),
    [
        (Verdict.FAIL, True, False, True),
        (Verdict.ERROR, True, False, True),
        (Verdict.FAIL, True, True, False),
        (Verdict.SKIP, False, False, False),
        (Verdict.FAIL, False, False, False),
        (Verdict.PASS, True, False, False),
        (Verdict.SEEN, True, False, False),
        (Verdict.SKIP, True, False, False),
    ],
)
def test_what_must_be_seen_in_an_own_process(
    verdict: Verdict, *, is_shared: bool, known: bool, again: bool
) -> None:
    seen = record("ring.search", decision(verdict), shared_process=is_shared)
    assert is_unconfirmed(seen, lambda *_: known) == again


@pytest.mark.parametrize("reason", [Reason.TIMING, Reason.SUITE])
def test_an_error_that_no_scenario_has_left_is_not_repeated_for_that(reason: Reason) -> None:
    late = Decision(clause="A42-RING-12", verdict=Verdict.ERROR, reason=reason)
    assert not is_unconfirmed(record("ring.search", late), nothing)


def test_of_one_cause_a_part_is_repeated_unless_it_is_known_or_doubted() -> None:
    ended = [record(f"ring.{number:02}", decision(cause=NACK)) for number in range(ONE_IN + 1)]
    first, last = ident(ended[0]), ident(ended[-1])
    assert [*to_confirm(ended, nothing)] == [first, last]
    assert not to_confirm(ended, nothing, trusted={NACK})
    assert len(to_confirm(ended, nothing, doubted={NACK})) == len(ended)
    assert not to_confirm(ended, lambda scenario, _: scenario == "ring.00")
    died = Cause(words="died by SIGABRT")
    crashes = [record(f"ring.{number}", decision(cause=died)) for number in range(ONE_IN)]
    assert len(to_confirm(crashes, nothing, trusted={died})) == ONE_IN
    beside = record("ring.other", decision(), decision(cause=NACK))  # it failed otherwise, too
    assert ident(beside) in to_confirm([*ended, beside], nothing, trusted={NACK})


def test_a_different_result_is_kept_beside_that_of_the_own_process() -> None:
    first = record("ring.search", decision(), earlier=("a", "b"), evidence="there")
    alone = record("ring.search", decision(Verdict.PASS), shared_process=False)
    both = confirmed(alone, first)
    assert both.decisions == alone.decisions
    assert (both.in_shared_process, both.earlier) == (first.decisions, ("a", "b"))
    assert both.evidence == "there"
    assert is_at_odds(both)
    assert confirmed(msgspec.structs.replace(alone, decisions=first.decisions), first) == (
        msgspec.structs.replace(alone, decisions=first.decisions)
    )


def test_one_failure_in_an_own_process_stands() -> None:
    passed = record("ring.search", decision(Verdict.PASS), in_shared_process=(decision(),))
    failed = record("ring.search", decision(), shared_process=False)
    assert worse(failed, passed) == failed
    assert worse(msgspec.structs.replace(passed, in_shared_process=()), passed) == passed


@pytest.mark.parametrize(
    ("earlier", "words"),
    [
        ((), "ring.search: fail (deviates) in a shared process, pass in a process of its own"),
        (("a",), "ring.search: fail (deviates) after 1 scenario in the same client process, pass"),
        (("a", "b"), "fail (deviates) after 2 scenarios in the same client process, pass"),
    ],
)
def test_the_sentence_names_both_results(earlier: tuple[str, ...], words: str) -> None:
    said = described("ring.search", [decision()], (Verdict.PASS, None), earlier)
    assert words in said
