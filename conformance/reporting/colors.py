"""The colour of a verdict, wherever a person reads one."""

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
    """A verdict in its colour."""
    return f"[{COLOURS[verdict]}]{escape(text or verdict.value)}[/]"
