"""Where the evidence of a scenario is: where its report says, or beside that report."""

from __future__ import annotations

from pathlib import Path

from conformance.judging.evidence import FILE


def folder_of(evidence: str, report: Path) -> Path | None:
    """The folder that a report names, if it is still there, or has come along with the report.

    Raises:
        OSError, ValueError: of a name that no file can have.
    """
    written, beside = Path(evidence), report.parent
    # A report is often fetched from a CI together with its evidence, but to another place.
    places = (written, *(beside.joinpath(*written.parts[-count:]) for count in (3, 2, 1)))
    return next((one for one in places if (one / FILE).is_file()), None)
