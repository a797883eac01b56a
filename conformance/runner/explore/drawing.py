"""Draw courses with Hypothesis, weighted so that states which matter are reached."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from conformance.runner.explore.authors import Author
from conformance.runner.explore.courses import Course
from conformance.runner.explore.tree_author import TreeAuthor


@st.composite
def ring_courses(draw: Callable[[st.SearchStrategy[object]], object]) -> Course:
    """Draw a course of updates and faults below one ring."""
    return Author(draw).course()


@st.composite
def locality_courses(draw: Callable[[st.SearchStrategy[object]], object]) -> Course:
    """Draw a course in which endpoints are in several localities, and move between them."""
    return Author(draw, localities=3).course()


@st.composite
def tree_courses(draw: Callable[[st.SearchStrategy[object]], object]) -> Course:
    """Draw a course in which priorities fail, return, and change."""
    return TreeAuthor(draw).course()


AREAS: Final[dict[str, Callable[[], st.SearchStrategy[Course]]]] = {
    "ring": ring_courses,
    "localities": locality_courses,
    "tree": tree_courses,
}
"""The strategies, by what --only names."""


def drawn(area: str, number: int) -> Iterator[Course]:
    """Yield courses of an area without end; equal numbers give equal courses."""
    for turn in itertools.count():
        yield course_of(area, (number << 32) + turn)


def course_of(area: str, number: int) -> Course:
    """Draw the course of a number.

    Hypothesis tries the simplest value of a strategy first and later varies values that it has
    drawn. The second value is neither.
    """
    found: list[Course] = []

    @seed(number)
    @settings(
        max_examples=2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(AREAS[area]())
    def keep(course: Course) -> None:
        found.append(course)

    keep()
    return found[-1]
