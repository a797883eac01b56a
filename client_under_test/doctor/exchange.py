"""The last lines between the suite and an adapter, to print with a broken rule."""

from __future__ import annotations

import re
from collections import deque
from typing import Final

LINES: Final = 10
"""Lines that are printed with a broken rule."""

_HEAD: Final = 130
_TAIL: Final = 60
"""Characters that stay of a long line. In a `start_calls`, the limits come after the calls."""

_LONG_FIELDS: Final = (
    (re.compile(r'("path": ?"/)[^"]*"'), r'\1…"'),
    (re.compile(r'("metadata": ?)\[\[[^{}]*?\]\]'), r"\1[…]"),
)
"""Fields of a call that are left out first: the fields behind them say what the call asks for."""

_MOST_READ: Final = 4096
"""Characters of a long line in which fields are left out."""


class Exchange:
    """The last lines in both directions, without I/O."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LINES)
        self._rest = b""

    def clear(self) -> None:
        """Forget all complete lines."""
        self._lines.clear()

    def sent(self, line: bytes) -> None:
        """Add a line from the suite."""
        self._lines.append(f"> {_shortened(line)}")

    def received(self, data: bytes) -> None:
        """Add the lines that are now complete from the adapter."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(f"< {_shortened(line)}" for line in lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, oldest first: `>` marks those from the suite, `<` those from the adapter."""
        return tuple(self._lines)


def _shortened(line: bytes) -> str:
    text = line.rstrip(b"\n").decode("utf-8", "backslashreplace")
    for field, shorter in _LONG_FIELDS:
        if len(text) <= _HEAD + _TAIL:
            return text
        text = field.sub(shorter, text[:_MOST_READ]) + text[_MOST_READ:]
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]} … {text[-_TAIL:]}"
