"""Summarize a clause's result without the details that vary between runs; classify its changes.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from conformance.judging.verdicts import (
    BAD,
    UNSEEN,
    ClauseResult,
    Decision,
    Reason,
    Verdict,
    behavior_text,
)
from conformance.reporting.report import Scenario


class Kind(StrEnum):
    """How a clause, or a client, differs in the new report."""

    BROKEN = "broken"
    """It fails, or nothing can be said for trouble, and did not before."""
    GONE = "gone"
    """It was judged, and is not any more."""
    FIXED = "fixed"
    """It failed, or nothing could be said for trouble, and is well now."""
    NEW = "new"
    """It is judged, and was not before."""
    CHANGED = "changed"
    """Its verdict is as good or bad as before, but not for the same that was seen."""


class ClauseSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a clause, without the texts and times that vary between runs."""

    verdict: Verdict
    reason: Reason | None = None
    edition: str | None = None
    """The wording that the client was judged by."""
    editions: tuple[str, ...] = ()
    """The wordings that fit, if the client was seen to follow another one."""
    choices: tuple[str, ...] = ()
    """The choices that were observed, if the clause leaves one."""
    expected: bool = False
    """True if the baseline lists the failure."""

    def __str__(self) -> str:
        about = [self.reason.value] if self.reason else []
        about += [f"behavior of {' or '.join(self.editions)}"] if self.editions else []
        about += ["expected"] if self.expected else []
        words = f"{self.verdict.value} ({', '.join(about)})" if about else self.verdict.value
        words += f" by {self.edition}" if self.edition else ""
        return f"{words}: {', '.join(self.choices)}" if self.choices else words


def by_clause(clauses: Mapping[str, ClauseResult]) -> dict[str, ClauseSummary]:
    """Summarize the clauses of a whole run."""
    return {
        name: ClauseSummary(
            verdict=clause.verdict,
            reason=clause.reason,
            edition=clause.edition,
            editions=_followed(clause.reason, clause.verdict, clause.editions_consistent),
            choices=choices_in(clause.seen) if clause.verdict is Verdict.SEEN else (),
            expected=clause.expected,
        )
        for name, clause in clauses.items()
    }


def by_scenario(scenarios: Iterable[Scenario]) -> dict[str, dict[str, ClauseSummary]]:
    """Summarize the clauses of each scenario."""
    found: dict[str, dict[str, ClauseSummary]] = {}
    for scenario in scenarios:
        for clause, verdict in scenario.clauses.items():
            of_it = [finding for finding in scenario.findings if finding.clause == clause]
            worst = min(of_it, key=lambda finding: finding.rank, default=None)
            summary = ClauseSummary(verdict=verdict)
            if worst and worst.verdict is verdict:
                summary = ClauseSummary(
                    verdict=verdict,
                    reason=worst.reason,
                    edition=worst.edition,
                    editions=_followed(worst.reason, verdict, worst.editions_consistent),
                    choices=_choices_of(of_it) if verdict is Verdict.SEEN else (),
                    expected=worst.expected,
                )
            found.setdefault(clause, {})[scenario.id] = summary
    return found


def _choices_of(findings: Iterable[Decision]) -> tuple[str, ...]:
    """Return the choices that a scenario saw, of which it may look for several."""
    seen = (finding for finding in findings if finding.verdict is Verdict.SEEN)
    return choices_in(choice for finding in seen for choice in finding.choices)


def _followed(
    reason: Reason | None, verdict: Verdict, consistent: Iterable[str] | None
) -> tuple[str, ...]:
    follows_another = verdict is Verdict.FAIL and reason is Reason.EDITION
    return tuple(consistent or ()) if follows_another else ()


def choices_in(seen: Iterable[str]) -> tuple[str, ...]:
    """Return the observed choices, sorted; texts of unseen choices differ in ports and times."""
    return tuple(sorted({UNSEEN if text.startswith(UNSEEN) else _current(text) for text in seen}))


_FORMER_CHOICE: Final = re.compile(r"(?:(?P<old>\S+) is superseded; )?fits (?P<fits>.+)")


def _current(choice: str) -> str:
    """Return a choice among the wordings of a clause as this version of the suite writes it."""
    if not (former := _FORMER_CHOICE.fullmatch(choice)):
        return choice
    fitting = former["fits"]
    wordings = () if fitting == "none of the wordings" else tuple(fitting.split(", "))
    return behavior_text(wordings, superseded=former["old"])


def kind_of(old: ClauseSummary | None, new: ClauseSummary | None) -> Kind:
    """How the one became the other."""
    was_bad = old is not None and old.verdict in BAD
    is_bad = new is not None and new.verdict in BAD
    was_judged = old is not None and old.verdict is not Verdict.SKIP
    is_judged = new is not None and new.verdict is not Verdict.SKIP
    if is_bad and not was_bad and old is not None:
        return Kind.BROKEN
    if was_judged != is_judged or (old is None) != (new is None):
        return Kind.NEW if (is_judged or old is None) and new is not None else Kind.GONE
    if was_bad and not is_bad:
        return Kind.FIXED
    return Kind.CHANGED
