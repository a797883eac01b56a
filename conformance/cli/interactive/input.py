"""Lines from standard input, as they come: from a terminal, a pipe or a file."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from typing import Final

_CHUNK: Final = 1 << 16
_LONGEST: Final = 1 << 16
"""Bytes of the longest line; a longer one is no command."""


class InputLines:
    """What a person or a script says.

    If standard input is neither a terminal nor a pipe nor a file, no line comes, and the input does
    not end.
    """

    def __init__(self) -> None:
        self._number = _standard_input()
        self._is_file = self._number is not None and stat.S_ISREG(os.fstat(self._number).st_mode)
        self.is_terminal: Final = self._number is not None and os.isatty(self._number)
        self._news = asyncio.Event()
        self._rest = b""
        self._lines: list[str] = []
        self._over = False

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line, until the last."""
        number = self._number
        if number is None:
            await asyncio.Event().wait()
            return
        watched = not self._is_file
        loop = asyncio.get_running_loop()
        if watched:
            loop.add_reader(number, self._read, number)
        try:
            while True:
                if not watched and not self._over:
                    self._read(number)
                while self._lines:
                    yield self._lines.pop(0)
                if self._over:
                    return
                if watched:
                    self._news.clear()
                    await self._news.wait()
        finally:
            if watched and not self._over:
                loop.remove_reader(number)

    def _read(self, number: int) -> None:
        try:
            data = os.read(number, _CHUNK)
        except OSError:  # the terminal has gone
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data or len(self._rest) > _LONGEST:
            lines += [self._rest] if self._rest else []
            self._over = True
            if not self._is_file:
                asyncio.get_running_loop().remove_reader(number)
        self._lines += [line.decode("utf-8", "backslashreplace") for line in lines]
        self._news.set()


def _standard_input() -> int | None:
    """Return the descriptor of a terminal, pipe or file; None if stdin is none of these."""
    try:
        number = sys.__stdin__.fileno() if sys.__stdin__ else None
        mode = os.fstat(number).st_mode if number is not None else 0
    except (OSError, ValueError):
        return None
    is_one = stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
    return number if number is not None and (is_one or os.isatty(number)) else None
