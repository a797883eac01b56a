"""Digests of files and folders, by their content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

import regular_files

NOT_READ: Final = frozenset({".git"})
"""Names that no build reads: commits and checkouts of other branches change nothing."""


def digest(paths: Iterable[Path], leave_out: Callable[[str], bool] = lambda _: False) -> str:
    """Return the SHA-256 of what these files and folders contain, in hexadecimal digits.

    It covers names, content and whether a file can be executed, but no times. Symbolic links are
    followed, each folder once. A path that is not there has a digest of its own.

    Args:
        paths: files and folders; the digest depends on their order, but not on where they are.
        leave_out: whether a file is left out, by its path below one of the folders.

    Raises:
        OSError: a file cannot be read.
    """
    total = hashlib.sha256()
    for path in paths:
        for name, file in _files(path, set()):
            if not leave_out(name):
                total.update(_digest_of(name, file))
        total.update(b"\0end")
    return total.hexdigest()


def _digest_of(name: str, file: Path) -> bytes:
    content, mode = regular_files.digest(file)
    is_executable = bool(mode & stat.S_IXUSR)
    head = f"{name}\0{is_executable}\0".encode("utf-8", "surrogateescape")
    return hashlib.sha256(head + content).digest()


def _files(path: Path, seen: Collection[str], name: str = "") -> Iterator[tuple[str, Path]]:
    """All regular files, each with its name below the path, in the order of these."""
    if path.is_file():
        yield name, path
    elif path.is_dir():
        real = os.path.realpath(path)
        if real in seen:  # a link to a folder above
            return
        for inner in sorted(path.iterdir()):
            if inner.name not in NOT_READ:
                yield from _files(inner, {*seen, real}, f"{name}/{inner.name}")
    elif path.is_symlink():  # one that leads nowhere
        yield from ()


def of_bytes(content: bytes) -> str:
    """Return the SHA-256 of these bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
