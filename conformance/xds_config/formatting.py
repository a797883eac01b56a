"""What is served, in words."""

from __future__ import annotations

from collections.abc import Sequence

MOST_LISTED = 40
"""Clusters that a failure's text names."""

LONGEST = 80
"""Characters of a name that it has."""


def or_unset(value: object) -> object:
    """The value, or that there is none."""
    return "unset" if value is None else value


def shortened(name: str) -> str:
    """A name, of which a long one is cut."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}... ({len(name)} characters)"


def listed(names: Sequence[str]) -> str:
    """Names, of which not too many are told."""
    told = ", ".join(map(shortened, names[:MOST_LISTED]))
    return f"{told} and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else told
