"""A folder of resources, as protojson or the same in YAML.

A file (`.json`, `.yaml`, `.yml`) holds one resource with its `@type`, or a list of them, or a
mapping with the list as `resources`; a YAML file may hold several such documents.

Beside `resources` may stand a `version_info`, which is the version of the types of these resources,
also of those in other files. A file with a `version_info` and no resources gives it to all types of
which no other file says one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fake_control_plane.documents import BadDocument, json_document, yaml_documents
from fake_control_plane.exceptions import BadResource, BadResourceFile, NoSuchFolder
from fake_control_plane.kinds import Kind
from fake_control_plane.protojson import parse
from fake_control_plane.snapshot import pack
from regular_files import read_text

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})

# The fields of a DiscoveryResponse that count here: Envoy reads its resources from files of these.
_VERSIONS: Final = frozenset({"version_info", "versionInfo"})
_RESPONSE: Final = _VERSIONS | {"resources"}

# Bytes. Ten thousand endpoints are some 5 MB.
_LARGEST: Final = 1 << 26

# Scanning this many entries takes a second, and the folder is scanned repeatedly.
_MOST_ENTRIES: Final = 100_000


class Content(msgspec.Struct, frozen=True):
    """What a folder holds."""

    resources: tuple[Any, ...]
    versions: Mapping[Kind, str]
    """What the types are called on the wire of which the folder says it."""


class FileContent(msgspec.Struct, frozen=True):
    """What a file holds."""

    resources: tuple[Any, ...]
    version: str | None = None
    """Its `version_info`."""


def load_folder(folder: Path) -> Content:
    """All resources of a folder and the folders within, by the names of their files.

    Raises:
        NoSuchFolder: it is not there, or no folder.
        BadResourceFile: a file cannot be read, two of them hold the same resource, or they differ
            in the version of a type.
    """
    loaded = []
    homes: dict[tuple[Kind, str], Path] = {}
    said: dict[Kind | None, tuple[str, Path]] = {}
    for file in resource_files(folder):
        content = load_file(file)
        kinds: dict[Kind | None, None] = {}
        for resource in content.resources:
            kind, packed = pack(resource)
            kinds[kind] = None
            home = homes.setdefault((kind, packed.name), file)
            if home is not file:
                raise BadResourceFile(
                    f"{file}: the {kind.value} {packed.name!r} is in {home} already."
                )
            loaded.append(resource)
        if content.version is not None:
            for of in kinds or {None: None}:
                _agree(said, of, content.version, file)
    of_all = said.pop(None, None)
    versions = dict.fromkeys(Kind, of_all[0]) if of_all else {}
    versions |= {kind: version for kind, (version, _) in said.items() if kind is not None}
    return Content(tuple(loaded), versions)


def _agree(
    said: dict[Kind | None, tuple[str, Path]], of: Kind | None, version: str, file: Path
) -> None:
    before, where = said.setdefault(of, (version, file))
    if before != version:
        what = "all types" if of is None else f"type {of.value}"
        raise BadResourceFile(
            f"{file}: version_info {version!r} of {what} is {before!r} in {where}: a type has one "
            "version."
        )


def resource_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, by name; links are followed.

    A folder to which several links lead is read once, where it is met first. What begins with a dot
    is left out, so of a mounted ConfigMap each file is there once.

    Raises:
        NoSuchFolder: it is not there, or no folder.
        BadResourceFile: a folder within cannot be read, or there are more than 100,000 entries.
    """
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise NoSuchFolder(f"{str(folder)!r} is no folder to serve resources from.")
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise NoSuchFolder(
            f"There is no folder {str(folder)!r} to serve resources from: {reason}."
        ) from trouble
    for number, path in enumerate(_entries_of(folder, set())):
        if number == _MOST_ENTRIES:
            raise BadResourceFile(f"{folder}: holds more than {_MOST_ENTRIES:,} files and folders.")
        if path is not None:
            yield path


def _entries_of(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Path | None]:
    """Yield the resource files of a folder, and None for each other entry."""
    try:
        status = folder.stat()
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            return
        seen.add(identity)
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            path = folder / entry.name
            is_hidden = entry.name.startswith(".")
            yield (
                path if not is_hidden and not entry.is_dir() and path.suffix in _SUFFIXES else None
            )
            if not is_hidden and entry.is_dir():
                yield from _entries_of(path, seen)
    except OSError as trouble:
        raise BadResourceFile(f"{folder}: cannot be read: {trouble.strerror}.") from trouble


def load_file(file: Path) -> FileContent:
    """All resources of one file, and the version that it gives to their types.

    Raises:
        BadResourceFile: it cannot be read; the message names the file and the field.
    """
    try:
        text = read_text(file, most=_LARGEST)
    except OSError as trouble:
        raise BadResourceFile(f"{file}: cannot be read: {trouble.strerror}.") from trouble
    resources = []
    names = set()
    entries, version = _entries(file, text)
    for index, fields in enumerate(entries):
        where = f"{file}: resource {index + 1}"
        resource = parse(where, fields)
        try:
            kind, packed = pack(resource)
        except BadResource as trouble:
            raise BadResourceFile(f"{where}: {trouble}") from trouble
        if (kind, packed.name) in names:
            raise BadResourceFile(f"{where}: a {kind.value} {packed.name!r} is above already.")
        names.add((kind, packed.name))
        resources.append(resource)
    return FileContent(tuple(resources), version)


def _entries(file: Path, text: str) -> tuple[list[Any], str | None]:
    """Return the mappings of the resources, and the version of their types if the file has one."""
    entries: list[Any] = []
    versions: list[str] = []
    for document in _documents(file, text):
        if isinstance(document, dict) and document and document.keys() <= _RESPONSE:
            listed = document.get("resources") or []
            entries += listed if isinstance(listed, list) else [listed]
            versions += (_version(file, document[key]) for key in _VERSIONS & document.keys())
        else:
            entries += document if isinstance(document, list) else [document]
    if len(set(versions)) > 1:
        raise BadResourceFile(f"{file}: has more than one version_info: leave one.")
    return entries, versions[0] if versions else None


def _version(file: Path, version: Any) -> str:
    if not isinstance(version, str) or not version:
        raise BadResourceFile(f"{file}: version_info is no text: write it in quotes.")
    try:
        version.encode()
    except UnicodeEncodeError:
        raise BadResourceFile(f"{file}: version_info is no Unicode text.") from None
    return version


def _documents(file: Path, text: str) -> list[Any]:
    try:
        if file.suffix == ".json":
            return [json_document(text)]
        return [document for document in yaml_documents(text) if document is not None]
    except BadDocument as trouble:
        raise BadResourceFile(f"{file}: {trouble}.") from trouble
