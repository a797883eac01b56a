"""What is served, in words."""

from __future__ import annotations


def or_unset(value: object) -> object:
    """The value, or that there is none."""
    return "unset" if value is None else value
