"""The baseline is exact: what it knows, what it does not, and files that are none."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import msgspec
import pytest

from client_under_test.environments import Identity
from client_under_test.manifests.clients import BUILT_IN
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict, blocked
from conformance.reporting import baseline
from conformance.reporting.baseline import BadBaseline, Entry, marked, surprises
from conformance.reporting.build_run import build_run
from conformance.reporting.report import ClientId, Run
from conformance.spec.catalogue import load

CLAUSE = "A42-RING-05"
SCENARIO = "ring.some"


def decision(
    verdict: Verdict, reason: Reason | None = None, saw: str = "a ring of one"
) -> Decision:
    return Decision(clause=CLAUSE, verdict=verdict, reason=reason, saw=saw)


def record(*decisions: Decision, scenario: str = SCENARIO) -> Record:
    return Record(
        scenario=scenario,
        clauses=(CLAUSE,),
        client=JudgedClient(name="python", version="1.0", variant=None, follows=("A42",)),
        seed=1,
        seconds=0.1,
        decisions=decisions,
    )


KNOWN = Entry(
    clause=CLAUSE,
    reason=Reason.DEVIATES,
    scenarios=(SCENARIO, "ring.other"),
    seen="Four endpoints and a ring of twelve: every call met the first.",
    explanation="has no ring",
    shows="ring of one",
)
DEVIATES = decision(Verdict.FAIL, Reason.DEVIATES)
BLOCKED = blocked(DEVIATES, "A42-CDS-01")


@pytest.mark.parametrize(
    ("found", "scenario", "known", "untrue"),
    [
        (DEVIATES, SCENARIO, True, False),
        (DEVIATES, "ring.other", True, False),
        (DEVIATES, "ring.third", False, False),
        (decision(Verdict.FAIL, Reason.DEVIATES, "a ring of two"), SCENARIO, False, True),
        (decision(Verdict.FAIL, Reason.EDITION), SCENARIO, False, True),
        (decision(Verdict.FAIL, Reason.CRASHED), "ring.other", False, True),
        (msgspec.structs.replace(DEVIATES, clause="A42-RING-06"), SCENARIO, False, False),
        (decision(Verdict.PASS), SCENARIO, False, True),
        (decision(Verdict.PASS), "ring.third", False, False),
        (decision(Verdict.SEEN), SCENARIO, False, True),
        # What was not judged says nothing of the entry.
        (decision(Verdict.SKIP, Reason.CAPABILITY), SCENARIO, False, False),
        (BLOCKED, SCENARIO, False, False),
        (decision(Verdict.ERROR, Reason.SUITE), SCENARIO, False, False),
    ],
)
def test_what_an_entry_knows_and_where_it_is_untrue(
    found: Decision, scenario: str, *, known: bool, untrue: bool
) -> None:
    ran = record(found, scenario=scenario)
    (said,) = marked(ran, [KNOWN]).decisions
    assert said.expected is known
    assert said == msgspec.structs.replace(found, expected=known)
    assert len([*surprises([ran], [KNOWN])]) == untrue
    sometimes = msgspec.structs.replace(KNOWN, sometimes="once in 20 runs")
    assert [*surprises([ran], [sometimes])] == []


@pytest.mark.parametrize(
    ("versions", "variants", "version", "variant", "applies"),
    [
        ("", (), "1.0", None, True),
        ("<1.59", (), "1.58.3", None, True),
        ("<1.59", (), "1.59", None, False),
        (">=1.85,<2", (), "1.86.0rc1", None, True),
        ("", ("old",), "1.0", "old", True),
        ("", ("old",), "1.0", None, False),
        ("", ("",), "1.0", None, True),
        ("", ("",), "1.0", "old", False),
    ],
)
def test_the_versions_and_variants_of_an_entry(
    versions: str, variants: tuple[str, ...], version: str, variant: str | None, *, applies: bool
) -> None:
    entry = msgspec.structs.replace(KNOWN, versions=versions, variants=variants)
    assert entry.applies_to(version, variant) is applies


def test_a_surprise_says_what_to_do() -> None:
    (surprise,) = surprises([record(decision(Verdict.PASS))], [KNOWN])
    assert surprise == (
        "A42-RING-05 is expected to fail in ring.some (deviates: has no ring), but the verdict is "
        "pass: update the entry of the baseline"
    )


def test_a_scenario_that_did_not_run_is_no_surprise() -> None:
    assert [*surprises([], [KNOWN])] == []


def test_one_of_two_failures_in_a_scenario_is_known() -> None:
    other = decision(Verdict.FAIL, Reason.DEVIATES, "a ring of two")
    both = marked(record(DEVIATES, other), [KNOWN])
    assert [decided.expected for decided in both.decisions] == [True, False]
    assert [*surprises([both], [KNOWN])] == []


def test_several_entries_for_one_clause() -> None:
    other = msgspec.structs.replace(KNOWN, shows="ring of two")
    found = record(DEVIATES, decision(Verdict.FAIL, Reason.DEVIATES, "a ring of two"))
    assert all(decided.expected for decided in marked(found, [KNOWN, other]).decisions)
    assert [*surprises([found], [KNOWN, other])] == []


def test_the_known_failures_of_what_is_not_released() -> None:
    """They are those of the newest version that the baseline, or the manifest, knows."""
    ranges = ("==1.85.0", "<=1.84.2", "<1.86", ">=1.86", "")
    entries = [msgspec.structs.replace(KNOWN, versions=versions) for versions in ranges]

    def known(version: str, released: str | None) -> list[str]:
        return [entry.versions for entry in baseline.applying(entries, version, None, released)]

    assert known("1.86.0-dev", "1.85.0") == ["==1.85.0", "<1.86", ""]
    assert known("1.86.0-dev", None) == ["==1.85.0", "<1.86", ""]
    assert known("1.84.0", "1.85.0") == ["<=1.84.2", "<1.86", ""]
    assert known("1.86.0", "1.85.0") == [">=1.86", ""]


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.SEEN])
def test_what_a_change_mends_is_told_and_fails_nothing(verdict: Verdict) -> None:
    def run(identity: Identity) -> Run:
        return build_run(
            [record(decision(verdict))],
            load(),
            client=ClientId("go", "1.86.0-dev", None),
            follows=("A42",),
            wall_seconds=1,
            entries=[KNOWN],
            identity=identity,
        )

    mended, stale = run(Identity(source="/grpc-go")), run(Identity())
    assert (len(stale.surprises), stale.mended) == (1, ())
    assert mended.surprises == ()
    assert mended.mended == (f"{CLAUSE} does not fail in ring.some any more: has no ring",)
    adapter = run(Identity(source="/adapter", is_adapter=True))
    assert (len(adapter.surprises), adapter.mended) == (1, ())
    by_other_words = decision(Verdict.FAIL, Reason.DEVIATES, "something else")
    assert [*baseline.mended([record(by_other_words)], [KNOWN])] == []
    assert len([*surprises([record(by_other_words)], [KNOWN], is_release=False)]) == 1


GOOD = """
[[expected]]
clause = "A42-RING-05"
reason = "deviates"
scenario = "ring.some"
seen = "every call met the first endpoint"
explanation = "has no ring"
shows = "ring of one"
versions = ">=1.54,<1.60"
variants = ["", "old"]
issue = "https://example.com/1"
"""


def test_read(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    assert baseline.read(path, load()) == ()
    path.write_text(GOOD)
    (entry,) = baseline.read(path, load())
    assert (entry.clause, entry.reason, entry.variants) == (CLAUSE, Reason.DEVIATES, ("", "old"))
    assert entry.applies_to("1.59.2", None)
    assert not entry.applies_to("1.60", "old")


def test_an_older_file_calls_the_explanation_words(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_text(GOOD)
    now = baseline.read(path, load())
    path.write_text(GOOD.replace("explanation =", "words ="))
    assert baseline.read(path, load()) == now
    assert now[0].explanation == "has no ring"


def test_a_report_has_the_explanation_as_older_ones_have_it() -> None:
    written = msgspec.json.encode(KNOWN)
    assert msgspec.json.decode(written)["words"] == KNOWN.explanation
    assert msgspec.json.decode(written, type=Entry) == KNOWN


def test_one_cause_of_several_failures(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_text(GOOD + 'also = { A42-RING-06 = "ring.a", A42-RING-09 = ["ring.b", "ring.c"] }')
    entry, *others = baseline.read(path, load())
    assert (entry.clause, entry.scenarios, entry.like) == (CLAUSE, (SCENARIO,), "")
    assert [(each.clause, each.scenarios, each.like) for each in others] == [
        ("A42-RING-06", ("ring.a",), CLAUSE),
        ("A42-RING-09", ("ring.b", "ring.c"), CLAUSE),
    ]
    likewise = {"clause": CLAUSE, "scenarios": (SCENARIO,), "like": ""}
    assert {msgspec.structs.replace(each, **likewise) for each in others} == {entry}


def test_words_are_left_out_for_old_versions_only(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_text(GOOD.replace("shows", "# "))
    (entry,) = baseline.read(path, load())
    assert entry.knows(SCENARIO, DEVIATES)
    path.write_text(GOOD.replace("shows", "# ").replace("versions", "# "))
    with pytest.raises(BadBaseline, match="set `shows` to a piece of what the report observed"):
        baseline.read(path, load())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD + 'also = { A42-RING-99 = "ring.a" }', "A42-RING-99, which is not a clause"),
        (GOOD + 'also = ["A42-RING-06"]', "breaks the rules.*also"),
        (GOOD + "also = { A42-RING-06 = [] }", "breaks the rules.*also"),
        (GOOD.replace("ring of one", "127.0.0.1:4711: 3"), "`shows` has 127.0.0.1:4711"),
        (GOOD + 'like = "A42-RING-06"', "breaks the rules.*like"),
        (GOOD.replace('"ring.some"', "[]"), "breaks the rules.*scenario"),
        (GOOD.replace("A42-RING-05", "A42-RING-99"), "A42-RING-99, which is not a clause"),
        (GOOD.replace(">=1.54,<1.60", "new ones"), "no version range: 'new ones'"),
        (
            GOOD.replace('"deviates"', '"odd"'),
            "reason: invalid enum value 'odd': there are .*deviates",
        ),
        (GOOD.replace('"deviates"', '"suite"'), "a client does not fail because of suite"),
        (GOOD.replace('"has no ring"', '""'), "breaks the rules.*explanation"),
        (GOOD.replace('"every call met the first endpoint"', '""'), "breaks the rules.*seen"),
        (GOOD.replace('"ring.some"', '""'), "breaks the rules.*scenario"),
        (GOOD.replace("explanation", "explantion"), "breaks the rules"),
        (GOOD.replace("explanation", "# "), "write why the client fails into `explanation`"),
        (GOOD + 'words = "is old"', "write why the client fails into `explanation`, once"),
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


BASELINES = sorted(path for path in BUILT_IN.rglob(baseline.FILE) if "scaffold" not in path.parts)


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.parent.name)
def test_the_scenarios_of_the_built_in_baselines_decide_their_clauses(
    decided: dict[str, list[str]], path: Path
) -> None:
    baseline.check_scenarios(baseline.read(path, load()), decided, path)


def test_some_built_in_baselines_have_entries() -> None:
    assert any(baseline.read(path, load()) for path in BASELINES)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("ring.sums", f"{CLAUSE}: there is no scenario ring.sums: did you mean ring.some?"),
        ("x", f"{CLAUSE}: there is no scenario x: `xdspec list scenarios` lists all"),
        ("ring.third", f"ring.third does not decide {CLAUSE}: see `xdspec explain`"),
    ],
)
def test_a_scenario_that_is_none(scenario: str, words: str) -> None:
    decided = {"ring.some": [CLAUSE], "ring.other": [CLAUSE], "ring.third": ["A42-RING-06"]}
    baseline.check_scenarios((KNOWN,), decided, Path("e.toml"))
    named = msgspec.structs.replace(KNOWN, scenarios=(SCENARIO, scenario))
    with pytest.raises(BadBaseline) as raised:
        baseline.check_scenarios((KNOWN, named), decided, Path("e.toml"))
    assert str(raised.value) == f"e.toml: {words}"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / baseline.FILE
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadBaseline, match="cannot be read"):
        baseline.read(path, load())
    path.unlink()
    path.mkdir()
    with pytest.raises(BadBaseline, match="cannot be read"):
        baseline.read(path, load())


OWN = f"""
[[expected]]
clause = "{CLAUSE}"
reason = "crashed"
scenario = "ring.some"
shows = "SIGSEGV"
seen = "a ring"
words = "dies"
until = 2026-12-01

[[fixed]]
clause = "{CLAUSE}"
scenario = "ring.other"
"""


def test_a_baseline_over_another() -> None:
    third = msgspec.structs.replace(KNOWN, scenarios=("ring.some", "ring.other", "ring.third"))
    own, below = baseline.parsed(OWN.encode(), load(), Path("own.toml"), below=[third])
    assert (own.reason, own.scenarios) == (Reason.CRASHED, ("ring.some",))
    assert (below.reason, below.scenarios) == (Reason.DEVIATES, ("ring.third",))


def test_what_is_called_fixed_was_broken() -> None:
    with pytest.raises(BadBaseline, match=r"fixed in ring.other, but .* line 11"):
        baseline.parsed(OWN.encode(), load(), Path("own.toml"))


@pytest.mark.parametrize(
    ("day", "is_known", "told"),
    [
        ("2026-11-16", True, None),
        ("2026-11-17", True, "is known until 2026-12-01, in 14 days: has no ring"),
        ("2026-12-01", True, "is known until 2026-12-01, in 0 days: has no ring"),
        ("2026-12-02", False, "was known until 2026-12-01, and is not any more: has no ring"),
    ],
)
def test_an_entry_ends(day: str, is_known: bool, told: str | None) -> None:  # noqa: FBT001
    entry = msgspec.structs.replace(KNOWN, until=date(2026, 12, 1))
    made = build_run(
        [record(DEVIATES)],
        load(),
        client=ClientId("python", "1.0", None),
        follows=("A42",),
        wall_seconds=1,
        entries=[entry],
        today=date.fromisoformat(day),
    )
    assert made.clauses[CLAUSE].expected is is_known
    assert made.surprises == ()
    assert made.endings == ((f"{CLAUSE} {told}",) if told else ())


@pytest.mark.parametrize("shows", [former for former, _ in baseline.FORMER])
def test_a_baseline_from_before_a_finding_was_reworded_still_matches(shows: str) -> None:
    saw = (
        "3 of 48 calls went elsewhere: call-1 () reached a instead of b\n"
        "calls with one expected hash reached two endpoints: call-1 () reached a, call-2 () "
        "reached b"
    )
    entry = msgspec.structs.replace(KNOWN, shows=shows)
    assert entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, saw))


@pytest.mark.parametrize(
    ("shows", "saw"),
    [
        ("OK: 3", "OK (3 calls), UNAVAILABLE (1 call)"),
        (": 3", "127.0.0.1:4711 (3 calls)"),
        ("OPEN: 9, UNAVAILABLE: 3", "OPEN (9 streams), UNAVAILABLE (3 streams)"),
        ("OK (3 calls)", "OK: 3, UNAVAILABLE: 1"),
        ("(3 calls)", "127.0.0.1:4711: 3"),
        ("(3 calls)", "127.0.0.1:4711 (3 calls)"),
    ],
)
def test_counts_match_as_they_are_written_now_and_before(shows: str, saw: str) -> None:
    entry = msgspec.structs.replace(KNOWN, shows=shows)
    assert entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, saw))
    other = saw.replace("3", "4")
    assert not entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, other))


def test_a_report_from_before_a_finding_was_reworded_still_matches() -> None:
    saw = "3 of 48 calls elsewhere than by the ring that fits best (keys x): call-1"
    entry = msgspec.structs.replace(KNOWN, shows="calls went elsewhere")
    assert entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, saw))
    assert not entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, "no call"))
    saw = "one hash reached two endpoints: a and b (hash 0x1)"
    entry = msgspec.structs.replace(KNOWN, shows="calls with one expected hash reached two")
    assert entry.knows(SCENARIO, decision(Verdict.FAIL, Reason.DEVIATES, saw))


# What the entries of the shipped clients say.

ID = re.compile(r"\bA\d+-[A-Z]+-\d\d\b")


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.parent.name)
def test_no_entry_hides_behind_another_failing_clause(path: Path) -> None:
    """A failure that is only another clause's fault is blocked; one of its own cause says that."""
    known = load()
    entries = baseline.read(path, known)
    failing = {entry.clause for entry in entries}
    wrong = []
    for entry in entries:
        own = {entry.clause, entry.like, *(e.clause for e in entries if e.like == entry.clause)}
        named = {*ID.findall(entry.explanation), *ID.findall(entry.seen)}
        wrong += [
            f"{entry.clause} is explained by {other}, which fails, too: let its scenario decide "
            f"{other} and the row rest on it, or give the cause itself"
            for other in sorted(named & failing - own)
        ]
    assert not wrong
