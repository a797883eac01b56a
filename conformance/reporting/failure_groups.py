"""Group the failures of a run by what they have in common, the most basic one first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
        found.setdefault(_key(place.decision, run), []).append(place)
    ranked = []
    for places in found.values():
        rank = _Rank(run, catalogue, places)
        group = Group(
            gist=gist(places[0].decision.saw).partition(": …")[0],
            places=tuple(sorted(places, key=rank)),
            is_fatal=any(_is_fatal(place.decision, catalogue) for place in places),
        )
        ranked.append((_group_rank(group, rank), group))
    return tuple(group for _, group in sorted(ranked, key=lambda pair: pair[0]))


def _new_places(run: Run) -> Iterator[FailedDecision]:
    for scenario in run.scenarios:
        for finding in scenario.findings:
            if finding.verdict in BAD and not finding.expected:
                yield FailedDecision(scenario, finding)


def _key(decision: Decision, run: Run) -> tuple[str, ...]:
    """Return what a failure has in common with others of its group.

    A clause that another edition explains in all its scenarios is apart from one that nothing
    explains, since the manifest may be what is wrong.
    """
    reason = decision.reason or ""
    expectation = decision.expectation or gist(decision.wanted, asides=False)
    if not expectation:
        return (decision.verdict, reason, "", gist(decision.saw))
    observed = decision.saw.removeprefix(f"{', '.join(decision.choices)}: ")
    if not decision.wanted:  # a precondition, which says both in one sentence
        observed = observed.partition(OBSERVED)[2] or observed
    is_edition = reason if fits_another_edition(decision, run) else ""
    return (decision.verdict, is_edition, expectation, gist(observed, asides=False))


def fits_another_edition(decision: Decision, run: Run) -> bool:
    """Return whether another edition explains a failure and all others of its clause."""
    every = (decision, run.clauses[decision.clause])
    return all(each.reason is Reason.EDITION for each in every)


def is_before_the_check(decision: Decision) -> bool:
    """Return whether a client failed at a step before its scenario compared anything."""
    has_failed = decision.verdict is Verdict.FAIL and decision.reason is Reason.DEVIATES
    return has_failed and not decision.wanted


OBSERVED = ", saw "
"""Stands between what was expected and what was observed of a precondition."""


def _is_fatal(decision: Decision, catalogue: Catalogue) -> bool:
    is_must = catalogue[decision.clause].strength is Strength.MUST
    return decision.verdict is Verdict.FAIL and (is_must or decision.reason in NEVER_RIGHT)


class _Rank:
    """Order the failures of a group: the first is the most likely cause of the others.

    Its clauses come in this order:

    1. a MUST before a SHOULD, since a reader looks for what fails the run;
    2. a clause that depends on no other (`rests_on`);
    3. a clause that fails by what the scenario compares, not on the way to it (a precondition);
    4. a clause that fails in all scenarios that decide it: another cause would spare some;
    5. a clause whose failure blocks others;
    6. a clause that fails in a scenario that serves one configuration, not a series of them;
    7. the larger share of wrong observations: the scenario aims at what is broken;
    8. the clause that fails in the most scenarios of the group;
    9. the one that comes first in its document.

    The scenarios of each clause follow the rules 3, 6 and 7. Then a shorter description comes
    first: fewer endpoints and fields.
    """

    def __init__(self, run: Run, catalogue: Catalogue, places: Sequence[FailedDecision]) -> None:
        self._catalogue = catalogue
        self._order = {clause.id: number for number, clause in enumerate(catalogue)}
        self._spared = _spared(run)
        self._blockers = {result.blocked_by for result in run.clauses.values()}
        self._of_clause: dict[str, list[FailedDecision]] = {}
        for place in places:
            self._of_clause.setdefault(place.decision.clause, []).append(place)

    def __call__(self, place: FailedDecision) -> tuple[object, ...]:
        return (*self._of(place.decision.clause), *self._in_its_clause(place))

    def _of(self, name: str) -> tuple[object, ...]:
        clause, places = self._catalogue[name], self._of_clause[name]
        is_early, is_series, share, *_ = min(map(self._in_its_clause, places))
        return (
            clause.strength is not Strength.MUST,
            clause.rests_on is not None,
            is_early,
            name in self._spared,
            name not in self._blockers,
            is_series,
            share,
            -len({place.scenario.id for place in places}),
            self._order[name],
        )

    @staticmethod
    def _in_its_clause(place: FailedDecision) -> tuple[bool, bool, float, int, str]:
        scenario, decision = place
        return (
            not decision.wanted,
            len(scenario.served) > 1,
            -1.0 if decision.wrong is None else -decision.wrong,
            sum(map(len, scenario.served)),
            scenario.id,
        )


def _spared(run: Run) -> set[str]:
    """Return the clauses that pass, or leave a choice, in at least one scenario."""
    return {
        clause
        for scenario in run.scenarios
        for clause, verdict in scenario.clauses.items()
        if verdict not in {*BAD, Verdict.SKIP}
    }


def _group_rank(group: Group, rank: _Rank) -> tuple[object, ...]:
    decision = group.first.decision
    is_error = decision.verdict is Verdict.ERROR
    before = is_before_the_check(decision)
    return (not group.is_fatal, not is_error, before, -len(group.scenarios), rank(group.first))


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
