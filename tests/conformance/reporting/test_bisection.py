"""Which versions bisecting looks at, and what it finds: by tables, and by all small histories."""

from __future__ import annotations

import itertools
import math

import pytest

from conformance.reporting.bisection import Bisection, Flip, Untold

BROKEN = "?"
"""A version without a usable result."""


def looked_at(does: str, known: dict[int, str] | None = None) -> tuple[Bisection, list[int]]:
    """Bisect versions that do this, a letter each; the order in which they were looked at."""
    now = Bisection(len(does), known or {})
    order: list[int] = []
    while (index := now.next) is not None:
        assert index not in now.known
        order.append(index)
        what = Untold("broken") if does[index] == BROKEN else does[index]
        now = Bisection(len(does), {**now.known, index: what})
    return now, order


@pytest.mark.parametrize(
    ("does", "flips", "order"),
    [
        ("ab", [(0, 1)], [1, 0]),
        ("aa", [], [1, 0]),
        ("aaaaaaab", [(6, 7)], [7, 0, 3, 5, 6]),
        ("abbbbbbb", [(0, 1)], [7, 0, 3, 1]),
        ("aaaabbbb", [(3, 4)], [7, 0, 3, 5, 4]),
        # What cannot be told is passed over, and stays between the two.
        ("aaa?bbb", [(2, 4)], [6, 0, 3, 2, 4]),
        ("a???b", [(0, 4)], [4, 0, 2, 1, 3]),
        ("?aab", [], [3, 0]),
        ("aab?", [], [3]),
        # A third way to do it is none of the last version's: what it does now is dated.
        ("aaccbbb", [(0, 3), (3, 4)], [6, 0, 3, 4]),
        # What comes and goes is not seen where nobody looks.
        ("abababa", [], [6, 0]),
        ("a", [], [0]),
    ],
)
def test_bisecting(does: str, flips: list[tuple[int, int]], order: list[int]) -> None:
    found, looked = looked_at(does)
    assert [(flip.before, flip.after) for flip in found.flips] == flips
    assert looked == order


@pytest.mark.parametrize(
    ("does", "known", "flips", "order"),
    [
        # Recorded runs cost nothing, and narrow it before any other is begun.
        ("aaaabbbb", {3: "a", 4: "b", 0: "a", 7: "b"}, [(3, 4)], []),
        ("aaaaabbb", {0: "a", 2: "a", 7: "b"}, [(4, 5)], [4, 5]),
        # They show what came and went: of several changes the last one is bisected.
        ("aabbaaabb", {2: "b", 4: "a"}, [(0, 2), (2, 4), (6, 7)], [8, 0, 6, 7]),
        ("aabba", {2: "b"}, [(0, 2), (3, 4)], [4, 0, 3]),
    ],
)
def test_with_recorded_runs(
    does: str, known: dict[int, str], flips: list[tuple[int, int]], order: list[int]
) -> None:
    found, looked = looked_at(does, known)
    assert [(flip.before, flip.after) for flip in found.flips] == flips
    assert looked == order


@pytest.mark.parametrize("count", range(2, 40))
def test_one_change_takes_few_looks(count: int) -> None:
    for place in range(1, count):
        found, looked = looked_at("a" * place + "b" * (count - place))
        assert found.flips == (Flip(place - 1, place),)
        assert len(looked) <= 2 + math.ceil(math.log2(count - 1))


@pytest.mark.parametrize("count", range(1, 8))
def test_whatever_the_versions_do(count: int) -> None:
    """It ends, what it says was seen, and nothing between could have told more."""
    for does in map("".join, itertools.product("ab?", repeat=count)):
        found, looked = looked_at(does)
        assert len(looked) == len(set(looked)) <= count
        for flip in found.flips:
            assert BROKEN not in (does[flip.before], does[flip.after])
            assert does[flip.before] != does[flip.after]
        if found.flips:
            assert {does[index] for index in found.between} <= {BROKEN}
            assert does[found.flips[-1].after] == does[-1]
