"""Says when something in a folder changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import watchfiles

# An editor writes a file in several steps that follow each other closely; what comes within this
# time is one change. Milliseconds.
_TOGETHER: Final = 50


@contextlib.asynccontextmanager
async def watching(folder: Path, changed: asyncio.Event) -> AsyncIterator[None]:
    """Watch a folder and all within it for the length of a `with` block.

    Args:
        folder: The folder; it must be there.
        changed: Set at each change from now on; it is the caller's to clear.
    """
    stop = asyncio.Event()

    async def note() -> None:
        async for _ in watchfiles.awatch(
            folder, watch_filter=None, debounce=_TOGETHER, step=_TOGETHER, stop_event=stop
        ):
            changed.set()

    noting = asyncio.create_task(note())
    await asyncio.sleep(0)  # its first step sets the watch up, before anything here is read
    try:
        yield
    finally:
        stop.set()
        await noting
