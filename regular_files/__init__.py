"""Read files that others name or send: regular ones only, of a bounded size, none by way of a link.

Every file that a user names is read by `read_bytes` or `read_text`. Every file of a folder that may
come from a stranger, such as evidence or a bundle, is read through `UntrustedFolder`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Final, Self

MOST: Final = 256 << 20
"""Bytes that a file may have: the report of a whole run has some 3 MiB."""

LONGEST_NAME: Final = 100
"""Characters of a name that is made of words."""

# A FIFO is not waited for, a terminal does not become ours, no child inherits the handle.
_SAFELY: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_bytes(file: Path, *, most: int = MOST) -> bytes:
    """Return the content of a regular file, or of the one that a link leads to.

    Args:
        file: as its user names it.
        most: the most bytes that it may have.

    Raises:
        OSError: there is none, it is no regular file, or it is larger; `strerror` says which.
    """
    return _content(_opened(file), most, file)


def read_text(file: Path, *, most: int = MOST) -> str:
    """Return the text of such a file.

    Raises:
        OSError: as above, or it is not UTF-8.
    """
    return decoded(read_bytes(file, most=most), file)


def decoded(content: bytes, file: PurePath) -> str:
    """Return these bytes of a file as text.

    Raises:
        OSError: they are not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as trouble:
        why = f"it is not UTF-8: byte {trouble.start}"
        raise OSError(errno.EILSEQ, why, str(file)) from None


def copy(source: Path, target: Path, *, start: int = 0) -> None:
    """Copy a regular file, however large it is; not the one that a link leads to.

    Args:
        source: the file.
        target: where the copy is written.
        start: how many of the first bytes are left out.

    Raises:
        OSError: it is none, or the copy cannot be written.
    """
    handle = _opened(source, os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(source))
        with open(handle, "rb", closefd=False) as read, target.open("wb") as written:
            read.seek(start)
            shutil.copyfileobj(read, written)
    finally:
        os.close(handle)


def digest(file: Path) -> tuple[bytes, int]:
    """Return the SHA-256 and the mode of a regular file, however large it is.

    Raises:
        OSError: there is none, or it is no regular file.
    """
    handle = _opened(file)
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(file))
        with open(handle, "rb", closefd=False) as opened:
            return hashlib.file_digest(opened, "sha256").digest(), mode
    finally:
        os.close(handle)


class UntrustedFolder:
    """A folder whose content is not trusted: what is read lies in it, and no link is followed.

    The folder is held open, so it stays the same one whatever is put in its place meanwhile.
    """

    place: Final[Path]

    def __init__(
        self, place: Path, *, may_be_link: bool = True, above: UntrustedFolder | None = None
    ) -> None:
        """Open a folder.

        Args:
            place: of the folder; with `above`, its path from there.
            may_be_link: whether the folder itself may be a link; not where a stranger names it.
            above: the folder below which it lies; then no link leads there.

        Raises:
            OSError: there is none, or it cannot be opened.
        """
        self.place = above.place / place if above else place
        if above:
            self._handle = above.below(_parts(str(place)))
        else:
            self._handle = _opened(place, os.O_DIRECTORY | (0 if may_be_link else os.O_NOFOLLOW))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def read_bytes(self, name: str, *, most: int = MOST) -> bytes:
        """Return the content of a regular file in the folder, or in a folder below it.

        Raises:
            OSError: there is none, a link is in the way, or as `read_bytes` says.
        """
        return _content(self._file(name), most, self.place / name)

    def read_end(self, name: str, *, most: int) -> bytes:
        """Return the last bytes of such a file, however large it is.

        Raises:
            OSError: as `read_bytes` says.
        """
        return _content(self._file(name), most, self.place / name, from_end=True)

    def _file(self, name: str) -> int:
        """Open the file of this path without following a link."""
        *folders, last = _parts(name)
        above = self.below(folders)
        try:
            return _opened(last, os.O_NOFOLLOW, above)
        finally:
            os.close(above)

    def below(self, names: Sequence[str]) -> int:
        """Return a handle of the folder that these names lead to, by way of no link.

        Raises:
            OSError: there is none.
        """
        found = os.dup(self._handle)
        for name in names:
            try:
                below = _opened(name, os.O_DIRECTORY | os.O_NOFOLLOW, found)
            finally:
                os.close(found)
            found = below
        return found

    def read_text(self, name: str, *, most: int = MOST) -> str:
        """Return the text of such a file.

        Raises:
            OSError: as above, or it is not UTF-8.
        """
        return decoded(self.read_bytes(name, most=most), self.place / name)

    def has(self, name: str) -> bool:
        """Return whether there is a regular file of this name, by way of no link."""
        with suppress(OSError):
            self.read_bytes(name, most=0)
            return True
        return False

    def keep_regular_files(self) -> tuple[str, ...]:
        """Remove whatever is neither a regular file nor a folder: links, FIFOs, sockets, devices.

        Returns:
            what was removed: the path of each beneath the folder, and of a link where it led.

        Raises:
            OSError: something cannot be removed.
        """
        return tuple(sorted(_strange_ones_removed(self._handle)))


def file_name(words: str) -> str:
    """Return a name for a file in a folder, made of words that may be a stranger's."""
    return re.sub(r"[^A-Za-z0-9.,_+@=\[\]-]", "-", words)[:LONGEST_NAME].lstrip(".-") or "unnamed"


def new_folder(place: Path) -> Path:
    """Make a new folder: of this name or, if it exists, with a number appended.

    Raises:
        OSError: it cannot be made.
    """
    number = 1
    while True:
        with suppress(FileExistsError):  # a link of this name is something that exists, too
            made = place if number == 1 else place.with_name(f"{place.name}-{number}")
            made.mkdir()
            return made
        number += 1


def _parts(name: str) -> tuple[str, ...]:
    parts = PurePath(name).parts
    if not parts or ".." in parts or PurePath(name).is_absolute():
        raise OSError(errno.EINVAL, "it lies outside of its folder", name)
    return parts


def _opened(place: Path | str, flags: int = 0, above: int | None = None) -> int:
    try:
        return os.open(place, _SAFELY | flags, dir_fd=above)
    except ValueError:  # a NUL
        raise OSError(errno.EINVAL, "no file can have such a name") from None
    except OSError as trouble:
        is_link = trouble.errno == errno.ELOOP or (
            trouble.errno == errno.ENOTDIR and flags & os.O_NOFOLLOW
        )
        if not is_link or not flags & os.O_NOFOLLOW:
            raise
        raise OSError(trouble.errno, "it is a link, or no folder", str(place)) from None


def _content(handle: int, most: int, file: Path, *, from_end: bool = False) -> bytes:
    """Read an open file, and close it."""
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(file))
        with open(handle, "rb", closefd=False) as opened:
            if from_end:
                opened.seek(max(0, status.st_size - most))
                return opened.read(most)
            if not most:
                return b""
            # The size is 0 for files of /proc, and may have grown: it only saves reading.
            content = b"" if status.st_size > most else opened.read(most + 1)
    finally:
        os.close(handle)
    if max(status.st_size, len(content)) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(file))
    return content


def _strange_ones_removed(handle: int) -> Iterator[str]:
    for place, _, _, folder in os.fwalk(".", dir_fd=handle, follow_symlinks=False):
        with os.scandir(folder) as entries:
            strange = [entry.name for entry in entries if not _is_usual(entry)]
        for name in strange:
            leads = _leads_to(name, folder)
            os.unlink(name, dir_fd=folder)
            yield os.path.normpath(f"{place}/{name}") + leads


def _is_usual(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)


def _leads_to(name: str, folder: int) -> str:
    with suppress(OSError):
        return f" -> {os.readlink(name, dir_fd=folder)}"
    return ""
