"""Group the failures of a run by what they have in common, the most basic one first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from conformance.judging.verdicts import BAD, Decision, Reason, Verdict
from conformance.reporting.report import NEVER_RIGHT, Run, Scenario
from conformance.spec.catalogue import Catalogue, Strength


class FailedDecision(NamedTuple):
    """A failure or an error of one clause in one scenario."""

    scenario: Scenario
    decision: Decision


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Failures with the same expectation and the same kind of difference.

    Or scenarios that ended early in the same way.
    """

    gist: str
    """What they have in common, without the numbers in which they differ."""
    places: tuple[FailedDecision, ...]
    """The most basic one first."""
    is_fatal: bool
    """True if at least one of them makes a run fail without ``--strict``."""

    @property
    def first(self) -> FailedDecision:
        """The most basic one."""
        return self.places[0]

    @property
    def clauses(self) -> tuple[str, ...]:
        """Their clauses, the most basic one first."""
        return tuple(dict.fromkeys(place.decision.clause for place in self.places))

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Their scenarios, the simplest one first."""
        return tuple({place.scenario.id: place.scenario for place in self.places}.values())

    @property
    def ended_early(self) -> bool:
        """Return whether the scenarios ended before they compared anything."""
        return not self.first.decision.wanted

    def of(self, clause: str) -> tuple[FailedDecision, ...]:
        """Return the failures of one clause."""
        return tuple(place for place in self.places if place.decision.clause == clause)


def groups(run: Run, catalogue: Catalogue) -> tuple[Group, ...]:
    """Return the failures and errors that no baseline knows.

    Groups that fail the run come first, then errors, and then those of SHOULD clauses; of several,
    the largest group comes first.
    """
    found: dict[tuple[str, ...], list[FailedDecision]] = {}
    for place in _new_places(run):
        found.setdefault(_key(place.decision), []).append(place)
    rank = _Rank(run, catalogue)
    made = [
        Group(
            gist=gist(places[0].decision.saw).partition(": …")[0],
            places=tuple(sorted(places, key=rank)),
            is_fatal=any(_is_fatal(place.decision, catalogue) for place in places),
        )
        for places in found.values()
    ]
    return tuple(sorted(made, key=lambda group: _group_rank(group, rank)))


def _new_places(run: Run) -> Iterator[FailedDecision]:
    for scenario in run.scenarios:
        for finding in scenario.findings:
            if finding.verdict in BAD and not finding.expected:
                yield FailedDecision(scenario, finding)


def _key(decision: Decision) -> tuple[str, ...]:
    """Return what a failure has in common with others of its group.

    A failure that another edition explains is apart from one that nothing explains, since the
    manifest may be what is wrong.
    """
    reason = decision.reason or ""
    expectation = decision.expectation or gist(decision.wanted, asides=False)
    if not expectation:
        return (decision.verdict, reason, "", gist(decision.saw))
    observed = decision.saw.removeprefix(f"{', '.join(decision.choices)}: ")
    if not decision.wanted:  # a precondition, which says both in one sentence
        observed = observed.partition(OBSERVED)[2] or observed
    is_edition = reason if reason is Reason.EDITION else ""
    return (decision.verdict, is_edition, expectation, gist(observed, asides=False))


OBSERVED = ", saw "
"""Stands between what was expected and what was observed of a precondition."""


def _is_fatal(decision: Decision, catalogue: Catalogue) -> bool:
    is_must = catalogue[decision.clause].strength is Strength.MUST
    return decision.verdict is Verdict.FAIL and (is_must or decision.reason in NEVER_RIGHT)


class _Rank:
    """Order failures of one group: the least is the most basic.

    A clause is more basic than another, if it

    1. is a MUST, since a reader looks for what fails the run;
    2. does not rest on another clause (`rests_on`);
    3. fails by what the scenario compares, not on the way to it (a precondition);
    4. fails in all scenarios that decide it: another cause would spare some;
    5. fails in a scenario that serves one configuration, not a series of them;
    6. shows a larger share of wrong observations: the scenario aims at what is broken;
    7. fails in a scenario with a shorter description: fewer endpoints and fields;
    8. comes first in its document.
    """

    def __init__(self, run: Run, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._order = {clause.id: number for number, clause in enumerate(catalogue)}
        decided: dict[str, set[str]] = {}
        failed: dict[str, set[str]] = {}
        for scenario in run.scenarios:
            for clause, verdict in scenario.clauses.items():
                if verdict is not Verdict.SKIP:
                    decided.setdefault(clause, set()).add(scenario.id)
                if verdict in BAD:
                    failed.setdefault(clause, set()).add(scenario.id)
        self._spared = {
            clause for clause, there in decided.items() if there - failed.get(clause, set())
        }

    def __call__(self, place: FailedDecision) -> tuple[object, ...]:
        scenario, decision = place
        clause = self._catalogue[decision.clause]
        share = 1.0 if decision.wrong is None else decision.wrong
        return (
            clause.strength is not Strength.MUST,
            clause.rests_on is not None,
            not decision.wanted,
            clause.id in self._spared,
            len(scenario.served) > 1,
            -share,
            sum(map(len, scenario.served)),
            self._order[clause.id],
            scenario.id,
        )


def _group_rank(group: Group, rank: _Rank) -> tuple[object, ...]:
    is_error = group.first.decision.verdict is Verdict.ERROR
    return (not group.is_fatal, not is_error, -len(group.scenarios), rank(group.first))


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_NUMBER = re.compile(r"(?<!code )(?<!signal )\b(?:0x[0-9a-f]+|\d+(?:[.:,]\d+)*)")
_COUNT = re.compile(r"\(… (call|stream|attempt|hash value)s?\)")
_SERIES = re.compile(r"(…(?:: …| \(… [a-z ]+\))?)(?:, …(?:: …| \(… [a-z ]+\))?)+")


def gist(text: str, *, asides: bool = True) -> str:
    """Return the first statement of a text, without the numbers and addresses in it.

    An exit code and a signal stay, since they tell causes apart.

    Args:
        text: a finding.
        asides: whether what is in parentheses or quotes stays, too.
    """
    what = text.partition("; its stderr ends:")[0].partition("\n")[0]
    if not asides:
        what = _ASIDE.sub("", _QUOTED.sub("…", what))
    counts = _COUNT.sub(r"(… \1s)", _NUMBER.sub("…", what))
    return _SERIES.sub(r"\1", counts).partition(" reached …")[0]


def listed(names: Iterable[str], most: int) -> str:
    """Return names, of many the first ones and how many more there are."""
    every = [*names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
