"""Badges: their text for given runs, and their JSON."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from conformance.cli.commands import main
from conformance.judging.verdicts import Decision, Reason, Verdict, blocked
from conformance.reporting.badge import (
    GREEN,
    GREY,
    OLIVE,
    RED,
    Badge,
    NoBadge,
    badge,
    badge_of_document,
    endpoint,
    found,
)
from conformance.reporting.baseline import Entry
from conformance.reporting.report import NotRun, Run, write_json
from conformance.spec.catalogue import load

from . import sample_reports as made
from .sample_reports import report, run

KNOWN = Entry(
    clause="A42-RING-05",
    reason=Reason.DEVIATES,
    scenarios=("ring.some[0]",),
    seen="Eight entries.",
    explanation="min_ring_size is not read",
)
MISSING = NotRun(client="two@1.0", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words="no tool")


def decision(clause: str, verdict: Verdict, reason: Reason | None = None) -> Decision:
    return made.decision(clause, verdict, reason, saw="something")


FAILS = decision("A42-RING-05", Verdict.FAIL, Reason.DEVIATES)
PASSES = decision("A42-RING-07", Verdict.PASS)
SHOULD = decision("A42-RING-04", Verdict.FAIL, Reason.DEVIATES)
SEEN = decision("A42-RING-03", Verdict.SEEN)
FOREIGN = decision("A76-KEY-01", Verdict.SKIP, Reason.EDITION)
DIED = decision("A42-RING-06", Verdict.FAIL, Reason.CRASHED)
LATE = decision("A42-RING-08", Verdict.ERROR, Reason.TIMING)
ALL = [decision(clause.id, Verdict.PASS) for clause in load() if clause.unobservable is None]
BLOCKED = blocked(decision("A42-RING-09", Verdict.FAIL), "A42-RING-05")


@pytest.mark.parametrize(
    ("runs", "message", "colour"),
    [
        ([run(PASSES)], "no failures", GREEN),
        ([run(PASSES, SEEN, FOREIGN)], "no failures", GREEN),
        ([run(SHOULD, PASSES)], "no MUST failures (1 failed SHOULD)", GREEN),
        ([run(*ALL)], "conforms", GREEN),
        ([run(*ALL[:300]), run(*ALL[200:])], "conforms", GREEN),
        ([run(*ALL), run(SHOULD)], "conforms (1 failed SHOULD)", GREEN),
        ([run(*ALL, repeat="xdspec run one --fast")], "no failures", GREEN),
        ([run(*ALL, repeat="xdspec run one --fast"), run(*ALL)], "conforms", GREEN),
        ([run(FAILS, PASSES, entries=[KNOWN])], "no new failures (1 known)", OLIVE),
        ([run(FAILS, PASSES)], "1 new failure", RED),
        ([run(FAILS, DIED, PASSES)], "2 new failures", RED),
        ([run(FAILS, LATE)], "1 new failure", RED),
        ([run(FAILS, PASSES), run(FAILS, DIED)], "2 new failures", RED),
        ([run(PASSES), run(FAILS)], "1 new failure", RED),
        ([run(PASSES, LATE)], "trouble: not judged", GREY),
        ([run(PASSES, troubles=("a worker died",))], "trouble: not judged", GREY),
        # What the baseline expects, and did not come.
        (
            [run(decision("A42-RING-05", Verdict.PASS), entries=[KNOWN])],
            "baseline out of date",
            RED,
        ),
        ([run(FOREIGN)], "nothing judged", GREY),
        ([run(FOREIGN), run(PASSES)], "no failures", GREEN),
    ],
)
def test_of_a_client_as_a_whole(runs: list[Run], message: str, colour: str) -> None:
    made = badge(found([report(single_run) for single_run in runs], None))
    assert made == Badge("xDS one 1.2.3", message, colour)


@pytest.mark.parametrize(
    ("decisions", "entries", "message", "colour"),
    [
        ([PASSES, SEEN, FOREIGN], [], "passes 1 of 1 clauses", GREEN),
        ([FAILS, PASSES], [], "passes 1 of 2 clauses", RED),
        ([FAILS, PASSES], [KNOWN], "passes 1 of 2 clauses", OLIVE),
        ([PASSES, LATE], [], "passes 1 of 2 clauses", OLIVE),
        ([FAILS, PASSES, BLOCKED], [KNOWN], "passes 1 of 3 clauses", OLIVE),
        ([decision("A27-DROP-01", Verdict.PASS)], [], "nothing judged", GREY),
        ([SEEN], [], "nothing judged", GREY),
    ],
)
def test_of_a_document(
    decisions: list[Decision], entries: list[Entry], message: str, colour: str
) -> None:
    told = found([report(run(*decisions, entries=entries))], None)
    clauses = [clause.id for clause in load().only("a42")]
    made = badge_of_document(told, "a42", clauses)
    assert made == Badge("A42 one 1.2.3", message, colour)


def test_a_clause_of_several_reports_passes_if_it_does_in_each() -> None:
    told = found([report(run(PASSES)), report(run(decision(PASSES.clause, *FAILS_SO)))], None)
    made = badge_of_document(told, "a42", [PASSES.clause])
    assert made.message == "passes 0 of 1 clauses"


FAILS_SO = (Verdict.FAIL, Reason.DEVIATES)


# Of whom it is.


def test_whose_badge_it_is() -> None:
    several = [
        report(run(PASSES), run(FAILS, name="two", version="1.0"), not_run=()),
        report(
            run(PASSES, version="1.3.0"), not_run=(msgspec.structs.replace(MISSING, client="c"),)
        ),
    ]
    assert found(several, "two").client == "two 1.0"
    assert found(several, "one@1.3.0").client == found(several, "one 1.3.0").client
    assert badge(found(several, "c")) == Badge("xDS c", "not run", GREY)
    assert badge(found(several, "two"), label="us").label == "us"
    with pytest.raises(
        NoBadge, match=r"one client, but the reports have one 1\.2\.3, one 1\.3\.0: choose one"
    ):
        found(several, "one")
    with pytest.raises(NoBadge, match=r"the reports have one 1\.2\.3, two 1\.0"):
        found(several[:1], None)
    with pytest.raises(NoBadge, match="there is no run of three, but of one 1"):
        found(several, "three")


def test_the_words_are_what_a_service_reads() -> None:
    assert json.loads(endpoint(Badge("xDS one", "conforms", GREEN))) == {
        "schemaVersion": 1,
        "label": "xDS one",
        "message": "conforms",
        "color": GREEN,
    }


# The command.


def command(*words: object) -> Result:
    return CliRunner().invoke(main, ["badge", *map(str, words)])


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    write_json(report(run(FAILS, PASSES), run(PASSES, name="two")), path)
    return path


def test_the_command(written: Path, tmp_path: Path) -> None:
    words = tmp_path / "a42.json"
    said = command(written, "--client", "one", "--only", "a42", "--json", words)
    assert said.exit_code == 0, said.output
    assert said.output == "A42 one 1.2.3: passes 1 of 2 clauses\n"
    assert json.loads(words.read_text("utf-8"))["message"] == "passes 1 of 2 clauses"
    assert command(written, "--client", "two").output == "xDS two 1.2.3: no failures\n"
    assert command(written, "--client", "two", "--label", "ours").output == "ours: no failures\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "choose one with --client"),
        (("--client", "nobody"), "there is no run of nobody"),
        (("--client", "one", "--only", "a1"), "no clause belongs to a1"),
        (("--client", "one", "--json", "/nowhere/x.json"), "the folder of /nowhere/x.json"),
    ],
)
def test_bad_input(written: Path, words: tuple[str, ...], said: str) -> None:
    ended = command(written, *words)
    assert ended.exit_code == 4
    assert said in ended.output


def test_a_report_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("{}")
    ended = command(tmp_path / "none.json")
    assert ended.exit_code == 4
    assert "is not a report of this suite" in ended.output
