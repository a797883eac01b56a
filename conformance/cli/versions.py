"""Versions of one client as a user names them: versions, variants, folders, and reports of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import ClientTrouble, UnknownClient
from client_under_test.environments import commits
from client_under_test.environments.identity import SHORT
from client_under_test.manifests.clients import Client
from client_under_test.manifests.version_ranges import by_version, is_version
from conformance.cli.failures import Failure, client_trouble
from conformance.cli.lookup import found_client
from conformance.reporting.report import BadReport, ClientId, Run, read

NEWEST: Final = "newest"
"""The label of a version that the user has not named: the package index chooses it."""


class VersionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A version or variant of the client, in its place among the others."""

    label: str
    version: str
    client: Client | None = None
    """What is run; None: it is in reports only."""
    recorded: tuple[Run, ...] = ()
    """Its runs in reports."""


class Commits(msgspec.Struct, frozen=True, kw_only=True):
    """Commits of a checkout: one, and all that follow it up to another one."""

    source: Path
    good: str
    bad: str


def places_of(name: str, chosen: Commits) -> tuple[str, tuple[VersionEntry, ...]]:
    """Return the title of a client, and its commits in their order.

    Args:
        name: of the client, or its folder; a variant may follow.
        chosen: the commits.

    Raises:
        Failure: there is no such client or commit, or the client is built from no sources.
    """
    with client_trouble():
        client = found_client(name)
        listed = commits.between(chosen.source, chosen.good, chosen.bad)
        found = [
            VersionEntry(
                label=f"{commit.id[:SHORT]} {commit.subject}",
                version=commit.id,
                client=client.built_from(chosen.source, commit.id),
            )
            for commit in listed
        ]
    variant = f" +{client.variant}" if client.variant else ""
    return f"{client.name}{variant}", tuple(found)


def places(name: str, named: Sequence[str]) -> tuple[str, tuple[VersionEntry, ...]]:
    """Return the title of a client, and its versions in order.

    Args:
        name: of the client, or its folder; a variant may follow.
        named: versions, with or without a variant; variants; folders of further versions; reports.

    Raises:
        Failure: one of them is not there, or of another client, or is named twice.
    """
    reports = [argument for argument in named if _is_report(argument)]
    client = _client(name, is_needed=len(reports) < len(named))
    if client and client.version:
        raise Failure(f"{name} is one version: name the client, and then its versions")
    who, variant = (client.name, client.variant) if client else (name, None)
    found: dict[str, VersionEntry] = {}
    for argument in named:
        if argument in reports:
            for run in _recorded(Path(argument), who, variant):
                label = _label(run.client, run.identity.label)
                place = found.get(label) or VersionEntry(label=label, version=run.client.version)
                found[label] = msgspec.structs.replace(place, recorded=(*place.recorded, run))
            continue
        assert client, "looked for, as not all are reports"
        with client_trouble():
            place = _to_be_run(client, argument)
        if (there := found.get(place.label)) and there.client:
            raise Failure(f"{place.label} of {who} is named twice")
        found[place.label] = msgspec.structs.replace(
            place, recorded=there.recorded if there else ()
        )
    title = f"{who} +{variant}" if variant else who
    return title, tuple(sorted(found.values(), key=lambda run_place: by_version(run_place.version)))


def _is_report(text: str) -> bool:
    return not is_version(text.partition("+")[0]) and Path(text).is_file()


def _client(name: str, *, is_needed: bool) -> Client | None:
    """Return the client if it exists or must exist; reports alone do not need it."""
    try:
        return found_client(name)
    except UnknownClient as error:
        if is_needed:
            raise Failure(str(error)) from None
        return None
    except ClientTrouble as error:
        raise Failure(str(error)) from None


def _recorded(path: Path, client: str, variant: str | None) -> Iterator[Run]:
    """Return the runs of a client in a report, without runs of its other variants."""
    try:
        runs = read(path).runs
    except BadReport as error:
        raise Failure(str(error)) from None
    of_it = [run for run in runs if (run.client.name, run.client.variant) == (client, variant)]
    if not of_it:
        wanted = f"{client}+{variant}" if variant else client
        there = ", ".join(dict.fromkeys(_named(run.client) for run in runs))
        raise Failure(f"{path} has no run of {wanted}, only of {there or 'no client'}")
    yield from of_it


def _named(client: ClientId) -> str:
    return client.name + (f"+{client.variant}" if client.variant else "")


def _label(client: ClientId, sources: str = "") -> str:
    """Name a version in a history; runs of different sources are not runs of one version."""
    version = str(client).removeprefix(f"{client.name} ")
    return f"{version} ({sources})" if sources else version


def _to_be_run(client: Client, named: str) -> VersionEntry:
    """Return the client in this version or variant, or the client of another folder."""
    version, _, variant = named.partition("+")
    if is_version(version) or (variant and not version):
        if variant:
            client.manifest.variant(variant)
        chosen = msgspec.structs.replace(
            client, version=version or None, variant=variant or client.variant
        )
    elif Path(named).is_dir():
        chosen = found_client(named)
        if chosen.name != client.name:
            raise Failure(f"{named} has the client {chosen.name}, not {client.name}")
    else:
        raise Failure(
            f"{named} is not a version such as 1.70.0, a variant such as +NAME, a report, or the "
            "folder of a client"
        )
    manifest = chosen.manifest
    of_python = manifest.python.version if manifest.python else None
    exact = chosen.version or manifest.version or of_python
    # By it the evidence of one version has another folder than that of the others.
    chosen = msgspec.structs.replace(chosen, version=exact)
    label = _label(ClientId(chosen.name, exact or NEWEST, chosen.variant))
    return VersionEntry(label=label, version=exact or NEWEST, client=chosen)


def clients(there: Iterable[VersionEntry]) -> list[Client]:
    """Those that are run."""
    return [place.client for place in there if place.client]
