"""The outcome of a run in words, alike in every view: `conforms` only if no MUST failed of all."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree.ElementTree import tostring

import msgspec
import pytest
from rich.console import Console

from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting import badge, console, junit, summary
from conformance.reporting.baseline import Entry
from conformance.reporting.outcome import in_one_line
from conformance.reporting.provenance import provenance
from conformance.reporting.report import Report, Run, read, said_of, write_json
from conformance.reporting.shard_report import ShardInputs, ShardReport
from conformance.reporting.site.model import site
from conformance.reporting.site.pages import index

from . import sample_runs as made

CATALOGUE = made.CATALOGUE
SECOND = "A42-RING-07"
OBSERVABLE = [clause.id for clause in CATALOGUE if clause.unobservable is None]


def known(clause: str) -> Entry:
    scenario = made.of(clause, made.FAILED).scenario
    return msgspec.structs.replace(made.KNOWN, clause=clause, scenarios=(scenario,))


def failing(*clauses: str, entries: tuple[str, ...] = ()) -> Run:
    records = [made.of(clause, made.FAILED) for clause in clauses]
    return made.run(*records, made.of(SECOND, made.PASSED), entries=map(known, entries))


def whole(run: Run) -> Run:
    """Add a pass of each clause that the run has not judged."""
    passed = [made.of(clause, made.PASSED) for clause in OBSERVABLE if clause not in run.clauses]
    rest = made.run(*passed)
    return msgspec.structs.replace(
        run,
        scenarios=run.scenarios + rest.scenarios,
        clauses=run.clauses | rest.clauses,
    )


STATED = made.run(
    made.of(made.FREE, (Verdict.FAIL, Reason.STATED)),
    entries=[
        msgspec.structs.replace(
            made.KNOWN,
            clause=made.FREE,
            reason=Reason.STATED,
            scenarios=(made.of(made.FREE, (Verdict.FAIL, Reason.STATED)).scenario,),
        )
    ],
)
PART = ShardReport(
    number=1, of=2, plan="", given=ShardInputs(), entries=(), client=None, ended=()
)  # what the whole is made of does not matter here


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (failing(), "no failures"),
        (whole(failing()), "conforms"),
        (
            msgspec.structs.replace(whole(failing()), repeat="xdspec run go --fast --seed 1"),
            "no failures",
        ),
        (whole(failing(made.MUST, entries=(made.MUST,))), "no new failures (1 known)"),
        (whole(failing(made.SHOULD)), "conforms (1 failed SHOULD)"),
        (failing(made.MUST, entries=(made.MUST,)), "no new failures (1 known)"),
        (
            failing(made.MUST, made.SHOULD, entries=(made.MUST, made.SHOULD)),
            "no new failures (2 known)",
        ),
        (STATED, "no new failures (1 known)"),
        (failing(made.SHOULD), "no MUST failures (1 failed SHOULD)"),
        (failing(made.SHOULD, entries=(made.SHOULD,)), "no MUST failures (1 failed SHOULD)"),
        (
            failing(made.MUST, made.SHOULD, entries=(made.MUST,)),
            "no new MUST failures (1 known, 1 new failed SHOULD)",
        ),
        (failing(made.MUST), "does not conform (1 newly failed clause)"),
        (
            failing(made.MUST, made.SHOULD),
            "does not conform (1 newly failed clause; SHOULD clauses count with --strict)",
        ),
        (
            failing(made.MUST, "A42-RING-06", entries=(made.MUST,)),
            "does not conform (1 newly failed clause, 1 known)",
        ),
        (
            made.run(
                made.record(made.KNOWN.scenarios[0], made.decision(made.MUST, *made.PASSED)),
                entries=[made.KNOWN],
            ),
            "the baseline is out of date (1 entry)",
        ),
        (
            msgspec.structs.replace(failing(), part=PART),
            "no failures in this shard; xdspec merge judges the whole run",
        ),
        (
            msgspec.structs.replace(failing(made.MUST, entries=(made.MUST,)), part=PART),
            "no new failures (1 known) in this shard; xdspec merge judges the whole run",
        ),
        (
            msgspec.structs.replace(failing(made.SHOULD), part=PART),
            "no MUST failures (1 failed SHOULD) in this shard; xdspec merge judges the whole run",
        ),
    ],
)
def test_outcome(run: Run, words: str) -> None:
    assert in_one_line(run, said_of(run)) == words


def test_a_run_without_one_clause_does_not_show_that_the_client_conforms() -> None:
    run = whole(failing())
    for left_out in (OBSERVABLE[0], OBSERVABLE[-1]):
        clauses = {name: result for name, result in run.clauses.items() if name != left_out}
        part = msgspec.structs.replace(run, clauses=clauses)
        assert in_one_line(part, said_of(part)) == "no failures"


@pytest.mark.parametrize(
    "entries", [(), (made.MUST,), (made.MUST, made.SHOULD)], ids=["new", "one known", "known"]
)
def test_the_last_line_of_a_selection_has_the_order_of_a_whole_run(
    entries: tuple[str, ...],
) -> None:
    """Clauses by verdict, then the scenarios, then the outcome; only the numbers differ."""
    selection = failing(made.MUST, made.SHOULD, entries=entries)
    line = last_line(selection)
    assert re.sub(r"\d+", "N", line) == re.sub(r"\d+", "N", last_line(whole(selection)))
    order = r"python \S+: \d+ clauses: \d+ pass, \d+ fail \(.*\); \d+ scenarios in \S+ s: .*\n"
    assert re.fullmatch(order, line)
    order = r"python \S+: \d+ clauses?: \d+ pass; \d+ scenarios? in \S+ s: "
    assert re.fullmatch(rf"{order}no failures\n", last_line(failing()))
    assert re.fullmatch(rf"{order}conforms\n", last_line(whole(failing())))


def last_line(run: Run) -> str:
    out = io.StringIO()
    console.show_total(Console(file=out, width=300), run, said_of(run))
    return out.getvalue()


def test_a_failed_should_fails_a_strict_run() -> None:
    run = failing(made.SHOULD)
    codes = said_of(run, strict=True)
    assert in_one_line(run, codes, strict=True) == "does not conform (1 newly failed clause)"


def test_every_view_has_the_same_words(tmp_path: Path) -> None:
    words = "no new failures (1 known)"
    run = failing(made.MUST, entries=(made.MUST,))
    report = Report(provenance=provenance(CATALOGUE, 1), runs=(run,))
    write_json(report, tmp_path / "report.json")
    there = read(tmp_path / "report.json")
    out = io.StringIO()
    console.show_total(Console(file=out, width=200), run, said_of(run))
    views = {
        "console": out.getvalue(),
        "badge": badge.badge(badge.found([there], None)).message,
        "summary": "\n".join(summary.markdown_lines([there], CATALOGUE)),
        "junit": tostring(junit.tree(there).getroot(), encoding="unicode"),
        "site": index(site([("report.json", there)], CATALOGUE)),
    }
    assert {name: words in text for name, text in views.items()} == dict.fromkeys(views, True)
    assert [name for name, text in views.items() if "conforms" in text] == []


def test_without_a_baseline_no_failure_is_called_new() -> None:
    run = msgspec.structs.replace(
        failing(made.MUST), repeat="./xdspec run some --seed 1 --no-baseline"
    )
    said = "does not conform (1 failed clause; --no-baseline counts recorded failures, too)"
    assert in_one_line(run, said_of(run)) == said
