"""Sources that a user has a client built from: what they are, checked before anything is built."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import BuildFailed, UnfitSource
from client_under_test.environments import fingerprint
from client_under_test.manifests.clients import Client
from client_under_test.manifests.version_ranges import is_version, is_within
from client_under_test.supervision import guarded

# Lines of a failed program that are quoted.
_LAST_WORDS: Final = 5


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """What the manifest's `inspect` prints of sources."""

    version: str


def there(client: Client) -> Path:
    """Return the path of a client's sources, if it can be read.

    Raises:
        UnfitSource: it cannot.
    """
    path, stated = client.source, client.manifest.source
    assert path is not None, "asked for those that have one"
    assert stated is not None, "a client without it has no source"
    if not path.exists():
        raise UnfitSource(f"there is no {path}: --source names {stated.of}")
    if not (path.is_dir() or path.is_file()):
        raise UnfitSource(f"{path} is neither a file nor a folder: --source names {stated.of}")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UnfitSource(f"{path} cannot be read: Permission denied")
    return path


def tree_of(path: Path) -> str:
    """Return the SHA-256 of what is at a path.

    Raises:
        UnfitSource: a part of it cannot be read.
    """
    try:
        return fingerprint.digest([path])
    except OSError as trouble:
        raise UnfitSource(f"{trouble.filename} cannot be read: {trouble.strerror}") from trouble


def output_of(command: Sequence[str], places: Mapping[str, object]) -> tuple[str | None, str]:
    """Run a program that a manifest names, with its places filled in.

    Returns:
        What it printed, or None if it failed; then the end of what it wrote to standard error.
    """
    done = subprocess.run(
        guarded(*(part.format(**places) for part in command)),
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        cwd="/",
    )
    words = " ".join(done.stderr.strip().splitlines()[-_LAST_WORDS:])
    return (None if done.returncode else done.stdout), words


def version_of(client: Client) -> str:
    """Return the version of a client's sources, as the library says it.

    Raises:
        UnfitSource: they are something else, or of a version that the adapter does not know.
    """
    path, stated, build = there(client), client.manifest.source, client.manifest.build
    assert stated is not None, "a client without it has no source"
    assert stated.inspect is not None, "a rule of the manifest"
    places = {"folder": client.folder, "source": path, "python": sys.executable}
    printed, words = output_of(stated.inspect, places)
    if printed is None:
        raise UnfitSource(f"{path} is not {stated.of}: {words}")
    try:
        version = msgspec.json.decode(printed, type=Inspected).version
    except msgspec.MsgspecError as wrong:
        raise BuildFailed(
            f"the inspection of {path} printed no object with a version: {wrong}"
        ) from None
    if not is_version(version):
        raise UnfitSource(f"{path} calls its version {version}, which is none such as 1.70.0")
    versions = (build.versions if build is not None else None) or ""
    if not is_within(version, versions):
        raise UnfitSource(
            f"{path} is version {version}, and the adapter of {client.name} is for {versions}"
        )
    return version
