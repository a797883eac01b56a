"""Write the result of a gate as text, Markdown, JSON and JUnit XML."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ElementTree, SubElement

from conformance.judging.evidence import ALONE
from conformance.judging.verdicts import Verdict
from conformance.reporting.clause_summary import Kind
from conformance.reporting.client_log import log_lines
from conformance.reporting.failure_groups import (
    FailedDecision,
    Group,
    described,
    groups,
    headline,
    listed,
)
from conformance.reporting.failure_texts import alike as fail_alike
from conformance.reporting.failure_texts import (
    evidence_of,
    labelled_wordings,
    program_of,
    wording_lines,
)
from conformance.reporting.gate import Change, Gate
from conformance.reporting.gate_differences import without_baseline
from conformance.reporting.junit import as_xml, finished
from conformance.reporting.markdown import code, escaped
from conformance.reporting.outcome import counted
from conformance.reporting.rates import BY_CHANCE
from conformance.reporting.repeats import RUNS
from conformance.reporting.report import Exit, Run
from conformance.reporting.stdout import from_here
from conformance.reporting.summary import ANNOTATIONS, annotation
from conformance.runner import files
from conformance.runner.selection import with_scenario
from conformance.spec.catalogue import Catalogue

NAMED: Final = 12
"""Clauses and scenarios that a line names."""

CHOICE: Final = "client.toml states another choice: if you mean this change, correct [[choices]]"
"""The hint at a free choice that a change makes otherwise."""

BY_LUCK: Final = f"not counted, because chance may explain it (p > {BY_CHANCE})"

TOO_FEW_REPEATS: Final = "not counted, because it was not repeated often enough"

CHOICES_VARY: Final = "not counted, because the choices of the client vary"

LEFT_OUT: Final = "left out by --quick"
"""Names the clauses that were selected, but not judged."""

IN_PART: Final = "judged in part by --quick"
"""Names the clauses that were judged without some of their scenarios."""

COMMANDS: Final = {"repeat", "evidence", "on base"}

Alike = Sequence[tuple[Sequence[Change], Group]]
"""The broken clauses of each group of failures, the most basic one first."""

WHAT_TO_DO: Final = (
    "Clauses are rules of the gRFCs on xDS load balancing, which this tool checks from outside. "
    "What to do now: *When a build is red* in docs/in-ci.md of xdspec. A repeat keeps this "
    "evidence; the next gate replaces it."
)

IS_ALONE: Final = (
    f"FOLDER{ALONE} is from a second run before the comparison, in another client process."
)

# For people.


def lines(
    found: Gate, head: Run, catalogue: Catalogue, repeat: str, *, verbose: bool = False
) -> Iterator[str]:
    """Return the result of the comparison, in about one screen.

    Args:
        found: what was compared.
        head: the run of the change.
        catalogue: the clauses.
        repeat: the beginning of the command that runs one scenario of the change again.
        verbose: whether each clause of a group of failures is described.
    """
    yield f"\nchange  {found.head}"
    yield f"base    {found.base}"
    if found.note:
        yield f"note    {found.note}"
    if found.broken:
        alike = [*_groups_of_broken(found, head, catalogue)]
        yield from _broken_lines(found, head, catalogue, repeat, alike, verbose=verbose)
        yield f"\n{_what_to_do(found, alike, repeat)}"
    for title, changes in _others(found):
        yield f"\n{title}"
        for change in changes:
            yield f"  {_line(change)}"
            if change in found.stated:
                yield f"    {CHOICE}"
    for title, uncounted in _not_counted(found, verbose=verbose):
        yield from (f"\n{title}", *(f"  {line}" for line in uncounted))
    if found.mended:
        yield "\nremove from expected.toml once this is merged"
        yield from (f"  {change}" for change in found.mended)
    yield from _unchanged_lines(found)
    if found.unrepeated:
        yield _unrepeated(found)
    for title, clauses in _not_judged(found):
        yield f"{title}: {clauses}"
    yield found.last_word


def _line(change: Change) -> str:
    return f"{change.clause:14} {change.title} [{change.strength.value}]: {change}"


def _not_judged(found: Gate) -> Iterator[tuple[str, str]]:
    """Return the clauses that ``--quick`` left out, and those that it judged in part."""
    if found.left_out:
        yield LEFT_OUT, _by_document(found.left_out)
    if found.judged_in_part:
        scenarios = counted(len(found.left_out_scenarios), "scenario")
        yield f"{IN_PART}, without {scenarios}", _by_document(found.judged_in_part)


def _by_document(clauses: Sequence[str]) -> str:
    """Name clauses; count many of them by their gRFC."""
    if len(clauses) <= NAMED:
        return ", ".join(clauses)
    counts = Counter(clause.partition("-")[0] for clause in clauses)
    each = ", ".join(f"{count} of {document}" for document, count in counts.items())
    return f"{each} (--json and --junit name them)"


def _unrepeated(found: Gate) -> str:
    clauses = listed([change.clause for change in found.unrepeated], NAMED)
    return f"not repeated, so each may be a race: {clauses}; add --clause ID to repeat one"


def _others(found: Gate) -> Iterator[tuple[str, tuple[Change, ...]]]:
    left = [change for change in found.changes if change not in found.broken]
    for title, kind in (
        ("mended", Kind.FIXED),
        ("changed, but not broken", Kind.CHANGED),
        ("judged for the first time", Kind.NEW),
        ("not judged any more", Kind.GONE),
    ):
        if changes := tuple(
            change for change in left if change.kind is kind and not change.is_luck
        ):
            yield title, changes


def _not_counted(found: Gate, *, verbose: bool = False) -> Iterator[tuple[str, list[str]]]:
    """List what chance may explain, by why it does not count: ids only, or all if `verbose`."""
    lucky = [change for change in found.changes if change.is_luck]
    often = [change for change in lucky if change.head.runs >= RUNS]
    rest = [change for change in lucky if change not in often]
    once = [change for change in rest if not change.strength.is_open]
    choices = [change for change in rest if change.strength.is_open]
    if often:
        yield BY_LUCK, [_line(change) for change in often]
    if once:
        hint = f"--clause ID runs one {RUNS} times on each side, and decides"
        brief = f"differed once, and not in one repeat: {_ids(once)}; {hint}"
        yield TOO_FEW_REPEATS, [*map(_line, once)] if verbose else [brief]
    if choices:
        brief = f"{counted(len(choices), 'free choice')}: {_ids(choices)}"
        yield CHOICES_VARY, [*map(_line, choices)] if verbose else [brief]


def _ids(changes: Sequence[Change]) -> str:
    return listed([change.clause for change in changes], NAMED)


def _unchanged_lines(found: Gate) -> Iterator[str]:
    """Return how many clauses are unchanged, unless all that was judged is broken."""
    if any(found.unchanged.values()) or not found.broken:
        yield f"\nunchanged: {_unchanged(found)}"


def _unchanged(found: Gate) -> str:
    counts = [
        f"{count} {verdict.value}{_which(count, found.known) if verdict is Verdict.FAIL else ''}"
        for verdict, count in found.unchanged.items()
        if count
    ]
    total = counted(sum(found.unchanged.values()), "clause")
    return f"{total} ({', '.join(counts)})" if counts else "no clause"


def _which(count: int, known: int) -> str:
    if known == count:
        return " (known)"
    return f" ({known} known, {count - known} in no baseline)" if known else " (in no baseline)"


def _broken_lines(
    found: Gate, head: Run, catalogue: Catalogue, repeat: str, alike: Alike, *, verbose: bool
) -> Iterator[str]:
    """Describe what is broken, those clauses together that fail in the same way."""
    yield f"\nbroken  {counted(len(found.broken), 'clause')}"
    for own, group in alike:
        wordings = wording_lines(catalogue[own[0].clause], head.clauses[own[0].clause])
        yield from _group_lines(own, group, wordings, repeat, verbose=verbose)
    grouped = {change.clause for own, _ in alike for change in own}
    for change in (change for change in found.broken if change.clause not in grouped):
        yield f"  {_line(change)}"


def _group_lines(
    own: Sequence[Change], group: Group, wordings: Iterable[str], repeat: str, *, verbose: bool
) -> Iterator[str]:
    first, *others = own
    yield f"  {first.clause}  {first.title} [{first.strength.value}]"
    yield f"    {first}"
    yield from (f"  {wording}" for wording in wordings)
    for name, text in (*_evidence(first, group, repeat), *_show(first, group, repeat)):
        yield f"    {name:8}  {text}".replace("\n", f"\n{'':14}")
    if not others:
        return
    yield f"    likewise  {fail_alike(group, len(others))}:"
    if verbose:
        yield from (f"      {_line(change)}" for change in others)
        return
    for change in others[:NAMED]:
        brief = "" if change.brief == first.brief else f": {change.brief}"
        once = "; not repeated" if first.is_repeated and not change.is_repeated else ""
        rule = f"{change.clause:14} {change.title} [{change.strength.value}]"
        yield f"      {rule} in {_place(change, group).scenario.id}{brief}{once}"
    if len(others) > NAMED:
        yield f"      and {counted(len(others) - NAMED, 'more clause')} (-v lists all)"


def _place(change: Change, group: Group) -> FailedDecision:
    """Return the failure that describes a clause: in the scenario that was repeated, if it can."""
    places = group.of(change.clause)
    by_scenario = {place.scenario.id: place for place in reversed(places)}
    return next((by_scenario[name] for name in change.scenarios if name in by_scenario), places[0])


def _show(change: Change, group: Group, repeat: str) -> Iterator[tuple[str, str]]:
    """Return the commands that show the evidence of a failure, on both sides."""
    place = _place(change, group).scenario
    if place.evidence:
        yield "evidence", f"{program_of(repeat)} show {shlex.quote(from_here(place.evidence))}"
    if folder := change.base_evidence.get(place.id):
        yield "on base", f"{program_of(repeat)} show {shlex.quote(from_here(folder))}"


def _evidence(change: Change, group: Group, repeat: str) -> Iterator[tuple[str, str]]:
    """Return what was expected and observed where a clause broke, and how to see it again."""
    place = _place(change, group)
    yield from evidence_of(place.decision, place.scenario.served)
    if served := [*dict.fromkeys(place.scenario.served)]:
        others = f" (the first of {len(served)} configurations)" if len(served) > 1 else ""
        yield "served", f"{served[0]}{others}"
    yield from (("log", line) for line in log_lines(place.scenario.evidence))
    yield "repeat", with_scenario(repeat, place.scenario.id)


def _groups_of_broken(
    found: Gate, head: Run, catalogue: Catalogue
) -> Iterator[tuple[Sequence[Change], Group]]:
    """Return the broken clauses of each group of failures, the most basic one first."""
    left = {change.clause: change for change in found.broken}
    for group, clauses in described(groups(without_baseline(head), catalogue), {*left}):
        own = [left.pop(clause) for clause in clauses if clause in left]
        if own:
            yield own, group


def markdown(found: Gate, head: Run, catalogue: Catalogue, repeat: str) -> Iterator[str]:
    """Return the same as a comment on a pull request.

    Args:
        found: what was compared.
        head: the run of the change.
        catalogue: the clauses.
        repeat: the beginning of the command that runs one scenario of the change again.
    """
    yield f"### xdspec: {found.last_word}"
    yield ""
    yield f"{escaped(found.head)} against {escaped(found.base)}; unchanged: {_unchanged(found)}"
    if found.note:
        yield from ("", f"Note: {escaped(found.note)}")
    alike = [*_groups_of_broken(found, head, catalogue)]
    if found.broken:
        yield from _table("broken", found.broken)
    yield from _broken_markdown(head, catalogue, repeat, alike)
    for title, changes in _others(found):
        yield from _table(title, changes)
    for title, uncounted in _not_counted(found):
        yield from ("", f"**{title}**", "", *(f"- {escaped(line)}" for line in uncounted))
    yield from _endings(found)
    if found.broken:
        yield from ("", _what_to_do(found, alike, repeat))


def _what_to_do(found: Gate, alike: Alike, repeat: str) -> str:
    """Say what to do; the command at its end describes the first clause of the groups, if any."""
    shown = (_place(own[0], group).scenario.evidence or "" for own, group in alike)
    alone = f" {IS_ALONE}" if any(folder.endswith(ALONE) for folder in shown) else ""
    first = next((own[0] for own, _ in alike), found.broken[0])
    explain = code(f"{program_of(repeat)} explain {first.clause}")
    return f"{WHAT_TO_DO}{alone} {explain} prints the rule."


def _broken_markdown(head: Run, catalogue: Catalogue, repeat: str, alike: Alike) -> Iterator[str]:
    for own, group in alike:
        first, *others = own
        yield from ("", f"{first.clause}:", "")
        rows = (
            *labelled_wordings(catalogue[first.clause], head.clauses[first.clause]),
            *_evidence(first, group, repeat),
            *_show(first, group, repeat),
        )
        for name, text in rows:
            yield f"- {name}: {code(text) if name in COMMANDS else escaped(text)}"
        if others:
            names = listed([change.clause for change in others], NAMED)
            yield f"- likewise: {fail_alike(group, len(others))}: {names}"


def _endings(found: Gate) -> Iterator[str]:
    if found.stated:
        clauses = ", ".join(change.clause for change in found.stated)
        yield from ("", f"{clauses}: {escaped(CHOICE)}")
    if found.unrepeated:
        yield from ("", escaped(_unrepeated(found)))
    if found.mended:
        yield from ("", "Remove from expected.toml once this is merged:", "")
        yield from (f"- {escaped(change)}" for change in found.mended)
    for title, clauses in _not_judged(found):
        yield from ("", f"{title.capitalize().replace('--quick', code('--quick'))}: {clauses}")


def _table(title: str, changes: Sequence[Change]) -> Iterator[str]:
    yield from ("", f"**{title}**", "", "| clause | rule | base → change | scenarios |")
    yield "|---|---|---|---|"
    for change in changes:
        cells = (f"{change.clause} [{change.strength.value}]", change.title, f"{change}")
        scenarios = "<br>".join(code(name, in_cell=True) for name in change.scenarios[:NAMED])
        yield f"| {' | '.join(escaped(cell) for cell in cells)} | {scenarios} |"


def annotation_lines(found: Gate, head: Run, catalogue: Catalogue, repeat: str) -> Iterator[str]:
    """Return commands for GitHub's runners: the conclusion, and each cause of broken clauses.

    `markdown` describes the arguments.
    """
    if not found.broken:
        return
    yield annotation(
        "error" if found.exit is Exit.DEVIATES else "warning", "xdspec", found.last_word
    )
    for own, group in [*_groups_of_broken(found, head, catalogue)][: ANNOTATIONS - 1]:
        first, *others = own
        words = (f"{name}: {text}" for name, text in _evidence(first, group, repeat))
        kind = "error" if any(change.is_fatal for change in own) else "warning"
        title = headline(first.clause, first.title, len(others))
        yield annotation(kind, title, "\n".join((f"{first}", *words)))


def write_json(found: Gate, path: Path) -> None:
    """Write it for programs."""
    files.write_json(path, found)


SUITE = "xdspec gate"


def junit_tree(found: Gate, head: Run, catalogue: Catalogue, repeat: str) -> ElementTree[Element]:
    """Return the whole result; `markdown` describes the arguments."""
    evidence = {
        change.clause: "\n".join(
            f"{name}: {text}" for name, text in _evidence(change, group, repeat)
        )
        for own, group in _groups_of_broken(found, head, catalogue)
        for change in own
    }
    fatal = [change for change in found.broken if change.is_fatal]
    skipped = ((LEFT_OUT, found.left_out), (IN_PART, found.judged_in_part))
    skips = [(name, clauses) for name, clauses in skipped if clauses]
    count = len(found.changes) + 1 + len(skips)
    suite = Element("testsuite", name=SUITE, tests=f"{count}")
    suite.set("failures", f"{len(fatal)}")
    suite.set("skipped", f"{len(skips)}")
    properties = SubElement(suite, "properties")
    for name, value in (
        ("change", found.head),
        ("base", found.base),
        ("outcome", found.last_word),
    ):
        SubElement(properties, "property", name=name, value=value)
    for change in found.changes:
        case = SubElement(suite, "testcase", classname=SUITE, name=_case_name(change))
        if change in fatal:
            failure = SubElement(case, "failure", message=f"{change}", type=change.kind.value)
            failure.text = evidence.get(change.clause)
    SubElement(suite, "testcase", classname=SUITE, name=_rest(found, head))
    for name, clauses in skips:
        case = SubElement(suite, "testcase", classname=SUITE, name=name)
        SubElement(case, "skipped", message=", ".join(clauses))
    return finished(suite)


def _rest(found: Gate, head: Run) -> str:
    """Name the case of all that does not differ: a suite without differences has this case alone.

    A scenario that shows no change counts as unchanged.
    """
    differ = {name for change in found.changes for name in change.scenarios}
    same = sum(scenario.id not in differ for scenario in head.scenarios)
    return f"{counted(same, 'scenario')}, unchanged: {_unchanged(found)}"


def _case_name(change: Change) -> str:
    return f"{change.clause} {change.title}"


def write_junit(found: Gate, head: Run, catalogue: Catalogue, repeat: str, path: Path) -> None:
    """Write JUnit XML; `markdown` describes the arguments."""
    files.write(path, as_xml(junit_tree(found, head, catalogue, repeat)))
