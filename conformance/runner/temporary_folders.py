"""Temporary folders of a command, which are removed however it ends.

A block's folder is removed at the end of the block, and when the command is interrupted. If the
command is killed, the next one removes the folder: the system has then released its lock.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from conformance.runner import interruption

PREFIX: Final = "xdspec-scratch-"
_OURS: Final = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")  # as `tempfile` completes it


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that lasts as long as the block."""
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
    """A new folder, and the handle by which it is locked."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # swept before it was locked
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if folder.exists():
                return folder, handle
            os.close(handle)
