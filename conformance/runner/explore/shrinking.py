"""Make a failing course smaller. Candidates are pure; the search asks whether each still fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from itertools import takewhile

import msgspec

from conformance.runner.explore.courses import (
    Call,
    Configuration,
    Course,
    Gate,
    GateMode,
    GoAway,
    Kill,
    Listed,
    Member,
    OpenStream,
    Serve,
    Settle,
    Step,
    Value,
    flaw,
    values,
)
from conformance.runner.explore.trees import Leaf, Tree

Fails = Callable[[Course], Awaitable[bool]]
"""Runs a course and returns whether it fails in the way that is being examined."""


async def shrink(course: Course, fails: Fails, is_over: Callable[[], bool]) -> Course:
    """Return a course that fails and has no simpler candidate that fails, as far as time allows.

    Args:
        course: a course that fails.
        fails: runs a candidate.
        is_over: returns whether the time is up.
    """
    tried = {course}
    while not is_over():
        for candidate in candidates(course):
            if candidate in tried or flaw(candidate):
                continue
            if is_over():
                return course
            tried.add(candidate)
            if await fails(candidate):
                course = candidate
                break
        else:
            return course
    return course


def candidates(course: Course) -> Iterator[Course]:
    """Yield simpler courses, those first that leave the most out."""
    if (plain := without_idle_gates(course)) != course:
        yield plain
    yield from _without_steps(course)
    yield from _without_members(course)
    yield from _with_simpler_steps(course)
    for configuration in _simpler_configurations(course.initial):
        yield msgspec.structs.replace(course, initial=configuration)


def until(course: Course, step: int) -> Course:
    """Return a course that ends with this step, counted from 1."""
    return msgspec.structs.replace(course, steps=course.steps[:step])


def without_idle_gates(course: Course) -> Course:
    """Return the course without steps that set a gate to the mode that it has."""
    modes: dict[Member, GateMode] = {}
    kept: list[Step] = []
    for step in course.steps:
        if isinstance(step, Gate):
            if modes.get(step.member, "serve") == step.mode:
                continue
            modes[step.member] = step.mode
        kept.append(step)
    return msgspec.structs.replace(course, steps=tuple(kept))


def _without_steps(course: Course) -> Iterator[Course]:
    """Leave out ever smaller runs of steps."""
    count = len(course.steps)
    sizes = takewhile(lambda size: size >= 1, (count >> turn for turn in range(count.bit_length())))
    for size in sizes:
        for start in range(0, count, size):
            kept = course.steps[:start] + course.steps[start + size :]
            yield msgspec.structs.replace(course, steps=kept)


def _without_members(course: Course) -> Iterator[Course]:
    """Leave out an endpoint; those behind it get lower numbers."""
    if course.members > 1:
        for member in reversed(range(course.members)):
            yield without_member(course, member)


def without_member(course: Course, gone: Member) -> Course:
    """Return the course without an endpoint, and without the steps that concern only that one."""

    def number(member: Member) -> Member:
        return member - (member > gone)

    def of_configuration(configuration: Configuration) -> Configuration:
        kept = (
            msgspec.structs.replace(each, member=number(each.member))
            for each in configuration.endpoints
            if each.member != gone
        )
        return msgspec.structs.replace(configuration, endpoints=tuple(kept))

    def of_values(several: tuple[Value, ...]) -> tuple[Value, ...]:
        kept = (
            msgspec.structs.replace(
                value, first=tuple(number(member) for member in value.first if member != gone)
            )
            for value in several
        )
        return tuple(value for value in kept if value.first or value.text)

    def of_step(step: Step) -> Step | None:
        match step:
            case Serve(configuration=configuration):
                return msgspec.structs.replace(step, configuration=of_configuration(configuration))
            case Gate(member=member) | Kill(member=member) | GoAway(member=member):
                same = msgspec.structs.replace(step, member=number(member))
                return None if member == gone else same
            case Call(values=several) | Settle(values=several):
                kept = of_values(several)
                return msgspec.structs.replace(step, values=kept) if kept or not several else None
            case OpenStream(value=value):
                kept = of_values((value,))
                return OpenStream(kept[0]) if kept else None
            case _:
                return step

    steps = (of_step(step) for step in course.steps)
    return msgspec.structs.replace(
        course,
        members=course.members - 1,
        initial=of_configuration(course.initial),
        steps=tuple(step for step in steps if step is not None),
    )


def _with_simpler_steps(course: Course) -> Iterator[Course]:
    for place, step in enumerate(course.steps):
        for simpler in simpler_steps(step):
            steps = (*course.steps[:place], simpler, *course.steps[place + 1 :])
            yield msgspec.structs.replace(course, steps=steps)


def simpler_steps(step: Step) -> Iterator[Step]:
    """Yield simpler steps in the place of one."""
    match step:
        case Serve(configuration=configuration, at_once=at_once):
            if at_once:
                yield Serve(configuration)
            for simpler in _simpler_configurations(configuration):
                yield msgspec.structs.replace(step, configuration=simpler)
        case Gate(member=member, mode="stall"):
            yield Gate(member, "hold")
        case Gate(member=member, mode="hold"):
            yield Gate(member, "close")
        case GoAway(member=member):
            yield Kill(member)
        case Call() | Settle():
            yield from _simpler_requests(step)
        case _:
            pass


def _simpler_requests(step: Call | Settle) -> Iterator[Step]:
    yield from _with_fewer_values(step)
    if isinstance(step, Call):
        plain = Call(step.values)
        if step != plain:
            yield plain


def _with_fewer_values(step: Call | Settle) -> Iterator[Step]:
    several = values(step)
    half = len(several) // 2
    if half:
        yield msgspec.structs.replace(step, values=several[:half])
        yield msgspec.structs.replace(step, values=several[half:])
    for place, value in enumerate(several):
        if len(several) > 1:
            kept = several[:place] + several[place + 1 :]
            yield msgspec.structs.replace(step, values=kept)
        if len(value.first) > 1:
            shorter = Value(value.first[:1])
            kept = (*several[:place], shorter, *several[place + 1 :])
            yield msgspec.structs.replace(step, values=kept)


def _simpler_configurations(configuration: Configuration) -> Iterator[Configuration]:
    plain = Configuration(configuration.endpoints)
    for field in ("hashing", "minimum", "maximum", "localities", "policy", "tree"):
        wanted = getattr(plain, field)
        if getattr(configuration, field) != wanted:
            yield msgspec.structs.replace(configuration, **{field: wanted})
    for tree in _simpler_trees(configuration.tree):
        yield msgspec.structs.replace(configuration, tree=tree)
    listed = configuration.endpoints
    for is_kept in (False, True):
        # In a tree, the locality of an endpoint is its priority.
        every = tuple(Listed(each.member, locality=is_kept * each.locality) for each in listed)
        if every != listed:
            yield msgspec.structs.replace(configuration, endpoints=every)
    for place, endpoint in enumerate(listed):
        if endpoint != (simple := Listed(endpoint.member)):
            several = (*listed[:place], simple, *listed[place + 1 :])
            yield msgspec.structs.replace(configuration, endpoints=several)
        yield msgspec.structs.replace(configuration, endpoints=listed[:place] + listed[place + 1 :])
    ordered = tuple(sorted(listed, key=lambda endpoint: endpoint.member))
    if ordered != listed:
        yield msgspec.structs.replace(configuration, endpoints=ordered)


def _simpler_trees(tree: Tree) -> Iterator[Tree]:
    """Yield trees without LOGICAL_DNS, and with one leaf less."""
    plain = tuple(Leaf(each.number) for each in tree.leaves)
    if plain != tree.leaves:
        yield msgspec.structs.replace(tree, leaves=plain)
    for place in range(len(tree.leaves) if len(tree.leaves) > 1 else 0):
        kept = tree.leaves[:place] + tree.leaves[place + 1 :]
        yield msgspec.structs.replace(tree, leaves=kept)
