"""Names that are no versions, such as branches and commits: resolved by a client's own registry."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import BuildFailed, NoSuchVersion
from client_under_test.environments import installer
from client_under_test.environments.identity import Identity
from client_under_test.environments.places import work_folder
from client_under_test.environments.sources import output_of
from client_under_test.manifests.clients import Client
from client_under_test.manifests.version_ranges import is_version

PRE_RELEASE: Final = "pre"
"""The newest version of a Python distribution, be it a pre-release."""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifest's `resolve` prints of a name."""

    version: str | None = None
    source: str | None = None
    name: str = ""
    commit: str = ""
    ref: str = ""


def resolved(client: Client) -> tuple[Client, Identity]:
    """Resolve a client's branch or commit; return the client to build, and its identity.

    A client with a plain version is returned as it is, with an empty identity.

    Raises:
        NoSuchVersion: the registry has nothing of that name, or none is asked for such names.
        BuildFailed: the manifest's command does not do what it is for.
    """
    if not client.ref:
        return client, Identity()
    refs, of_python = client.manifest.refs, client.manifest.python
    if refs is None and of_python is not None and client.ref == PRE_RELEASE:
        version = installer.newest(of_python.distribution, pre_releases=True)
        return msgspec.structs.replace(client, version=version, ref=""), Identity()
    if refs is None:
        raise NoSuchVersion(f"client {client.name} has no {client.ref}: {_instead(client)}")
    places = {
        "folder": client.folder,
        "ref": client.ref,
        "cache": work_folder(client.name, client.folder),
        "python": sys.executable,
    }
    printed, words = output_of(refs.resolve, places)
    if printed is None:
        raise NoSuchVersion(
            f"{client.ref} is not {refs.of}: {words}\nclient {client.name}: {_instead(client)}"
        )
    try:
        found = msgspec.json.decode(printed, type=Resolved)
    except msgspec.MsgspecError as wrong:
        raise BuildFailed(
            f"client {client.name} resolves {client.ref} to nothing: {wrong}"
        ) from None
    if found.version is not None and is_version(found.version):
        return msgspec.structs.replace(client, version=found.version, ref=""), Identity()
    if found.source is None:
        raise BuildFailed(f"client {client.name} resolves {client.ref} to no version and no source")
    identity = Identity(source=found.name, commit=found.commit, dirty=False)
    exact = msgspec.structs.replace(client, source=Path(found.source), ref=found.ref or client.ref)
    return exact, identity


def _instead(client: Client) -> str:
    """Return the names that the user can use instead."""
    manifest = client.manifest
    build = manifest.build
    versions = (build.versions if build is not None else None) or manifest.version
    can = [f"name a version {versions}" if versions else "name a release"]
    can += [f"name {manifest.refs.of}"] if manifest.refs is not None else []
    can += [f"name {client.name}@{PRE_RELEASE}"] if manifest.python is not None else []
    can += [f"build {manifest.source.of} by --source"] if manifest.source is not None else []
    return ", or ".join(can)
