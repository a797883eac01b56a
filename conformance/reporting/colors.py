"""The color of each verdict on a terminal."""

from __future__ import annotations

from rich.markup import escape

from conformance.judging.verdicts import Verdict

COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "red",
    Verdict.SEEN: "cyan",
    Verdict.SKIP: "yellow",
    Verdict.ERROR: "magenta",
}


def painted(verdict: Verdict, text: str | None = None) -> str:
    """Return a verdict, or another text, as markup in the verdict's color."""
    return f"[{COLOURS[verdict]}]{escape(text or verdict.value)}[/]"
