"""Which cells of the matrix of users, places and systems there are, and whose turn it is today.

A cell is one user, one place of the checkout and one system. Each two values of different columns
stand together in one cell at least (pairwise), unless they cannot. Uses the standard library only.

    python ci/matrix.py             prints the cell of today, by the day of the year
    python ci/matrix.py all         prints all of them, a line each
    python ci/matrix.py NUMBER      prints one, counted from 1
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

USERS = ("root", "ordinary", "no-namespaces", "nameless")
"""`ordinary` may make user namespaces, `no-namespaces` may not;
`nameless` is a uid without account."""

PLACES = ("plain", "odd", "tmp", "tmpfs", "read-only")
"""`odd` has a space, a quote and a letter beyond ASCII; `tmpfs` is on another file system than the
home folder; `read-only` has its environment elsewhere, by XDSPEC_VENV."""

SYSTEMS = (
    "this",
    "no-ipv6",
    "no-git",
    "umask-077",
    "lang-c",
    "60-columns",
    "debian-bookworm",
    "debian-testing",
)
"""What differs from this machine (`this` is the machine as it is). `debian-…` is another userland:
the oldest Python that is supported, 3.11, and the newest that has packages of all dependencies."""

FORCED = "XDSPEC_CI_CELL"


class Cell(NamedTuple):
    """One combination."""

    user: str
    place: str
    system: str

    def __str__(self) -> str:
        return " ".join(self)

    def pairs(self) -> frozenset[tuple[str, str]]:
        """Each two of its values."""
        return frozenset(itertools.combinations(self, 2))


def cells() -> tuple[Cell, ...]:
    """As few cells as have each pair of values: each time the one that adds most pairs."""
    every = [Cell(*combination) for combination in itertools.product(USERS, PLACES, SYSTEMS)]
    missing = set().union(*(cell.pairs() for cell in every))
    chosen: list[Cell] = []
    while missing:
        best = max(every, key=lambda cell: len(cell.pairs() & missing))  # the first of the best
        chosen.append(best)
        missing -= best.pairs()
    return tuple(chosen)


def of_day(day: int, there: tuple[Cell, ...]) -> Cell:
    """Return the cell for a day of the year."""
    return there[day % len(there)]


def chosen(arguments: list[str]) -> Iterable[Cell]:
    """Return the cells that the command line, or the environment, names.

    Raises:
        ValueError: there is none of this number.
    """
    there = cells()
    word = arguments[0] if arguments else os.environ.get(FORCED, "")
    if word == "all":
        return there
    if not word:
        return [of_day(datetime.now(UTC).timetuple().tm_yday, there)]
    if word not in map(str, range(1, len(there) + 1)):
        raise ValueError(f"there is no cell {word!r}: `all`, or 1 to {len(there)}")
    return [there[int(word) - 1]]


def main() -> int:
    """Print the cells."""
    try:
        print(*chosen(sys.argv[1:]), sep="\n")
    except ValueError as error:
        print(f"ci/matrix: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
