"""Render pages from templates that escape every value."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from conformance.reporting.pages import svg
from conformance.reporting.rendering import drawing
from conformance.reporting.rendering.scenario import Scene
from conformance.runner.terminal_escape import plain
from regular_files import read_text

FOLDER: Final = Path(__file__).with_name("templates")

OWNERS: Final = 12
"""The number of endpoint colors; further endpoints repeat them."""


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates; they remove control characters from every text."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_text,
    )
    made.globals.update(
        scale_of=drawing.scale_of,
        drawn_lane=drawing.drawn_lane,
        arc_path=drawing.arc_path,
        marks=svg.marks,
        in_words=svg.in_words,
        around=svg.around,
        owners=OWNERS,
    )
    return made


def _text(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return value if value.isascii() and value.isprintable() else plain(value)


def render(template: str, **values: Any) -> str:
    """Render a page."""
    return environment().get_template(template).render(**values)


@functools.cache
def style() -> Markup:
    """Return the style sheet of all pages, which has no character that HTML interprets."""
    return Markup(read_text(FOLDER / "style.css"))  # noqa: S704 - a file of ours


def page(scene: Scene) -> str:
    """Return the whole page."""
    return render("show.html", scene=scene, style=style())
