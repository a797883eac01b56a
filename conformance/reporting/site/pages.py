"""The pages of the site: matrix, clauses, failures."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec
from markupsafe import Markup

from conformance.judging.verdicts import BAD
from conformance.reporting.outcome import in_one_line
from conformance.reporting.pages import template_loader
from conformance.reporting.pages.template_loader import FOLDER, environment, render
from conformance.reporting.rendering.scenario import Scene, Shown
from conformance.reporting.report import blocked, said_of, why_skipped
from conformance.reporting.site.model import ClausePage, Failure, Site, verdict_words
from regular_files import read_text


class Pictures(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario, with what all of its failures show alike."""

    scene: Scene
    briefly: Markup
    whole: Markup

    def drawn(self, clause: str) -> tuple[Shown, ...]:
        """Return the failing checks of a clause that can be drawn."""
        return tuple(
            entry
            for entry in self.scene.shown
            if entry.clause.id == clause
            and entry.decision.verdict in BAD
            and not entry.drawn.is_empty
        )


def pictures(scene: Scene) -> Pictures:
    """Draw what does not depend on the clause, once."""
    macros: Any = environment().get_template("pictures.html").module
    return Pictures(
        scene=scene,
        briefly=Markup(macros.briefly(scene, 3)),  # noqa: S704 - of a template, which escapes
        whole=Markup(macros.whole(scene)),  # noqa: S704
    )


def style() -> str:
    """Return the style sheet of all pages."""
    return str(template_loader.style())


def index(site: Site) -> str:
    """Return the page with the matrix."""
    script = read_text(FOLDER / "filter.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rows = site.rows
    edition_names = dict.fromkeys(
        result.edition for row in rows for result in row.results if result and result.edition
    )
    return render(
        "index.html",
        site=site,
        words=verdict_words,
        outcome=lambda run: in_one_line(run, said_of(run)),
        why_skipped=why_skipped,
        kept=[(column, blocked(column.run)) for column in site.columns],
        documents=list(dict.fromkeys(row.clause.document for row in rows)),
        areas=list(dict.fromkeys(row.clause.area for row in rows)),
        strengths=list(dict.fromkeys(row.clause.strength.value for row in rows)),
        editions=sorted(edition_names),
        known=frozenset(row.clause.id for row in rows),
        script=Markup(script),  # noqa: S704 - a file of ours
        digest=digest,
    )


def clause(page: ClausePage) -> str:
    """Return the page of a clause: its wording, and each client's observed behavior."""
    return render("clause.html", page=page, words=verdict_words, why_skipped=why_skipped)


def failure(item: Failure, found: Pictures | None, why: str) -> str:
    """All about one failure.

    Args:
        item: the failure.
        found: the pictures of its scenario.
        why: why there are none.
    """
    return render("failure.html", item=item, found=found, why=why)
