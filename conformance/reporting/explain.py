"""What ``xdspec explain`` says of a clause or a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.catalogue import Catalogue, Clause, Edition
from conformance.judging.claims import Claims


def deciding(clause: str, declared: Mapping[str, Claims]) -> tuple[str, ...]:
    """The scenarios that decide a clause."""
    return tuple(name for name, one in declared.items() if clause in one.clauses)


def explain_clause(clause: Clause, declared: Mapping[str, Claims]) -> str:
    """A clause: its wordings, the source of its strength, how it is seen, and its scenarios."""
    lines = [f"{clause.id}  {clause.title}"]
    lines.append(f"  text      {clause.document}, {clause.section} [{clause.strength.value}]")
    lines += [f"  {edition:8}  {clause.wordings[edition]}" for edition in clause.editions]
    if clause.open_in:
        lines.append(f"  left open by {', '.join(clause.open_in)}: reported, and nobody is failed")
    if clause.superseded_in:
        old = ", ".join(clause.superseded_in)
        lines.append(f"  superseded in {old}: its authors corrected it; reported, never a pass")
    if clause.basis:
        lines.append(f"  basis     {clause.basis}")
    if clause.rests_on:
        lines.append(f"  rests on  {clause.rests_on}")
    if clause.seen_by:
        lines.append(f"  seen by   {clause.seen_by}")
    lines += [f"  choice    {choice}" for choice in clause.choices]
    if clause.grpc_only:
        lines.append(f"  gRPC only {clause.grpc_only}")
    if clause.unobservable:
        lines.append(f"  not observable: {clause.unobservable}")
    deciders = deciding(clause.id, declared)
    lines += [f"  scenario  {name}" for name in deciders]
    if clause.awaits:
        lines.append(f"  not judged yet: it awaits {clause.awaits}")
    return "\n".join(lines)


def explain_scenario(name: str, declared: Mapping[str, Claims], known: Catalogue) -> str:
    """A scenario: the clauses that it decides and what it needs of the client."""
    one = declared[name]
    lines = [name]
    lines += [f"  decides   {known[clause].id}  {known[clause].title}" for clause in one.clauses]
    lines += [f"  needs     {need}" for need in one.needs]
    lines += [f"  knob      {knob} = {value}" for knob, value in one.knobs.items()]
    return "\n".join(lines)


def explain_edition(edition: str, known: Catalogue) -> str:
    """An edition: what it brings and since when, and the clauses judged by its own wording."""
    one, worded = known.editions[edition], known.worded_by(edition)
    lines = [f"{edition}  {_brings(one)}"]
    if one.date is not None:
        lines.append(f"  worded so on {one.date}, by commit {one.commit} of grpc/proposal")
    lines += [f"  {clause.id:14}  {clause.title}" for clause in worded]
    if not worded:
        lines.append("  no clause is worded by it yet: to state it changes no verdict")
    else:
        lines.append(f"  each: xdspec explain {worded[0].id}")
    return "\n".join(lines)


def edition_lines(known: Catalogue) -> Iterator[str]:
    """Every edition: its date, what it brings, and how many clauses have a wording of its own."""
    for one in known.editions:
        count = len(known.worded_by(one.id))
        clauses = f"{count} clause{'' if count == 1 else 's'}" if count else "no clause yet"
        yield f"{one.id:8}  {one.date or ''!s:10}  {clauses:13}  {_brings(one)}"


def _brings(edition: Edition) -> str:
    return f"{edition.relation}: {edition.brings}" if edition.relation else edition.brings
