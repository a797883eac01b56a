"""Run a course in a world, and return the record of what it has shown."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from client_under_test.launching.channels import StateWatch
from conformance import timing
from conformance.runner.explore import courses
from conformance.runner.explore.control_plane import CourseControlPlane
from conformance.runner.explore.courses import Configuration, Course, Step, Value, headers_for
from conformance.runner.explore.judges import findings
from conformance.runner.explore.judges.channel_state import allowed_states
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.judges.requests import misfits
from conformance.runner.explore.judges.retries import (
    is_idle_too_long,
    left_idle,
    not_retried,
    untried,
)
from conformance.runner.explore.judges.subscriptions import wrong_subscriptions
from conformance.runner.explore.observing import (
    MODES,
    Started,
    Story,
    observed,
    subscribed,
)
from conformance.runner.explore.picks import Walks
from conformance.runner.explore.record import Calm, Judged, Observed, Trouble
from conformance.runner.plugin.final_checks import final_checks
from conformance.spec.oracles.backoff import most
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.values import NoSuchValueError, value_hitting, value_preferring
from conformance.world import DUPLEX, UNARY, World, waits
from fake_control_plane import Kind
from test_servers import BackendEndpoint

TRIES: Final = 20_000
"""Header values that are tried for an order of endpoints."""

AT_THE_END: Final = 8
"""Requests with arbitrary hashes in the last calm, beside one for each endpoint."""


class Driver:
    """Runs one course.

    Args:
        world: the world, whose client has said hello.
        course: the course.
        client: the client, for the judges.
        patience: the part of the deadline of a calm after which it does not come.
    """

    def __init__(
        self, world: World, course: Course, client: Judged, *, patience: float = 1.0
    ) -> None:
        self._patience = patience
        self._world = world
        self._course = course
        self._client = client
        self._story = Story()
        self._endpoints: Sequence[BackendEndpoint] = ()
        self._addresses: tuple[str, ...] = ()
        self._walks = Walks(client, ())
        self._plane = CourseControlPlane(world, self._story, course.initial)
        self._watch: StateWatch | None = None
        self._step = 0
        self._texts: dict[tuple[Configuration, Value], str] = {}
        self._has_settled = False

    async def run(self) -> Observed:
        """Run the course to its end, or until a calm does not come."""
        error: Exception | None = None
        try:
            await self._begin()
            if await self._all_steps():
                await self._heal()
        except Exception as trouble:  # noqa: BLE001 - final_checks decides what it says
            error = trouble
        seen = self._observed()
        look = await final_checks(self._world, error)
        waited = look.starved or round(self._world.channels.starved(self._world.process), 3)
        seen = msgspec.structs.replace(seen, starved=waited)
        if look.trouble is None:
            return seen
        ended_by = Trouble(
            verdict=look.trouble.verdict.value,
            reason="" if look.trouble.reason is None else look.trouble.reason.value,
            what=look.trouble.what,
            at=seen.ended,
        )
        return msgspec.structs.replace(seen, trouble=ended_by)

    async def _begin(self) -> None:
        self._endpoints = await self._world.endpoints(self._course.members)
        self._addresses = tuple(endpoint.address for endpoint in self._endpoints)
        self._plane.addresses = self._addresses
        self._walks = Walks(self._client, self._addresses)
        await self._plane.publish(self._course.initial)
        if self._client.reports_states:
            self._watch = await self._world.states.watch()

    async def _all_steps(self) -> bool:
        """Run all steps; return whether each calm came."""
        for number, step in enumerate(self._course.steps, 1):
            self._step = number
            await self._take(step)
            if self._story.calms and self._story.calms[-1].expired and findings(self._observed()):
                return False
        return True

    async def _take(self, step: Step) -> None:  # noqa: C901, PLR0912 - a case for each kind
        match step:
            case courses.Serve(configuration=configuration, at_once=at_once):
                await self._plane.publish(configuration)
                if not at_once:
                    await self._plane.hear_answers()
            case courses.Gate(member=member, mode=mode):
                await self._endpoints[member].set_mode(MODES[mode])
            case courses.Kill(member=member):
                await self._endpoints[member].kill()
            case courses.GoAway(member=member):
                self._endpoints[member].go_away()
            case courses.Call(values=values, wait_for_ready=wait, in_background=background):
                started = await self._request(values, timing.COURSE_CALL, wait_for_ready=wait)
                if not background:
                    await started.pending.over()
            case courses.OpenStream(value=value):
                started = await self._request((value,), None, stays=True)
                await waits.came(started.pending.begun(), within=timing.HELD)
            case courses.CloseStreams():
                await self._cancel_streams()
            case courses.EndAds():
                self._plane.end_streams()
            case courses.LoseControlPlane():
                await self._plane.stop()
            case courses.RestoreControlPlane():
                await self._plane.resume()
            case courses.Refuse(kind=kind):
                # Without an accepted resource the client would have to do without the valid one.
                if self._observed().versions[-1].acked is not None:
                    await self._plane.refuse(Kind[kind])
            case courses.Withhold():
                self._plane.withhold()
            case courses.Release():
                self._plane.release()
            case courses.Settle(values=values, past_timer=past_timer):
                await self._settle(values, past_timer=past_timer)

    # Requests.

    async def _request(
        self,
        values: Iterable[Value],
        deadline: float | None,
        *,
        wait_for_ready: bool = False,
        stays: bool = False,
    ) -> Started:
        headers = [
            headers_for(self._plane.configuration.hashing, self._text(each)) for each in values
        ]
        at = self._world.now
        pending = await self._world.start(
            headers,
            path=DUPLEX if stays else UNARY,
            deadline=deadline,
            wait_for_ready=wait_for_ready,
            kept_open=stays,
        )
        started = Started(
            pending=pending,
            ids=pending.ids,
            metadata=tuple(
                tuple((key, v if isinstance(v, str) else v.hex()) for key, v in header)
                for header in headers
            ),
            at=at,
            wait_for_ready=wait_for_ready,
            stays=stays,
        )
        self._story.started.append(started)
        return started

    def _text(self, value: Value) -> str:
        """Return a header value that meets the endpoints of a course's value first."""
        known = self._texts.get((self._plane.configuration, value))
        if known is None:
            known = self._texts[self._plane.configuration, value] = self._found(value)
        return known

    def _found(self, value: Value) -> str:
        otherwise = value.text or "-".join(map(str, value.first))
        parts = self._plane.configuration.by_priority
        part = next((p for p in parts if {*value.first} & {*p.members}), parts[0])
        first = [member for member in value.first if member in part.members]
        rings = self._walks.rings(part) if part.policy == "ring_hash" else ()
        if not first or not rings:
            return otherwise
        order = [self._addresses[member] for member in first]
        with suppress(NoSuchValueError):
            rng = random.Random(str(value))
            return value_preferring(rings[0], *order, rng=rng, tries=TRIES)
        with suppress(NoSuchValueError):
            return value_hitting(rings[0], order[0])
        return otherwise

    async def _cancel_streams(self) -> None:
        for started in self._story.started:
            if started.stays and started.pending.waiting:
                open_ids = {*started.ids} - {each.id for each in started.pending.outcomes}
                self._story.cancelled |= open_ids
                await started.pending.cancel()

    # Calm.

    async def _settle(
        self, values: Sequence[Value], *, is_last: bool = False, past_timer: bool = False
    ) -> None:
        """Repeat requests until they, the channel's state and its connections are as they must be.

        The wait ends at a deadline; the judges decide what that means.
        """
        if not self._has_settled and not (values and self._plane.is_reachable):
            return
        began = self._world.now
        await self._plane.hear_answers()
        limit = self._patience * timing.SETTLE
        limit += 0.0 if self._has_settled else timing.CALL
        limit += 2 * self._longest_backoff
        limit += timing.AFTER_OUTAGE if self._plane.had_outage else 0.0
        timers = len(self._plane.configuration.by_priority) if past_timer else 0
        past = timers * (self._client.failover + timing.FAILOVER_LATE)
        limit += past
        rounds = 0
        while True:
            rounds += 1
            calm = await self._round(values, began, rounds, is_last=is_last)
            is_calm = self._is_calm(calm)
            if is_calm and self._world.now - began < past and self._waits(calm):
                await self._wait_for_change()
                continue
            if is_calm or self._world.now - began > limit:
                break
            await self._wait_for_change()
        self._has_settled = True
        self._plane.settled()
        self._story.calms.append(msgspec.structs.replace(calm, expired=not is_calm))

    @property
    def _longest_backoff(self) -> float:
        """The longest backoff that the client may be in."""
        failed = [endpoint.attempts for endpoint in self._endpoints]
        return most(max(map(len, failed), default=0), self._client.backoff)

    async def _round(
        self, values: Sequence[Value], began: float, rounds: int, *, is_last: bool
    ) -> Calm:
        round_began = self._world.now
        evidence = self._evidence()
        waiting = [value for value in values if self._will_wait(evidence, value)]
        others = [value for value in values if value not in waiting]
        batches = [
            await self._request(several, deadline)
            for several, deadline in ((waiting, timing.HELD), (others, timing.COURSE_CALL))
            if several
        ]
        for started in batches:
            await started.pending.over()
        if self._watch is not None:
            await self._hear_state()
        return Calm(
            step=self._step,
            is_last=is_last,
            began=began,
            ended=self._world.now,
            round_began=round_began,
            round_ended=self._world.now,
            rounds=rounds,
            calls=tuple(name for started in batches for name in started.ids),
            state=self._watch.states[-1].state if self._watch and self._watch.states else None,
            subscribed=subscribed(self._world),
            expired=True,
        )

    async def _hear_state(self) -> None:
        """Give the channel a moment to report the state that it should have."""
        watch, evidence = self._watch, self._evidence()
        assert watch is not None, "the caller has looked"
        now = self._world.now
        allowed = allowed_states(evidence, now, now)
        if watch.states and watch.states[-1].state not in allowed:
            seen = len(watch.states)
            reached = watch.reached(*allowed, deadline=timing.PACE, since=seen)  # type: ignore[arg-type]
            await waits.came(reached)

    def _will_wait(self, evidence: Evidence, value: Value) -> bool:
        """Return whether a request of this hash will probably wait for a silent gate."""
        rings = self._walks.rings(self._plane.configuration)
        is_tree = evidence.is_tree
        if is_tree or not rings or self._plane.configuration.hashing in {"channel", "none"}:
            return any(
                each.mode in {MODES["hold"], MODES["stall"]}
                for number, each in enumerate(self._endpoints)
                if number in self._plane.configuration.members
            )
        walk = rings[0].preference(xxh64(self._text(value)))
        now = self._world.now
        for address in walk:
            number = self._addresses.index(address)
            states = evidence.timelines[number].within(now, now)
            mode = self._endpoints[number].mode
            if states == {"TRANSIENT_FAILURE"} or mode == MODES["close"]:
                continue
            if states == {"READY"}:
                return False
            return mode in {MODES["hold"], MODES["stall"]}
        return False

    def _is_calm(self, calm: Calm) -> bool:
        evidence = self._evidence()
        calls = evidence.calls_of(calm)
        if misfits(evidence, calls, calm.round_began, calm.round_ended):
            return False
        is_state = calm.state is None or calm.state in allowed_states(
            evidence, calm.round_began, calm.ended
        )
        if not calm.calls and is_idle_too_long(evidence, calm):
            return False
        if untried(evidence, calm) is not None or wrong_subscriptions(evidence, calm):
            return False
        if not_retried(evidence, calm, calls) or left_idle(evidence, calm):
            return False
        return is_state

    def _waits(self, calm: Calm) -> bool:
        """Return whether a request of a round ran into its deadline."""
        calls = self._evidence().calls_of(calm)
        return any(call.status == "DEADLINE_EXCEEDED" for call in calls)

    async def _wait_for_change(self) -> None:
        """Wait for a connection to begin or end, or for the time between two rounds."""
        ledger = self._world.fleet.ledger
        await waits.watched(
            ledger.wait_attempts(lambda _: True, since=len(ledger.attempts), deadline=timing.PACE)
        )

    # The end.

    async def _heal(self) -> None:
        """End all faults, and wait for the last calm."""
        self._step += 1
        await self._cancel_streams()
        for endpoint in self._endpoints:
            was_stalled = endpoint.mode == MODES["stall"]
            await endpoint.set_mode(MODES["serve"])
            if was_stalled:
                await endpoint.kill()
        await self._plane.heal()
        await self._plane.publish(self._plane.configuration)
        for started in self._story.started:
            if not started.stays:
                await started.pending.over()
        everywhere = [Value((member,)) for member in self._plane.configuration.members]
        arbitrary = [Value(text=f"end {number}") for number in range(AT_THE_END)]
        await self._settle((*everywhere, *arbitrary), is_last=True)

    def _evidence(self) -> Evidence:
        """Return the evidence so far; each connection to a gate that serves counts as READY.

        If one is not, the calm takes longer, and the judges look with more care.
        """
        return Evidence(self._observed(), self._walks, proven_after=0.0)

    def _observed(self) -> Observed:
        return observed(self._world, self._client, self._addresses, self._story)


async def run_course(
    world: World, course: Course, client: Judged, *, patience: float = 1.0
) -> Observed:
    """Run a course in a world; the caller closes the world."""
    with world.clock.lateness:
        return await Driver(world, course, client, patience=patience).run()
