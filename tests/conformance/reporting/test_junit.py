"""A report as JUnit XML."""

from __future__ import annotations

from io import StringIO
from xml.etree.ElementTree import Element, fromstring

import msgspec
import pytest

from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting import failure_texts, junit
from conformance.reporting.baseline import Entry
from conformance.reporting.provenance import provenance
from conformance.reporting.report import Exit, Report, Run, exit_of
from tests.conformance.reporting.sample_runs import (
    CATALOGUE,
    FAILED,
    KNOWN,
    MUST,
    PASSED,
    SHOULD,
    WHOLE,
    decision,
    of,
    record,
    run,
)


def suite_of(made: Run) -> Element:
    text = StringIO()
    junit.tree(Report(provenance=provenance(CATALOGUE, seed=1), runs=(made,))).write(
        text, encoding="unicode"
    )
    return fromstring(text.getvalue())[0]  # noqa: S314  # written here


def test_junit() -> None:
    suite = suite_of(WHOLE)
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["4", "1", "1", "1"]
    assert suite.get("name") == "python@1.85.1"
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert [child.tag for child in cases["ring.a"]] == []
    failure = cases["ring.b"][0]
    assert (failure.tag, failure.get("type"), failure.text) == (
        "failure",
        "deviates",
        "evidence: out/b",
    )
    assert failure.get("message") == "\ufffd[31mred\ufffd & <b>"
    assert cases["ring.c"][0].tag == "skipped"
    assert cases["ring.d"][0].tag == "error"


@pytest.mark.parametrize(
    ("entries", "tag", "kind", "text"),
    [
        ((KNOWN,), "skipped", "expected", "known: is known https://example.com/1"),
        ((), "failure", "deviates", None),
    ],
)
def test_a_known_failure_is_no_failure_of_junit(
    entries: tuple[Entry, ...], tag: str, kind: str, text: str | None
) -> None:
    failed = record(KNOWN.scenarios[0], decision(MUST, *FAILED, "a ring of one"))
    told = suite_of(run(failed, entries=entries))[1][0]
    assert (told.tag, told.get("type"), told.text) == (tag, kind, text)
    begins = "expected failure (deviates): " if entries else ""
    assert told.get("message") == f"{begins}a ring of one"


def test_an_error_beside_a_known_failure_is_an_error_of_junit() -> None:
    both = (decision(MUST, *FAILED), decision(SHOULD, Verdict.ERROR, Reason.TIMING, "late"))
    made = run(record(KNOWN.scenarios[0], *both), entries=[KNOWN])
    assert exit_of(made) is Exit.SUITE_TROUBLE
    told = suite_of(made)[1][0]
    assert (told.tag, told.get("type"), told.get("message")) == ("error", "timing", "late")


def test_junit_has_whatever_fails_a_run() -> None:
    passed = record(KNOWN.scenarios[0], decision(MUST, *PASSED))
    untrue = suite_of(run(passed, entries=[KNOWN]))
    assert (untrue.get("tests"), untrue.get("failures")) == ("2", "1")
    assert untrue[2].get("name") == "expected.toml"
    assert "is expected to fail" in (untrue[2][0].get("message") or "")
    broken = suite_of(run(passed, complete=False, troubles=("a worker died",)))
    assert (broken[2].get("name"), broken[2][0].tag) == ("run", "error")
    assert broken[2][0].get("message") == "a worker died"
    stopped = suite_of(run(passed, complete=False))
    assert [element.get("type") for element in stopped[2]] == ["interrupted"]


def test_a_failure_of_another_scenario_is_new_though_the_clause_is_known() -> None:
    others = record("ring.others", decision(MUST, *FAILED, "a ring of one"), evidence="out/others")
    made = run(others, of(MUST, FAILED), entries=[KNOWN])
    assert not made.clauses[MUST].expected
    assert made.known == (KNOWN,)
    assert made.surprises == ()
    assert exit_of(made) is Exit.DEVIATES
    expected = {
        scenario.id: [finding.expected for finding in scenario.findings]
        for scenario in made.scenarios
    }
    assert expected == {"ring.others": [False], KNOWN.scenarios[0]: [True]}
    tags = {case.get("name"): case[0].tag for case in suite_of(made).iter("testcase")}
    assert tags == {"ring.others": "failure", KNOWN.scenarios[0]: "skipped"}
    text, _ = failure_texts.failures(made, CATALOGUE, "xdspec run", "")
    assert "scenario  ring.others" in text
    assert f"scenario  {KNOWN.scenarios[0]}" not in text
    assert f"known in  {KNOWN.scenarios[0]}" in text


def test_a_failure_by_other_words_is_new() -> None:
    shows = msgspec.structs.replace(KNOWN, shows="a ring of two")
    name = KNOWN.scenarios[0]
    first, two = (decision(MUST, *FAILED, f"a ring of {size} entries") for size in ("one", "two"))
    assert exit_of(run(record(name, two), entries=[shows])) is Exit.CONFORMS
    both = run(record(name, two, first), entries=[shows])
    assert not both.clauses[MUST].expected
    assert both.surprises == ()
    other = run(record(name, first), entries=[shows])
    (surprise,) = other.surprises
    assert "the verdict is fail (deviates), without 'a ring of two' in what was" in surprise
    assert other.known == ()
