"""``xdspec show`` and ``xdspec site``: evidence and reports as pictures, in files or a terminal."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from conformance.cli.failures import Failure
from conformance.cli.invocation import pasteable
from conformance.judging import evidence
from conformance.judging.evidence import BadEvidence
from conformance.reporting.outcome import counted
from conformance.reporting.pages import template_loader as pages
from conformance.reporting.rendering import terminal
from conformance.reporting.rendering import trace as traces
from conformance.reporting.rendering.scenario import scene
from conformance.reporting.report import BadReport, Exit, read
from conformance.reporting.site import model as sites
from conformance.reporting.site import writing
from conformance.reporting.stdout import Screen, say
from conformance.runner import files
from conformance.spec.catalogue import Catalogue

MOST_BELOW: Final = 1000
"""Folders that are looked for below another."""

NAMED: Final = 3
"""Folders that a message names."""


def show(
    folder: Path, catalogue: Catalogue, screen: Screen, *, html: Path | None, trace: Path | None
) -> None:
    """Draw one scenario.

    Args:
        folder: its evidence.
        catalogue: the clauses.
        screen: where it goes if to no file.
        html: a file for a page.
        trace: a file for a trace.

    Raises:
        Failure: the folder cannot be drawn, or a file not be written.
    """
    if not (folder / evidence.FILE).exists():
        raise Failure(_no_evidence(folder))
    try:
        drawn = scene(folder, catalogue)
    except BadEvidence as error:
        raise Failure(str(error)) from None
    if html:
        write(html, pages.page(drawn).encode())
    if trace:
        write(trace, traces.trace(drawn))
    if not (html or trace):
        drawn = msgspec.structs.replace(drawn, told_repeat=pasteable(drawn.repeat))
        for text, style in terminal.lines(drawn, screen.width):
            say(screen, text, style)


def _no_evidence(folder: Path) -> str:
    """Say what to give instead of a path that holds no evidence."""
    if not folder.is_dir():
        beside = sorted(other.name for other in folder.parent.glob("*/"))
        near = difflib.get_close_matches(folder.name, beside, n=1)
        hint = f"did you mean {folder.parent / near[0]}?" if near else "name a scenario's folder"
        kept = "a scenario that passes keeps none without --keep-evidence"
        return f"there is no folder {folder} with evidence ({kept}): {hint}"
    below = sorted(path.parent for path in islice(folder.glob(f"**/{evidence.FILE}"), MOST_BELOW))
    if not below:
        return f"{folder} holds no evidence: there is no {evidence.FILE} in it or below it"
    more = f", and {len(below) - NAMED} more" if len(below) > NAMED else ""
    return (
        f"{folder} is not the folder of one scenario: name one below it, such as "
        f"{', '.join(map(str, below[:NAMED]))}{more}"
    )


def site(folder: Path, reports: Collection[Path], catalogue: Catalogue) -> Iterator[str]:
    """Write a site, and say what there is.

    Args:
        folder: where.
        reports: that ``--json`` has written.
        catalogue: the clauses.

    Raises:
        Failure: a report cannot be used, or the folder not be written.
    """
    try:
        made = sites.site([(str(path), read(path)) for path in reports], catalogue)
        without = writing.write(made, folder, catalogue)
    except (BadReport, writing.Occupied) as error:
        raise Failure(str(error)) from None
    except OSError as error:
        message = f"{error.filename or folder} cannot be written: {error.strerror}"
        raise Failure(message, Exit.SUITE_TROUBLE) from None
    size = f"{counted(len(made.rows), 'clause')}, {counted(len(made.columns), 'run')}"
    yield f"{folder / writing.INDEX}: {size}"
    if without:
        yield (
            f"{without} of {len(made.failures)} failures are without pictures: their evidence is "
            "not where the report says, nor beside it"
        )


def write(path: Path, content: bytes) -> None:
    """Write a file, as a whole.

    Raises:
        Failure: it cannot be written.
    """
    try:
        files.write(path, content)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise Failure(message, Exit.SUITE_TROUBLE) from None
