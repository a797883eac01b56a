"""Run each course in a new world, and keep the evidence that the caller asks for."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.environments import Prepared
from conformance import timing
from conformance.judging.declaration import AS_ALWAYS
from conformance.runner.explore.courses import Course
from conformance.runner.explore.driver import run_course
from conformance.runner.explore.judges import findings, is_late
from conformance.runner.explore.record import Finding, Judged, Observed
from conformance.runner.plugin.worlds import SHARING, Wanted, Worlds
from conformance.runner.settings import FAILOVER_KNOB
from conformance.runner.targets import Target
from conformance.spec.catalogue import Catalogue
from conformance.spec.oracles.backoff import Backoff
from conformance.world import World
from test_servers import Fleet

BACKOFF_KNOBS: Final = ("initial_backoff_ms", "max_backoff_ms")

NEEDED: Final = ("metadata", "kept_open", "cancel", "wait_for_ready")
"""The capabilities without which no course runs."""


class Result(msgspec.Struct, frozen=True):
    """A course that ran."""

    course: Course
    seen: Observed
    findings: tuple[Finding, ...]

    @property
    def is_void(self) -> bool:
        """Return whether the course says nothing, because of the suite or of the machine."""
        return is_void(self.seen) or (is_late(self.seen) and not self.findings)


def lacks(client: Prepared) -> tuple[str, ...]:
    """Return the capabilities that a client lacks for courses."""
    able = client.client.manifest.capabilities
    return tuple(need for need in NEEDED if need not in able)


def knobs_of(client: Prepared) -> dict[str, int]:
    """Return the knobs that shorten the client's backoff and failover timer, if it has them."""
    known = {str(knob) for knob in client.client.manifest.knobs}
    seconds = {FAILOVER_KNOB: timing.COURSE_FAILOVER} if FAILOVER_KNOB in known else {}
    if set(BACKOFF_KNOBS) <= known:
        several = (timing.COURSE_BACKOFF, timing.COURSE_LONGEST_BACKOFF)
        seconds |= zip(BACKOFF_KNOBS, several, strict=True)
    return {knob: round(1000 * each) for knob, each in seconds.items()}


def judged(target: Target) -> Judged:
    """Return what judges need of a client."""
    backoff = target.judged.backoff
    knobs = knobs_of(target.prepared)
    if set(BACKOFF_KNOBS) <= knobs.keys():
        backoff = Backoff(
            initial=timing.COURSE_BACKOFF,
            longest=timing.COURSE_LONGEST_BACKOFF,
            multiplier=backoff.multiplier,
            jitter=backoff.jitter,
        )
    return Judged(
        follows=target.judged.follows,
        key_format=target.judged.ring_keys.known,
        choices=target.judged.choices,
        backoff=backoff,
        failover=timing.COURSE_FAILOVER if FAILOVER_KNOB in knobs else timing.FAILOVER.seconds,
        reports_states="watch" in target.prepared.client.manifest.capabilities,
    )


class CourseRunner:
    """Runs courses against one client, one after another; several of them may run at once.

    Args:
        target: the client.
        catalogue: the clauses.
        scratch: a folder for what is gone when the command ends.
    """

    def __init__(self, target: Target, catalogue: Catalogue, scratch: Path) -> None:
        self._target = target
        self._catalogue = catalogue
        self._client = judged(target)
        scratch.mkdir(parents=True, exist_ok=True)
        self._worlds = Worlds(str(scratch))
        knobs = knobs_of(target.prepared)
        can_share = SHARING in target.prepared.client.manifest.capabilities
        self._wanted = Wanted(target, knobs, AS_ALWAYS, shares=can_share and not knobs)
        self.ran = 0

    async def run(
        self,
        course: Course,
        keep: Callable[[World, Result], None] | None = None,
        *,
        patience: float = 1.0,
    ) -> Result:
        """Run a course in a new world.

        Args:
            course: the course.
            keep: called with the world while it still exists, if the course has findings.
            patience: the part of the deadline of a calm after which it does not come.

        Raises:
            ConversationFailed: the client did not start.
        """
        launched = await self._worlds.take(self._wanted, self._wanted)
        self.ran += 1
        world = World(
            launched,
            await Fleet.start(),
            catalogue=self._catalogue,
            client=self._target.judged,
            rng=random.Random(self.ran),
        )
        try:
            seen = await run_course(world, course, self._client, patience=patience)
            found = () if is_void(seen) else findings(seen)
            result = Result(course, seen, found)
            if found and keep is not None:
                keep(world, result)
            lasts = not found and seen.trouble is None and self._worlds.lasts(launched)
            if lasts and not await world.release():
                self._worlds.keep(self._target, launched, f"course {self.ran}")
        finally:
            await world.close()
            for process in world.channels.ending:
                shutil.rmtree(process.folder, ignore_errors=True)
                with suppress(OSError):
                    process.stderr_path.unlink(missing_ok=True)
        return result

    async def close(self) -> None:
        """End what was launched ahead."""
        await self._worlds.close()


def is_void(seen: Observed) -> bool:
    """Return whether a record says nothing of the client."""
    return seen.trouble is not None and seen.trouble.verdict != "fail"
