"""Change the findings for which the reference client rejects a Cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Finding = tuple[str, str]
Weigh = Callable[[Any, Sequence[Finding]], Sequence[Finding]]


def overlooking(field: str, words: str = "") -> Weigh:
    """Ignore findings about a field, by the end of its path."""

    def weigh(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        return [
            complaint
            for complaint in found
            if not (complaint[0].endswith(field) and words in complaint[1])
        ]

    return weigh


def overlooking_in(place: str, words: str) -> Weigh:
    """Ignore findings of these words anywhere below a part of the path."""

    def weigh(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        return [finding for finding in found if place not in finding[0] or words not in finding[1]]

    return weigh


def overlooking_below(message: str) -> Weigh:
    """Ignore findings within a field, except for missing fields."""

    def weigh(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        return [
            finding
            for finding in found
            if not (f"{message}." in finding[0] and finding[1] != "is missing")
        ]

    return weigh


def refusing(is_wrong: Callable[[Any], bool]) -> Weigh:
    """Reject Clusters that match, too."""

    def weigh(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        return [*found, ("", "is not supported")] if is_wrong(message) else found

    return weigh


def not_forgiving() -> Weigh:
    """Reject every Cluster after the first bad one."""
    bad: list[Finding] = []

    def weigh(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
        bad.extend(found)
        return bad

    return weigh
