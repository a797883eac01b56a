"""Write files as a whole, even if a signal interrupts the command."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import msgspec

from conformance.runner.interruption import postponed


def write(path: Path, content: bytes) -> None:
    """Write a file completely, even if a signal ends the command in the meantime.

    A pipe or a terminal may take none of it for ever, so there the command ends at once.

    Raises:
        OSError: it cannot be written.
    """
    with postponed() if can_be_replaced(path) else nullcontext(), path.open("wb") as file:
        file.write(content)


def write_json(path: Path, value: object) -> None:
    """Write a value to a file as indented JSON."""
    write(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")


def check_writable(path: Path) -> None:
    """See that a file can be written; it is as it was then, and not there if it was not.

    Raises:
        OSError: it cannot.
    """
    if path.exists():
        if path.is_file():
            path.open("ab").close()
        return
    with postponed():
        path.open("xb").close()
        path.unlink()


def can_be_replaced(path: Path) -> bool:
    """Return whether the next write to a file replaces its content.

    A pipe has all of it, and so has a terminal, but no other device.
    """
    if not path.exists() or path.is_file():
        return True
    if not path.is_char_device():
        return False
    opened = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return not os.isatty(opened)
    finally:
        os.close(opened)
