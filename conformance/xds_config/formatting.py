"""What is served, in words."""

from __future__ import annotations

from collections.abc import Sequence

MOST_LISTED = 40
"""Clusters that a failure's text names."""

LONGEST = 80
"""Characters of a name that it has."""


def or_unset(value: object) -> object:
    """Return the value, or "unset" for None."""
    return "unset" if value is None else value


def shortened(name: str) -> str:
    """Return a name, cut if it is long."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}... ({len(name)} characters)"


def listed(names: Sequence[str]) -> str:
    """Return a list of names as text; a long list ends with the number of names left out."""
    told = ", ".join(map(shortened, names[:MOST_LISTED]))
    return f"{told} and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else told
