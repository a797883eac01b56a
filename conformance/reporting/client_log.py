"""Quote what a client wrote to stderr in a scenario: the line of an exception, or the last one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from conformance.reporting.stdout import from_here
from conformance.runner.terminal_escape import defused, plain
from regular_files import UntrustedFolder

MOST: Final = 1 << 20
"""Bytes of a log that are read, the last ones."""

LONGEST: Final = 200
"""Characters of a line that are quoted."""

_EXCEPTION: Final = re.compile(r"\b(?:[\w.$]*(?:Exception|Error)\b(?!=)|panic: |Traceback )")


def log_lines(evidence: str | None) -> Iterator[str]:
    """Yield a line for each log of an evidence folder: its path, and a quotation."""
    if not evidence:
        return
    with suppress(OSError), UntrustedFolder(Path(evidence)) as folder:
        yield from quoted(folder)


def exception_line(evidence: str | None) -> str:
    """Return the line of an exception in the logs of an evidence folder; empty if none has one."""
    lines = (line.partition(".log: ")[2] for line in log_lines(evidence))
    return next((line for line in lines if _EXCEPTION.search(line)), "")


def quoted(folder: UntrustedFolder) -> Iterator[str]:
    """Yield a line for each log of an open evidence folder; raise no error if one is strange."""
    for number in count(1):
        name = f"stderr-{number}.log" if number > 1 else "stderr.log"
        try:
            content = folder.read_end(name, most=MOST)
        except OSError:
            return
        if line := _telling(content.decode("utf-8", "backslashreplace")):
            yield f"{from_here(folder.place / name)}: {line}"


def _telling(text: str) -> str:
    """Return the first line of an exception, else the last line; empty if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if _EXCEPTION.search(line)), lines[-1] if lines else "")
    return defused(plain(line if len(line) <= LONGEST else f"{line[:LONGEST]}…"))
