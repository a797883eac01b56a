"""One scenario as a page that needs nothing else."""

from __future__ import annotations

from conformance.reporting.pages.template_loader import render, style
from conformance.reporting.rendering.scenario import Scene


def page(scene: Scene) -> str:
    """The page, whole."""
    return render("show.html", scene=scene, style=style())
