"""What ``xdspec explain`` says of a clause or a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.catalogue import Catalogue, Clause
from conformance.declare import Declaration


def deciding(clause: str, declared: Mapping[str, Declaration]) -> tuple[str, ...]:
    """The scenarios that decide a clause."""
    return tuple(name for name, one in declared.items() if clause in one.clauses)


def explain_clause(clause: Clause, declared: Mapping[str, Declaration]) -> str:
    """A clause: what it says in each edition, how it is seen, and which scenarios decide it."""
    lines = [f"{clause.id}  {clause.title}"]
    lines.append(f"  text      {clause.document}, {clause.section} [{clause.strength.value}]")
    lines += [f"  {edition:8}  {clause.wordings[edition]}" for edition in clause.editions]
    if clause.basis:
        lines.append(f"  basis     {clause.basis}")
    if clause.seen_by:
        lines.append(f"  seen by   {clause.seen_by}")
    if clause.grpc_only:
        lines.append(f"  gRPC only {clause.grpc_only}")
    if clause.unobservable:
        lines.append(f"  not observable: {clause.unobservable}")
    deciders = deciding(clause.id, declared)
    lines += [f"  scenario  {name}" for name in deciders]
    if not deciders and clause.seen_by:
        lines.append("  no scenario decides it yet")
    return "\n".join(lines)


def explain_scenario(name: str, declared: Mapping[str, Declaration], known: Catalogue) -> str:
    """A scenario: the clauses that it decides and what it needs of the client."""
    one = declared[name]
    lines = [name]
    lines += [f"  decides   {known[clause].id}  {known[clause].title}" for clause in one.clauses]
    lines += [f"  needs     {need}" for need in one.needs]
    lines += [f"  knob      {knob} = {value}" for knob, value in one.knobs.items()]
    return "\n".join(lines)
