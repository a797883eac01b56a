"""``xdspec show`` and ``xdspec site``: evidence and reports as pictures, in files or a terminal."""

from __future__ import annotations

from pathlib import Path

from conformance.catalogue import Catalogue
from conformance.command.failures import Failure
from conformance.judging.evidence import BadEvidence
from conformance.reporting.pages import show as pages
from conformance.reporting.pictures import terminal
from conformance.reporting.pictures import trace as traces
from conformance.reporting.pictures.scenario import scene
from conformance.reporting.report import Exit
from conformance.reporting.screen import Screen


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
    try:
        drawn = scene(folder, catalogue)
    except BadEvidence as error:
        raise Failure(str(error)) from None
    if html:
        write(html, pages.page(drawn).encode())
    if trace:
        write(trace, traces.trace(drawn))
    if not (html or trace):
        for text, style in terminal.lines(drawn, screen.width):
            screen.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def write(path: Path, content: bytes) -> None:
    """Write a file.

    Raises:
        Failure: it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise Failure(message, Exit.SUITE_TROUBLE) from None
