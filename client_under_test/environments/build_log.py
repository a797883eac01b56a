"""What a message quotes of the log of a build that failed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

_LINES: Final = 10
"""Lines that are quoted of a long log."""

_ERROR: Final = re.compile(r"\berror\b|\bfatal\b|^\S+:\d+:\d+: |no required module", re.IGNORECASE)
"""A line that describes an error, as compilers and build tools write it."""


def quoted(said: str, log: Path, hint: str = "") -> str:
    """Return the lines of a log from its first error on, without colors, and where all of it is.

    The last lines of a long log are often a summary, or further errors of the first cause.

    Args:
        said: what is in the log.
        log: its path.
        hint: a sentence for the user, with the end of its line.
    """
    lines = click.unstyle(said).strip().splitlines()
    if len(lines) > _LINES:
        last = len(lines) - _LINES
        first = next((n for n, line in enumerate(lines) if _ERROR.search(line)), last)
        first = min(first, last)
        more = len(lines) - first - _LINES
        lines = lines[first : first + _LINES]
        lines += [f"… and {more} more lines"] if more else []
    words = "\n".join(lines)
    return f"{words}\n{hint}the whole log: {log}"
