"""The site as files: pages, each with the pictures of its scenario where its evidence is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from conformance.judging.evidence import BadEvidence
from conformance.reporting.rendering.folder import opened_folder
from conformance.reporting.rendering.scenario import recorded
from conformance.reporting.report import Scenario
from conformance.reporting.site import pages
from conformance.reporting.site.model import Column, Failure, Site, clause_pages
from conformance.spec.catalogue import Catalogue

INDEX, STYLE = "index.html", "style.css"
CLAUSES, FAILURES = "clause", "failure"

OURS = "xdspec-site"
"""A file that marks a folder as a generated site, which may be overwritten."""


class Occupied(Exception):
    """A folder that has something else in it; the text says so."""


def write(site: Site, folder: Path, catalogue: Catalogue) -> int:
    """Write all pages, in place of those of an earlier site.

    Returns:
        How many failures have no pictures, as their evidence is not there.

    Raises:
        Occupied: there is something else in the folder.
        OSError: it cannot be written.
    """
    _clear(folder)
    (folder / OURS).touch()
    for name in (CLAUSES, FAILURES):
        (folder / name).mkdir()
    (folder / INDEX).write_text(pages.index(site), "utf-8")
    (folder / STYLE).write_text(pages.style(), "utf-8")
    for page in clause_pages(site):
        (folder / CLAUSES / f"{page.clause.id}.html").write_text(pages.clause(page), "utf-8")
    drawn: dict[tuple[str, str], PicturesOrReason] = {}
    without = 0
    for failure in site.failures:
        found, why = _pictures(failure, drawn, catalogue)
        without += found is None
        text = pages.failure(failure, found, why)
        (folder / FAILURES / failure.file).write_text(text, "utf-8")
    return without


def _clear(folder: Path) -> None:
    """Make an empty folder, or one without the pages of an earlier site.

    Raises:
        Occupied: there is something else in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        return
    if not (folder / OURS).is_file():
        raise Occupied(f"{folder} is not empty, and no site of this suite: name another folder")
    for name in (OURS, INDEX, STYLE, CLAUSES, FAILURES):
        if (folder / name).is_symlink():  # pages would be removed and written where it leads
            raise Occupied(f"{folder / name} is a link: name another folder")
    for page in _pages(folder):
        page.unlink()
    for name in (CLAUSES, FAILURES):
        if (folder / name).is_dir():
            (folder / name).rmdir()


def _pages(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in (INDEX, STYLE) if (folder / name).is_file())
    for name in (CLAUSES, FAILURES):
        yield from (folder / name).glob("*.html")


PicturesOrReason = tuple[pages.Pictures | None, str]
"""Pictures, or why there are none."""


def _pictures(
    failure: Failure, drawn: dict[tuple[str, str], PicturesOrReason], catalogue: Catalogue
) -> PicturesOrReason:
    """Return the pictures of a failure's first scenario that has any; draw each picture once."""
    why = "none of its scenarios has left any"
    for place in failure.places:
        key = failure.column.slug, place.scenario.id
        if place.scenario.evidence is not None:
            if key not in drawn:
                drawn[key] = _drawn(failure.column, place.scenario, catalogue)
            found, why = drawn[key]
            if found is not None:
                return found, ""
    return None, why


def _drawn(column: Column, scenario: Scenario, catalogue: Catalogue) -> PicturesOrReason:
    """Return the pictures of a scenario, if its folder exists and belongs to this run."""
    written = scenario.evidence or ""
    try:
        opened = opened_folder(written, Path(column.report))
        if opened is None:
            return None, f"{written} is not there"
        with opened:
            folder, found = opened.place, recorded(opened, catalogue)
    except BadEvidence as error:
        return None, str(error)
    client = column.run.client
    own = (found.scenario, found.client.name, found.client.version, found.client.variant)
    if own != (scenario.id, client.name, client.version, client.variant):
        return None, f"{folder} has evidence of something else: {found.name}, {found.scenario}"
    if found.seed != column.provenance.seed:
        return None, f"{folder} has evidence of another run, with seed {found.seed}"
    return pages.pictures(found), ""
