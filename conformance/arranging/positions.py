"""Trees of three leaves, with the one that is in trouble in each place. They share no leaf."""

from __future__ import annotations

from typing import Final

from conformance.arranging.forests import Shape, prefixed

POSITIONS: Final = {"first": "x b c", "middle": "b x c", "last": "b c x", "only": "x"}
"""Where the leaf x stands; b and c are the others."""

TREES: Final[tuple[Shape, ...]] = tuple(
    prefixed({"m": made}, where) for where, made in POSITIONS.items()
)
ROOTS: Final = tuple(f"{where}-m" for where in POSITIONS)

BESIDE: Final = "beside"
"""A cluster that no trouble touches, behind a route of its own."""


def each(name: str) -> tuple[str, ...]:
    """The leaf of this name in each of the trees that have it."""
    return tuple(f"{where}-{name}" for where, made in POSITIONS.items() if name in made.split())
