"""How the result of a gate is printed: on the screen, in Markdown and in JUnit."""

from __future__ import annotations

import shlex

import msgspec

from conformance.reporting import gate_texts
from conformance.reporting.gate import gate
from conformance.reporting.gate_texts import lines, markdown
from conformance.runner.quick import LeftOut

from .test_diff import CLAUSE, FAIL, FREE, OTHER, PASS, run, seen
from .test_gate import CATALOGUE, compared


def test_a_screen_names_the_clause_and_how_to_repeat_it() -> None:
    bad = msgspec.structs.replace(FAIL, wanted="each call at a", saw="3 of 9 calls at b")
    head = run(bad)
    found = compared([PASS], [bad], on_base=[run(PASS)], on_head=[head])
    text = "\n".join(lines(found, head, CATALOGUE, "./xdspec run one --seed 1"))
    assert "broken  1 clause" in text
    assert CATALOGUE[CLAUSE].title in text
    assert "reproduced, not on the base" in text
    assert "expected  each call at a" in text
    assert "observed  3 of 9 calls at b" in text
    assert f"./xdspec run one --seed 1 --scenario '{head.scenarios[0].id}'" in text
    assert text.endswith("this change breaks 1 clause")


def test_no_green_hides_what_was_left_out() -> None:
    was, now = run(PASS), run(PASS)
    left = LeftOut(clauses=(OTHER,), in_part=(CLAUSE, FREE), scenarios=("a.one", "a.two"))
    found = gate(was, now, CATALOGUE, on_base=[], on_head=[], left_out=left)
    what = "--quick left 1 clause out and judged 2 clauses in part"
    last = f"no break found, but {what}: run without --quick before you merge"
    assert found.last_word == last
    bad = gate(was, run(FAIL), CATALOGUE, on_base=[], on_head=[], left_out=left)
    assert bad.last_word == f"this change breaks 1 clause ({what})"
    text = [*lines(found, now, CATALOGUE, "./xdspec run one")]
    assert f"left out by --quick: {OTHER}" in text
    in_part = f"{CLAUSE}, {FREE}"
    assert f"judged in part by --quick, without 2 scenarios: {in_part}" in text
    comment = [*markdown(found, now, CATALOGUE, "./xdspec run one")]
    assert comment[0] == f"### xdspec: {found.last_word}"
    assert f"Left out by `--quick`: {OTHER}" in comment
    assert f"Judged in part by `--quick`, without 2 scenarios: {in_part}" in comment
    suite = gate_texts.junit_tree(found, now, CATALOGUE, "./xdspec run one").getroot()
    assert [skipped.get("message") for skipped in suite.iter("skipped")] == [OTHER, in_part]
    assert (suite.get("tests"), suite.get("skipped")) == ("3", "2")


def test_clauses_that_were_judged_in_part_are_no_green() -> None:
    left = LeftOut(in_part=(CLAUSE,), scenarios=("a.one",))
    found = gate(run(PASS), run(PASS), CATALOGUE, on_base=[], on_head=[], left_out=left)
    what = "--quick judged 1 clause in part: run without --quick before you merge"
    assert found.last_word == f"no break found, but {what}"
    assert (found.left_out, found.judged_in_part) == ((), (CLAUSE,))
    assert found.left_out_scenarios == ("a.one",)


def test_junit_of_a_change_that_breaks_nothing_names_what_was_compared() -> None:
    found = compared([PASS, seen("a")], [PASS, seen("a")])
    (case,) = gate_texts.junit_tree(found, run(PASS, seen("a")), CATALOGUE, "").iter("testcase")
    assert case.get("name") == "2 scenarios, unchanged: 2 clauses (1 pass, 1 seen)"


def test_many_that_were_left_out_are_counted_by_grfc() -> None:
    many = tuple(f"A{number}-X-{place:02}" for number in (27, 42) for place in range(number))
    left = LeftOut(clauses=many, scenarios=("a.one",))
    found = gate(run(PASS), run(PASS), CATALOGUE, on_base=[], on_head=[], left_out=left)
    told = "left out by --quick: 27 of A27, 42 of A42 (--json and --junit name them)"
    assert told in [*lines(found, run(PASS), CATALOGUE, "./xdspec run one")]


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
