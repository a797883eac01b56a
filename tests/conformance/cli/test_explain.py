"""What `xdspec explain` prints of clauses, scenarios and editions."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from conformance.reporting.explain import TERMS
from conformance.spec.catalogue import load
from tests.conformance.cli.invocation import invoke

ROOT = Path(__file__).parents[3]


def choice(clause: str, made: str) -> str:
    return f'[[choices]]\nclause = "{clause}"\nchoice = "{made}"\n'


def test_explain_shows_the_basis_and_a_superseded_wording() -> None:
    told = invoke("explain", "A42-PRO-10").output
    assert "  basis     A61, Ring Hash (paraphrased): " in told
    assert "  corrected A61-2023: superseded by its own authors" in told


def test_explain_explains_its_terms_and_how_to_run_a_clause() -> None:
    text = invoke("explain", "A42-CONF-01").output
    assert "  requires  edition A42: A min_ring_size above the local cap" in text
    assert f"  check     {load()['A42-CONF-01'].seen_by}" in text
    assert "xdspec run CLIENT --clause A42-CONF-01\n" in text
    terms = text.partition("\nTerms:\n")[2]
    assert [line.split(":")[0].strip() for line in terms.splitlines()] == [
        "arc",
        "edition",
        "exact mapping",
        "mutant",
    ]
    choice = invoke("explain", "A37-DNS-28").output
    assert "  says      The text does not say" in choice
    assert "  UNSPECIFIED: the text leaves a choice" in choice
    assert "--clause" not in invoke("explain", "A42-HASH-20").output  # no scenario observes it
    assert "Terms:" not in invoke("explain", "A42-HASH-20").output
    scenario = invoke("explain", "ring.default_cap[minimum]").output
    assert "xdspec run CLIENT --scenario 'ring.default_cap[minimum]'\n" in scenario


def test_the_glossary_has_the_terms_of_explain() -> None:
    page = (ROOT / "docs/glossary.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", page, re.MULTILINE))
    assert {
        term: rows[term].startswith(meaning) for term, meaning in TERMS.items()
    } == dict.fromkeys(TERMS, True)


def test_explain_an_edition() -> None:
    told = invoke("explain", "a113").output
    assert f"A113-WEIGHT-02  {load()['A113-WEIGHT-02'].title}" in told
    assert "for details: xdspec explain A42-LOC-07" in told
    assert "changes no verdict" in invoke("explain", "A48-2021").output
    former = invoke("explain", "a56-2022").output
    assert former.startswith(
        "A56-2022  first wording of A56: the priority policy, before August 2025"
    )
    assert "text of 2022-12-06, commit 6da6b41b24e9" in former
    assert "  text of" not in invoke("explain", "envoy").output


async def test_explain(xdspec: Any) -> None:
    clause, scenario, neither = await asyncio.gather(
        *(
            xdspec.run("explain", name)
            for name in ("A42-RING-09", "ring.lowered_cap", "A42-RING-99")
        )
    )
    assert clause.code == 0
    assert "scenario  ring.size[by-weight]" in clause.out
    assert load()["A42-RING-09"].wordings["A42"] in clause.out
    assert scenario.code == 0
    assert "decides   A42-CONF-05" in scenario.out
    assert "knob      ring_size_cap = 256" in scenario.out
    assert (neither.code, "no clause A42-RING-99" in neither.err) == (4, True)


def test_explain_takes_the_beginning_of_several_names() -> None:
    told = invoke("explain", "picker.states").output
    names = [line for line in told.splitlines() if line.startswith("picker.states[")]
    assert len(names) > 5
    assert load()["A42-PICK-02"].wordings["A42"] in told
    assert load()["A42-PICK-02"].seen_by or "" in told
    (place,) = set(re.findall(r"^  function  (.*)$", told, re.MULTILINE))
    path, _, line = place.rpartition(":")
    assert "test_states" in Path(path).read_text().splitlines()[int(line) - 1]
    clauses = invoke("explain", "A42-DNS" if "A42-DNS-01" in load() else "A42-CONF").output
    assert clauses.count("\n  rule      ") > 1


def test_explain_names_the_row_of_a_clause() -> None:
    told = invoke("explain", "A42-RING-09").output
    (place,) = re.findall(r"^  row       (.*)$", told, re.MULTILINE)
    path, _, line = place.rpartition(":")
    assert Path(path).read_text().splitlines()[int(line) - 1] == "[A42-RING-09]"


def test_explain_names_the_rules_and_mutants_of_a_clause_and_its_own_scenario_first() -> None:
    told = invoke("explain", "A46-NACK-03").output
    found = re.findall(
        r"^  (reference|mutant|scenario)  ? ? ?(.*) \((.*):(\d+)\)$", told, re.MULTILINE
    )
    places = {
        (label, words.partition(":")[0]): Path(path).read_text().splitlines()[int(number) - 1]
        for label, words, path, number in found
    }
    assert places["reference", "rejection_removes"].startswith("def rejection_removes(")
    assert places["mutant", "all_or_nothing"] == "all_or_nothing = Mutant("
    assert next(words for label, words, *_ in found if label == "scenario").startswith("nack.")
    assert "  says      edition envoy: " in told


def test_explain_names_a_rule_that_is_a_constant() -> None:
    assert "  reference in_flight_when_dropped (" in invoke("explain", "A32-CB-15").output


def test_explain_names_the_text_and_the_places_of_a_clause_and_who_fails_it() -> None:
    told = invoke("explain", "A42-HDR-14").output
    lines = dict(line.strip().split(maxsplit=1) for line in told.splitlines() if "  " in line)
    assert lines["text"].startswith("https://github.com/grpc/proposal/blob/")
    place = re.fullmatch(r"header\.rewrite\[[a-z-]*groups\] \((.*):\d+\)", lines["scenario"])
    assert place
    assert Path(place[1]).is_file()
    assert "(conformance/mutation/mutants/hash_policy/" in lines["mutant"]
    assert "\n  fails     go: Requests are hashed by header session, rewritten by " in told
    assert "(client_under_test/adapters/go/expected.toml)" in told
