"""A folder of resources, as protojson or the same in YAML.

A file (`.json`, `.yaml`, `.yml`) holds one resource with its `@type`, or a list of them, or a
mapping whose only key is `resources`; a YAML file may hold several such documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from google.protobuf import json_format, message

from fake_control_plane.descriptors import empty_message
from fake_control_plane.exceptions import BadResource, BadResourceFile, NoSuchFolder
from fake_control_plane.kinds import Kind
from fake_control_plane.snapshot import pack

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
_TYPE: Final = "@type"

# The C loader is not part of every build of PyYAML; without it a thousand endpoints take seconds.
_YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# How json_format words the way to a field: from outside to inside, then the whole path or not.
_WITHIN: Final = re.compile(r"Failed to parse (\S+) field: ")
_AT: Final = re.compile(r' at "?\w+\.?([\w.\[\]]*)"?\.*$')
_KNOWN_FIELDS: Final = re.compile(r"\s*Available Fields.*", re.DOTALL)


def load_folder(folder: Path) -> tuple[message.Message, ...]:
    """All resources of a folder and the folders within, by the names of their files.

    Raises:
        NoSuchFolder: it is not there, or no folder.
        BadResourceFile: a file cannot be read, or two of them hold the same resource.
    """
    if not folder.is_dir():
        raise NoSuchFolder(f"There is no folder {str(folder)!r} to serve resources from.")
    loaded = []
    homes: dict[tuple[Kind, str], Path] = {}
    for file in sorted(folder.rglob("*")):
        within = file.relative_to(folder)
        if file.suffix not in _SUFFIXES or any(part.startswith(".") for part in within.parts):
            continue
        for resource in load_file(file):
            kind, packed = pack(resource)
            home = homes.setdefault((kind, packed.name), file)
            if home is not file:
                raise BadResourceFile(
                    f"{file}: the {kind.value} {packed.name!r} is in {home} already."
                )
            loaded.append(resource)
    return tuple(loaded)


def load_file(file: Path) -> tuple[message.Message, ...]:
    """All resources of one file.

    Raises:
        BadResourceFile: it cannot be read; the message names the file and the field.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as trouble:
        raise BadResourceFile(f"{file}: cannot be read: {trouble.strerror}.") from trouble
    except UnicodeDecodeError as trouble:
        raise BadResourceFile(f"{file}: is not UTF-8: byte {trouble.start}.") from trouble
    resources = []
    names = set()
    for index, fields in enumerate(_entries(file, text)):
        where = f"{file}: resource {index + 1}"
        resource = _parse(where, fields)
        try:
            kind, packed = pack(resource)
        except BadResource as trouble:
            raise BadResourceFile(f"{where}: {trouble}") from trouble
        if (kind, packed.name) in names:
            raise BadResourceFile(f"{where}: a {kind.value} {packed.name!r} is above already.")
        names.add((kind, packed.name))
        resources.append(resource)
    return tuple(resources)


def _entries(file: Path, text: str) -> Iterator[Any]:
    for document in _documents(file, text):
        if isinstance(document, dict) and document.keys() == {"resources"}:
            document = document["resources"]  # noqa: PLW2901 - what it stands for
        yield from document if isinstance(document, list) else [document]


def _documents(file: Path, text: str) -> list[Any]:
    if file.suffix == ".json":
        try:
            return [json.loads(text)]
        except (json.JSONDecodeError, RecursionError) as trouble:
            reason = trouble.args[0] if trouble.args else "it is nested too deeply"
            raise BadResourceFile(f"{file}: is not JSON: {reason}.") from trouble
    try:
        documents = list(yaml.load_all(text, Loader=_YAML_LOADER))
    except yaml.MarkedYAMLError as trouble:
        line = f"line {trouble.problem_mark.line + 1}: " if trouble.problem_mark else ""
        raise BadResourceFile(f"{file}: is not YAML: {line}{trouble.problem}.") from trouble
    except (yaml.YAMLError, ValueError, RecursionError) as trouble:
        reason = " ".join(str(trouble).split())
        raise BadResourceFile(f"{file}: is not YAML: {reason}.") from trouble
    return [document for document in documents if document is not None]


def _parse(where: str, fields: Any) -> message.Message:
    if not isinstance(fields, dict):
        raise BadResourceFile(f"{where}: is no mapping, but a resource is one.")
    if not isinstance(type_url := fields.get(_TYPE), str):
        raise BadResourceFile(f"{where}: has no {_TYPE!r} that says what it is.")
    for nested in _types(fields):
        try:
            empty_message(nested)
        except KeyError:
            raise BadResourceFile(f"{where}: {_TYPE}: {nested!r} is no known type.") from None
    parsed = empty_message(type_url)
    untyped = {name: value for name, value in fields.items() if name != _TYPE}
    try:
        json_format.ParseDict(untyped, parsed)
    except (
        json_format.ParseError,
        ArithmeticError,
        AttributeError,
        TypeError,
        ValueError,
    ) as trouble:
        # The others escape from json_format where a value is of a shape that it does not expect.
        raise BadResourceFile(f"{where}: {_reason(trouble)}") from trouble
    return parsed


def _types(fields: Any) -> Iterator[str]:
    """Every type that is named, the outermost first."""
    if isinstance(fields, dict):
        if isinstance(type_url := fields.get(_TYPE), str):
            yield type_url
        for value in fields.values():
            yield from _types(value)
    elif isinstance(fields, list):
        for value in fields:
            yield from _types(value)


def _reason(trouble: Exception) -> str:
    """What json_format says, as one sentence that begins with the field."""
    text = " ".join(_KNOWN_FIELDS.sub("", str(trouble)).split()).rstrip(".")
    field = ".".join(_WITHIN.findall(text))
    text = _WITHIN.sub("", text)
    if at := _AT.search(text):
        field = at[1] or field
        text = text[: at.start()].rstrip(".")
    return f"{field}: {text}." if field else f"{text}."
