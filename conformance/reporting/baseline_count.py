"""What a baseline says comes in some runs only, counted in reports: as often as it says? Pure.

How often is said in words, such as `once in 30 runs`: a number of runs in which it was seen, and of
those that were made then. Both counts are of few runs. So a failure is called more frequent than it
was said to be only if, were it as frequent as ever, its failures would have fallen so unequally to
the runs of then and of now in one of a hundred cases: Fisher's exact test, one-sided.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from conformance.judging.verdicts import Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.rates import BY_CHANCE, Rate, p_value
from conformance.reporting.report import Run

WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS: Final = {
    **{word: number for number, word in enumerate(WORDS, start=1)},
    "once": 1,
    "twice": 2,
    "eleven": 11,
    "twelve": 12,
    "a dozen": 12,
}
FREQUENCY: Final = re.compile(
    r"(?:(once|twice) in|in ([\w,]+) of|([\w,]+) times in) (a dozen|[\w,]+)(?: \w+)? runs?\b"
)


class Judgement(StrEnum):
    """What the count makes of what was said."""

    FITS = "as often as said"
    MORE = "more often than said"
    LESS = "less often than said"
    UNCOUNTED = "how often is not said as a number of runs"
    UNSEEN = "no run judged it"


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of which it is said that it is seen in some runs only."""

    clause: str
    scenarios: tuple[str, ...]
    said: str
    seen: Rate
    judgement: Judgement

    def __str__(self) -> str:
        where = f"{self.clause} in {', '.join(self.scenarios)}"
        if self.judgement is Judgement.UNSEEN:
            return f"{where}: {self.judgement}; said: {self.said}"
        return f"{where}: fails in {self.seen} runs, {self.judgement}; said: {self.said}"


def counted(entries: Iterable[Entry], runs: Sequence[Run]) -> Iterator[Counted]:
    """Count what is seen in some runs only.

    A run counts if one of the entry's scenarios judged the clause in it; it fails if one showed
    the failure.

    Args:
        entries: of a baseline; those that are seen in every run say so, and are passed over.
        runs: of its client.
    """
    for entry in entries:
        if not entry.sometimes:
            continue
        failed = [shown for run in runs if (shown := _is_shown(entry, run)) is not None]
        seen = Rate(sum(failed), len(failed))
        yield Counted(
            clause=entry.clause,
            scenarios=entry.scenarios,
            said=entry.sometimes,
            seen=seen,
            judgement=_judged(said(entry.sometimes), seen),
        )


def _is_shown(entry: Entry, run: Run) -> bool | None:
    """Return whether a run shows the failure; None if the entry or the run does not cover it."""
    if not entry.applies_to(run.client.version, run.client.variant):
        return None
    judged = [
        scenario
        for scenario in run.scenarios
        if scenario.id in entry.scenarios
        and scenario.clauses.get(entry.clause) in {Verdict.PASS, Verdict.FAIL, Verdict.SEEN}
    ]
    if not judged:
        return None
    return any(
        entry.knows(scenario.id, finding) for scenario in judged for finding in scenario.findings
    )


def said(words: str) -> Rate | None:
    """How often something is said to be seen, where the words begin with that."""
    found = FREQUENCY.match(words)
    if not found:
        return None
    *failed, runs = (_number(group) for group in found.groups())
    count = next((count for count in failed if count is not None), None)
    if count is None or runs is None or count > runs:
        return None
    return Rate(count, runs)


def _number(word: str | None) -> int | None:
    if word is None:
        return None
    digits = word.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) < LONGEST else NUMBERS.get(word)


LONGEST: Final = 6
"""Digits of a count, as a bound: a larger number is a typing error, and slow to compute with."""


def _judged(then: Rate | None, now: Rate) -> Judgement:
    if not now.runs:
        return Judgement.UNSEEN
    if then is None:
        return Judgement.UNCOUNTED
    if p_value(now, then) < BY_CHANCE:
        return Judgement.MORE
    if p_value(then, now) < BY_CHANCE:
        return Judgement.LESS
    return Judgement.FITS
