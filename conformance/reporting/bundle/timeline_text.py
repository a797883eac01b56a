"""A timeline as lines of text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conformance.reporting.rendering.timeline import Timeline

MOST: Final = 5_000
"""Lines of a timeline: of more, the middle is left out."""

COLUMN: Final = 24
"""Where the words begin behind the times."""


def lines(timeline: Timeline) -> Iterator[str]:
    """What happened, oldest first."""
    for at, until, where, what in timeline.in_order(MOST):
        span = f"{at:9.3f}" + ("" if until is None else f" to {until:.3f}")
        first, *more = what.splitlines() or [""]
        yield f"{span:{COLUMN - 2}}  {where:36}  {first}".rstrip()
        yield from (f"{'':{COLUMN}}{line}" for line in more)
    yield from (f"not told: {note}" for note in timeline.left_out)
