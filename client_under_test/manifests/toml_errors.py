"""What is wrong with a table of a TOML file, as one sentence: which field, and what it may be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

# One step of msgspec's path: a field, a place in a list, or any value of a table.
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")


_PATTERN: Final = re.compile(r"Expected `str` matching regex '(.*)'")

PATTERNS: Final = {
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": (
        "write letters, digits, `.`, `_` and `-`; the first is a letter or a digit"
    ),
    r"^[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][^\s,]*$": "write a distribution and a version: NAME==1.2",
    "^https?://": "write an address that begins with https:// or http://",
}
"""The patterns of the manifest in words."""

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class BrokenRule(Exception):
    """A table breaks a rule; the text is `field: what is wrong`."""


def converted(raw: dict[str, Any], kind: type[_Struct]) -> _Struct:
    """Convert the table to this struct, and consume `raw`.

    Raises:
        BrokenRule: it breaks a rule.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as trouble:
        what, _, where = str(trouble).partition(" - at ")
        path = re.sub(r"^.*\$\.?|`$", "", where)
        hint = _hint(what, inspect.type_info(kind), path, of_key=where.startswith("`key`"))
        field = _named(raw, kind, path)
        where = f"{field}: " if field else ""
        raise BrokenRule(f"{where}{_in_words(what)}{hint}") from trouble


def _in_words(what: str) -> str:
    """Return what msgspec says, and what to write instead."""
    if pattern := _PATTERN.fullmatch(what):
        plainly = pattern[1].replace(r"\\", "\\")
        if plainly in PATTERNS:
            return PATTERNS[plainly]
    if key := re.fullmatch("Object (missing required|contains unknown) field (`.*`)", what):
        return f"the key {key[2]} is missing" if key[1].startswith("m") else f"unknown key {key[2]}"
    plain = f"{what[:1].lower()}{what[1:]}"
    unquoted = re.fullmatch(r"Expected `str[^`]*`, got `(int|float|bool|date|time|datetime)`", what)
    return f"write it in quotes ({plain})" if unquoted else plain


def _named(raw: dict[str, Any], kind: type, path: str) -> str:
    """Return the path with the names of the tables' entries, which msgspec prints as `[...]`.

    The entry in question still fails if all entries next to it are removed.
    """
    steps: list[str] = []
    place: Any = raw
    for field, number, _ in _STEP.findall(path):
        if field or number:
            place = place[field] if field else place[int(number)]
            steps.append(f".{field}" if field else f"[{number}]")
            continue
        every = dict(place)
        for name, value in every.items():
            place.clear()
            place[name] = value
            if _fails_at(raw, kind, path):
                break
        steps.append(f".{name}")
        place = value
    return "".join(steps).removeprefix(".")


def _fails_at(raw: dict[str, Any], kind: type, path: str) -> bool:
    try:
        msgspec.convert(raw, kind)
    except msgspec.ValidationError as trouble:
        return f"`$.{path}`" in str(trouble)
    return False


def _hint(what: str, kind: inspect.Type, path: str, *, of_key: bool) -> str:
    """Which values or fields there are, where they are few."""
    known = tuple(_known_at(kind, path, of_key=of_key))
    unknown = re.search(r"unknown field `(.*)`", what)
    if unknown:
        near = sorted(difflib.get_close_matches(unknown[1], known, n=2))
        homes = _where(tuple(_homes(kind, unknown[1])))
        hint = [f"did you mean {' or '.join(f'`{key}`' for key in near)}?"] if near else []
        hint += [f"`{unknown[1]}` belongs {homes}"] if homes else []
        hint = hint or [f"there are {', '.join(known)}"]
        return f": {' '.join(hint)}"
    return f": there are {', '.join(known)}" if what.startswith("Invalid enum") else ""


def _known_at(kind: inspect.Type, path: str, *, of_key: bool) -> Iterator[str]:
    """Return the fields or values that are allowed at a place."""
    for field, number, _ in _STEP.findall(path):
        kind = _one_of(kind)
        if isinstance(kind, inspect.StructType) and field:
            kind = next(member.type for member in kind.fields if member.encode_name == field)
        elif isinstance(kind, inspect.VarTupleType) and number:
            kind = kind.item_type
        elif isinstance(kind, inspect.DictType):
            kind = kind.value_type
    kind = _one_of(kind)
    if of_key and isinstance(kind, inspect.DictType):
        kind = kind.key_type
    if isinstance(kind, inspect.StructType):
        yield from (field.encode_name for field in kind.fields)
    elif isinstance(kind, inspect.LiteralType):
        yield from map(str, kind.values)
    elif isinstance(kind, inspect.EnumType):
        yield from (str(member.value) for member in kind.cls)


def _where(homes: Collection[str]) -> str:
    """Return the places of a field as text; empty if there are none."""
    tables = [home for home in homes if home]
    words = ["at the top, before the first [table]"] if len(tables) < len(homes) else []
    words += [f"under {', '.join(tables)}"] if tables else []
    return ", or ".join(words)


def _homes(
    kind: inspect.Type, name: str, path: tuple[str, ...] = (), *, many: bool = False
) -> Iterator[str]:
    """Return the tables that may contain a field of this name, as TOML writes them."""
    kind = _one_of(kind)
    if isinstance(kind, inspect.VarTupleType):
        yield from _homes(kind.item_type, name, path, many=True)
    elif isinstance(kind, inspect.DictType):
        keys = _one_of(kind.key_type)
        if isinstance(keys, inspect.LiteralType) and name in keys.values:
            yield f"[{'.'.join(path)}]"
        yield from _homes(kind.value_type, name, (*path, "NAME"))
    elif isinstance(kind, inspect.StructType):
        if any(field.encode_name == name for field in kind.fields):
            table = ".".join(path)
            header = f"[[{table}]]" if many else f"[{table}]"
            yield header if path else ""
        for field in kind.fields:
            yield from _homes(field.type, name, (*path, field.encode_name))


def _one_of(kind: inspect.Type) -> inspect.Type:
    """Without the None beside it, and what is known of the type itself."""
    if isinstance(kind, inspect.Metadata):
        return _one_of(kind.type)
    if isinstance(kind, inspect.UnionType):
        return _one_of(next(k for k in kind.types if not isinstance(k, inspect.NoneType)))
    return kind
