"""From plain values, as JSON and YAML have them, to protobuf messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import json_format, message

from fake_control_plane.descriptors import empty_message
from fake_control_plane.exceptions import BadResourceFile

_TYPE: Final = "@type"
_ANY: Final = "google.protobuf.Any"
_WELL_KNOWN: Final = "google.protobuf."

# How json_format words the way to a field: from outside to inside, then the whole path or not.
_WITHIN: Final = re.compile(r"Failed to parse (\S+) field: ")
_AT: Final = re.compile(r' at "?\w+\.?([\w.\[\]]*)"?\.*$')
_KNOWN_FIELDS: Final = re.compile(r"\s*Available Fields.*", re.DOTALL)


def parse(where: str, fields: Any) -> message.Message:
    """Return the message that a mapping represents, by its `@type`.

    Args:
        where: The start of each error message: the file, and the number of the resource.
        fields: The mapping in the file.

    Raises:
        BadResourceFile: the mapping is not a valid message; the error names the field.
    """
    try:
        return _parse(where, fields)
    except RecursionError:
        raise BadResourceFile(f"{where}: is nested too deeply.") from None


def _parse(where: str, fields: Any) -> message.Message:
    if not isinstance(fields, dict):
        raise BadResourceFile(f"{where}: is no mapping, but a resource is one.")
    if not isinstance(type_url := fields.get(_TYPE), str):
        raise BadResourceFile(f"{where}: has no {_TYPE!r} that says what it is.")
    for nested in _types(fields):
        try:
            empty_message(nested)
        except (KeyError, TypeError):  # TypeError: half of a surrogate pair
            raise BadResourceFile(f"{where}: {_TYPE}: {nested!r} is no known type.") from None
    parsed = empty_message(type_url)
    for complaint in _doubled(fields, parsed.DESCRIPTOR, ""):
        raise BadResourceFile(f"{where}: {complaint}")
    untyped = {name: value for name, value in fields.items() if name != _TYPE}
    try:
        json_format.ParseDict(untyped, parsed)
    except (
        json_format.ParseError,
        ArithmeticError,
        AttributeError,
        KeyError,
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


def _doubled(fields: Any, of: Any, path: str) -> Iterator[str]:
    """Complaints of fields that are there by both of their names, `lbPolicy` and `lb_policy`.

    Args:
        fields: The mapping; json_format rejects any other value.
        of: The descriptor of the message that it represents.
        path: Its own path, the start of the path of a field.
    """
    if of.full_name == _ANY and isinstance(fields, dict):
        of = empty_message(fields[_TYPE]).DESCRIPTOR if isinstance(fields.get(_TYPE), str) else of
    if of.full_name.startswith(_WELL_KNOWN) or not isinstance(fields, dict):
        return  # a Struct's keys are its own
    seen: dict[str, str] = {}
    by_json_name = {field.json_name: field for field in of.fields}
    for name, value in fields.items():
        field = by_json_name.get(name) or of.fields_by_name.get(name)
        if field is None:
            continue
        if (first := seen.setdefault(field.name, name)) != name:
            yield f"{path}{name}: is {path}{first} already, by its other name: leave one out."
        if field.message_type is not None:
            for place, part in _values(field, value):
                yield from _doubled(part, _value_type(field), f"{path}{name}{place}.")


def _values(field: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the messages of a field, each with its place in the field."""
    if _is_map(field):
        if isinstance(value, dict):
            yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    else:
        yield "", value


def _value_type(field: Any) -> Any:
    """Return the message type of a field's values; for a scalar map, the entry's own type."""
    entry = field.message_type
    return (entry.fields_by_name["value"].message_type or entry) if _is_map(field) else entry


def _is_map(field: Any) -> bool:
    return bool(field.message_type.GetOptions().map_entry)


def _reason(trouble: Exception) -> str:
    """Return the message of json_format as one sentence that starts with the field."""
    text = " ".join(_KNOWN_FIELDS.sub("", str(trouble)).split()).rstrip(".")
    field = ".".join(_WITHIN.findall(text))
    text = _WITHIN.sub("", text)
    if at := _AT.search(text):
        field = at[1] or field
        text = text[: at.start()].rstrip(".")
    return f"{field}: {text}." if field else f"{text}."
