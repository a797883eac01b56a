"""JSON that this suite has written, as far as that is so."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from regular_files import read_bytes

_Kind = TypeVar("_Kind")


class Unreadable(Exception):
    """A file that cannot be read; the text says why, behind its name."""


class ForeignFile(Exception):
    """A file that holds something else; the text says what is wrong with it."""


def read(path: Path, kind: type[_Kind]) -> _Kind:
    """Read and decode a file.

    Raises:
        Unreadable, Alien: as they say.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise Unreadable(f"{error.strerror}") from None
    return decoded(content, kind)


def decoded(content: bytes, kind: type[_Kind]) -> _Kind:
    """Decode the bytes of a file.

    Raises:
        Alien: something else.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except RecursionError:
        raise ForeignFile("it is nested too deeply") from None
    except ValueError as error:  # msgspec's own, and bytes that are not UTF-8
        raise ForeignFile(f"{error}") from None
