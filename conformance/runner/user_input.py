"""What a user gives a run: variables for the client's process, and a folder for evidence."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final


class Unusable(Exception):
    """What was given cannot be used; the text says why."""


def is_utf_8(name: str | Path) -> bool:
    """Return whether a report can contain a name: names of files may be any bytes."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def pairs(given: Iterable[str]) -> dict[str, str]:
    """``K=V`` arguments as a mapping.

    Raises:
        Unusable: one is none, or no text.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not is_utf_8(text):
            raise Unusable(f"{text!r} is not UTF-8")
        if not equals or not name:
            raise Unusable(f"{text!r} is not of the form NAME=VALUE")
        found[name] = value
    return found


WITHHELD: Final = "…"
"""What a report has in the place of a value that the user passed by ``--env``."""


def withheld(environment: Iterable[str]) -> dict[str, str]:
    """Return the names of the client's variables, without values: reports are public."""
    return dict.fromkeys(environment, WITHHELD)


def require_folder(path: Path) -> None:
    """See that a folder is there, or can be made, and that files can be written in it.

    Raises:
        Unusable: they cannot.
    """
    try:
        above = (path.absolute(), *path.absolute().parents)
        there = next(place for place in above if _is_there(place))
    except OSError as error:
        raise Unusable(f"{path} cannot be made: {error.strerror}") from None
    if not there.is_dir():
        raise Unusable(f"{there} is not a folder")
    if not is_utf_8(above[0]):
        raise Unusable(f"the name of {path} is not UTF-8")
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError:
        raise Unusable(f"nothing can be written in {there}") from None


def _is_there(path: Path) -> bool:
    """Return whether a path exists; unlike Path.exists, raise for an invalid name.

    Raises:
        OSError: it cannot be determined, or the name is invalid, such as too long.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
