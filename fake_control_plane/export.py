"""Events as JSON lines, and back. Resources are written as protojson where they can be read."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf import json_format, message

from fake_control_plane.descriptors import empty_message
from fake_control_plane.events import Event
from fake_control_plane.snapshot import Packed
from regular_files import read_bytes


def encode_event(event: Event) -> bytes:
    """One event as one line of JSON, without the line's end."""
    fields = msgspec.to_builtins(event, builtin_types=(bytes,))
    if "resources" in fields:
        fields["resources"] = [_render(**packed) for packed in fields["resources"]]
    return msgspec.json.encode(fields)


def decode_event(line: bytes | str) -> Event:
    """Decode an event that `encode_event` wrote."""
    fields = msgspec.json.decode(line)
    if "resources" in fields:
        fields["resources"] = [_parse(rendered) for rendered in fields["resources"]]
    event: Event = msgspec.convert(fields, Event, builtin_types=(bytes,))
    return event


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Write events to a file, one a line."""
    with path.open("wb") as file:
        for event in events:
            file.write(encode_event(event) + b"\n")


def read_events(path: Path) -> tuple[Event, ...]:
    """Read what `write_events` wrote."""
    return tuple(decode_event(line) for line in read_bytes(path).splitlines())


@functools.lru_cache(maxsize=64)  # one resource often goes to several streams
def _render(name: str, type_url: str, body: bytes) -> dict[str, Any]:
    rendered: dict[str, Any] = {"name": name, "type_url": type_url}
    try:
        parsed = empty_message(type_url)
        parsed.ParseFromString(body)
        rendered["message"] = json_format.MessageToDict(parsed)
        if _parse(rendered).body == body:
            return rendered
    except (KeyError, TypeError, ValueError, message.DecodeError, json_format.Error):
        # Malformed, or of a type that this process does not know (TypeError: within an Any), or
        # with a value that JSON has no word for, such as a Duration out of its range.
        pass
    # JSON would lose something: a fault is exported as exactly as it was sent.
    rendered.pop("message", None)
    rendered["base64"] = base64.b64encode(body).decode()
    return rendered


def _parse(rendered: dict[str, Any]) -> Packed:
    name, type_url = rendered["name"], rendered["type_url"]
    if "base64" in rendered:
        return Packed(name, type_url, base64.b64decode(rendered["base64"]))
    parsed = json_format.ParseDict(rendered["message"], empty_message(type_url))
    return Packed(name, type_url, parsed.SerializeToString(deterministic=True))
