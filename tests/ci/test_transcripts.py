"""Check that output of commands on pages says what the suite says today, though it ran earlier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from conformance.judging.former_ids import function_of
from conformance.runner.collection import scenarios
from conformance.spec.catalogue import load
from tests.ci.test_documentation import every_fence

CUT = " …"
"""Ends a line that was cut."""

TITLED = re.compile(
    r"(?P<id>A\d+-[A-Z]+-\d{2})(?:  +| +(?:pass|seen|fail\b.*?|skip\b.*?)  +)(?P<title>.+)"
)
WORDED = re.compile(r"^ +(?:requires|says) {2,}(?:edition (?P<edition>[\w-]+): )?(?P<words>.+)")
BASIS = re.compile(r"^ +basis +(?P<words>.+)")
NAMED = re.compile(r"--scenario '?(?P<name>[a-z_]+\.[\w\[\]-]+)'?(?= |$)")

REPEATED = "To debug a failure, add --hold to its repeat command"
NEXT = "A repeat has other ports, so another ring: add --times 10."


def transcripts() -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each block with output, and where it is."""
    for place, fence in every_fence():
        if fence.language == "console":
            yield place, fence.text.splitlines()


def lines() -> Iterator[tuple[str, str]]:
    """Yield each line of these blocks."""
    for place, several in transcripts():
        for line in several:
            yield place, line


@cache
def statements() -> frozenset[str]:
    """Return all wordings and sources of clauses."""
    found = {clause.paraphrase for clause in load()}
    return frozenset(found.union(*(clause.wordings.values() for clause in load())))


def is_current(told: str, today: frozenset[str]) -> bool:
    begun = told.removesuffix(CUT)
    return any(each.startswith(begun) if begun != told else each == told for each in today)


def test_titles_of_clauses_are_current() -> None:
    wrong = []
    for place, line in lines():
        found = TITLED.search(line)
        if found and "  " not in (told := found["title"].removesuffix(CUT)):
            title = load()[found["id"]].title
            short = re.sub(r" \[(MUST|SHOULD|MAY|UNSPECIFIED)\].*$", "", told)
            if not (short.startswith(title) or title.startswith(short)):
                wrong.append((place, line, title))
    assert not wrong


@pytest.mark.parametrize("pattern", [WORDED, BASIS], ids=["wordings", "sources"])
def test_wordings_of_clauses_are_current(pattern: re.Pattern[str]) -> None:
    told = [(place, found["words"]) for place, line in lines() if (found := pattern.match(line))]
    assert told, "there are transcripts of failures"
    assert [(place, words) for place, words in told if not is_current(words, statements())] == []


def test_scenarios_of_transcripts_exist() -> None:
    there = {*scenarios()} | {function_of(name) for name in scenarios()}
    named = {found["name"] for _, line in lines() for found in NAMED.finditer(line)}
    assert named
    assert named <= there


def test_next_steps_are_current() -> None:
    told = [several for _, several in transcripts() if any(REPEATED in line for line in several)]
    assert told
    assert all(NEXT in several for several in told)
