"""Search endpoints and rings for what a scenario needs: their ports differ in each run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from conformance.spec.oracles.ring.values import NoSuchValueError

_T = TypeVar("_T")


def first_with(is_suitable: Callable[[_T], bool], candidates: Iterable[_T], *, what: str) -> _T:
    """Return the first suitable candidate.

    Args:
        is_suitable: tells whether a candidate is suitable.
        candidates: enough that all are unsuitable with a chance below 1e-6.
        what: the wanted property, for the error.

    Raises:
        NoSuchValueError: no candidate is suitable.
    """
    count = 0
    for count, candidate in enumerate(candidates, start=1):  # noqa: B007 - used after it
        if is_suitable(candidate):
            return candidate
    raise NoSuchValueError(f"None of {count} candidates is {what}.")
