"""The baseline is exact: what it knows, what it does not, and files that are none."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import msgspec
import pytest

from client_under_test.clients import BUILT_IN, built_in
from conformance import baseline
from conformance.baseline import BadBaseline, Compared, Entry
from conformance.catalogue import Strength, load
from conformance.verdicts import ClauseResult, Reason, Verdict

CLAUSE = "A42-RING-05"
SCENARIO = "ring.some"


def result(verdict: Verdict, reason: Reason | None = None) -> ClauseResult:
    return ClauseResult(
        verdict=verdict,
        reason=reason,
        strength=Strength.MUST,
        scenarios=(SCENARIO, "ring.other"),
        editions_consistent=None,
        seen=(),
    )


def entry(
    reason: Reason = Reason.DEVIATES, versions: str = "", variants: tuple[str, ...] = ()
) -> Entry:
    return Entry(
        clause=CLAUSE,
        reason=reason,
        scenario=SCENARIO,
        seen="Four endpoints and a ring of twelve: every call met the first.",
        words="has no ring",
        versions=versions,
        variants=variants,
    )


def compare(
    found: ClauseResult | None,
    *entries: Entry,
    version: str = "1.0",
    variant: str | None = None,
    shown: Verdict | None = None,
    whole: Container[str] = (CLAUSE,),
) -> Compared:
    """What the baseline says of a result on the clause, that its scenario has too."""
    clauses = {CLAUSE: found} if found else {}
    verdicts = {CLAUSE: {SCENARIO: shown or found.verdict}} if found else {}
    return baseline.compare(clauses, verdicts, entries, version, variant, whole=whole)


DEVIATES = result(Verdict.FAIL, Reason.DEVIATES)


@pytest.mark.parametrize(
    ("found", "known", "version", "variant", "expected", "surprising"),
    [
        (DEVIATES, entry(), "1.0", None, True, False),
        (DEVIATES, entry(Reason.EDITION), "1.0", None, False, True),
        (result(Verdict.PASS), entry(), "1.0", None, False, True),
        (result(Verdict.SEEN), entry(), "1.0", None, False, True),
        # What was not judged says nothing of the entry.
        (result(Verdict.SKIP, Reason.CAPABILITY), entry(), "1.0", None, False, False),
        (result(Verdict.ERROR, Reason.SUITE), entry(), "1.0", None, False, False),
        (DEVIATES, entry(versions="<1.59"), "1.58.3", None, True, False),
        (DEVIATES, entry(versions="<1.59"), "1.59", None, False, False),
        (result(Verdict.PASS), entry(versions="<1.59"), "1.60.1", None, False, False),
        (DEVIATES, entry(versions=">=1.85,<2"), "1.86.0rc1", None, True, False),
        (DEVIATES, entry(variants=("old",)), "1.0", "old", True, False),
        (DEVIATES, entry(variants=("old",)), "1.0", None, False, False),
        (DEVIATES, entry(variants=("",)), "1.0", None, True, False),
        (DEVIATES, entry(variants=("",)), "1.0", "old", False, False),
    ],
)
def test_compare(
    found: ClauseResult,
    known: Entry,
    version: str,
    variant: str | None,
    *,
    expected: bool,
    surprising: bool,
) -> None:
    compared = compare(found, known, version=version, variant=variant)
    assert compared.clauses[CLAUSE].expected is expected
    assert compared.known == ((known,) if expected else ())
    assert bool(compared.surprises) is surprising


def test_a_surprise_says_what_to_do() -> None:
    (surprise,) = compare(result(Verdict.PASS), entry()).surprises
    assert surprise == (
        "A42-RING-05 is expected to fail (deviates: has no ring), but the verdict is pass: "
        "mend the entry in expected.toml"
    )


@pytest.mark.parametrize(
    ("found", "shown", "expected", "surprises"),
    [
        (result(Verdict.PASS), None, False, 0),
        (DEVIATES, None, True, 0),
        (DEVIATES, Verdict.PASS, True, 1),
        (result(Verdict.FAIL, Reason.CRASHED), None, False, 0),
    ],
)
def test_what_happens_sometimes(
    found: ClauseResult, shown: Verdict | None, *, expected: bool, surprises: int
) -> None:
    now_and_then = msgspec.structs.replace(entry(), sometimes="once in 20 runs")
    compared = compare(found, now_and_then, shown=shown)
    assert compared.clauses[CLAUSE].expected is expected
    assert len(compared.surprises) == surprises


def test_a_clause_that_did_not_run_is_no_surprise() -> None:
    assert compare(None, entry()).surprises == ()


@pytest.mark.parametrize("found", [DEVIATES, result(Verdict.PASS)])
def test_a_part_of_a_clauses_scenarios_surprises_nobody(found: ClauseResult) -> None:
    compared = compare(found, entry(), shown=Verdict.PASS, whole=())
    assert compared.clauses[CLAUSE].expected is (found is DEVIATES)
    assert compared.surprises == ()


@pytest.mark.parametrize(
    ("shown", "surprising"),
    [
        (Verdict.FAIL, False),
        (Verdict.PASS, True),
        (Verdict.SEEN, True),
        (Verdict.SKIP, False),
        (Verdict.ERROR, False),
    ],
)
def test_the_scenario_of_an_entry_must_show_it(shown: Verdict, *, surprising: bool) -> None:
    """Another scenario of the clause failed."""
    compared = compare(DEVIATES, entry(), shown=shown)
    assert compared.clauses[CLAUSE].expected
    said = f"A42-RING-05 fails as expected, but ring.some, which is to show it, says {shown.value}"
    assert [words.split(":")[0] for words in compared.surprises] == ([said] if surprising else [])


def test_a_scenario_that_does_not_decide_the_clause() -> None:
    known = msgspec.structs.replace(entry(), scenario="ring.another")
    (surprise,) = compare(DEVIATES, known).surprises
    assert "ring.another, which is to show it, does not decide it: mend" in surprise


def test_several_entries_for_versions_of_one_clause() -> None:
    entries = [entry(Reason.EDITION, "<1.59"), entry(Reason.DEVIATES, ">=1.59")]
    compared = compare(DEVIATES, *entries, version="1.60")
    assert compared.clauses[CLAUSE].expected
    assert not compared.surprises


GOOD = """
[[expected]]
clause = "A42-RING-05"
reason = "deviates"
scenario = "ring.some"
seen = "every call met the first endpoint"
words = "has no ring"
versions = ">=1.54,<1.60"
variants = ["", "old"]
issue = "https://example.com/1"
"""


def test_read(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    assert baseline.read(path, load()) == ()
    path.write_text(GOOD)
    (one,) = baseline.read(path, load())
    assert (one.clause, one.reason, one.variants) == (CLAUSE, Reason.DEVIATES, ("", "old"))
    assert one.applies_to("1.59.2", None)
    assert not one.applies_to("1.60", "old")


def test_one_cause_of_several_failures(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_text(GOOD + 'also = ["A42-RING-06", "A42-RING-09"]')
    one, *others = baseline.read(path, load())
    assert (one.clause, one.scenario) == (CLAUSE, SCENARIO)
    assert [(each.clause, each.scenario) for each in others] == [
        ("A42-RING-06", None),
        ("A42-RING-09", None),
    ]
    assert {(each.reason, each.words, each.seen, each.issue) for each in others} == {
        (one.reason, one.words, one.seen, one.issue)
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + 'also = ["A42-RING-99"]', "A42-RING-99, which is no clause"),
        (GOOD.replace("A42-RING-05", "A42-RING-99"), "A42-RING-99, which is no clause"),
        (GOOD.replace(">=1.54,<1.60", "new ones"), "no version range: 'new ones'"),
        (
            GOOD.replace('"deviates"', '"odd"'),
            "reason: invalid enum value 'odd': there are .*deviates",
        ),
        (GOOD.replace('"deviates"', '"suite"'), "a client does not fail because of suite"),
        (GOOD.replace('"has no ring"', '""'), "breaks the rules.*words"),
        (GOOD.replace('"every call met the first endpoint"', '""'), "breaks the rules.*seen"),
        (GOOD.replace('"ring.some"', '""'), "breaks the rules.*scenario"),
        (GOOD.replace("words", "word"), "breaks the rules"),
        (GOOD.replace("scenario", "# "), "breaks the rules.*scenario"),
        (GOOD.replace("seen", "# "), "breaks the rules.*seen"),
        (GOOD.replace("[[expected]]", "[[expect]]"), "breaks the rules.*expect"),
        ("expected = 3", "breaks the rules"),
        ("[[expected", "cannot be read"),
    ],
)
def test_a_bad_file_is_told_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / baseline.FILE
    path.write_text(text)
    with pytest.raises(BadBaseline, match=words) as raised:
        baseline.read(path, load())
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_scenarios_of_the_built_in_baselines_decide_their_clauses(
    decided: dict[str, list[str]],
) -> None:
    for client in built_in():
        for one in baseline.read(BUILT_IN / client / baseline.FILE, load()):
            if one.scenario is not None:
                assert one.clause in decided.get(one.scenario, ()), (client, one.scenario)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("ring.sums", "there is no scenario ring.sums: did you mean ring.some?"),
        ("x", "there is no scenario x: `xdspec list scenarios` shows all"),
    ],
)
def test_a_scenario_that_is_none(scenario: str, words: str) -> None:
    named = msgspec.structs.replace(entry(), scenario=scenario)
    elsewhere = msgspec.structs.replace(entry(), scenario=None)
    baseline.check_scenarios((entry(), elsewhere), ("ring.some",), Path("e.toml"))
    with pytest.raises(BadBaseline) as raised:
        baseline.check_scenarios((entry(), named), ("ring.some",), Path("e.toml"))
    assert str(raised.value) == f"e.toml: {CLAUSE}: {words}"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadBaseline, match="cannot be read"):
        baseline.read(path, load())
    path.unlink()
    path.mkdir()
    with pytest.raises(BadBaseline, match="cannot be read"):
        baseline.read(path, load())
