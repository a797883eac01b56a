"""What `xdspec gate` says of a change and its base."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec
import pytest

from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import gate_texts
from conformance.reporting.build_run import build_run
from conformance.reporting.clause_summary import Kind
from conformance.reporting.gate import (
    Gate,
    Shown,
    completed,
    gate,
    shown,
    suspects,
    unclear,
    wanted_of_base,
)
from conformance.reporting.gate_texts import lines, markdown
from conformance.reporting.report import ClientId, Exit, Run
from conformance.spec.catalogue import load

from .test_diff import CLAUSE, ERROR, FAIL, FREE, KNOWN, OTHER, PASS, SKIP, run, seen

SHOULD = "A42-RING-04"
NO_SHOULD = msgspec.structs.replace(FAIL, clause=SHOULD)
CATALOGUE = load()


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
    assert "1 clause, of which none fails the gate" in compared(base, [NO_SHOULD]).last_word
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
    assert "repeated alone: in 1 of 1, on the base in 0 of 1" in f"{found.changes[0]}"
    assert unclear(good, bad, [shown(good)], [shown(alone)]) == ()
    mended = compared([FAIL], [PASS], on_base=[alone], on_head=[good])
    assert "repeated alone: in 1 of 1, on the base in 0 of 1" in f"{mended.changes[0]}"


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
    assert "repeated alone: in 9 of 10, on the base in 0 of 10 (p = " in f"{often.changes[0]}"
    assert "repeated alone: in 3 of 10, on the base in 0 of 10 (p = 0.11)" in f"{rare.changes[0]}"
    assert rare.changes[0].is_luck
    assert "not counted, because chance may explain it" in "\n".join(
        lines(rare, bad, CATALOGUE, "./xdspec run one")
    )


def test_only_what_does_not_repeat_itself_runs_ten_times() -> None:
    good, bad = run(PASS), run(FAIL)
    (name,) = suspects(good, bad)
    same = [shown(good)], [shown(bad)]
    assert unclear(good, bad, *same) == ()
    assert unclear(good, bad, [shown(good)], [shown(good)]) == (name,)
    assert unclear(good, bad, [shown(bad)], [shown(bad)]) == (name,)


def test_a_choice_that_varies_in_one_run_is_neither_repeated_nor_counted() -> None:
    was, now = run(seen("fails", "served")), run(seen("fails"))
    assert suspects(was, now) == ()
    assert suspects(run(seen("served")), now) != ()
    found = gate(was, now, CATALOGUE, on_base=[], on_head=[])
    (change,) = found.changes
    assert (change.kind, change.is_luck) == (Kind.CHANGED, True)
    assert "seen: fails, served → seen: fails" in "\n".join(lines(found, now, CATALOGUE, "one"))
    swapped = run(seen("a"), seen("b")), run(seen("b"), seen("a"))
    assert suspects(*swapped) != ()


def test_a_screen_names_the_clause_and_how_to_repeat_it() -> None:
    bad = msgspec.structs.replace(FAIL, wanted="each call at a", saw="3 of 9 calls at b")
    head = run(bad)
    found = compared([PASS], [bad], on_base=[run(PASS)], on_head=[head])
    text = "\n".join(lines(found, head, CATALOGUE, "./xdspec run one --seed 1"))
    assert "broken  1 clause" in text
    assert CATALOGUE[CLAUSE].title in text
    assert "repeated alone: in 1 of 1, on the base in 0 of 1" in text
    assert "expected  each call at a" in text
    assert "observed  3 of 9 calls at b" in text
    assert f"./xdspec run one --seed 1 --scenario '{head.scenarios[0].id}'" in text
    assert text.endswith("this change breaks 1 clause")


def test_no_green_hides_what_was_left_out() -> None:
    was, now = run(PASS), run(PASS)
    found = gate(was, now, CATALOGUE, on_base=[], on_head=[], left_out=(OTHER, FREE))
    assert found.last_word == "this change breaks nothing (--quick left 2 clauses out)"
    named = f"{OTHER}, {FREE}"
    assert f"left out by --quick: {named}" in [*lines(found, now, CATALOGUE, "./xdspec run one")]
    comment = [*markdown(found, now, CATALOGUE, "./xdspec run one")]
    assert comment[0] == f"### xdspec: {found.last_word}"
    assert f"Left out by `--quick`: {named}" in comment
    suite = gate_texts.junit_tree(found, now, CATALOGUE, "./xdspec run one").getroot()
    (skipped,) = suite.iter("skipped")
    assert skipped.get("message") == named
    assert (suite.get("tests"), suite.get("skipped")) == ("2", "1")


def test_markdown_and_junit_say_the_same() -> None:
    bad = msgspec.structs.replace(FAIL, wanted="each call at a", saw="3 of 9 calls at <i>b</i>")
    found = compared([PASS, seen("a")], [bad, seen("<b>@someone</b>")])
    head = run(bad, seen("<b>@someone</b>"))
    repeat = "./xdspec run one --seed 1"
    text = "\n".join(markdown(found, head, CATALOGUE, repeat))
    again = f"{repeat} --scenario {shlex.quote(head.scenarios[0].id)}"
    assert "- expected: each call at a\n" in text
    assert "- observed: 3 of 9 calls at " in text
    assert " <i>" not in text
    assert f"- repeat: `{again}`" in text
    assert text.startswith("### xdspec: this change breaks 1 clause")
    assert " <b>" not in text
    assert "@someone" not in text
    assert CLAUSE in text
    assert FREE in text
    suite = gate_texts.junit_tree(found, head, CATALOGUE, repeat).getroot()
    (failure,) = suite.iter("failure")
    assert failure.text == (
        f"expected: each call at a\nobserved: 3 of 9 calls at <i>b</i>\nrepeat: {again}"
    )
    cases = {case.get("name", ""): case.find("failure") is not None for case in suite}
    assert [name.split(" ")[0] for name, failed in cases.items() if failed] == [CLAUSE]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
