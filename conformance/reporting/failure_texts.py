"""What a maintainer needs to act on a failure: words, what was served and seen, how to repeat."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from conformance.catalogue import Catalogue, Clause, load
from conformance.judging.ring_keys import CLAUSE
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.report import Run, Scenario, is_fatal

SHOWN = 3
"""Files of a client that are named."""


def failures(run: Run, catalogue: Catalogue, repeat: str, issues: str) -> Iterable[str]:
    """A text for each clause that failed or erred: what a maintainer needs to act on it."""
    by_id = {scenario.id: scenario for scenario in run.scenarios}
    for name, result in run.clauses.items():
        if result.verdict not in {Verdict.FAIL, Verdict.ERROR} or result.expected:
            continue
        clause = catalogue[name]
        lines = ["", _heading(clause, result.verdict, result.reason), _place(clause)]
        lines += [f"  {edition:8}  {clause.wordings[edition]}" for edition in clause.editions]
        if len(clause.editions) > 1 and result.editions_consistent is not None:
            lines.append("  fits      " + (", ".join(result.editions_consistent) or "none of them"))
        shown = [by_id[one] for one in result.scenarios]
        shown = [one for one in shown if one.clauses[name] is result.verdict]
        known = [one for one in shown if not _news(one, name)]
        for scenario in shown:
            if scenario not in known:
                lines += _what_happened(scenario, name, repeat)
        if known:
            lines.append(f"  expected  {', '.join(one.id for one in known)}")
        if result.reason is Reason.STATED:
            lines.append(f"  states    {_where_stated(name)}: mend the client, or that line")
        if result.verdict is Verdict.FAIL:
            lines.append(f"  tracker   {issues}")
            if not is_fatal(result, strict=False):
                lines.append("  (no MUST: fails the run only with --strict)")
        yield "\n".join(lines)


def advice(run: Run) -> Iterator[str]:
    """What to say of failures that would be none if the client stated something else."""
    keys = run.clauses.get(CLAUSE)
    if keys is not None and keys.reason is Reason.STATED:
        yield (
            "\nring keys are not what client.toml states (ring-key-formats): other failures on "
            "rings may come of that alone"
        )
    otherwise = [
        result.editions_consistent
        for result in run.clauses.values()
        if result.verdict is Verdict.FAIL
        and result.reason is Reason.EDITION
        and not result.expected
        and result.editions_consistent
    ]
    if otherwise:
        fitting = {edition for editions in otherwise for edition in editions}
        names = " or ".join(edition for edition in load().editions.ids if edition in fitting)
        count = f"{len(otherwise)} failures fit" if len(otherwise) > 1 else "one failure fits"
        yield (
            f"\n{count} {names} instead of what client.toml states: if that is what the client "
            "follows, say so there (`xdspec list editions`)"
        )


def _where_stated(clause: str) -> str:
    """The line of a manifest that was not seen to be true."""
    if clause == CLAUSE:
        return "client.toml, [[ring-key-formats]]"
    return f'client.toml, [[choices]] with clause = "{clause}"'


def _heading(clause: Clause, verdict: Verdict, reason: Reason | None) -> str:
    why = f" ({reason.value})" if reason else ""
    return f"{verdict.value.upper()}{why}  {clause.id}  {clause.title}"


def _place(clause: Clause) -> str:
    return f"  text      {clause.document}, {clause.section} [{clause.strength.value}]"


def _what_happened(scenario: Scenario, clause: str, repeat: str) -> Iterable[str]:
    """Of a scenario that gave a clause its verdict: what was served and seen, and how to repeat."""
    yield f"  scenario  {scenario.id}"
    for text in scenario.served:
        yield f"    served  {text}"
    for found in _news(scenario, clause):
        yield from _found(found)
    if scenario.evidence:
        yield f"    files   {scenario.evidence}"
    if scenario.left:
        more = f" and {len(scenario.left) - SHOWN} more" if len(scenario.left) > SHOWN else ""
        yield f"    left    by the client there: {', '.join(scenario.left[:SHOWN])}{more}"
    yield f"    repeat  {repeat} --scenario {shlex.quote(scenario.id)}"


def _news(scenario: Scenario, clause: str) -> list[Decision]:
    """What gave a clause its verdict there, and the baseline does not know."""
    verdict = scenario.clauses[clause]
    return [
        one
        for one in scenario.findings
        if one.clause == clause and one.verdict is verdict and not one.expected
    ]


def _found(decision: Decision) -> Iterable[str]:
    """What a decision rests on."""
    for name, text in (
        ("wanted", decision.wanted),
        ("oracle", decision.oracle),
        ("saw", decision.saw),
    ):
        if text:
            yield f"    {name:6}  {text}".replace("\n", f"\n{'':12}")


def decision_lines(decisions: Iterable[Decision], catalogue: Catalogue) -> Iterable[str]:
    """Verdicts of one scenario with all that they rest on."""
    for decision in decisions:
        clause = catalogue[decision.clause]
        yield _heading(clause, decision.verdict, decision.reason)
        edition = decision.edition or clause.editions[0]
        yield f"  clause    {clause.wordings.get(edition, clause.title)} ({edition})"
        yield _place(clause)
        yield from _found(decision)
        fits = decision.choices or decision.editions_consistent
        if fits:
            yield f"    fits    {', '.join(fits)}"
