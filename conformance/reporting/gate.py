"""Decide what a change of a client breaks and mends, from its run and the run of its base. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from conformance.judging.verdicts import BAD, NONE_KNOWN, PRECEDENCE, Reason, Verdict
from conformance.reporting.clause_summary import ClauseSummary, Kind
from conformance.reporting.diff import ClauseDifference, Difference
from conformance.reporting.failure_groups import listed
from conformance.reporting.gate_differences import (
    choices_made,
    differences,
    is_stated,
    scenarios_of,
    varies,
)
from conformance.reporting.outcome import counted
from conformance.reporting.rates import BY_CHANCE, Rate, p_value
from conformance.reporting.repeats import Shown, rates_of
from conformance.reporting.report import Exit, Run, is_fatal
from conformance.runner.quick import LeftOut
from conformance.spec.catalogue import Catalogue, Strength

NAMED: Final = 4
"""Clauses that the last line names."""

ONLY_IF_STRICT: Final = "fails the gate only with --strict"
"""What is said of a broken clause that is no MUST."""


NOTHING_LEFT_OUT: Final = LeftOut()


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A clause of which the change and its base show something else."""

    clause: str
    title: str
    strength: Strength
    kind: Kind
    was: ClauseSummary | None
    now: ClauseSummary | None
    """If the whole runs show the same, both are of the first of the scenarios."""
    scenarios: tuple[str, ...]
    """Those that differ, that which was repeated first."""
    is_within: bool = False
    """True if the whole runs show the same, and only scenarios differ."""
    is_stated: bool = False
    """True if the text leaves the choice, and the change makes another than the manifest states."""
    evidence: tuple[str, ...] = ()
    """The folders with the evidence of the change, of scenarios that failed."""
    head: Rate = Rate(0, 0)
    """How often the change showed the difference again; 0 of 0 if it was not repeated."""
    base: Rate = Rate(0, 0)
    """How often the base did."""
    chance: float | None = None
    """How likely such counts are if both sides are alike; None if each side was always the same."""
    varies: bool = False
    """True if one run showed several choices of the client, and the other run some of them."""
    is_fatal: bool = False
    """True if this change alone closes the gate."""
    base_evidence: dict[str, str] = {}
    """The evidence of the base in these scenarios, as far as it was kept."""

    @property
    def is_luck(self) -> bool:
        """Return whether chance may explain it."""
        if self.chance is None:
            return self.varies
        return self.chance > BY_CHANCE

    @property
    def is_repeated(self) -> bool:
        """Return whether the change ran again to show the difference."""
        return self.head.runs > 0

    @property
    def counts_if_strict(self) -> bool:
        """Return whether it breaks its clause, but fails the gate only with ``--strict``."""
        return self.kind is Kind.BROKEN and not self.is_fatal and not self.is_luck

    def __str__(self) -> str:
        words = self._difference + self._again
        words = f"{words} (p = {self.chance:.2g})" if self.chance and self.head.count else words
        return words + self._mark

    @property
    def brief(self) -> str:
        """Return what each side showed, without how often."""
        return self._difference + self._mark

    @property
    def _mark(self) -> str:
        return f"; {ONLY_IF_STRICT}" if self.counts_if_strict else ""

    @property
    def _difference(self) -> str:
        editions = {
            summary.edition for summary in (self.was, self.now) if summary and summary.edition
        }
        differ = len(editions) > 1
        was = _side(self.was, with_edition=differ)
        now = _side(self.now, with_edition=differ or _follows_another(self.now))
        where = f"in {self.scenarios[0]}: " if self.is_within and self.scenarios else ""
        return f"{where}{was} → {now}"

    @property
    def _again(self) -> str:
        if not self.is_repeated:
            return "" if self.varies else "; not repeated"
        if self.head.runs > 1:
            on_base = f", on the base in {self.base}" if self.base.runs else ""
            return f"; reproduced in {self.head} runs{on_base}"
        if not self.head.count:
            return "; not reproduced"
        if not self.base.runs:
            return "; reproduced"
        if self.kind is Kind.FIXED:
            return f"; again, and the base {'passes, too' if self.base.count else 'fails again'}"
        return f"; reproduced, {'also' if self.base.count else 'not'} on the base"


def _follows_another(summary: ClauseSummary | None) -> bool:
    """Return whether a clause fails as another edition has it."""
    return summary is not None and bool(summary.editions)


def _side(summary: ClauseSummary | None, *, with_edition: bool) -> str:
    """Return what one side showed of a clause: its verdict, or the choices that the text leaves."""
    if summary is None:
        return "not judged"
    is_choice = bool(summary.choices)
    words = _chosen(summary.choices) if is_choice else summary.verdict.value
    about = []
    if summary.editions:
        about.append(f"behavior of {' or '.join(summary.editions)}")
    elif summary.reason and not is_choice:
        about.append(summary.reason.value)
    if with_edition and summary.edition:
        about.append(f"judged by {summary.edition}")
    return f"{words} ({', '.join(about)})" if about else words


def _chosen(choices: Sequence[str]) -> str:
    """Quote the choices that a client was seen to make."""
    quoted = (f"{choice} choices" if choice in NONE_KNOWN else f'"{choice}"' for choice in choices)
    return f"chooses {' and '.join(quoted)}"


def _why_spared(spared: Sequence[Change]) -> str:
    """Return why broken clauses do not fail the gate, and which option changes that."""
    clauses = listed((change.clause for change in spared), NAMED)
    strengths = " or ".join(dict.fromkeys(change.strength.value for change in spared))
    verb, them = ("is", "it") if len(spared) == 1 else ("are", "them")
    return f"{clauses} {verb} {strengths}; --strict counts {them}"


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What ``xdspec gate --json`` writes."""

    schema: Literal[1] = 1
    head: str
    """What was judged."""
    base: str
    changes: tuple[Change, ...]
    mended: tuple[str, ...]
    """Baseline entries whose failure is not seen any more."""
    unchanged: dict[Verdict, int]
    """Clauses of which both sides show the same, by verdict."""
    known: int
    """How many of the unchanged failures the baseline lists."""
    left_out: tuple[str, ...] = ()
    """Clauses that were selected, but left out by ``--quick``."""
    judged_in_part: tuple[str, ...] = ()
    """Clauses that were judged without some of their scenarios, because of ``--quick``."""
    left_out_scenarios: tuple[str, ...] = ()
    """Scenarios that were selected, but left out by ``--quick``."""
    note: str = ""
    """What a reader must know of the base."""

    def of(self, *kinds: Kind) -> tuple[Change, ...]:
        """Return the changes of these kinds that luck does not explain."""
        return tuple(
            change for change in self.changes if change.kind in kinds and not change.is_luck
        )

    @property
    def broken(self) -> tuple[Change, ...]:
        """Return what the change breaks."""
        return tuple(
            change for change in self.of(*Kind) if change.kind is Kind.BROKEN or change.is_fatal
        )

    @property
    def stated(self) -> tuple[Change, ...]:
        """Return the free choices that differ from the manifest, as far as they break nothing."""
        return tuple(
            change for change in self.of(Kind.CHANGED) if change.is_stated and not change.is_fatal
        )

    @property
    def unrepeated(self) -> tuple[Change, ...]:
        """Return what counts although nothing ran again to show it once more."""
        return tuple(
            change for change in self.changes if not (change.is_repeated or change.is_luck)
        )

    @property
    def is_certain(self) -> bool:
        """Return whether a difference that each run showed again closes the gate."""
        return any(
            change.is_fatal and change.is_repeated and change.chance is None
            for change in self.broken
        )

    @property
    def exit(self) -> Exit:
        """Return the exit code."""
        if not self.changes and not any(self.unchanged.values()):
            return Exit.NOTHING_RAN
        return Exit.DEVIATES if any(change.is_fatal for change in self.broken) else Exit.CONFORMS

    @property
    def last_word(self) -> str:
        """Return the conclusion."""
        words = self._conclusion
        if not self.left_out_scenarios or self.exit is Exit.NOTHING_RAN:
            return words
        if self.broken:
            return f"{words} (--quick {self._quick})"
        return (
            f"no break found{self._choices}, but --quick {self._quick}: run without --quick "
            "before you merge"
        )

    @property
    def _quick(self) -> str:
        """Return what ``--quick`` did to the selection."""
        left = f"left {counted(len(self.left_out), 'clause')} out"
        part = f"judged {counted(len(self.judged_in_part), 'clause')} in part"
        kinds = ((left, self.left_out), (part, self.judged_in_part))
        return " and ".join(words for words, clauses in kinds if clauses)

    @property
    def _conclusion(self) -> str:
        if self.exit is Exit.NOTHING_RAN:
            return "no clause was judged"
        if not self.broken:
            return f"this change breaks nothing{self._choices}"
        words = f"this change breaks {counted(len(self.broken), 'clause')}"
        again = sum(change.is_repeated for change in self.broken)
        words += f", {again} reproduced" if 0 < again < len(self.broken) else ""
        spared = [change for change in self.broken if not change.is_fatal]
        if spared:
            fatal = len(self.broken) - len(spared)
            counts = f"{fatal} {'fails' if fatal == 1 else 'fail'} the gate, " if fatal else ""
            rest = f"{len(spared)} {'does' if len(spared) == 1 else 'do'} not"
            words += f": {counts}{rest}{'' if fatal else ' fail the gate'} ({_why_spared(spared)})"
        return f"{words}{self._choices}"

    @property
    def _choices(self) -> str:
        count = len(self.stated)
        return f"; it changes {counted(count, 'choice')} that client.toml states" if count else ""


def wanted_of_base(head: Run, known: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """Return the scenarios that the base has to run to be compared; the shortest, if none is.

    A change cannot break a clause that it passes. So the base runs all scenarios of the other
    clauses, and of those that the change may mend.

    Args:
        head: the run of the change.
        known: clauses whose failures the baseline lists.
    """
    differ = {
        name
        for name, result in head.clauses.items()
        if result.verdict is not Verdict.PASS or name in known
    }
    names = [scenario.id for scenario in head.scenarios if differ.intersection(scenario.clauses)]
    if not names and head.scenarios:
        names = [min(head.scenarios, key=lambda scenario: (scenario.seconds, scenario.id)).id]
    return tuple(names)


def completed(base: Run, head: Run) -> Run:
    """Return the run of a base that ran in part: as if the rest showed what the change shows.

    Args:
        base: with all scenarios that `wanted_of_base` names.
        head: the run of the change.
    """
    there = {scenario.id: scenario for scenario in base.scenarios}
    whole = {
        name for scenario in head.scenarios if scenario.id in there for name in scenario.clauses
    }
    for scenario in head.scenarios:
        if scenario.id not in there:
            whole.difference_update(scenario.clauses)
    clauses = {}
    for name, result in head.clauses.items():
        old = base.clauses.get(name)
        is_used = name in whole or (old is not None and old.verdict in BAD)
        clauses[name] = old if old is not None and is_used else result
    return msgspec.structs.replace(
        base,
        clauses=clauses,
        scenarios=tuple(there.get(scenario.id, scenario) for scenario in head.scenarios),
    )


def gate(
    base: Run,
    head: Run,
    catalogue: Catalogue,
    *,
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
    base_evidence: Mapping[str, str] = MappingProxyType({}),
    strict: bool = False,
    left_out: LeftOut = NOTHING_LEFT_OUT,
    note: str = "",
) -> Gate:
    """Return what the change breaks, mends and leaves.

    Args:
        base: the run of the base.
        head: the run of the change.
        catalogue: the clauses.
        on_base: what scenarios of the base showed, in each run of them alone.
        on_head: the same of the change.
        base_evidence: the evidence of the base, by scenario.
        strict: whether a failed SHOULD clause counts.
        left_out: what was selected, but left out by ``--quick``.
        note: what a reader must know of the base.
    """
    differ = differences(base, head)
    changes = tuple(
        _change(
            difference,
            head,
            catalogue,
            on_base,
            on_head,
            base_evidence=base_evidence,
            strict=strict,
        )
        for difference in differ
    )
    differing = {difference.clause for difference in differ}
    rest = [clause for name, clause in head.clauses.items() if name not in differing]
    counts = Counter(result.verdict for result in rest)
    return Gate(
        head=head.title,
        base=base.title,
        changes=changes,
        mended=head.mended,
        unchanged={verdict: counts[verdict] for verdict in PRECEDENCE},
        known=sum(result.verdict is Verdict.FAIL and result.expected for result in rest),
        left_out=left_out.clauses,
        judged_in_part=left_out.in_part,
        left_out_scenarios=left_out.scenarios,
        note=note,
    )


def _change(
    difference: ClauseDifference,
    head: Run,
    catalogue: Catalogue,
    on_base: Sequence[Shown],
    on_head: Sequence[Shown],
    *,
    base_evidence: Mapping[str, str],
    strict: bool,
) -> Change:
    rates = rates_of(difference, head, on_base, on_head)
    names = scenarios_of(difference, head)
    if rates:
        names = tuple(dict.fromkeys((rates.scenario, *names)))
    clause = catalogue[difference.clause]
    shown: Difference = difference
    if is_within := difference.old == difference.new and bool(names):
        shown = difference.scenarios[names[0]]
    there = {scenario.id: scenario.evidence for scenario in head.scenarios}
    return Change(
        clause=difference.clause,
        title=clause.title,
        strength=clause.strength,
        kind=difference.kind,
        was=shown.old,
        now=_with_choices(shown.new, difference.clause, head),
        scenarios=names,
        is_within=is_within,
        is_stated=difference.kind is Kind.CHANGED and is_stated(difference),
        evidence=tuple(folder for name in names if (folder := there.get(name))),
        head=rates.head if rates else Rate(0, 0),
        base=rates.base if rates else Rate(0, 0),
        varies=varies(difference),
        chance=None if rates is None or rates.are_plain else p_value(rates.head, rates.base),
        is_fatal=_closes(difference, head, strict=strict),
        base_evidence={name: base_evidence[name] for name in names if name in base_evidence},
    )


def _with_choices(summary: ClauseSummary | None, clause: str, head: Run) -> ClauseSummary | None:
    """Return the summary with the choices that the client made, if its manifest states others."""
    if summary is None or summary.reason is not Reason.STATED:
        return summary
    return msgspec.structs.replace(summary, choices=choices_made(clause, head))


def _closes(difference: ClauseDifference, head: Run, *, strict: bool) -> bool:
    """Return whether a difference closes the gate: a new failure, or a clause not judged any more.

    A client whose sources state fewer editions is not judged by their clauses, and not worse. The
    text allows a choice other than the stated one, so the sources of a library may make it. An
    adapter states its own choices, so it must keep to them.
    """
    result = head.clauses.get(difference.clause)
    if difference.kind is Kind.GONE:
        return result is None or result.reason is not Reason.EDITION
    if difference.kind is Kind.CHANGED:
        return is_stated(difference) and (strict or head.identity.is_adapter)
    is_bad = difference.kind is Kind.BROKEN or (
        difference.kind is Kind.NEW and not (result and result.expected)
    )
    if not (is_bad and result):
        return False
    return result.verdict is Verdict.ERROR or is_fatal(result, strict=strict, even_known=True)
