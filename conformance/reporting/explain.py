"""Describe clauses, scenarios and editions for ``xdspec explain``."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from client_under_test.manifests.clients import BUILT_IN
from conformance.judging.declaration import Declaration
from conformance.reporting import baseline
from conformance.reporting.failure_texts import wording_lines
from conformance.reporting.places import function_of, mutants_of, row_of, rules_of, shown
from conformance.spec.catalogue import Catalogue, Clause, Edition, load

TERMS: Final = {
    "anchored ring": "a ring whose lightest endpoint stays, so that its size follows from that "
    "endpoint, and the entries of the others stay in place",
    "arc": "the part of a ring whose hashes belong to one ring entry",
    "edition": "what a client can declare of a gRFC: the whole text, its first wording, a part, or "
    "an addition. The latest edition that client.toml declares decides",
    "exact mapping": "which endpoint serves each of many hashes, compared with the ring that the "
    "suite computes from the client's key format",
    "held": "an endpoint behind a proxy that accepts connections, and sends nothing until the "
    "suite releases it: the client stays CONNECTING",
    "leaf": "a cluster of a tree that is not an aggregate",
    "mutant": "the reference client, broken in one place. The scenario of the clause must notice",
    "stalled": "an endpoint behind a proxy that accepts connections, and never sends a byte: the "
    "client stays CONNECTING",
    "UNSPECIFIED": "the text leaves a choice: no client fails, unless its client.toml declares "
    "another choice",
    "tree": "an aggregate cluster with all clusters below it",
}
"""What descriptions use in a sense of their own; the glossary has the same rows."""

BEFORE_NOUNS: Final = "the|two|three|both|all|old|EDS|its|their|as|with|without|share|[0-9]+"
"""What stands before *leaves* where it is no verb, as in *a priority leaves the list*."""

PATTERNS: Final = {
    "anchored ring": "anchored",
    "held": "held(?! back| to)",
    "leaf": f"leaf|(?:{BEFORE_NOUNS}) leaves",
}
"""How a term appears in a description, if not as itself or its plural."""


def terms_of(text: str) -> Iterator[str]:
    """Return a line for each term that a description uses."""
    for term, meaning in TERMS.items():
        if re.search(rf"\b(?:{PATTERNS.get(term, term)})s?\b", text):
            yield f"  {term}: {meaning}"


def deciding(clause: str, declared: Mapping[str, Declaration]) -> tuple[str, ...]:
    """Return the scenarios that decide a clause."""
    return tuple(name for name, scenario in declared.items() if clause in scenario.clauses)


def explain_clause(clause: Clause, declared: Mapping[str, Declaration], run: str) -> str:
    """Describe a clause: its wordings, how it is observed, and which scenarios decide it.

    Args:
        clause: the clause.
        declared: the scenarios.
        run: the beginning of a command that runs scenarios.
    """
    lines = [f"{clause.id}  {clause.title}"]
    lines.append(f"  rule      {clause.document}, {clause.section} [{clause.strength.value}]")
    lines += wording_lines(clause)
    if clause.open_in:
        lines.append(f"  open      {', '.join(clause.open_in)}: reported, no client fails")
    if clause.superseded_in:
        old = ", ".join(clause.superseded_in)
        lines.append(
            f"  corrected {old}: superseded by its own authors, so reported and never a pass"
        )
    if clause.basis:
        lines.append(f"  basis     {clause.paraphrase}")
    if clause.rests_on:
        lines.append(
            f"  rests on  {clause.rests_on}: if that fails in the same scenario, this is blocked"
        )
    if clause.seen_by:
        lines.append(f"  check     {clause.seen_by}")
    lines += [f"  text      {link}" for link in _links(clause)]
    lines += [f'  choice    "{choice}", which client.toml can declare' for choice in clause.choices]
    if clause.grpc_only:
        lines.append(f"  Envoy     skipped: {clause.grpc_only}")
    if clause.unobservable:
        lines.append(f"  not observable: {clause.unobservable}")
    deciders = deciding(clause.id, declared)
    row, places = row_of(clause.id), {name: function_of(name) for name in deciders}
    own = PurePath(row).with_suffix("").relative_to("conformance/spec/catalogue")
    lines += [
        f"  scenario  {name}" + (f" ({place})" if place else "")
        for name, place in sorted(places.items(), key=lambda each: str(own) not in each[1])
    ]
    if clause.awaits:
        lines.append(f"  no scenario yet: it needs {clause.awaits}")
    if deciders:
        lines.append(f"  run       {run} --clause {clause.id}")
    lines += [f"  fails     {client}" for client in known_to_fail(clause.id)]
    lines.append("In the source of xdspec:")
    lines.append(f"  row       {row}")
    lines += [f"  reference {rule}" for rule in rules_of(clause.id)]
    lines += [f"  mutant    {mutant}" for mutant in mutants_of(clause.id)]
    return "\n".join(lines)


def known_to_fail(clause: str) -> tuple[str, ...]:
    """Return the built-in clients whose baselines have a failure of a clause, and what they show.

    An entry may be about some versions only.
    """
    found = []
    for path, entry in _built_in_baselines():
        if entry.clause == clause:
            versions = f" {entry.versions}" if entry.versions else ""
            found.append(
                f"{path.parent.relative_to(BUILT_IN)}{versions}: {entry.seen} ({shown(path)})"
            )
    return tuple(dict.fromkeys(found))


@functools.cache
def _built_in_baselines() -> tuple[tuple[Path, baseline.Entry], ...]:
    """Return all entries of the built-in clients; cached, since a prefix explains many clauses."""
    return tuple(
        (path, entry)
        for path in sorted(BUILT_IN.rglob(baseline.FILE))
        for entry in baseline.read(path, load())
    )


def _links(clause: Clause) -> tuple[str, ...]:
    """Return the addresses of the texts that word a clause."""
    editions = load().editions
    several = len(clause.editions) > 1
    found = ((edition, editions.link(edition)) for edition in clause.editions)
    dated = {
        edition: f" ({date})" for edition in clause.editions if (date := editions[edition].date)
    }
    return tuple(
        dict.fromkeys(
            f"edition {edition}{dated.get(edition, '')}: {link}" if several else link
            for edition, link in found
            if link
        )
    )


def explain_scenario(name: str, declared: Mapping[str, Declaration], known: Catalogue) -> str:
    """Describe a scenario: its clauses, how they are observed, its needs, and its source."""
    scenario = declared[name]
    lines = [name]
    for clause in (known[each] for each in scenario.clauses):
        lines.append(f"  decides   {clause.id}  {clause.title} [{clause.strength.value}]")
        lines += wording_lines(clause)
        if clause.seen_by:
            lines.append(f"  check     {clause.seen_by}")
    lines += [f"  needs     capability {need}" for need in scenario.needs]
    lines += [f"  knob      {knob} = {value}" for knob, value in scenario.knobs.items()]
    if place := function_of(name):
        lines.append(f"  function  {place}")
    return "\n".join(lines)


def explain_edition(edition: str, known: Catalogue, program: str) -> str:
    """Describe an edition: its content and date, and the clauses that it words.

    Args:
        edition: its id.
        known: the catalogue.
        program: how the user calls this suite.
    """
    entry, worded = known.editions[edition], known.worded_by(edition)
    lines = [f"{edition}  {_brings(entry)}"]
    if entry.date is not None:
        lines.append(f"  text of {entry.date}, commit {entry.commit} of grpc/proposal")
    lines += [f"  {clause.id:14}  {clause.title}" for clause in worded]
    if not worded:
        lines.append("  no clause is worded by it yet: declaring it changes no verdict")
    else:
        lines.append(f"  for details: {program} explain {worded[0].id}")
    return "\n".join(lines)


def edition_lines(known: Catalogue) -> Iterator[str]:
    """Return every edition: its date, its content, and the number of clauses that it words."""
    yield f"{'edition':8}  {'text of':10}  {'words':13}  content"
    for edition in sorted(known.editions, key=lambda each: _number(each.id)):
        count = len(known.worded_by(edition.id))
        clauses = f"{count} clause{'' if count == 1 else 's'}" if count else "no clause yet"
        yield f"{edition.id:8}  {edition.date or ''!s:10}  {clauses:13}  {_brings(edition)}"


def _number(edition: str) -> int:
    """Return the number of the gRFC of an edition; editions without one come last."""
    found = re.match(r"A(\d+)", edition)
    return int(found[1]) if found else sys.maxsize


def _brings(edition: Edition) -> str:
    return f"{edition.relation}: {edition.brings}" if edition.relation else edition.brings
