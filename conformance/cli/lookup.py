"""What the user names, looked up: the catalogue, a clause of it, a client."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from client_under_test.environments import commits
from client_under_test.manifests.clients import Client, find
from conformance.cli.failures import Failure
from conformance.reporting.report import Exit
from conformance.runner.manifest_check import check, editions_there_are
from conformance.spec.catalogue import Catalogue, CatalogueError, Clause, UnknownClause, load


def catalogue() -> Catalogue:
    """Load the catalogue."""
    try:
        return load()
    except CatalogueError as error:
        raise Failure(f"the catalogue is broken: {error}", Exit.SUITE_TROUBLE) from None


def known_clause(known: Catalogue, name: str) -> Clause:
    """Return the clause of this id; raise a usage error with suggestions if there is none."""
    if re.fullmatch(r"[Aa]\d+(-\d{4})?", name):
        near = difflib.get_close_matches(name.upper(), known.editions.ids, n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}? T" if near else "t"
        raise Failure(
            f"{name} is not a clause, nor an edition of this suite: {hint}"
            f"{editions_there_are().removeprefix('t')}"
        )
    if "." in name:
        raise Failure(f"there is no clause {name}: use --scenario for a scenario")
    try:
        return known[name]
    except UnknownClause as error:
        raise Failure(str(error)) from None


def why_not_judged(clause: Clause) -> str:
    """Return why no scenario decides a clause; empty if one does."""
    if clause.unobservable:
        return f"it cannot be observed. {clause.unobservable}"
    return f"it has no scenario yet. It awaits {clause.awaits}" if clause.awaits else ""


def found_client(name: str) -> Client:
    """Return the client of this name, if its manifest follows the suite's rules.

    Raises:
        UnknownClient: there is none.
        BadManifest: its client.toml breaks a rule, or states something unknown.
    """
    found = find(name)
    check(found)
    return found


def from_source(client: Client, source: Path | None, commit: str | None) -> Client:
    """Return the client as built from `--source` and `--commit`; itself without a source.

    Raises:
        UnfitSource: the checkout has no such commit.
        Failure: there is a commit, and no checkout.
    """
    if source is None:
        if commit:
            raise Failure("--commit needs --source: name the checkout")
        return client
    return client.built_from(source, commits.named(source, commit).id if commit else "")
