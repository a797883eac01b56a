"""A report in short: what stands in it, and in which syntax."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.environments import Identity
from conformance.cli.commands import main
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.markdown import escaped
from conformance.reporting.outcome import OTHERS
from conformance.reporting.report import BadReport, Exit, NotRun, Report, write_json
from conformance.reporting.summary import (
    ANNOTATIONS,
    LONGEST,
    FailureRow,
    annotation_lines,
    markdown_lines,
)
from conformance.spec.catalogue import load

from .sample_reports import decision, report, run

DEVIATES = (Verdict.FAIL, Reason.DEVIATES)
KNOWN = Entry(
    clause="A42-RING-05",
    reason=Reason.DEVIATES,
    scenarios=("ring.some[0]",),
    seen="Eight entries.",
    explanation="min_ring_size | is not read",
    issue="https://example.com/1",
)
UNTRUE = msgspec.structs.replace(KNOWN, clause="A42-RING-07", scenarios=("ring.some[3]",))
MISSING = NotRun(client="two", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words="no tool")


RUN = run(
    decision("A42-RING-05", *DEVIATES, saw="8 entries"),
    decision("A42-RING-06", *DEVIATES, saw="17 | 3\n100 %", wanted="20"),
    decision("A42-RING-08", Verdict.ERROR, Reason.TIMING, saw="a late machine"),
    decision("A42-RING-07", Verdict.PASS),
    entries=[KNOWN, UNTRUE],
)


def test_the_page_of_a_run() -> None:
    fails = "does not conform (1 newly failed clause, 1 known)"
    six, eight = (f"{clause}: {load()[clause].title}" for clause in ("A42-RING-06", "A42-RING-08"))
    assert [*markdown_lines([report(RUN, not_run=(MISSING,))], load())] == [
        f"### one 1.2.3: {OTHERS[Exit.SUITE_TROUBLE]}, and {fails}",
        "",
        "4 clauses: 2 fail, 1 error, 1 pass; 4 scenarios in 12 s, seed 1.",
        "",
        "| | observed | scenarios |",
        "|---|---|---|",
        rf"| **{six}** | fail (deviates): 17 \| 3 100 %; expected: 20 | `ring.some[1]` |",
        f"| **{eight}** | error (timing): a late machine | `ring.some[2]` |",
        "",
        "To repeat the first one: `xdspec run one@1.2.3 --seed 1 --scenario 'ring.some[1]'`",
        "",
        f"- {escaped(RUN.surprises[0])}",
        "",
        "<details><summary>Known failures: 1</summary>",
        "",
        r"- A42-RING-05: min_ring_size \| is not read <https://example.com/1>",
        "",
        "</details>",
        "",
        "### two: not run",
        "",
        "skip (environment): no tool",
        "",
    ]


def test_what_was_judged_and_what_it_mends() -> None:
    judged = Identity(source="/grpc-go", commit="a" * 40, describe="v1.85.0", dirty=True)
    run = msgspec.structs.replace(RUN, identity=judged, mended=("A42-RING-07 does not fail",))
    page = [*markdown_lines([report(run)], load())]
    assert f"Judged: {escaped(str(judged))}." in page
    assert f"- Mended: {escaped(run.mended[0])}" in page


def test_a_run_of_which_everything_is_well() -> None:
    well = run(decision("A42-RING-07", Verdict.PASS))
    assert [*markdown_lines([report(well)], load())] == [
        "### one 1.2.3: no failures",
        "",
        "1 clause: 1 pass; 1 scenario in 12 s, seed 1.",
        "",
        "",
    ]
    assert [*annotation_lines([report(well)], load())] == []


def test_annotations_in_their_syntax() -> None:
    first, second, untrue, left = annotation_lines([report(RUN, not_run=(MISSING,))], load())
    assert first.startswith("::error title=one 1.2.3%3A A42-RING-06%3A ")
    assert first.endswith("::fail (deviates): 17 | 3%0A100 %25; expected: 20%0Ain ring.some[1]")
    assert second.endswith("::error (timing): a late machine%0Ain ring.some[2]")
    assert untrue.startswith("::error title=one 1.2.3::")
    assert left == "::warning title=two::skip (environment): no tool"


def test_a_failure_that_fails_no_run_is_a_warning() -> None:
    should = next(
        clause.id for clause in load() if clause.strength == "SHOULD" and not clause.awaits
    )
    (line,) = annotation_lines([report(run(decision(should, *DEVIATES, saw="x")))], load())
    assert line.startswith(f"::warning title=one 1.2.3%3A {should}%3A ")


def test_what_ended_many_is_one_row() -> None:
    crashes = [
        decision(f"A42-RING-0{number}", Verdict.FAIL, Reason.CRASHED, saw="died by SIGSEGV")
        for number in (5, 6, 7, 8, 9)
    ]
    page = "\n".join(markdown_lines([report(run(*crashes))], load()))
    row = "| **5 scenarios** | fail (crashed): died by SIGSEGV | `ring.some[0]`<br>"
    assert page.count("SIGSEGV") == 1
    assert row in page
    assert "<br>and 2 more |" in page
    assert len([*annotation_lines([report(run(*crashes))], load())]) == 1


def test_of_many_annotations_the_last_says_how_many_there_are() -> None:
    must = [clause.id for clause in load() if clause.strength == "MUST" and not clause.awaits][:15]
    failed = run(
        *(
            decision(clause, *DEVIATES, saw=clause, wanted="abcdefghijklmno"[number])
            for number, clause in enumerate(must)
        )
    )
    lines = [*annotation_lines([report(failed)], load())]
    assert len(lines) == ANNOTATIONS
    assert lines[-1] == "::error title=xdspec::6 more: see the summary"


def test_what_is_long_is_cut() -> None:
    page = "\n".join(
        markdown_lines([report(run(decision("A42-RING-06", *DEVIATES, saw="x" * 5000)))], load())
    )
    (seen,) = re.findall("x{9,}…", page)
    assert len(seen) == LONGEST + 1


@pytest.mark.parametrize("lines", [markdown_lines, annotation_lines])
def test_a_clause_that_is_gone(lines: Any) -> None:
    gone = msgspec.structs.replace(RUN, clauses={"A42-RING-99": RUN.clauses["A42-RING-06"]})
    with pytest.raises(BadReport, match="A42-RING-99, which the catalogue no longer has"):
        [*lines([report(gone)], load())]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file"),
        (b"{}", "not a report of this suite"),
        (b"not JSON", "not a report of this suite"),
        (report(run(complete=False)), "has a run of one 1.2.3 that did not finish"),
    ],
)
def test_reports_that_cannot_be_summarized(tmp_path: Path, content: Any, says: str) -> None:
    path = tmp_path / "r.json"
    if isinstance(content, Report):
        write_json(content, path)
    elif content is not None:
        path.write_bytes(content)
    ended = CliRunner().invoke(main, ["summary", str(path)])
    assert (ended.exit_code, "Traceback" in ended.output) == (4, False)
    assert says in " ".join(ended.output.split())


def test_a_row_quotes_an_exception_of_the_client() -> None:
    row = FailureRow(
        title="A42-RING-06",
        verdict=Verdict.FAIL,
        reason=Reason.DEVIATES,
        saw="no call succeeded",
        log="java.lang.ClassCastException: x",
        scenarios=("ring.some",),
    )
    said = "fail (deviates): no call succeeded"
    assert row.words == f"{said}; client log: java.lang.ClassCastException: x"
    assert msgspec.structs.replace(row, log="no call").words == said
