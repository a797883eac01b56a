"""Describe failures so that a maintainer of the client can act on them in a minute."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from conformance.judging.ring_keys import CLAUSE
from conformance.judging.verdicts import (
    BAD,
    NONE_KNOWN,
    ClauseResult,
    Decision,
    Reason,
    Verdict,
    behavior_text,
)
from conformance.reporting.baseline import Entry
from conformance.reporting.client_log import log_lines
from conformance.reporting.failure_groups import (
    FailedDecision,
    Group,
    described,
    fits_another_edition,
    groups,
    listed,
)
from conformance.reporting.outcome import counted
from conformance.reporting.priorities import with_priorities
from conformance.reporting.report import Run, Scenario, is_fatal
from conformance.reporting.stdout import from_here
from conformance.runner.selection import with_scenario
from conformance.runner.terminal_escape import block
from conformance.runner.user_input import WITHHELD
from conformance.spec.catalogue import Catalogue, Clause
from conformance.spec.catalogue.editions import ENVOY

SHOWN = 8
"""Scenarios of a group that are named; the JSON report has all."""

CLAUSES_SHOWN = 40
"""Clauses of a group that are named."""

LEFT = 3
"""Files of a client that are named."""

SERVED = 3
"""Configurations of a scenario that are described; `xdspec show` has all."""


class Ignored(msgspec.Struct, frozen=True):
    """The baseline that a run does not use."""

    entries: tuple[Entry, ...]
    file: str


def failures(
    run: Run,
    catalogue: Catalogue,
    repeat: str,
    issues: str,
    *,
    verbose: bool = False,
    ignored: Ignored | None = None,
) -> Iterable[str]:
    """Return texts on failures and errors that no baseline knows, a text for each group.

    They are about the same findings as the exit code.

    Args:
        run: the run.
        catalogue: the clauses.
        repeat: the beginning of the command that runs one scenario again.
        issues: the client's issue tracker.
        verbose: whether every clause of a group is described, not only the most basic one.
        ignored: the baseline, if the run does not use it.
    """
    made = groups(run, catalogue)
    seen: set[str] = set()
    for group, (first, *others) in described(made):
        is_shared = group.ended_early and len(group.scenarios) > 1
        if is_shared:
            lines = _ended_alike(catalogue, group, repeat)
        else:
            lines = _group(run, catalogue, group, others, repeat, is_again=first in seen)
            seen.add(first)
        notes = [*_known_upstream(run, group, issues, ignored)]
        yield "\n".join(["", *map(block, (*lines, *notes))])
        if verbose and not is_shared:
            for clause in group.clauses[1:]:
                each = _of_clause(run, catalogue, group.of(clause), repeat)
                yield "\n".join(["", *map(block, each)])
    if any(group.first.decision.verdict is Verdict.FAIL for group in made):
        steps = _next_steps(repeat, made[0].first.scenario, compares=bool(run.identity.commit))
        yield "\n".join(["", *steps])


def _known_upstream(run: Run, group: Group, issues: str, ignored: Ignored | None) -> Iterator[str]:
    """Say where a failure is described, or may be: no tracker knows one of a user's own build."""
    scenario, decision = group.first
    if decision.verdict is not Verdict.FAIL:
        return
    entries = ignored.entries if ignored else ()
    entry = next((each for each in entries if each.knows(scenario.id, decision)), None)
    if ignored and entry:
        yield f"  known     failure of {run.title} ({ignored.file}): {entry.seen}"
        yield f"  cause     {entry.explanation}"
        if entry.issue:
            yield f"  issue     {entry.issue}"
    elif issues and not run.identity.source:
        yield f"  upstream  search for a known issue: {issues}"


def _next_steps(repeat: str, scenario: Scenario, *, compares: bool) -> Iterator[str]:
    """Say how to debug a failure, and how to compare a checkout with its base."""
    name = shlex.quote(scenario.id)
    _, after = _split_at_run(repeat)
    client = after[0] if after else "CLIENT"
    yield "To debug a failure, add --hold to its repeat command: servers and client stay up."
    yield "A repeat has other ports, so another ring: add --times 10."
    yield "A repeat moves this evidence to FOLDER-before."
    built = [*_source_in(after)]
    words = ("serve", scenario.id, "--with", client, *built)
    served = f"{program_of(repeat)} {shlex.join(words)}"
    yield f"For a client in your own debugger: {served}"
    if compares:
        gate = f"{program_of(repeat)} gate {shlex.join((client, *built))}"
        yield f"Did your change cause it? {gate} --base origin/master --scenario {name}"


def _source_in(words: Sequence[str]) -> Iterator[str]:
    """Return the options of a command that name what the client is built from."""
    for option, value in itertools.pairwise(words):
        if option in {"--source", "--commit"}:
            yield from (option, value)


def without_version(client: str) -> str:
    """Return a client's name with its variant: a version names a release, and not a checkout."""
    return re.sub(r"@[^+]*", "", client)


def program_of(repeat: str) -> str:
    """Return how the user calls this suite, by the command that runs a scenario again."""
    before, _ = _split_at_run(repeat)
    return shlex.quote(before[-1]) if before else "xdspec"


def _split_at_run(repeat: str) -> tuple[list[str], list[str]]:
    """Return the words before and after ``run``; none if the text is no such command."""
    try:
        words = shlex.split(repeat)
        at = words.index("run")
    except ValueError:
        return [], []
    return words[:at], words[at + 1 :]


def _ended_alike(catalogue: Catalogue, group: Group, repeat: str) -> Iterator[str]:
    """Describe what ended several scenarios in one way."""
    first, decision = group.first
    clause = catalogue[decision.clause]
    reason = f" ({decision.reason.value})" if decision.reason else ""
    stopped = " stopped before their check" if decision.is_before_check else ""
    count = len(group.scenarios)
    yield f"{decision.verdict.value.upper()}{reason}  {count} scenarios{stopped}: {group.gist}"
    yield f"  first     {first.id}, for {clause.id}: {clause.title}"
    if decision.is_before_check:
        yield f"{_place(clause)} ({program_of(repeat)} explain {clause.id})"
    yield from _evidence(first, [decision], repeat)
    yield f"  also in   {listed([scenario.id for scenario in group.scenarios[1:]], SHOWN)}"
    if len(group.clauses) > 1:
        yield f"  clauses   {listed(group.clauses, CLAUSES_SHOWN)}"


def _group(
    run: Run,
    catalogue: Catalogue,
    group: Group,
    others: Sequence[str],
    repeat: str,
    *,
    is_again: bool,
) -> Iterator[str]:
    """Describe a group by its most basic clause, and name the others in one line.

    Args:
        run: the run.
        catalogue: the clauses.
        group: the group.
        others: its other clauses, but for those that are described as the first of a group.
        repeat: the beginning of the command that runs one scenario again.
        is_again: whether an earlier group has described the clause: its rule is left out then.
    """
    first = group.clauses[0]
    yield from _of_clause(run, catalogue, group.of(first), repeat, is_again=is_again)
    if others:
        yield f"  likewise  {alike(group, len(others))}:"
        for other in others[:SHOWN]:
            clause, scenario = catalogue[other], group.of(other)[0].scenario
            yield f"{'':12}{other:14}{clause.title} [{clause.strength.value}] in {scenario.id}"
        if len(others) > SHOWN:
            yield f"{'':12}and {len(others) - SHOWN} more"


def alike(group: Group, count: int) -> str:
    """Say that more clauses of a group fail, or have no verdict, in the same way."""
    clauses = "1 more clause fails" if count == 1 else f"{count} more clauses fail"
    if group.first.decision.verdict is Verdict.ERROR:
        clauses = clauses.replace("fails", "has no verdict").replace("fail", "have no verdict")
    return f"{clauses} in the same way"


def _of_clause(
    run: Run,
    catalogue: Catalogue,
    places: Sequence[FailedDecision],
    repeat: str,
    *,
    is_again: bool = False,
) -> Iterator[str]:
    """Describe a clause by its simplest scenario, and name its others."""
    scenario, first = places[0]
    clause, result = catalogue[first.clause], run.clauses[first.clause]
    is_edition = fits_another_edition(first, run) or first.reason is not Reason.EDITION
    yield _heading(clause, first.verdict, first.reason if is_edition else Reason.DEVIATES)
    if is_again:
        yield "  rule      as above: here another check of it fails, or in another way"
    else:
        yield f"{_place(clause)} ({program_of(repeat)} explain {clause.id})"
        yield from wording_lines(clause, result, first.editions_consistent)
        if clause.basis:
            yield f"  basis     {clause.paraphrase}"
    several = len(_relevant(clause, result.edition, result.editions_consistent)) > 1
    if several and result.edition and first.editions_consistent is not None:
        judged = _judged_here(first.editions_consistent, result)
        yield f"  judged    by the wording of {result.edition}; {judged}"
    if first.reason is Reason.STATED:
        fits = fits_another_choice(decision for _, decision in places)
        mend = "correct the client, or that line" if fits else "correct the client"
        yield f"  states    {_where_stated(clause.id)}: {mend}"
    yield f"  scenario  {scenario.id}"
    yield from _evidence(
        scenario, [decision for where, decision in places if where is scenario], repeat
    )
    others = dict.fromkeys(where.id for where, _ in places if where is not scenario)
    if others:
        yield f"  also in   {listed(others, SHOWN)}"
    if known := [*_known_in(run, clause.id)]:
        yield f"  known in  {', '.join(known)}"
    if result.verdict is Verdict.FAIL and not is_fatal(result, strict=False, even_known=True):
        yield f"  (a {clause.strength.value} clause: it fails the run only with --strict)"


def _known_in(run: Run, clause: str) -> Iterator[str]:
    """Return the scenarios in which the baseline knows all that fails of a clause."""
    for scenario in run.scenarios:
        bad = [
            finding
            for finding in scenario.findings
            if finding.clause == clause and finding.verdict in BAD
        ]
        if bad and all(decision.expected for decision in bad):
            yield scenario.id


def fits_another_choice(stated: Iterable[Decision]) -> bool:
    """Return whether the client made another known choice than the stated one."""
    return any(result.choices and result.choices != NONE_KNOWN for result in stated)


def _where_stated(clause: str) -> str:
    """Return the line of the manifest that the client broke."""
    if clause == CLAUSE:
        return "client.toml, [[ring-key-formats]]"
    return f'client.toml, [[choices]] with clause = "{clause}"'


def _heading(clause: Clause, verdict: Verdict, reason: Reason | None) -> str:
    why = f" ({reason.value})" if reason else ""
    return f"{verdict.value.upper()}{why}  {clause.id}  {clause.title}"


def _judged(edition: str, consistent: Collection[str]) -> str:
    return f"  judged    by the wording of {edition}; {_behavior(consistent)}"


def _judged_here(consistent: Collection[str], result: ClauseResult) -> str:
    """Describe the behavior in one scenario, and in all of its clause if no wording fits all."""
    if result.editions_consistent or not consistent:
        return _behavior(result.editions_consistent or consistent)
    count = len(result.scenarios)
    every = f"{count} scenarios of the clause" if count > 1 else "checks of this scenario"
    return f"here {_behavior(consistent)}, but no one wording fits all {every}"


def _behavior(consistent: Collection[str]) -> str:
    return behavior_text(consistent) if consistent else "the behavior fits no wording"


def wording_lines(
    clause: Clause,
    result: ClauseResult | None = None,
    consistent: Collection[str] | None = None,
) -> Iterator[str]:
    """Return the wordings of a clause, each as a line; `labelled_wordings` has the arguments."""
    wordings = labelled_wordings(clause, result, consistent)
    yield from (f"  {label:8}  {text}" for label, text in wordings)


def labelled_wordings(
    clause: Clause,
    result: ClauseResult | None = None,
    consistent: Collection[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Return the wordings of a clause: with their editions, if there are several.

    For a reader of a failure, these are the wording that judges the client and those that its
    behavior matches.

    Args:
        clause: the clause.
        result: of a client, if the wordings are for a reader of its failure.
        consistent: the editions that the shown scenario matches; None: those of the result.
    """
    if result is None:
        judging, matched, relevant = None, set[str](), clause.editions
    else:
        judging, matched = result.edition, {*(consistent or result.editions_consistent or ())}
        relevant = _relevant(clause, judging, matched)
    for edition in sorted(relevant, key=lambda edition: edition != judging):
        of = f"edition {edition}: " if len(relevant) > 1 else ""
        if judging in {None, edition}:
            yield _label(clause, edition), f"{of}{clause.wordings[edition]}"
        elif edition in matched:
            yield "matches", f"{of}{clause.wordings[edition]}"


def _relevant(
    clause: Clause, judging: str | None, matched: Collection[str] | None
) -> tuple[str, ...]:
    """Return the editions without that of Envoy, unless it explains what a client did."""
    if ENVOY in {judging, *(matched or ())}:
        return clause.editions
    return tuple(edition for edition in clause.editions if edition != ENVOY)


def _label(clause: Clause, edition: str) -> str:
    """Return the label of a wording: a text that leaves a choice requires nothing."""
    requires_nothing = clause.strength.is_open or edition in {ENVOY, *clause.open_in}
    return "says" if requires_nothing else "requires"


def _place(clause: Clause) -> str:
    return f"  rule      {clause.document}, {clause.section} [{clause.strength.value}]"


def _evidence(scenario: Scenario, found: Iterable[Decision], repeat: str) -> Iterator[str]:
    """Describe what a scenario expected and observed, its configurations, and the next steps."""
    for path in found:
        yield from _found(path, scenario.served)
    served = Counter(scenario.served)
    for text, times in [*served.items()][:SERVED]:
        yield f"    served    {text}" + (f" ({times} times)" if times > 1 else "")
    if len(served) > SERVED:
        yield f"              and {counted(len(served) - SERVED, 'more configuration')}"
    if scenario.left:
        yield f"    left      files of the client: {listed(scenario.left, LEFT)}"
    for line in log_lines(scenario.evidence):
        yield f"    log       {line}"
    yield f"    repeat    {with_scenario(repeat, scenario.id)}"
    if f"={WITHHELD}" in repeat:
        yield "              Fill in the values of --env: reports never contain them"
    if scenario.evidence:
        yield f"    evidence  {program_of(repeat)} show {shlex.quote(from_here(scenario.evidence))}"


_PRECONDITION = re.compile(r"expected (?P<expected>.*?), saw (?P<observed>.*)", re.DOTALL)


def _found(decision: Decision, served: Iterable[str] = ()) -> Iterator[str]:
    for name, text in evidence_of(decision, served):
        yield f"    {name:8}  {text}".replace("\n", f"\n{'':14}")


STOPPED = "during preparation, before the check of this clause: read the other blocks first"
"""Marks a scenario that ended before it compared what its clause is about."""


def evidence_of(decision: Decision, served: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return what a decision rests on, by name: of many rows, those in which the client differs.

    Args:
        decision: the decision.
        served: the descriptions of the configurations of its scenario.
    """
    expected, observed = decision.wanted, decision.saw
    if not expected and (both := _PRECONDITION.fullmatch(observed)):
        expected, observed = both["expected"], both["observed"]
    found = (
        ("expected", with_priorities(expected, served)),
        ("observed", observed),
        ("differs", decision.differs),
        ("stopped", STOPPED if decision.is_before_check else ""),
    )
    return tuple((name, text) for name, text in found if text)


def decision_lines(decisions: Iterable[Decision], catalogue: Catalogue) -> Iterable[str]:
    """Return the verdicts of one scenario with all that they rest on."""
    for decision in decisions:
        clause = catalogue[decision.clause]
        yield _heading(clause, decision.verdict, decision.reason)
        edition = decision.edition or clause.editions[0]
        yield _place(clause)
        yield f"  {_label(clause, edition):8}  edition {edition}: {clause.worded(edition)}"
        yield from _found(decision)
        if decision.oracle:
            yield f"    computed  from {decision.oracle}"
        if decision.choices:
            yield f"    choice    {', '.join(decision.choices)}"
        elif len(clause.editions) > 1 and decision.editions_consistent is not None:
            yield _judged(edition, decision.editions_consistent)
