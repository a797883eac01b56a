"""Report changes in a folder.

The kernel reports changes at once, but only in the folder being watched: not in a new folder at the
same path, nor in a changed link's target. So the watch also scans the folder from time to time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import watchfiles

from fake_control_plane.exceptions import ControlPlaneTrouble
from fake_control_plane.files import resource_files

# An editor writes a file in several steps that follow each other closely; what comes within this
# time is one change. Milliseconds.
_TOGETHER: Final = 50

# Seconds between two scans, and so until a switched link is seen. Scans of a large folder take at
# most a tenth of the time.
_PAUSE: Final = 0.25
_REST: Final = 9

# A folder that changes all the time is reported after this many scans with different results.
_MOST_LOOKS: Final = 10


@contextlib.asynccontextmanager
async def watching(
    folder: Path, changed: asyncio.Event, stop: threading.Event
) -> AsyncIterator[None]:
    """Watch a folder and all within it for the length of a `with` block.

    Args:
        folder: The folder; it may go and come again.
        changed: Set at each change from now on; it is the caller's to clear.
        stop: Ends a look that is under way, if it is set; at the end of the block it is.
    """
    watch = _Watch(folder, changed, stop)
    noting = asyncio.create_task(watch.note())
    await asyncio.sleep(0)  # its first step sets the watch up, before anything here is read
    looking = asyncio.create_task(watch.look(await watch.fingerprint()))
    try:
        yield
    finally:
        stop.set()  # no thread ends by being cancelled, and the process waits for it
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
        watch.end()
        await noting


class _Watch:
    """Two ways to see a change of one folder."""

    def __init__(self, folder: Path, changed: asyncio.Event, stop: threading.Event) -> None:
        self._folder = folder
        self._changed = changed
        self._stop = stop
        self._anew = asyncio.Event()
        self._is_over = False

    async def note(self) -> None:
        """Forward the kernel's reports; renew the watch after each scan that saw a change."""
        while not self._is_over:
            self._anew.clear()
            # The folder is gone, or there are more than the kernel can watch: looks must do.
            with contextlib.suppress(OSError, RuntimeError):
                async for _ in watchfiles.awatch(
                    self._folder,
                    watch_filter=None,
                    debounce=_TOGETHER,
                    step=_TOGETHER,
                    stop_event=self._anew,
                ):
                    self._changed.set()
            await self._anew.wait()

    async def look(self, seen: Any) -> None:
        """Tell of each look that sees another folder, or other files, than the one before."""
        while True:
            began = time.monotonic()
            now = await self.fingerprint()
            if now != seen:
                seen = await self._settled(now)
                self._changed.set()
                self._anew.set()
            await asyncio.sleep(max(_PAUSE, _REST * (time.monotonic() - began)))

    async def fingerprint(self) -> Any:
        """Look at the folder, in a thread."""
        return await asyncio.to_thread(_fingerprint, self._folder, self._stop)

    def end(self) -> None:
        """Let `note` return."""
        self._is_over = True
        self._anew.set()

    async def _settled(self, now: Any) -> Any:
        """Wait until nothing changes, and return the state; a folder is removed file by file."""
        for _ in range(_MOST_LOOKS):
            await asyncio.sleep(_TOGETHER / 1000)
            before, now = now, await self.fingerprint()
            if now == before:
                break
        return now


def _fingerprint(folder: Path, stop: threading.Event) -> Any:
    """Return the identity of a folder and of each of its files; `stop` cuts it short."""
    try:
        files = itertools.takewhile(lambda _: not stop.is_set(), resource_files(folder))
        return _identity(folder), [(path, _identity(path)) for path in files]
    except ControlPlaneTrouble as trouble:
        return str(trouble)


def _identity(path: Path) -> tuple[int, ...]:
    try:
        seen = path.stat()
    except OSError:
        return ()
    if path.is_dir():
        return seen.st_dev, seen.st_ino
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns
