"""Reading of files that a user names: never one that does not end, or whose opening waits."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class CannotRead(Exception):
    """A file is of no use; the message is a clause that its name goes before."""


def read_text(file: Path, *, most: int) -> str:
    """The text of a regular file, or of one that a link leads to.

    Args:
        file: The file; a FIFO, a device or a folder is refused without being read.
        most: The most bytes that it may hold.

    Raises:
        CannotRead: it is none, is not UTF-8, or is larger.
    """
    try:
        with open(file, "rb", opener=_without_waiting) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise CannotRead("cannot be read: it is no regular file")
            content = opened.read(most + 1)
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise CannotRead(f"cannot be read: {reason}") from trouble
    if len(content) > most:
        raise CannotRead(f"is larger than {most:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as trouble:
        raise CannotRead(f"is not UTF-8: byte {trouble.start}") from trouble


def _without_waiting(path: str, flags: int) -> int:
    # For the writer of a FIFO, which may be put in the place of a file at any time.
    return os.open(path, flags | os.O_NONBLOCK)
