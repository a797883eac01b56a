"""How one verdict is decided and how several become one: tables, nothing runs here."""

from __future__ import annotations

import itertools

import pytest

from conformance.judging.expectations import EndsWith, Expectation
from conformance.judging.observations import Call, Calls
from conformance.judging.verdicts import (
    PRECEDENCE,
    Check,
    Decision,
    Reason,
    Verdict,
    combine,
    decide,
    expectation_of,
    worst,
)
from conformance.spec.catalogue import Clause, Strength

AT_ONCE = EndsWith("UNAVAILABLE")
QUEUED = EndsWith("DEADLINE_EXCEEDED")
FINE = EndsWith("OK")


def clause(
    *editions: str,
    strength: Strength = Strength.MUST,
    new_in: str | None = None,
    open_in: tuple[str, ...] = (),
    superseded_in: tuple[str, ...] = (),
) -> Clause:
    return Clause(
        id="A42-PICK-10",
        document="A42",
        section="Picker",
        strength=strength,
        title="two endpoints that failed",
        wordings={edition: f"what {edition} says" for edition in editions},
        new_in=new_in,
        open_in=open_in,
        superseded_in=superseded_in,
        seen_by="calls",
    )


def calls(status: str) -> Calls:
    call = Call(id="call-0", channel="channel-1", path="/s/m", metadata=(), status=status)
    return Calls((call,))


def check(status: str, **expected: Expectation) -> Check:
    by_edition = {name.replace("_", "-"): expectation for name, expectation in expected.items()}
    return Check(clause="A42-PICK-10", seen=calls(status), expected=by_edition)


TWO_WORDINGS = clause("A42", "A61")


@pytest.mark.parametrize(
    ("follows", "status", "verdict", "reason", "edition", "consistent"),
    [
        (("A42",), "UNAVAILABLE", Verdict.PASS, None, "A42", ("A42",)),
        (("A42", "A61"), "DEADLINE_EXCEEDED", Verdict.PASS, None, "A61", ("A61",)),
        (("A42", "A61"), "UNAVAILABLE", Verdict.FAIL, Reason.EDITION, "A61", ("A42",)),
        (("A42",), "DEADLINE_EXCEEDED", Verdict.FAIL, Reason.EDITION, "A42", ("A61",)),
        (("A42", "A61"), "OK", Verdict.FAIL, Reason.DEVIATES, "A61", ()),
        # The order in which a client lists editions says nothing.
        (("A61", "A42"), "DEADLINE_EXCEEDED", Verdict.PASS, None, "A61", ("A61",)),
        # An edition that the clause does not know does not matter.
        (("A42", "A113"), "UNAVAILABLE", Verdict.PASS, None, "A42", ("A42",)),
    ],
)
def test_by_the_edition_that_the_client_states(
    follows: tuple[str, ...],
    status: str,
    verdict: Verdict,
    reason: Reason | None,
    edition: str,
    consistent: tuple[str, ...],
) -> None:
    decision = decide(check(status, A42=AT_ONCE, A61=QUEUED), TWO_WORDINGS, follows)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert (decision.edition, decision.editions_consistent) == (edition, consistent)


def test_the_failure_tells_the_stated_editions_wish_and_what_was_seen() -> None:
    decision = decide(check("OK", A42=AT_ONCE, A61=QUEUED), TWO_WORDINGS, ("A42", "A61"))
    assert decision.wanted == "every call ends DEADLINE_EXCEEDED"
    assert decision.saw == "OK (1 call)"


@pytest.mark.parametrize(
    ("follows", "status", "verdict", "choices"),
    [
        (("A42",), "OK", Verdict.FAIL, ()),
        (("A42", "A61"), "DEADLINE_EXCEEDED", Verdict.SEEN, ("the behavior is that of A61",)),
        (("A42", "A61"), "UNAVAILABLE", Verdict.SEEN, ("the behavior is that of A42",)),
        (("A42", "A61"), "OK", Verdict.SEEN, ("the behavior is that of no wording",)),
    ],
)
def test_who_is_judged_by_a_text_that_leaves_it_open_is_not_failed(
    follows: tuple[str, ...], status: str, verdict: Verdict, choices: tuple[str, ...]
) -> None:
    row = clause("A42", "A61", open_in=("A61",))
    decision = decide(check(status, A42=AT_ONCE, A61=QUEUED), row, follows)
    assert (decision.verdict, decision.choices) == (verdict, choices)


@pytest.mark.parametrize(
    ("status", "choice"),
    [
        ("UNAVAILABLE", "judged by A42 (superseded); the behavior is that of A42"),
        ("DEADLINE_EXCEEDED", "judged by A42 (superseded); the behavior is that of A61"),
        ("OK", "judged by A42 (superseded); the behavior is that of no wording"),
    ],
)
def test_a_superseded_wording_is_never_passed(status: str, choice: str) -> None:
    row = clause("A42", "A61", superseded_in=("A42",))
    decision = decide(check(status, A42=AT_ONCE, A61=QUEUED), row, ("A42",))
    assert (decision.verdict, decision.reason, decision.choices) == (Verdict.SEEN, None, (choice,))
    judged_anew = decide(check(status, A42=AT_ONCE, A61=QUEUED), row, ("A42", "A61"))
    assert judged_anew.verdict in {Verdict.PASS, Verdict.FAIL}


def test_one_expectation_holds_for_every_wording_from_its_own_on() -> None:
    decision = decide(check("OK", A42=FINE), TWO_WORDINGS, ("A42", "A61"))
    assert decision.verdict is Verdict.PASS
    assert decision.editions_consistent == ("A42", "A61")


def test_a_wording_before_the_first_expectation_is_not_judged() -> None:
    three = clause("A42-2021", "A42", "A61")
    assert expectation_of(three, {"A42": FINE}, "A42-2021") is None
    decision = decide(check("OK", A42=FINE), three, ("A42-2021", "A42"))
    assert decision.editions_consistent == ("A42", "A61")


def test_a_scenario_that_expects_nothing_of_the_wording_is_wrong() -> None:
    three = clause("A42-2021", "A42", "A61")
    with pytest.raises(ValueError, match="A42-PICK-10 in its wording of A42-2021"):
        decide(check("OK", A42=FINE), three, ("A42-2021",))


@pytest.mark.parametrize(
    ("follows", "verdict", "reason"),
    [
        (("A42", "A76"), Verdict.PASS, None),
        (("A42", "A61"), Verdict.SKIP, Reason.EDITION),
        ((), Verdict.SKIP, Reason.EDITION),
    ],
)
def test_an_amendment_that_the_client_does_not_state_is_skipped(
    follows: tuple[str, ...], verdict: Verdict, reason: Reason | None
) -> None:
    amendment = clause("A76", new_in="A76")
    decision = decide(check("OK", A76=FINE), amendment, follows)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert decision.editions_consistent == ("A76",)


@pytest.mark.parametrize(
    ("follows", "status", "verdict", "reason", "consistent"),
    [
        (("A42",), "OK", Verdict.PASS, None, ("A42",)),
        (("A42", "envoy"), "OK", Verdict.FAIL, Reason.EDITION, ("A42",)),
        (("A42", "envoy"), "UNAVAILABLE", Verdict.PASS, None, ("envoy",)),
        (("A42",), "UNAVAILABLE", Verdict.FAIL, Reason.EDITION, ("envoy",)),
    ],
)
def test_envoys_wording_stands_apart(
    follows: tuple[str, ...],
    status: str,
    verdict: Verdict,
    reason: Reason | None,
    consistent: tuple[str, ...],
) -> None:
    apart = clause("A42", "envoy")
    decision = decide(check(status, A42=FINE, envoy=AT_ONCE), apart, follows)
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert decision.editions_consistent == consistent


def test_envoys_wording_inherits_no_expectation() -> None:
    apart = clause("A42", "envoy")
    assert expectation_of(apart, {"A42": FINE}, "envoy") is None
    decision = decide(check("OK", A42=FINE), apart, ("A42",))
    assert decision.editions_consistent == ("A42",)


@pytest.mark.parametrize("strength", [Strength.MAY, Strength.UNSPECIFIED])
@pytest.mark.parametrize(
    ("status", "choices"),
    [
        ("OK", ("fine",)),
        ("UNAVAILABLE", ("at once",)),
        ("CANCELLED", ("none of the known",)),
    ],
)
def test_a_choice_is_reported_and_fails_nobody(
    strength: Strength, status: str, choices: tuple[str, ...]
) -> None:
    free = clause("A42", strength=strength)
    several = Check(clause=free.id, seen=calls(status), expected={"fine": FINE, "at once": AT_ONCE})
    decision = decide(several, free, ("A42",))
    assert (decision.verdict, decision.reason, decision.choices) == (Verdict.SEEN, None, choices)
    assert decision.editions_consistent is None
    assert decision.wanted == "any of: fine, at once"


@pytest.mark.parametrize(
    ("status", "stated", "reason", "choices"),
    [
        ("OK", "fine", None, ("fine",)),
        ("OK", "at once", Reason.STATED, ("fine",)),
        ("OK", "what no scenario offers", Reason.STATED, ("fine",)),
        ("CANCELLED", "fine", Reason.STATED, ("none of the known",)),
    ],
)
def test_who_states_a_choice_is_held_to_it(
    status: str, stated: str, reason: Reason | None, choices: tuple[str, ...]
) -> None:
    free = clause("A42", strength=Strength.UNSPECIFIED)
    several = Check(clause=free.id, seen=calls(status), expected={"fine": FINE, "at once": AT_ONCE})
    decision = decide(several, free, (), stated)
    assert (decision.reason, decision.choices) == (reason, choices)
    assert decision.verdict is (Verdict.FAIL if reason else Verdict.SEEN)
    if reason:
        assert decision.wanted == f"{stated}, as the client's manifest states"
        assert decision.saw.startswith(f"{choices[0]}: ")


def test_of_several_choices_that_fit_one_is_the_stated() -> None:
    free = clause("A42", strength=Strength.UNSPECIFIED)
    alike = Check(clause=free.id, seen=calls("OK"), expected={"one": FINE, "other": FINE})
    for stated in ("one", "other"):
        assert decide(alike, free, (), stated).verdict is Verdict.SEEN


@pytest.mark.parametrize("strength", [Strength.MUST, Strength.SHOULD])
def test_what_the_text_asks_can_be_failed(strength: Strength) -> None:
    asked = clause("A42", strength=strength)
    assert decide(check("OK", A42=AT_ONCE), asked, ("A42",)).verdict is Verdict.FAIL


# Several scenarios on one clause.


def decision(
    verdict: Verdict,
    reason: Reason | None = None,
    consistent: tuple[str, ...] | None = None,
    saw: str = "",
    choices: tuple[str, ...] = (),
) -> Decision:
    return Decision(
        clause="A42-PICK-10",
        verdict=verdict,
        reason=reason,
        editions_consistent=consistent,
        saw=saw,
        choices=choices,
    )


def test_the_order_of_precedence() -> None:
    assert [kind.value for kind in PRECEDENCE] == ["fail", "error", "pass", "seen", "skip"]


@pytest.mark.parametrize(("verdict", "other"), list(itertools.permutations(Verdict, 2)))
def test_the_first_in_precedence_holds(verdict: Verdict, other: Verdict) -> None:
    several = {"one": [decision(verdict)], "other": [decision(other)]}
    combined = combine(TWO_WORDINGS, several)
    expected = min(verdict, other, key=PRECEDENCE.index)
    assert combined.verdict is expected
    assert combined.scenarios == ("one", "other")
    assert worst([decision(verdict), decision(other)])[0] is expected


def test_several_verdicts_of_one_scenario_are_combined_too() -> None:
    several = {"one": [decision(Verdict.PASS), decision(Verdict.FAIL, Reason.DEVIATES)]}
    combined = combine(TWO_WORDINGS, several)
    assert (combined.verdict, combined.reason) == (Verdict.FAIL, Reason.DEVIATES)


FITS_BOTH = decision(Verdict.PASS, None, ("A42", "A61"), "fits both")
FITS_NEW = decision(Verdict.PASS, None, ("A61",), "fits the new")
FITS_OLD = decision(Verdict.FAIL, Reason.EDITION, ("A42",), "fits the old")
FITS_NONE = decision(Verdict.FAIL, Reason.DEVIATES, (), "fits none")
CRASHED = decision(Verdict.FAIL, Reason.CRASHED, None, "crashed")
SKIPPED = decision(Verdict.SKIP, Reason.CAPABILITY)


@pytest.mark.parametrize(
    ("decisions", "verdict", "reason", "consistent", "seen"),
    [
        ((FITS_BOTH,), Verdict.PASS, None, ("A42", "A61"), ("fits both",)),
        ((FITS_BOTH, FITS_NEW), Verdict.PASS, None, ("A61",), ("fits both", "fits the new")),
        ((FITS_BOTH, FITS_OLD), Verdict.FAIL, Reason.EDITION, ("A42",), ("fits the old",)),
        # Each fits an edition, but no edition fits both: that is none of the editions.
        ((FITS_NEW, FITS_OLD), Verdict.FAIL, Reason.DEVIATES, (), ("fits the old",)),
        ((FITS_BOTH, FITS_NONE), Verdict.FAIL, Reason.DEVIATES, (), ("fits none",)),
        # What was not judged by wording says nothing of editions.
        ((FITS_BOTH, CRASHED), Verdict.FAIL, Reason.CRASHED, ("A42", "A61"), ("crashed",)),
        ((CRASHED,), Verdict.FAIL, Reason.CRASHED, None, ("crashed",)),
        ((FITS_BOTH, SKIPPED), Verdict.PASS, None, ("A42", "A61"), ("fits both",)),
        ((SKIPPED,), Verdict.SKIP, Reason.CAPABILITY, None, ()),
    ],
)
def test_editions_across_scenarios(
    decisions: tuple[Decision, ...],
    verdict: Verdict,
    reason: Reason | None,
    consistent: tuple[str, ...] | None,
    seen: tuple[str, ...],
) -> None:
    several = {f"scenario-{number}": [decided] for number, decided in enumerate(decisions)}
    combined = combine(TWO_WORDINGS, several)
    assert (combined.verdict, combined.reason) == (verdict, reason)
    assert combined.editions_consistent == consistent
    assert combined.seen == seen


def test_editions_that_fit_are_told_to_a_client_that_states_none_of_them() -> None:
    amendment = clause("A76", new_in="A76")
    skipped = decision(Verdict.SKIP, Reason.EDITION, ("A76",))
    combined = combine(amendment, {"one": [skipped]})
    assert (combined.verdict, combined.reason) == (Verdict.SKIP, Reason.EDITION)
    assert combined.editions_consistent == ("A76",)


def test_choices_of_several_scenarios_are_told_once_each() -> None:
    wrap = decision(Verdict.SEEN, choices=("wrap",))
    clamp = decision(Verdict.SEEN, choices=("clamp",))
    free = clause("A42", strength=Strength.UNSPECIFIED)
    combined = combine(free, {"a": [wrap], "b": [clamp], "c": [wrap]})
    assert combined.verdict is Verdict.SEEN
    assert combined.seen == ("wrap", "clamp")


def test_no_decision_is_no_verdict() -> None:
    with pytest.raises(ValueError, match="without a decision"):
        worst([])
