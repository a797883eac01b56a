"""TOML that a user wrote: read, with a sentence that names the line where it cannot be."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from client_under_test.manifests.toml_errors import BrokenRule
from regular_files import read_bytes

_LARGEST: Final = 16 << 20
"""Bytes; no handwritten file comes near this size."""

_ENDLESS: Final = re.compile("[0-9_]{4000,}")
_HEADER: Final = re.compile(rb"^[ \t]*\[\[[ \t]*([\w.-]+)[ \t]*\]\]", re.MULTILINE)
_NUMBERED: Final = re.compile(r"(?P<table>[\w-]+)\[(?P<number>\d+)\]")


class Unreadable(BrokenRule):
    """It is no TOML at all; the text says in which line."""


def contents(file: Path) -> bytes:
    """Read a file.

    Raises:
        OSError: it cannot be read.
    """
    return read_bytes(file, most=_LARGEST)


def decoded(content: bytes) -> dict[str, Any]:
    """Parse the bytes of a file.

    Raises:
        Unreadable: they are no TOML.
    """
    try:
        text = content.decode("utf-8-sig")  # some editors begin with a byte order mark
    except UnicodeDecodeError as trouble:
        line = content.count(b"\n", 0, trouble.start) + 1
        raise Unreadable(f"the file is not UTF-8 (at line {line})") from None
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise Unreadable("the file is nested too deeply") from None
    except tomllib.TOMLDecodeError as trouble:
        last = f"at line {text.count(chr(10)) + 1}, the last"
        words = str(trouble).replace("at end of document", last)
        raise Unreadable(f"the file is not TOML: {words[:1].lower()}{words[1:]}") from None
    except ValueError:
        number = _ENDLESS.search(text)
        line = text.count("\n", 0, number.start() if number else 0) + 1
        raise Unreadable(f"a number has thousands of digits (at line {line})") from None


def place(content: bytes, field: str) -> str:
    """Where the table of `editions[2].follows` begins, as the end of a sentence, if it is known."""
    match = _NUMBERED.match(field)
    if match is None:
        return ""
    heads = [header for header in _HEADER.finditer(content) if header[1].decode() == match["table"]]
    number = int(match["number"])
    if number >= len(heads):
        return ""
    line = content.count(b"\n", 0, heads[number].start()) + 1
    return f" (in the table of line {line})"
