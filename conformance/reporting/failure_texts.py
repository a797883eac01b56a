"""What a maintainer needs to act on a failure: words, what was served and seen, how to repeat."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from conformance.catalogue import Catalogue, Clause, load
from conformance.judging.ring_keys import CLAUSE
from conformance.judging.verdicts import BAD, NONE_KNOWN, Decision, Reason, Verdict
from conformance.reporting.report import Run, Scenario, is_fatal

SHOWN = 8
"""Names of a list that are told: a report for programs has all."""

LEFT = 3
"""Files of a client that are named."""

Place = tuple[Scenario, Decision]


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What ended several scenarios in one and the same way."""

    verdict: Verdict
    reason: Reason | None
    gist: str
    """What happened, without the numbers in which the scenarios differ."""
    places: tuple[Place, ...]

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Those that it ended."""
        return tuple({scenario.id: scenario for scenario, _ in self.places}.values())


def failures(run: Run, catalogue: Catalogue, repeat: str, issues: str) -> Iterable[str]:
    """Texts on what failed or erred, and on what nobody knew: first by causes, then by clauses.

    They are about the same findings as the exit code.
    """
    shared = shared_causes(run)
    for one in shared:
        yield "\n".join(["", *_shared(one, catalogue, repeat, issues)])
    told = {id(decision) for one in shared for _, decision in one.places}
    for name in run.clauses:
        places = [
            (scenario, one)
            for scenario in run.scenarios
            for one in scenario.findings
            if one.clause == name and one.verdict in BAD and id(one) not in told
        ]
        if any(not one.expected for _, one in places):
            yield "\n".join(["", *_of_clause(run, catalogue[name], places, repeat, issues)])


def shared_causes(run: Run) -> tuple[Shared, ...]:
    """What ended several scenarios alike, that which ended most of them first."""
    found: dict[tuple[Verdict, Reason | None, str], list[Place]] = {}
    for scenario in run.scenarios:
        for one in scenario.findings:
            is_end = one.verdict in BAD and not one.wanted and not one.expected
            if is_end and one.reason is not Reason.STATED:
                gist = _gist(one.saw)
                found.setdefault((one.verdict, one.reason, gist), []).append((scenario, one))
    every = (
        Shared(verdict=verdict, reason=reason, gist=gist, places=tuple(places))
        for (verdict, reason, gist), places in found.items()
    )
    several = [one for one in every if len(one.scenarios) > 1]
    return tuple(sorted(several, key=lambda one: -len(one.scenarios)))


def _gist(saw: str) -> str:
    """What happened, in words that scenarios share; a code or a signal is one of them."""
    what = saw.partition("; its stderr ends:")[0].partition("\n")[0]
    return re.sub(r"(?<!code )(?<!signal )\b\d[\d.:,]*", "…", what)


def _shared(cause: Shared, catalogue: Catalogue, repeat: str, issues: str) -> Iterator[str]:
    why = f" ({cause.reason.value})" if cause.reason else ""
    clauses = tuple(dict.fromkeys(one.clause for _, one in cause.places))
    first, decision = cause.places[0]
    yield f"{cause.verdict.value.upper()}{why}  {len(cause.scenarios)} scenarios: {cause.gist}"
    yield f"  first     {first.id}, for {decision.clause}: {catalogue[decision.clause].title}"
    yield from _evidence(first, [decision], repeat)
    yield f"  also      {_listed([one.id for one in cause.scenarios[1:]])}"
    yield f"  clauses   {_listed(clauses)}"
    if cause.verdict is Verdict.FAIL:
        yield f"  tracker   {issues}"


def _listed(names: Collection[str], most: int = SHOWN) -> str:
    """Names, but of many the first ones and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join([*names][:most]) + more


def _of_clause(
    run: Run, clause: Clause, places: Sequence[Place], repeat: str, issues: str
) -> Iterator[str]:
    """What a maintainer needs to act on a clause that failed, or of which nobody knows."""
    result = run.clauses[clause.id]
    first = min((one for _, one in places if not one.expected), key=lambda one: one.rank)
    yield _heading(clause, first.verdict, first.reason)
    yield _place(clause)
    yield from (f"  {edition:8}  {clause.wordings[edition]}" for edition in clause.editions)
    if len(clause.editions) > 1 and result.editions_consistent is not None:
        yield "  fits      " + (", ".join(result.editions_consistent) or "none of them")
    by_scenario: dict[str, list[Place]] = {}
    for scenario, one in places:
        by_scenario.setdefault(scenario.id, []).append((scenario, one))
    known = []
    for name, there in by_scenario.items():
        news = [one for _, one in there if not one.expected]
        if not news:
            known.append(name)
            continue
        other = {(one.verdict, one.reason) for one in news} - {(first.verdict, first.reason)}
        said = ", ".join(f"{verdict.value} ({reason})" for verdict, reason in sorted(other))
        yield f"  scenario  {name}" + (f": {said}" if said else "")
        yield from _evidence(there[0][0], news, repeat)
    if known:
        yield f"  expected  {', '.join(known)}"
    if stated := [one for _, one in places if one.reason is Reason.STATED]:
        mend = "mend the client, or that line" if _fits_another(stated) else "mend the client"
        yield f"  states    {_where_stated(clause.id)}: {mend}"
    if any(one.verdict is Verdict.FAIL for _, one in places):
        yield f"  tracker   {issues}"
        if result.verdict is Verdict.FAIL and not is_fatal(result, strict=False):
            yield "  (no MUST: fails the run only with --strict)"


def advice(run: Run) -> Iterator[str]:
    """What to do about failures and errors, where that follows from all of them together."""
    findings = [one for scenario in run.scenarios for one in scenario.findings]
    late = sum(
        any(one.reason is Reason.TIMING for one in scenario.findings) for scenario in run.scenarios
    )
    if late:
        yield (
            f"\nnobody can tell what is true in {late} of the scenarios, as this machine was late: "
            "run them again while it has less to do"
        )
    keys = [one for one in findings if one.clause == CLAUSE and one.reason is Reason.STATED]
    if keys:
        otherwise = "are not what client.toml states (ring-key-formats)"
        if not _fits_another(keys):
            otherwise = "are of no format that is known: the client's rings are not what they were"
        yield f"\nring keys {otherwise}; other failures on rings may come of that alone"
    yield from _another_edition(run)


def _another_edition(run: Run) -> Iterator[str]:
    """That failures would be none by another edition, if that is what most failures tell."""
    failed = [
        one for one in run.clauses.values() if one.verdict is Verdict.FAIL and not one.expected
    ]
    fit = [one for one in failed if one.reason is Reason.EDITION and one.editions_consistent]
    if not fit:
        return
    fitting = {edition for one in fit for edition in one.editions_consistent or ()}
    names = " or ".join(edition for edition in load().editions.ids if edition in fitting)
    count = f"{len(fit)} failures fit" if len(fit) > 1 else "one failure fits"
    others = len(failed) - len(fit)
    if others > len(fit):
        yield (
            f"\n{count} {names} instead of what client.toml states, but {others} fit no edition: "
            "what is broken may look like another edition, so begin with those"
        )
    else:
        yield (
            f"\n{count} {names} instead of what client.toml states: if that is what the client "
            "follows, say so there (`xdspec list editions`)"
        )


def _fits_another(stated: Iterable[Decision]) -> bool:
    """Whether what was seen is another known choice than the one that is stated."""
    return any(one.choices and one.choices != NONE_KNOWN for one in stated)


def _where_stated(clause: str) -> str:
    """The line of a manifest that was not seen to be true."""
    if clause == CLAUSE:
        return "client.toml, [[ring-key-formats]]"
    return f'client.toml, [[choices]] with clause = "{clause}"'


def _heading(clause: Clause, verdict: Verdict, reason: Reason | None) -> str:
    why = f" ({reason.value})" if reason else ""
    return f"{verdict.value.upper()}{why}  {clause.id}  {clause.title}"


def _place(clause: Clause) -> str:
    where = f"  text      {clause.document}, {clause.section} [{clause.strength.value}]"
    return f"{where}\n  basis     {clause.basis}" if clause.basis else where


def _evidence(scenario: Scenario, found: Iterable[Decision], repeat: str) -> Iterator[str]:
    """What was seen and wanted in a scenario, what was served, and how to see it again."""
    for one in found:
        yield from _found(one)
    for text, times in Counter(scenario.served).items():
        yield f"    served  {text}" + (f" ({times} times)" if times > 1 else "")
    if scenario.evidence:
        yield f"    files   {scenario.evidence}"
    if scenario.left:
        yield f"    left    by the client there: {_listed(scenario.left, LEFT)}"
    yield f"    repeat  {repeat} --scenario {shlex.quote(scenario.id)}"


def _found(decision: Decision) -> Iterator[str]:
    """What a decision rests on: first, of many rows, those in which the client differs."""
    for name, text in (
        ("differs", decision.differs),
        ("saw", decision.saw),
        ("wanted", decision.wanted),
        ("oracle", decision.oracle),
    ):
        if text:
            yield f"    {name:7} {text}".replace("\n", f"\n{'':12}")


def decision_lines(decisions: Iterable[Decision], catalogue: Catalogue) -> Iterable[str]:
    """Verdicts of one scenario with all that they rest on."""
    for decision in decisions:
        clause = catalogue[decision.clause]
        yield _heading(clause, decision.verdict, decision.reason)
        edition = decision.edition or clause.editions[0]
        yield f"  clause    {clause.worded(edition)} ({edition})"
        yield _place(clause)
        yield from _found(decision)
        fits = decision.choices or decision.editions_consistent
        if fits:
            yield f"    fits    {', '.join(fits)}"
