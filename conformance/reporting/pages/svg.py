"""What a page has by the hundred, as HTML: marks of a timeline, its rows in words, calls on a ring.

Templates would take most of the time of a site for these alone, as they escape number by number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from markupsafe import Markup, escape

from conformance.reporting.rendering.drawing import Drawn, point
from conformance.reporting.rendering.ring import Fallen
from conformance.reporting.rendering.timeline import Shape, Timeline, Tone
from conformance.runner.terminal_escape import plain

ROWS = 240
"""Rows of a timeline as text."""


@functools.lru_cache(maxsize=4096)
def escaped(text: str) -> str:
    """Return untrusted text as HTML text, without control characters."""
    return str(escape(text if text.isascii() and text.isprintable() else plain(text)))


def marks(several: Iterable[Drawn]) -> Markup:
    """Return the marks of a lane."""
    return Markup("\n".join(map(_mark, several)))  # noqa: S704 - each text in it is escaped


def _mark(mark: Drawn) -> str:  # noqa: PLR0911 - a shape each
    title = f"<title>{escaped(mark.what)}</title>"
    tone, x, height = mark.tone.value, mark.x, mark.height
    at = f'<svg x="{x}%" y="{height / 2 - 6}" class="at">'
    match mark.shape:
        case Shape.PUSH:
            return f'{at}<path class="suite" d="M-5 1h10l-5 9z">{title}</path></svg>'
        case Shape.ACK:
            return f'{at}<path class="{tone}" d="M-5 10h10l-5 -9z">{title}</path></svg>'
        case Shape.NACK:
            cross = "M-5 1l10 10M5 1l-10 10"
            return f'{at}<path class="bad line" d="{cross}">{title}</path></svg>'
        case Shape.ASK:
            return f'<circle class="ask" cx="{x}%" cy="{height / 2}" r="3">{title}</circle>'
        case Shape.TICK:
            top = height - 6 if mark.tone is Tone.PLAIN else 0
            place = f'x1="{x}%" x2="{x}%" y1="{top}" y2="{height}"'
            return f'<line class="{tone}" {place}>{title}</line>'
        case Shape.BAND:
            place = f'x="{x}%" width="{mark.width}%" height="{height}"'
            label = f'<text x="{x}%" dx="3" y="10">{escaped(mark.label)}</text>'
            band = f'<rect class="{tone} band" {place}>{title}</rect>'
            return band + (label if mark.label else "")
        case Shape.SPAN:
            place = f'x="{x}%" width="{mark.width}%" y="{mark.y}" height="{height}"'
            return f'<rect class="{tone}" {place}>{title}</rect>'


def in_words(timeline: Timeline) -> Markup:
    """Return the events in order, one row each."""
    rows = [
        f'<tr><td class="n">{at:.3f}{"" if until is None else f" &ndash; {until:.3f}"}</td>'
        f'<th scope="row">{escaped(lane)}</th><td>{escaped(what)}</td></tr>'
        for at, until, lane, what in timeline.in_order(ROWS)
    ]
    return Markup("\n".join(rows))  # noqa: S704 - each text in it is escaped


def around(calls: Iterable[Fallen]) -> Markup:
    """Return the calls around a ring, at their hashes."""
    return Markup("\n".join(map(_call, calls)))  # noqa: S704 - each text in it is escaped


def _call(placed: Fallen) -> str:
    x, y = point(placed.turn, 113)
    named = f"{escaped(placed.call)} ({escaped(placed.sent)})"
    if placed.is_right:
        title = f"<title>{named} reached {escaped(placed.went)}, as expected</title>"
        return f'<circle class="right" cx="{x}" cy="{y}" r="2">{title}</circle>'
    foot_x, foot_y = point(placed.turn, 124)
    title = (
        f"<title>{named} reached {escaped(placed.went)} instead of {escaped(placed.due)}</title>"
    )
    line = f'<path class="wrong" d="M{x} {y}L{foot_x} {foot_y}"/>'
    return f'{line}<circle class="wrong" cx="{foot_x}" cy="{foot_y}" r="3">{title}</circle>'
