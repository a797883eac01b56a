"""A line that an adapter must not write: what is wrong with it, and the part that shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, get_args

import msgspec

from client_under_test.contract.exceptions import Fault
from client_under_test.contract.messages import Answer

_SHOWN: Final = 200
"""Characters of a line that are shown."""

_BEFORE: Final = 100
_HEAD: Final = 60
"""Where the faulty field comes late: characters shown before it, and at the start of the line."""

_PATH: Final = re.compile(r" - at `\$\.?([^`]*)`$")
_NAMED: Final = re.compile(r"field `(\w+)`")

_BY_TAG: Final[dict[str, Any]] = {kind.__struct_config__.tag: kind for kind in get_args(Answer)}


class InvalidLine(Exception):
    """A line that the contract does not know, or not at this place.

    Args:
        line: the whole line.
        why: what is wrong with it.
        fault: which kind of fault that is.
        field: the field that is wrong, if one is.
    """

    def __init__(self, line: bytes, why: str, fault: Fault = "order", field: str = "") -> None:
        super().__init__(why)
        self.line: Final = shortened(line, field)
        self.why: Final = why
        self.fault: Final[Fault] = fault


def shortened(line: bytes, field: str = "") -> str:
    """Return a line as text, cut with `…`; a field with this name is never cut off."""
    text = line.decode("utf-8", "backslashreplace")
    if len(text) <= _SHOWN:
        return text
    at = text.find(f'"{field}"') if field else -1
    if at < _SHOWN - _BEFORE:
        return f"{text[:_SHOWN]} …"
    end = at - _BEFORE + _SHOWN
    rest = " …" if end < len(text) else ""
    return f"{text[:_HEAD]} … {text[max(at - _BEFORE, _HEAD) : end]}{rest}"


def undecodable(line: bytes, trouble: msgspec.DecodeError) -> InvalidLine:
    """Return why a line is no message of the contract."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return InvalidLine(line, str(trouble), "not JSON")
    if not isinstance(message, dict):
        return InvalidLine(line, str(trouble), "not JSON")
    kind = str(message.get("type"))
    known = kind in _BY_TAG
    text = str(trouble)
    if (path := _PATH.search(text)) is None:
        named = _NAMED.search(text)
        field = named[1] if named else ""
        has = "has an unknown field" if "unknown field" in text else "lacks the field"
        why = f"{f'answer `{kind}`' if known else 'a message'} {has} `{field}`"
        return InvalidLine(line, why if named else text, "field", field)
    field = path[1].partition("[")[0].partition(".")[0]
    value = json.dumps(message.get(field), ensure_ascii=False)
    names = sorted(_BY_TAG) if field == "type" else list(_names(kind, field)) if known else []
    wanted = f", which is none of {', '.join(names)}" if names else f" ({text[: path.start()]})"
    shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]} …"
    where = f"answer `{kind}`: " if known and field != "type" else ""
    return InvalidLine(line, f"{where}`{field}` is {shown}{wanted}", "field", field)


def _names(kind: str, field: str) -> Iterator[str]:
    """Return the names that a field may have as values, if the contract lists them."""
    (declared,) = (each for each in msgspec.structs.fields(_BY_TAG[kind]) if each.name == field)
    found = get_args(declared.type)
    while found and not isinstance(found[0], str):
        found = get_args(found[0])
    yield from (name for name in found if isinstance(name, str))
