"""What a message quotes of the log of a build that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

# A compiler prints its errors before a summary.
_LINES: Final = 60


def quoted(said: str, log: Path, hint: str = "") -> str:
    """Return the last lines of a log without their colors, and where all of it is.

    Args:
        said: what is in the log.
        log: its path.
        hint: a sentence for the user, with the end of its line.
    """
    words = "\n".join(click.unstyle(said).strip().splitlines()[-_LINES:])
    return f"{words}\n{hint}the whole log: {log}"
