"""Where the evidence of a scenario is: where its report says, or beside that report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from conformance.judging.evidence import FILE
from regular_files import UntrustedFolder

ABOVE = 3
"""Folders of a path, at most, that come along with a report: the run's, the client's, its own."""


def opened_folder(evidence: str, report: Path) -> UntrustedFolder | None:
    """Open the folder that a report names, or the one that has come along with the report.

    A report may be a stranger's. What it names is not followed if it is a link, leads above the
    report by no way, and counts only with the record of a scenario in it.

    Args:
        evidence: the path in the report.
        report: its file.

    Returns:
        the folder; None if it is not there.
    """
    for found in _there(Path(evidence), report.parent):
        if found.has(FILE):
            return found
        found.close()
    return None


def _there(written: Path, beside: Path) -> Iterator[UntrustedFolder]:
    with suppress(OSError):
        yield UntrustedFolder(written, may_be_link=False)
    # A report is often fetched from a CI together with its evidence, but to another place.
    for count in range(ABOVE, 0, -1):
        with suppress(OSError), UntrustedFolder(beside) as above:
            parts = written.parts[-count:]
            yield UntrustedFolder(Path(*parts), above=above)
