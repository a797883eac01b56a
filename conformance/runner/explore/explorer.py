"""Search: draw courses, run them, repeat and shrink those that fail, and keep their evidence."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from conformance import timing
from conformance.runner.evidence_files import write_files
from conformance.runner.explore import courses
from conformance.runner.explore.course_runner import CourseRunner, Result
from conformance.runner.explore.courses import Course
from conformance.runner.explore.drawing import course_of
from conformance.runner.explore.record import Finding, Trouble
from conformance.runner.explore.shrinking import Fails, shrink, until
from conformance.runner.explore.timeline import timeline
from conformance.runner.targets import Target
from conformance.spec.catalogue import Catalogue
from conformance.world import World

REPEATS: Final = 10
"""How often a failing course runs again."""

EXAMINED: Final = 4
"""How many failures of a search are shrunk; the others are repeated as they were drawn."""

COURSE: Final = "course.json"
"""The course in a folder of evidence."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failing course, repeated and shrunk."""

    number: int
    """The number of the drawn course; 0 if the user gave it."""
    finding: Finding
    drawn: Course
    course: Course
    """As small as time allowed."""
    failed: int
    """How many of the repeated runs of the shrunk course failed in this way."""
    ran: int
    folder: Path

    @property
    def is_repeatable(self) -> bool:
        """Return whether it failed again at least once."""
        return self.failed > 0


class Summary(msgspec.Struct, kw_only=True):
    """What a search did."""

    ran: int = 0
    """Courses that were drawn and ran to their end."""
    void: int = 0
    """Courses that say nothing, because of the suite or of the machine."""
    steps: int = 0
    requests: int = 0
    seconds: float = 0.0
    failures: list[Failure] = []
    again: int = 0
    """Courses that failed in a way that was already known."""
    troubles: list[str] = []


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched."""

    area: str
    seconds: float
    """How long courses are drawn; what is examined then goes on."""
    seed: int
    jobs: int
    shrinks: bool = True
    most: int | None = None
    """The most courses, None for no limit."""


class Explorer:
    """Searches for courses in which one client fails.

    Args:
        target: the client.
        catalogue: the clauses.
        scratch: a folder for what is gone when the command ends.
        out: the folder for evidence.
        say: prints a line.
    """

    def __init__(
        self,
        target: Target,
        catalogue: Catalogue,
        *,
        scratch: Path,
        out: Path,
        say: Callable[[str], None],
    ) -> None:
        self._target = target
        self._catalogue = catalogue
        self._scratch = scratch
        self._out = out
        self._say = say
        self.summary = Summary()
        self._known: set[tuple[str, str]] = set()
        self._examined = 0

    async def search(self, plan: Plan) -> Summary:
        """Run courses until the time is up."""
        began = time.monotonic()
        numbers = iter(itertools.islice(itertools.count(1), plan.most))

        async def work(place: int) -> None:
            runner = CourseRunner(self._target, self._catalogue, self._scratch / f"{place}")
            try:
                for number in numbers:
                    if time.monotonic() - began > plan.seconds:
                        return
                    course = await asyncio.to_thread(
                        course_of, plan.area, (plan.seed << 32) + number
                    )
                    await self._try(runner, course, number, plan)
            finally:
                await runner.close()

        async with asyncio.TaskGroup() as group:
            for place in range(plan.jobs):
                group.create_task(work(place))
        self.summary.seconds = time.monotonic() - began
        return self.summary

    async def replay(self, course: Course, times: int) -> Summary:
        """Run one course a number of times."""
        began = time.monotonic()
        runner = CourseRunner(self._target, self._catalogue, self._scratch / "replay")
        first: Finding | None = None
        failed = 0
        folder = self._out / "replay"
        try:
            for _ in range(times):
                result = await runner.run(course, _keeper(folder))
                self._count(result)
                if result.findings:
                    failed += 1
                    first = first or result.findings[0]
        finally:
            await runner.close()
        if first is not None:
            self.summary.failures.append(
                Failure(
                    number=0,
                    finding=first,
                    drawn=course,
                    course=course,
                    failed=failed,
                    ran=times,
                    folder=folder,
                )
            )
        self.summary.seconds = time.monotonic() - began
        return self.summary

    def _count(self, result: Result) -> None:
        self.summary.ran += 1
        self.summary.void += result.is_void
        self.summary.steps += len(result.course.steps)
        self.summary.requests += len(result.seen.requests)
        if result.is_void and result.seen.trouble is not None:
            self.summary.troubles.append(_line(result.seen.trouble))

    async def _try(self, runner: CourseRunner, course: Course, number: int, plan: Plan) -> None:
        folder = self._out / f"course-{plan.seed}-{number}"
        result = await runner.run(course, _keeper(folder))
        self._count(result)
        if not result.findings:
            return
        finding = result.findings[0]
        signature = finding.judge, finding.title
        if signature in self._known:
            self.summary.again += 1
            _forget(folder)
            return
        self._known.add(signature)
        self._say(f"course {number}: {finding.title}; repeating and shrinking it")
        failure = await self._examine(runner, result, finding, number, folder, plan)
        self.summary.failures.append(failure)

    async def _examine(
        self,
        runner: CourseRunner,
        result: Result,
        finding: Finding,
        number: int,
        folder: Path,
        plan: Plan,
    ) -> Failure:
        """Shrink a failing course, then repeat it and keep the evidence of its last failure."""
        began = time.monotonic()

        latest = finding

        async def fails(candidate: Course, *, patience: float = 1.0) -> bool:
            nonlocal latest
            ran = await runner.run(candidate, _keeper(folder, finding), patience=patience)
            alike = [each for each in ran.findings if _alike(each, finding)]
            latest = alike[0] if alike else latest
            return bool(alike)

        course = result.course
        if plan.shrinks and self._examined < EXAMINED:
            self._examined += 1
            hurried = partial(fails, patience=timing.HURRY)
            steps = [calm.step for calm in result.seen.calms if calm.expired] or [len(course.steps)]
            shorter = until(course, min(steps))
            if shorter != course and await hurried(shorter):
                course = shorter
            course = await shrink(
                course, hurried, lambda: time.monotonic() - began > timing.SHRINKING
            )
        failed, ran = await _repeated(fails, course, began)
        if not failed and course != result.course:  # only a calm that was cut short failed
            course = result.course
            failed, ran = await _repeated(fails, course, time.monotonic())
        return Failure(
            number=number,
            finding=latest,
            drawn=result.course,
            course=course,
            failed=failed,
            ran=ran,
            folder=folder,
        )


async def _repeated(fails: Fails, course: Course, began: float) -> tuple[int, int]:
    """Return how often a course failed, and how often it ran."""
    failed = ran = 0
    while ran < REPEATS and (ran == 0 or time.monotonic() - began < timing.EXAMINATION):
        failed += await fails(course)
        ran += 1
    return failed, ran


def _alike(finding: Finding, other: Finding) -> bool:
    return (finding.judge, finding.title) == (other.judge, other.title)


def _keeper(folder: Path, wanted: Finding | None = None) -> Callable[[World, Result], None]:
    """Return a function that writes the evidence of a failing course, if it fails as wanted."""

    def keep(world: World, result: Result) -> None:
        if wanted is None or any(_alike(each, wanted) for each in result.findings):
            write_evidence(folder, world, result)

    return keep


def write_evidence(folder: Path, world: World, result: Result) -> None:
    """Write the course, its findings, the timeline, the record, and what the world has to show."""
    _forget(folder)
    folder.mkdir(parents=True, exist_ok=True)
    courses.write(folder / COURSE, result.course)
    (folder / "course.txt").write_text(f"{result.course}\n", "utf-8")
    (folder / "findings.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(result.findings), indent=1) + b"\n"
    )
    lines = timeline(result.seen, result.findings)
    (folder / "timeline.txt").write_text("\n".join(lines) + "\n", "utf-8", "backslashreplace")
    (folder / "record.json").write_bytes(msgspec.json.encode(result.seen) + b"\n")
    write_files(folder, world, None)


def _forget(folder: Path) -> None:
    """Remove the files of an earlier course of this name."""
    if (folder / COURSE).is_file():
        shutil.rmtree(folder)


def _line(trouble: Trouble) -> str:
    first, *_ = trouble.what.splitlines() or [""]
    return f"{trouble.verdict} ({trouble.reason}): {first}"
