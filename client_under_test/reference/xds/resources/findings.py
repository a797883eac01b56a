"""What is wrong with a resource: gathered over the whole of it, each with its field."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence


class BadResource(Exception):
    """A resource that cannot be used; the message names fields and what is wrong with them."""


Finding = tuple[str, str]
"""The path of a field, and what is wrong with it."""


class Findings:
    """Gathers what is wrong, with the path of the field that it is wrong with.

    Args:
        weigh: what is wrong of all that was found, when the validation ends.
    """

    def __init__(self, weigh: Callable[[Sequence[Finding]], Sequence[Finding]] = list) -> None:
        self._path: list[str] = []
        self._found: list[Finding] = []
        self._weigh = weigh

    @contextlib.contextmanager
    def at(self, field: str) -> Iterator[None]:
        """Enter a field: `lb_endpoints[3]`, or a path such as `a.b`."""
        self._path.append(field)
        try:
            yield
        finally:
            self._path.pop()

    def add(self, words: str, field: str = "") -> None:
        """Note an error in the field (by default the field that was entered)."""
        self._found.append((".".join(filter(None, (*self._path, field))), words))

    @property
    def count(self) -> int:
        """The number of errors so far."""
        return len(self._found)

    def forget(self, count: int) -> None:
        """Keep only the first `count` findings."""
        del self._found[count:]

    def check(self) -> None:
        """End the validation.

        Raises:
            BadResource: something was found; the message lists all of it.
        """
        wrong = self._weigh(self._found)
        if wrong:
            raise BadResource(
                "; ".join(f"{path}: {words}" if path else words for path, words in wrong)
            )
