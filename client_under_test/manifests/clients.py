"""Names of clients, and how they resolve to a folder, version and variant."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import UnfitSource, UnknownClient
from client_under_test.manifests.manifest import Manifest
from client_under_test.manifests.manifest_file import FILE, read
from client_under_test.manifests.version_ranges import is_snapshot

BUILT_IN: Final = Path(__file__).parents[1] / "adapters"

# python, python@1.58.3, python@1.85.1+hash-key, path/to/folder+hash-key
_NAME: Final = re.compile(
    r"(?P<place>.+?)(@(?P<version>[0-9][^@+/]*))?(\+(?P<variant>[^@+/]+))?", re.DOTALL
)

# go@master, go@a1b2c3d: where no folder is called so
_WITH_REF: Final = re.compile(
    r"(?P<place>.+)@(?P<ref>[^@+\s]+)(\+(?P<variant>[^@+/]+))?", re.DOTALL
)
_HASH: Final = re.compile(r"[0-9a-f]{7,40}")


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A client as the user named it; nothing has been built yet.

    `version` is None where the newest is meant, `variant` where none is. `source` is what it
    is built from, if not a release: its files as they are, or a commit. `label` is then in its
    name, in the place of the version. `ref` is a branch, tag or commit that a registry resolves.
    """

    name: str
    version: str | None
    variant: str | None
    manifest: Manifest
    folder: Path
    source: Path | None = None
    commit: str = ""
    label: str = ""
    ref: str = ""

    def __str__(self) -> str:
        named = self.version or self.ref or self.label
        version = f"@{named}" if named else ""
        variant = f"+{self.variant}" if self.variant else ""
        return f"{self.name}{version}{variant}"

    @property
    def argument(self) -> str:
        """What `find` finds it by: as it is named, or by its folder if it is not built in."""
        found = msgspec.structs.replace(self, label="")
        if self.folder.parent == BUILT_IN:
            return str(found)
        return str(msgspec.structs.replace(found, name=str(self.folder)))

    @property
    def preparation(self) -> str:
        """What a command waits for until the client can start."""
        if self.source is None:
            return f"building or installing {self}"
        return f"building {self} from {self.source} (a first build takes minutes)"

    @property
    def is_shipped(self) -> bool:
        """Return whether the suite ships the client's folder."""
        return self.folder.is_relative_to(BUILT_IN)

    def built_from(self, source: Path, commit: str = "", label: str = "") -> Client:
        """Return the client as it is built from what the user has.

        Args:
            source: a folder or file.
            commit: of the checkout that the folder is, if not its files as they are.
            label: replaces the version in the client's name.

        Raises:
            UnfitSource: the client is a release already, or its manifest has no way to do that.
        """
        stated = self.manifest.any_source
        if stated is None:
            raise UnfitSource(
                f"client {self.name} cannot be built from sources: its client.toml has no "
                "[source]: docs/adapter-reference.md says what to write (Sources of your own)"
            )
        if self.version is not None or self.ref:
            raise UnfitSource(
                f"{self} is a release: name {self.name} without a version for a source"
            )
        return msgspec.structs.replace(
            self,
            manifest=msgspec.structs.replace(self.manifest, source=stated),
            source=source,
            commit=commit,
            label=label or commit[:12] or "source",
        )


def built_in() -> tuple[str, ...]:
    """Names of the clients that come with the suite."""
    return tuple(sorted(file.parent.name for file in BUILT_IN.glob(f"*/{FILE}")))


def _has_manifest(folder: Path) -> bool:
    try:
        str(folder).encode()  # reports are UTF-8, and have it in their words
        return (folder / FILE).is_file()
    except (OSError, UnicodeEncodeError):  # such as a name that no file can have
        return False


def find(text: str) -> Client:
    """Return a built-in client by name, or a client by folder, with any `@version` and `+variant`.

    Raises:
        UnknownClient: there is no such client, folder or variant.
        BadManifest: its client.toml breaks a rule.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise UnknownClient(f"a client needs a name: one of {', '.join(built_in())}, or a folder")
    version: str | None = match["version"]
    variant: str | None = match["variant"]
    place, ref = match["place"], ""
    if version and (_HASH.fullmatch(version) or is_snapshot(version)):
        ref = version
        version = None
    elif version is None and (other := _WITH_REF.fullmatch(text)) and _is_client(other["place"]):
        place, variant, ref = other["place"], other["variant"], other["ref"]
    if place not in built_in() and _has_manifest(Path(text)):
        place, version, variant, ref = text, None, None, ""  # a folder such as c++-client
    folder = BUILT_IN / place if place in built_in() else Path(place).absolute()
    if not _has_manifest(folder):
        if os.path.isdir(place):  # noqa: PTH112 - of a name that no file can have, Path raises
            raise UnknownClient(
                f"the folder {place} has no {FILE}: name the folder of an adapter, or let "
                "`xdspec new-client LANG DIR` write one"
            )
        near = difflib.get_close_matches(place, built_in(), n=1)
        hint = f"did you mean {near[0]}? N" if near else "n"
        raise UnknownClient(
            f"there is no client {place}: {hint}ame one of {', '.join(built_in())}, "
            f"or a folder that has a {FILE}"
        )
    manifest = read(folder)
    if variant is not None:
        manifest.variant(variant)
    return Client(
        name=manifest.name,
        version=version,
        variant=variant,
        manifest=manifest,
        folder=folder,
        ref=ref,
    )


def _is_client(place: str) -> bool:
    return place in built_in() or _has_manifest(Path(place))
