"""Group the failures of a run by what they have in common, the most basic one first. Pure."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from conformance.judging.verdicts import BAD, Decision, Reason, Verdict
from conformance.reporting.outcome import counted
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

    Groups that fail the run come first, then errors, and then those of SHOULD clauses. In each of
    these classes, crashes come first, and failures on the way to a check last. The rest is in the
    order of the groups' most basic clauses (`_Rank`).
    """
    found: dict[tuple[str, ...], list[FailedDecision]] = {}
    for place in _new_places(run):
        found.setdefault(_key(place.decision, run), []).append(place)
    rank = _Rank(run, catalogue)
    made = [
        Group(
            gist=_gist_of(places[0].decision),
            places=rank.ordered(places),
            is_fatal=any(_is_fatal(place.decision, catalogue) for place in places),
        )
        for places in found.values()
    ]
    return tuple(sorted(made, key=lambda group: _group_rank(group, rank)))


def described(
    made: Sequence[Group], among: Collection[str] | None = None
) -> Iterator[tuple[Group, tuple[str, ...]]]:
    """Yield each group with the clauses to describe by it, the most basic one first.

    The others fail likewise. A clause that is the first of another group is described there.

    Args:
        made: the groups.
        among: the clauses to describe; None: all.
    """
    own = [
        (group, [clause for clause in group.clauses if among is None or clause in among])
        for group in made
    ]
    firsts = {clauses[0] for _, clauses in own if clauses}
    for group, clauses in own:
        if clauses:
            first, *others = clauses
            yield group, (first, *(clause for clause in others if clause not in firsts))


def headline(clause: str, title: str, others: int) -> str:
    """Return the title of a cause: its most basic clause, and how many others fail by it."""
    return f"{clause}: {title}" + (f" (+{counted(others, 'clause')})" if others else "")


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
    4. a clause that fails in at least half of the scenarios that decide it: another cause would
       spare more of them;
    5. a clause that fails alone in a scenario, but for SHOULDs: no other can be the cause there;
    6. a clause that fails so in more than one scenario;
    7. a clause that others build upon, by its file (`basics.toml`);
    8. the larger share of wrong observations: the scenario aims at what is broken;
    9. a clause whose failure blocks others;
    10. a clause that fails in a scenario that serves one configuration, not a series of them;
    11. the clause that fails in the most scenarios of the group;
    12. the one that comes first in its document.

    The rules 4 to 7 are about the whole run. Groups are in the same order, by their first clauses.
    The scenarios of each clause follow the rules 3, 10 and 8. Then a shorter description comes
    first: fewer endpoints and fields.
    """

    def __init__(self, run: Run, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._basics = catalogue.basics()
        self._blockers = {result.blocked_by for result in run.clauses.values()}
        self._passes = Counter(
            clause
            for scenario in run.scenarios
            for clause, verdict in scenario.clauses.items()
            if verdict not in {*BAD, Verdict.SKIP}
        )
        self._fails = Counter[str]()
        self._compared = Counter[str]()
        """The scenarios in which a clause fails by what they compare."""
        self._alone: set[str] = set()
        for _, places in itertools.groupby(_new_places(run), lambda place: place.scenario.id):
            decisions = [place.decision for place in places]
            names = {decision.clause for decision in decisions}
            self._fails.update(names)
            self._compared.update({each.clause for each in decisions if each.wanted})
            musts = {name for name in names if catalogue[name].strength is Strength.MUST}
            if len(musts or names) == 1:
                self._alone |= musts or names

    def ordered(self, places: Sequence[FailedDecision]) -> tuple[FailedDecision, ...]:
        """Return the failures of a group, the most basic one first."""
        of_clause: dict[str, list[FailedDecision]] = {}
        for place in places:
            of_clause.setdefault(place.decision.clause, []).append(place)
        keys = {name: self._of(name, several) for name, several in of_clause.items()}
        return tuple(
            sorted(places, key=lambda place: (keys[place.decision.clause], _in_its_clause(place)))
        )

    def of_group(self, group: Group) -> tuple[object, ...]:
        """Return the rank of a group by its most basic clause."""
        first = group.first.decision.clause
        return self._of(first, group.of(first))

    def _of(self, name: str, places: Sequence[FailedDecision]) -> tuple[object, ...]:
        clause = self._catalogue[name]
        is_early, is_series, *_ = min(map(_in_its_clause, places))
        file, number = self._basics[name]
        return (
            clause.strength is not Strength.MUST,
            clause.rests_on is not None,
            is_early,
            self._fails[name] < self._passes[name],
            name not in self._alone,
            self._compared[name] < 2,  # noqa: PLR2004 - more than one
            file,
            -max(place.decision.wrong or 0.0 for place in places),
            name not in self._blockers,
            is_series,
            -len({place.scenario.id for place in places}),
            number,
        )


def _in_its_clause(place: FailedDecision) -> tuple[bool, bool, float, int, str]:
    """Return the rank of a failure within its clause."""
    scenario, decision = place
    return (
        not decision.wanted,
        len(scenario.served) > 1,
        -1.0 if decision.wrong is None else -decision.wrong,
        sum(map(len, scenario.served)),
        scenario.id,
    )


def _group_rank(group: Group, rank: _Rank) -> tuple[object, ...]:
    decision = group.first.decision
    is_error = decision.verdict is Verdict.ERROR
    before = decision.is_before_check
    crashed = decision.verdict is Verdict.FAIL and decision.reason in NEVER_RIGHT
    return (not group.is_fatal, not is_error, not crashed, before, rank.of_group(group))


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_NUMBER = re.compile(r"(?<!code )(?<!signal )\b(?:0x[0-9a-f]+|\d+(?:[.:,]\d+)*)")
_COUNT = re.compile(r"\(… (call|stream|attempt|hash value)s?\)")
_SERIES = re.compile(r"(…(?:: …| \(… [a-z ]+\))?)(?:, …(?:: …| \(… [a-z ]+\))?)+")


def _gist_of(decision: Decision) -> str:
    """Return the gist of a finding; of a precondition, the gist of what was observed."""
    observed = decision.saw.partition(OBSERVED)[2] if decision.is_before_check else ""
    return gist(observed) if observed else gist(decision.saw).partition(": …")[0]


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
