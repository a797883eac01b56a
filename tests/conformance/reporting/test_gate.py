"""What `xdspec gate` says of a change and its base."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from client_under_test.environments import Identity
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import NONE_KNOWN, Decision, Reason, Verdict
from conformance.reporting.build_run import build_run
from conformance.reporting.clause_summary import Kind
from conformance.reporting.gate import Gate, completed, gate, wanted_of_base
from conformance.reporting.gate_texts import (
    BY_LUCK,
    IS_ALONE,
    TOO_FEW_REPEATS,
    lines,
    markdown,
)
from conformance.reporting.repeats import Shown, shown, to_repeat, unclear
from conformance.reporting.report import ClientId, Exit, Run
from conformance.spec.catalogue import load

from .test_diff import CLAUSE, ERROR, FAIL, FREE, KNOWN, OTHER, PASS, SKIP, run, seen

SHOULD = "A42-RING-04"
ERROR_TOO = msgspec.structs.replace(ERROR, reason=Reason.SUITE)
NO_SHOULD = msgspec.structs.replace(FAIL, clause=SHOULD)
CATALOGUE = load()
THIRD = "A42-RING-07"
replaced = msgspec.structs.replace


def compared(
    base: Sequence[Decision],
    head: Sequence[Decision],
    *,
    on_base: Sequence[Run] = (),
    on_head: Sequence[Run] = (),
    strict: bool = False,
) -> Gate:
    alone: list[list[Shown]] = [[*map(shown, runs)] for runs in (on_base, on_head)]
    was, now = run(*base, version="1.85.0"), run(*head, version="1.86.0.dev0")
    return gate(was, now, CATALOGUE, on_base=alone[0], on_head=alone[1], strict=strict)


@pytest.mark.parametrize(
    ("was", "now", "kind", "code"),
    [
        (PASS, FAIL, Kind.BROKEN, Exit.DEVIATES),
        (PASS, KNOWN, Kind.BROKEN, Exit.DEVIATES),
        (PASS, ERROR, Kind.BROKEN, Exit.DEVIATES),
        (ERROR, FAIL, Kind.BROKEN, Exit.DEVIATES),
        (ERROR, ERROR_TOO, Kind.CHANGED, Exit.CONFORMS),
        (SKIP, FAIL, Kind.BROKEN, Exit.DEVIATES),
        (PASS, SKIP, Kind.GONE, Exit.DEVIATES),
        (PASS, msgspec.structs.replace(SKIP, reason=Reason.EDITION), Kind.GONE, Exit.CONFORMS),
        (FAIL, PASS, Kind.FIXED, Exit.CONFORMS),
        (SKIP, PASS, Kind.NEW, Exit.CONFORMS),
        (seen("the first entry"), seen("the last entry"), Kind.CHANGED, Exit.CONFORMS),
    ],
)
def test_a_clause_that_differs(was: Decision, now: Decision, kind: Kind, code: Exit) -> None:
    found = compared([was], [now])
    (change,) = found.changes
    assert (change.kind, found.exit) == (kind, code)
    assert change.is_fatal == (code is Exit.DEVIATES)


def test_what_is_alike_is_counted() -> None:
    other = msgspec.structs.replace(PASS, clause=OTHER)
    found = compared([KNOWN, other], [FAIL, other])
    assert found.changes == ()
    assert (found.unchanged[Verdict.FAIL], found.unchanged[Verdict.PASS]) == (1, 1)
    assert found.exit is Exit.CONFORMS
    assert found.last_word == "this change breaks nothing"


def test_nothing_that_was_judged_opens_no_gate() -> None:
    assert compared([], []).exit is Exit.NOTHING_RAN


def test_a_should_closes_the_gate_if_that_is_wanted() -> None:
    base = [msgspec.structs.replace(PASS, clause=SHOULD)]
    assert compared(base, [NO_SHOULD]).exit is Exit.CONFORMS
    word = f"1 clause: 1 does not fail the gate ({SHOULD} is SHOULD; --strict counts it)"
    assert word in compared(base, [NO_SHOULD]).last_word
    assert compared(base, [NO_SHOULD], strict=True).exit is Exit.DEVIATES


def test_a_clause_that_another_failure_hides_is_no_difference() -> None:
    hidden = msgspec.structs.replace(
        SKIP, clause=OTHER, reason=Reason.BLOCKED, blocked_by=CLAUSE, saw="the client is gone"
    )
    other = msgspec.structs.replace(PASS, clause=OTHER)
    assert [change.clause for change in compared([PASS, other], [FAIL, hidden]).changes] == [CLAUSE]


def test_a_clause_that_another_failure_hides_alone_is_broken_all_the_same() -> None:
    """A client that crashes fails one clause of those that run again, and blocks the others."""
    hidden = msgspec.structs.replace(SKIP, reason=Reason.BLOCKED, blocked_by=OTHER)
    good, bad, alone = run(PASS), run(FAIL), run(hidden)
    found = compared([PASS], [FAIL], on_base=[good], on_head=[alone])
    assert found.exit is Exit.DEVIATES
    assert "reproduced, not on the base" in f"{found.changes[0]}"
    assert unclear(good, bad, [shown(good)], [shown(alone)]) == ()
    mended = compared([FAIL], [PASS], on_base=[alone], on_head=[good])
    assert "→ pass; again, and the base fails again" in f"{mended.changes[0]}"


# A base runs only what decides whether the change breaks something.


def of(scenario: str, *decisions: Decision) -> Record:
    client = JudgedClient(name="one", version="1.0", variant=None, follows=("A42",))
    clauses = tuple(decision.clause for decision in decisions)
    return Record(
        scenario=scenario,
        clauses=clauses,
        client=client,
        seed=1,
        seconds=len(scenario),
        decisions=decisions,
    )


def built(*records: Record) -> Run:
    client = ClientId("one", "1.0", None)
    return build_run(records, CATALOGUE, client=client, follows=("A42",), wall_seconds=1)


OTHER_PASS = msgspec.structs.replace(PASS, clause=OTHER)
OTHER_FAIL = msgspec.structs.replace(FAIL, clause=OTHER)
HEAD = (of("fails", FAIL), of("same-clause", PASS), of("passes", OTHER_PASS))


def test_a_base_runs_all_scenarios_of_what_the_change_does_not_pass() -> None:
    head = built(*HEAD)
    assert {*wanted_of_base(head)} == {"fails", "same-clause"}
    assert {*wanted_of_base(head, {OTHER})} == {"fails", "same-clause", "passes"}
    good = built(of("longer", PASS), of("short", OTHER_PASS))
    assert wanted_of_base(good) == ("short",), "so that there is a base to name"
    assert wanted_of_base(msgspec.structs.replace(head, clauses={}, scenarios=())) == ()


@pytest.mark.parametrize(
    ("on_base", "kinds"),
    [
        ((of("fails", PASS), of("same-clause", PASS)), {CLAUSE: Kind.BROKEN}),
        ((of("fails", FAIL), of("same-clause", PASS)), {}),
        ((of("fails", PASS), of("same-clause", FAIL)), {CLAUSE: Kind.BROKEN}),
        # An earlier change needed the other scenario.
        (
            (of("fails", FAIL), of("same-clause", PASS), of("passes", OTHER_FAIL)),
            {OTHER: Kind.FIXED},
        ),
        ((of("fails", FAIL), of("same-clause", PASS), of("gone", OTHER_PASS)), {}),
    ],
)
def test_a_base_that_ran_in_part_is_compared_as_if_it_had_run(
    on_base: tuple[Record, ...], kinds: dict[str, Kind]
) -> None:
    head, base = built(*HEAD), built(*on_base)
    before = completed(base, head)
    assert {scenario.id for scenario in before.scenarios} == {"fails", "same-clause", "passes"}
    found = gate(before, head, CATALOGUE, on_base=[], on_head=[])
    assert {change.clause: change.kind for change in found.changes} == kinds


def test_a_base_that_ran_whole_is_compared_as_it_is() -> None:
    head = built(*HEAD)
    base = built(of("fails", PASS), of("same-clause", PASS), of("passes", OTHER_FAIL))
    for old, new in ((base, head), (head, base)):
        assert completed(old, new).clauses == old.clauses
        assert sorted(completed(old, new).scenarios, key=str) == sorted(old.scenarios, key=str)


def test_a_race_is_told_as_a_rate() -> None:
    good, bad = run(PASS), run(FAIL)
    often = compared([PASS], [FAIL], on_head=[*[bad] * 9, good], on_base=[good] * 10)
    rare = compared([PASS], [FAIL], on_head=[*[bad] * 3, *[good] * 7], on_base=[good] * 10)
    assert (often.exit, rare.exit) == (Exit.DEVIATES, Exit.CONFORMS)
    assert "reproduced in 9 of 10 runs, on the base in 0 of 10 (p = " in f"{often.changes[0]}"
    assert "reproduced in 3 of 10 runs, on the base in 0 of 10 (p = 0.11)" in f"{rare.changes[0]}"
    assert rare.changes[0].is_luck
    hint = (
        f"  differed once, and not in one repeat: {CLAUSE}; "
        "--clause ID runs one 10 times on each side, and decides"
    )
    once = compared([PASS], [FAIL], on_head=[good], on_base=[good])
    text = [*lines(once, bad, CATALOGUE, "one")]
    assert text.index(hint) == text.index(f"\n{TOO_FEW_REPEATS}") + 1
    assert f"\n{BY_LUCK}" not in text, "one repeat has no p"
    assert hint not in lines(rare, bad, CATALOGUE, "one")
    assert f"\n{BY_LUCK}" in [*lines(rare, bad, CATALOGUE, "./xdspec run one")]


def test_a_gate_is_certain_if_each_run_again_showed_a_must_broken() -> None:
    good, bad = run(PASS), run(FAIL)
    assert compared([PASS], [FAIL], on_head=[bad], on_base=[good]).is_certain
    for on_head, on_base in (([], []), ([good], [good]), ([bad], [bad])):
        assert not compared([PASS], [FAIL], on_head=on_head, on_base=on_base).is_certain
    assert not compared([PASS], [PASS], on_head=[good], on_base=[good]).is_certain


def test_every_difference_is_repeated_if_there_is_time() -> None:
    """One scenario covers all clauses that differ in it; each kind of failure comes first once."""
    basic = replaced(FAIL, wanted="each call at a", saw="3 of 9 calls at b")
    like = replaced(basic, clause=OTHER)
    else_ = replaced(FAIL, clause=THIRD, wanted="a state", saw="no state")
    good = [replaced(PASS, clause=clause) for clause in (CLAUSE, OTHER, THIRD)]
    head = built(
        of("with-two", basic, like),
        of("without-one-and-longer", like),
        of("another", else_),
        of("another-longer", else_),
    )
    base = built(
        of("with-two", *good[:2]),
        of("without-one-and-longer", good[1]),
        of("another", good[2]),
        of("another-longer", good[2]),
    )
    assert {*to_repeat(base, head, CATALOGUE, budget=1000)} == {"with-two", "another"}
    first, *_ = to_repeat(base, head, CATALOGUE, budget=1000)
    assert to_repeat(base, head, CATALOGUE, budget=0) == (first,), "never none"


def test_what_no_time_was_left_for_counts_and_is_named() -> None:
    other = replaced(FAIL, clause=OTHER)
    base, head = built(of("a", PASS), of("b", OTHER_PASS)), built(of("a", FAIL), of("b", other))
    once = [shown(built(of("a", FAIL)))], [shown(built(of("a", PASS)))]
    found = gate(base, head, CATALOGUE, on_head=once[0], on_base=once[1])
    assert [change.clause for change in found.unrepeated] == [OTHER]
    assert found.exit is Exit.DEVIATES
    assert found.last_word == "this change breaks 2 clauses, 1 reproduced"
    text = "\n".join(lines(found, head, CATALOGUE, "./xdspec run one", verbose=True))
    named = f"not repeated, so each may be a race: {OTHER}; add --clause ID to repeat one"
    assert named in text
    assert "pass → fail (deviates); not repeated" in text
    assert named in "\n".join(markdown(found, head, CATALOGUE, "./xdspec run one"))


def test_a_scenario_that_shows_it_for_certain_outweighs_one_that_does_not() -> None:
    base = built(of("a", PASS), of("longer", PASS))
    head = built(of("a", FAIL), of("longer", FAIL))
    again = [shown(built(of("a", PASS), of("longer", FAIL)))], [shown(base)]
    assert unclear(base, head, again[1], again[0]) == ()
    found = gate(base, head, CATALOGUE, on_head=again[0], on_base=again[1])
    assert found.exit is Exit.DEVIATES
    assert found.changes[0].scenarios == ("longer", "a")
    never = [shown(base)], [shown(base)]
    assert unclear(base, head, never[1], never[0]) == ("a",)


def test_a_difference_within_a_clause_that_fails_anyhow() -> None:
    base = built(of("a", FAIL), of("b", PASS))
    head = built(of("a", FAIL), of("b", FAIL))
    found = gate(base, head, CATALOGUE, on_head=[shown(head)], on_base=[shown(base)])
    (change,) = found.broken
    assert f"{change}".startswith("in b: pass → fail (deviates); reproduced")


STATED = Decision(
    clause=FREE,
    verdict=Verdict.FAIL,
    reason=Reason.STATED,
    wanted="the first entry, as the client's manifest states",
    saw="the last entry: 18 of 60 calls went elsewhere",
    choices=("the last entry",),
)


def test_a_free_choice_that_differs_from_the_manifest_breaks_no_rule() -> None:
    was, head = [seen("the first entry")], run(STATED)
    found = compared(was, [STATED], on_base=[run(*was)], on_head=[head])
    (change,) = found.changes
    assert (change.kind, found.exit, found.broken) == (Kind.CHANGED, Exit.CONFORMS, ())
    last = "this change breaks nothing; it changes 1 choice that client.toml states"
    assert found.last_word == last
    text = "\n".join(lines(found, head, CATALOGUE, "./xdspec run one"))
    assert "\nchanged, but not broken\n" in text
    made = 'chooses "the first entry" → chooses "the last entry"; reproduced, not on the base'
    assert made in text
    assert "client.toml states another choice: if you mean this change, correct" in text
    assert "client.toml states another choice" in "\n".join(
        markdown(found, head, CATALOGUE, "./xdspec run one")
    )
    strict = compared(was, [STATED], on_base=[run(*was)], on_head=[head], strict=True)
    assert (strict.exit, strict.last_word) == (Exit.DEVIATES, "this change breaks 1 clause")


def test_a_free_choice_that_nobody_knows_breaks_its_clause() -> None:
    """Garbage is none of the choices that the text leaves."""
    none = replaced(STATED, choices=NONE_KNOWN, saw=f"{NONE_KNOWN[0]}: 18 of 60 calls")
    found = compared([seen("the first entry")], [none])
    assert (found.exit, found.last_word) == (Exit.DEVIATES, "this change breaks 1 clause")
    assert f"{found.changes[0]}".startswith(
        'chooses "the first entry" → chooses none of the known choices'
    )


def test_an_adapter_keeps_to_the_choices_that_it_states() -> None:
    base, head = run(seen("the first entry")), run(STATED)
    own = msgspec.structs.replace(head, identity=Identity(source="mine", is_adapter=True))
    assert gate(base, own, CATALOGUE, on_base=[], on_head=[]).exit is Exit.DEVIATES


def test_a_client_that_lies_on_a_free_choice_breaks_the_clause() -> None:
    lied = replaced(STATED, reason=Reason.LIED, choices=())
    assert compared([seen("the first entry")], [lied]).exit is Exit.DEVIATES


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        (PASS, FAIL, "pass → fail (deviates)"),
        (
            replaced(PASS, edition="A61"),
            replaced(FAIL, reason=Reason.EDITION, edition="A61", editions_consistent=("A42",)),
            "pass → fail (behavior of A42, judged by A61)",
        ),
        (PASS, replaced(FAIL, edition="A61"), "(judged by A42) → fail (deviates, judged by A61)"),
        (seen("a", "b"), seen("c"), 'chooses "a" and "b" → chooses "c"'),
        (SKIP, FAIL, "skip (capability) → fail (deviates)"),
    ],
)
def test_a_difference_in_words(was: Decision, now: Decision, words: str) -> None:
    (change,) = compared([was], [now], on_head=[run(now)], on_base=[run(was)]).changes
    assert words in f"{change}"


def test_evidence_is_named_and_others_of_the_same_cause_are_listed() -> None:
    bad = replaced(FAIL, wanted="each call at a", saw="3 of 9 calls at b")
    like = replaced(bad, clause=OTHER)
    served = ("RING_HASH, 2 endpoints", "RING_HASH, 3 endpoints")
    record = msgspec.structs.replace(of("a", bad, like), evidence="out/one/a b", served=served)
    base, head = built(of("a", PASS, OTHER_PASS)), built(record)
    found = gate(base, head, CATALOGUE, on_head=[shown(head)], on_base=[shown(base)])
    repeat = "./xdspec run one --seed 1"
    text = "\n".join(lines(found, head, CATALOGUE, repeat))
    assert "\n    evidence  ./xdspec show 'out/one/a b'\n" in text
    assert CATALOGUE[CLAUSE].worded(f"{head.clauses[CLAUSE].edition}") in text
    assert "served    RING_HASH, 2 endpoints (the first of 2 configurations)\n" in text
    title, strength = CATALOGUE[OTHER].title, CATALOGUE[OTHER].strength.value
    likewise = "    likewise  1 more clause fails in the same way:\n"
    cause = f"{likewise}      {OTHER:14} {title} [{strength}]"
    assert f"{cause} in a\n" in text, "it changes as the first clause does"
    assert IS_ALONE not in text
    assert text.count("reproduced") == 1
    verbose = "\n".join(lines(found, head, CATALOGUE, repeat, verbose=True))
    assert f"{cause}: pass → fail" in verbose
    assert verbose.count("reproduced") == 2
    assert found.changes[0].evidence == ("out/one/a b",)


def test_what_was_not_repeated_is_marked_below_a_clause_that_was() -> None:
    bad = replaced(FAIL, wanted="each call at a", saw="3 of 9 calls at b")
    like = replaced(bad, clause=OTHER)
    alone = replaced(of("a", bad), evidence="out/gate/one/a-alone")
    base, head = built(of("a", PASS), of("b", OTHER_PASS)), built(alone, of("b", like))
    again = [shown(built(of("a", bad)))], [shown(built(of("a", PASS)))]
    found = gate(base, head, CATALOGUE, on_head=again[0], on_base=again[1])
    text = "\n".join(lines(found, head, CATALOGUE, "./xdspec run one"))
    title, strength = CATALOGUE[OTHER].title, CATALOGUE[OTHER].strength.value
    assert f"\n      {OTHER:14} {title} [{strength}] in b; not repeated\n" in text
    assert IS_ALONE in text
    assert IS_ALONE in "\n".join(markdown(found, head, CATALOGUE, "./xdspec run one"))


def test_a_clause_that_counts_only_with_strict_is_marked() -> None:
    bad = [FAIL, NO_SHOULD]
    head = run(*bad)
    was = [PASS, replaced(PASS, clause=SHOULD)]
    text = "\n".join(lines(compared(was, bad), head, CATALOGUE, "xdspec run one"))
    marked = [
        line for line in text.splitlines() if line.endswith("fails the gate only with --strict")
    ]
    assert len(marked) == 1
    why = f"({SHOULD} is SHOULD; --strict counts it)"
    assert text.endswith(f"this change breaks 2 clauses: 1 fails the gate, 1 does not {why}")
    strict = compared(was, bad, strict=True)
    assert strict.last_word == "this change breaks 2 clauses"
    assert "--strict" not in "\n".join(lines(strict, head, CATALOGUE, "xdspec run one"))


def test_only_what_does_not_repeat_itself_runs_ten_times() -> None:
    good, bad = run(PASS), run(FAIL)
    (name,) = to_repeat(good, bad, CATALOGUE, budget=0)
    same = [shown(good)], [shown(bad)]
    assert unclear(good, bad, *same) == ()
    assert unclear(good, bad, [shown(good)], [shown(good)]) == (name,)
    assert unclear(good, bad, [shown(bad)], [shown(bad)]) == (name,)


def test_a_choice_that_varies_in_one_run_is_neither_repeated_nor_counted() -> None:
    was, now = run(seen("fails", "served")), run(seen("fails"))
    assert to_repeat(was, now, CATALOGUE, budget=9) == ()
    assert to_repeat(run(seen("served")), now, CATALOGUE, budget=9) != ()
    found = gate(was, now, CATALOGUE, on_base=[], on_head=[])
    (change,) = found.changes
    assert (change.kind, change.is_luck) == (Kind.CHANGED, True)
    assert 'chooses "fails" and "served" → chooses "fails"' in f"{change}"
    assert f"  1 free choice: {change.clause}" in lines(found, now, CATALOGUE, "one")
    swapped = run(seen("a"), seen("b")), run(seen("b"), seen("a"))
    assert to_repeat(*swapped, CATALOGUE, budget=9) != ()
