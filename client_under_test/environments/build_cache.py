"""Cache folders: filled once, kept while a process uses them, evicted when there are too many.

Three files may lie next to an entry: a lock for the process that fills it, a draft of it, and a
lock that all processes which use the entry share until they exit. The system releases a lock when
its holder dies, for whatever reason.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import CacheUnusable

_used: Final[dict[Path, int]] = {}
"""The shared locks of this process, by their handles, which are never closed."""


class BuildCache(msgspec.Struct, frozen=True):
    """Places that are one another's older or newer kind: the last ones used are kept."""

    names: str
    """A regular expression, of their folders' names."""
    most: int
    """How many are kept, beside those that are in use."""


def made_once(
    place: Path,
    fill: Callable[[Path], None],
    cache: BuildCache,
    *,
    is_sound: Callable[[], bool] = lambda: True,
) -> Path:
    """Return `place`, filled by its first user; concurrent callers wait until it is complete.

    The entry stays until this process ends. Adding an entry evicts the least recently used entries
    of the cache.

    Raises:
        CacheUnusable: the cache folder cannot be written.
    """
    with suppress(OSError):  # a read-only cache evicts nothing
        place.parent.mkdir(parents=True, exist_ok=True)
        use(place)
    if not (place.is_dir() and is_sound()):
        _make(place, fill, is_sound)
        _bound(place.parent, cache)
    with suppress(OSError):
        os.utime(place)
    return place


def _make(place: Path, fill: Callable[[Path], None], is_sound: Callable[[], bool]) -> None:
    with writable(place), _beside(place, "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.is_dir() and is_sound():
            return
        shutil.rmtree(place, ignore_errors=True)
        draft = _beside(place, "draft")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            fill(draft)
            os.utime(draft)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Let other commands wait that would write there."""
    with _beside(place, "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def writable(place: Path) -> Iterator[None]:
    """Have a folder to make `place` in.

    Raises:
        CacheUnusable: nothing can be kept there.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as trouble:
        raise CacheUnusable(
            f"{place} cannot be made: {trouble.strerror}: XDSPEC_CACHE names another folder for "
            "what is made once and kept"
        ) from trouble


def _bound(folder: Path, cache: BuildCache) -> None:
    """Take away what is too much in a cache, and what a maker that was killed has left of it."""
    hidden = re.compile(rf"\.({cache.names})\.(?:lock|draft|use)")
    begun = {found[1] for path in folder.iterdir() if (found := hidden.fullmatch(path.name))}
    made = [path for path in folder.iterdir() if re.fullmatch(cache.names, path.name)]
    made.sort(key=_used_at, reverse=True)
    for place in (*made[cache.most :], *(folder / name for name in begun)):
        if place in made[: cache.most]:
            continue
        with suppress(OSError), _beside(place, "use").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if a process uses or makes it
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(_beside(place, "draft"), ignore_errors=True)
            for end in ("lock", "use"):
                _beside(place, end).unlink(missing_ok=True)


def use(place: Path) -> None:
    """Share the place's lock until this process ends."""
    path = _beside(place, "use")
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(handle, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):  # who takes a place away takes this away, too
            if os.path.samestat(os.fstat(handle), path.stat()):
                break
        os.close(handle)
    before, _used[place] = _used.get(place), handle
    if before is not None:
        os.close(before)


def _used_at(place: Path) -> float:
    with suppress(FileNotFoundError):
        return place.stat().st_mtime
    return 0.0


def _beside(place: Path, end: str) -> Path:
    return place.parent / f".{place.name}.{end}"
