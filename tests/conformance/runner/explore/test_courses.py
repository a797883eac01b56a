"""Courses as values: files, flaws, drawing and shrinking."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.runner.explore import courses
from conformance.runner.explore.courses import (
    BadCourse,
    Call,
    Configuration,
    Course,
    Gate,
    Kill,
    Listed,
    Serve,
    Settle,
    Value,
    flaw,
)
from conformance.runner.explore.drawing import course_of, drawn
from conformance.runner.explore.shrinking import (
    candidates,
    shrink,
    without_idle_gates,
    without_member,
)

SMALL = Course(
    members=2,
    initial=Configuration((Listed(0), Listed(1, 3))),
    steps=(Gate(1, "close"), Kill(1), Settle((Value((1, 0)), Value(text="v")))),
)

FLAWED: dict[str, tuple[Course, str]] = {
    "schema": (replace(SMALL, schema=9), "schema is 9"),
    "members": (replace(SMALL, members=0), "0 endpoints"),
    "too many steps": (replace(SMALL, steps=(Kill(0),) * 1001), "1001 steps"),
    "too many requests": (replace(SMALL, steps=(Settle((Value(text="v"),) * 501),)), "500"),
    "listed twice": (replace(SMALL, initial=Configuration((Listed(0), Listed(0)))), "twice"),
    "weight": (replace(SMALL, initial=Configuration((Listed(0, 0),))), "weight"),
    "size": (replace(SMALL, initial=Configuration((), 5000)), "5000"),
    "sizes": (replace(SMALL, initial=Configuration((), 8, 4)), "8 to 4"),
    "locality": (replace(SMALL, initial=Configuration((Listed(0, locality=9),))), "locality"),
    "weight of a locality": (
        replace(SMALL, initial=Configuration((Listed(0),), localities=(0,))),
        "weight",
    ),
    "stranger on the list": (replace(SMALL, steps=(Serve(Configuration((Listed(7),))),)), "e7"),
    "stranger at a gate": (replace(SMALL, steps=(Kill(5),)), "e5"),
    "stranger that is picked": (replace(SMALL, steps=(Call((Value((4,)),)),)), "e4"),
}


def test_written_and_read(tmp_path: Path) -> None:
    for course in itertools.islice(drawn("ring", 1), 5):
        courses.write(tmp_path / "course.json", course)
        assert courses.read(tmp_path / "course.json") == course


@pytest.mark.parametrize("name", FLAWED)
def test_flaw(name: str, tmp_path: Path) -> None:
    course, words = FLAWED[name]
    assert words in flaw(course)
    courses.write(tmp_path / "bad.json", course)
    with pytest.raises(BadCourse, match="is not a course"):
        courses.read(tmp_path / "bad.json")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"members": 1}', '{"schema": "x"}'])
def test_no_course(content: str, tmp_path: Path) -> None:
    path = tmp_path / "course.json"
    path.write_text(content)
    with pytest.raises(BadCourse, match="is not a course"):
        courses.read(path)
    with pytest.raises(BadCourse, match="is not a course"):
        courses.read(tmp_path / "none.json")


def test_readable() -> None:
    assert str(SMALL).splitlines() == [
        "2 endpoints; serve e0, e1 x 3; ring of 32; hash by header",
        "  1. gate of e1: close",
        "  2. drop the connections of e1",
        "  3. settle with 2 requests: e1 then e0, 'v'",
    ]


def test_drawn_courses_can_run_and_repeat() -> None:
    first = list(itertools.islice(drawn("ring", 5), 20))
    assert first == [course_of("ring", (5 << 32) + number) for number in range(20)]
    assert not [why for course in first if (why := flaw(course))]
    assert len(set(first)) == len(first)
    kinds = {type(step) for course in first for step in course.steps}
    assert {Serve, Gate, Kill, Call, Settle} <= kinds


def test_endpoints_move_between_localities() -> None:
    first = list(itertools.islice(drawn("localities", 5), 10))
    assert not [why for course in first if (why := flaw(course))]
    used = {e.locality for c in first for s in courses.configurations(c) for e in s.endpoints}
    assert used == {0, 1, 2}


def test_an_endpoint_is_left_out() -> None:
    course = replace(
        SMALL,
        members=3,
        initial=Configuration((Listed(0), Listed(1), Listed(2))),
        steps=(Kill(0), Kill(1), Kill(2), Settle((Value((2, 1)), Value((1,)))), Settle()),
    )
    left = without_member(course, 1)
    assert left == Course(
        members=2,
        initial=Configuration((Listed(0), Listed(1))),
        steps=(Kill(0), Kill(1), Settle((Value((1,)),)), Settle()),
    )


def test_gates_that_change_nothing_are_left_out() -> None:
    modes = [(0, "serve"), (1, "close"), (1, "close"), (0, "hold"), (1, "serve"), (0, "hold")]
    steps = tuple(Gate(member, mode) for member, mode in modes)  # type: ignore[arg-type]
    left = without_idle_gates(replace(SMALL, steps=steps))
    assert left.steps == (Gate(1, "close"), Gate(0, "hold"), Gate(1, "serve"))


def test_candidates_are_others_and_most_are_smaller() -> None:
    (course,) = itertools.islice(drawn("ring", 8), 1)
    found = list(candidates(course))
    assert course not in found
    assert len(found[0].steps) < len(course.steps)


def shrunk(course: Course, fails: Any, most: int = 10_000) -> tuple[Course, int]:
    ran = 0

    async def run(candidate: Course) -> bool:
        nonlocal ran
        ran += 1
        return bool(fails(candidate))

    return asyncio.run(shrink(course, run, lambda: ran >= most)), ran


def closes_two_and_settles(course: Course) -> bool:
    closed: set[int] = set()
    for step in course.steps:
        if isinstance(step, Gate):
            (closed.add if step.mode == "close" else closed.discard)(step.member)
        if isinstance(step, Settle) and len(closed) > 1 and step.values:
            return True
    return False


def test_shrunk_to_what_matters() -> None:
    course = next(c for c in drawn("ring", 3) if closes_two_and_settles(c) and len(c.steps) > 30)
    small, _ = shrunk(course, closes_two_and_settles)
    assert small.members == 2
    assert [type(step) for step in small.steps] == [Gate, Gate, Settle]
    assert small.initial.endpoints == ()


def test_shrinking_ends_in_time() -> None:
    course = next(iter(drawn("ring", 3)))
    small, ran = shrunk(course, lambda _: True, most=3)
    assert ran == 3
    assert len(small.steps) < len(course.steps)
