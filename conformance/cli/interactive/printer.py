"""Where words for the person go."""

from __future__ import annotations

from typing import Protocol


class Printer(Protocol):
    """Says a line, or several; `style` is a name such as "bold" that a terminal may follow."""

    def __call__(self, words: str, style: str = "") -> None:
        """Say it."""
