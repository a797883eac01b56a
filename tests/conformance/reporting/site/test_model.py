"""What the site says, from reports alone."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from client_under_test.manifests.version_ranges import by_version
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting.report import BadReport
from conformance.reporting.site.model import clause_pages, site, verdict_words

from .sample_site import CATALOGUE, FAILED, NASTY, PASSED, decision, go, report, reports, run

SITE = site(reports(), CATALOGUE)


def test_versions_of_a_client_stand_side_by_side_the_oldest_first() -> None:
    assert [group.client for group in SITE.groups] == ["go", f"{NASTY} +{NASTY}"]
    assert [column.label for column in SITE.groups[0].columns] == ["1.8.0", "1.9.0", "1.10.0"]


@pytest.mark.parametrize(
    ("versions", "ordered"),
    [
        (["1.10", "1.9"], ["1.9", "1.10"]),
        (["nonsense", "2", "1.0rc1", "1.0"], ["1.0rc1", "1.0", "2", "nonsense"]),
    ],
)
def test_the_order_of_versions(versions: list[str], ordered: list[str]) -> None:
    assert sorted(versions, key=by_version) == ordered


def test_names_of_files_are_plain_and_none_is_taken_twice() -> None:
    same = site([("a", report(go("1", PASSED))), ("b", report(go("1", FAILED)))], CATALOGUE)
    slugs = [column.slug for column in (*same.columns, *SITE.columns)]
    assert slugs[:2] == ["go-1", "go-1-2"]
    assert [column.label for column in same.columns] == ["1", "1, run 2"]
    assert all(set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for slug in slugs)


def test_each_row_says_what_each_run_does() -> None:
    said = {
        row.clause.id: [verdict_words(result) if result else None for result in row.results]
        for row in SITE.rows
    }
    assert said == {
        "A42-RING-03": ["seen", "seen", "seen", None],
        "A42-RING-05": ["known fail", "pass", "fail", "fail"],
        "A42-RING-07": ["blocked", "pass", "blocked", None],
        "A61-SUB-01": [None, None, None, "error"],
    }


def test_since_which_version_is_told() -> None:
    pages = {page.clause.id: page for page in clause_pages(SITE)}
    since = {name: [client.since for client in page.clients] for name, page in pages.items()}
    assert since["A42-RING-03"] == ["seen in all of these versions"]
    assert since["A42-RING-05"] == ["fail since 1.10.0, pass in 1.9.0", ""]
    assert pages["A42-RING-05"].blocks == (
        ("go 1.8.0", ("A42-RING-07",)),
        ("go 1.10.0", ("A42-RING-07",)),
    )
    told = [cell.failure for client in pages["A42-RING-05"].clients for cell in client.results]
    assert told[:3] == ["go-1.8.0-A42-RING-05.html", "", "go-1.10.0-A42-RING-05.html"]


def test_a_failure_has_all_that_somebody_needs_to_act() -> None:
    known, new, *_ = SITE.failures
    (place,) = new.places
    assert (new.clause.id, new.result.expected, place.expected) == ("A42-RING-05", False, False)
    assert place.repeat == "xdspec run go@1.10.0 --seed 1 --scenario 'ring.some[0]'"
    began = "xdspec run /src/mine --seed 1 --fast"
    last = SITE.columns[-1]
    told = replace(last, run=replace(last.run, repeat=began))
    assert told.repeat("ring.some[0]") == f"{began} --scenario 'ring.some[0]'"
    ((said, words),) = place.decisions
    assert said.saw == "".join(piece.text for piece in words.saw)
    assert [piece.text for piece in words.saw if piece.differs] == ["3", "1"]
    assert place.entries == ()
    assert [entry.issue for entry in known.places[0].entries] == ["https://example.com/1"]


def test_what_no_baseline_knows_comes_first() -> None:
    both = run(
        "go",
        "1",
        decision("A42-RING-05", FAILED),
        decision("A42-RING-06", FAILED),
        decision("A42-RING-08", (Verdict.ERROR, Reason.SUITE)),
    )
    known = {
        **both.clauses,
        "A42-RING-05": msgspec.structs.replace(both.clauses["A42-RING-05"], expected=True),
    }
    made = site([("a", report(msgspec.structs.replace(both, clauses=known)))], CATALOGUE)
    order = [failure.clause.id for failure in made.failures]
    assert order == ["A42-RING-06", "A42-RING-08", "A42-RING-05"]


def test_a_clause_that_is_none_any_more() -> None:
    made = go("1", PASSED)
    strange = {**made.clauses, "A42-RING-99": made.clauses["A42-RING-05"]}
    with pytest.raises(BadReport, match="A42-RING-99, which the catalogue no longer has"):
        site([("a", report(msgspec.structs.replace(made, clauses=strange)))], CATALOGUE)
