"""Write files as a whole, and remove a command's temporary folders however it ends.

An interrupted write leaves the file as it was. A block's folder is removed at the end of the
block, and when the command is interrupted. If the command is killed, the next one removes the
folder: the system has then released its lock.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import msgspec

from conformance.runner import interruption
from conformance.runner.interruption import postponed

PREFIX: Final = "xdspec-scratch-"
_OURS: Final = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")  # as `tempfile` completes it


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a temporary folder for the length of the block."""
    with interruption.postponed():
        sweep()
        folder, lock = _locked()

        def remove() -> None:
            shutil.rmtree(folder, ignore_errors=True)

        with interruption.cleaned_up(remove):
            try:
                with interruption.resumed():
                    yield folder
            finally:
                remove()
                os.close(lock)


@functools.cache
def sweep() -> None:
    """Remove, once, what commands of this user have left that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _OURS.fullmatch(path.name):
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def _locked() -> tuple[Path, int]:
    """Make a new folder; return it with the descriptor of its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # swept before it was locked
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if folder.exists():
                return folder, handle
            os.close(handle)


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
