"""Run a course in a world, and return the record of what it has shown."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from grpc import StatusCode

from client_under_test import StateWatch
from conformance import timing
from conformance.explore import courses
from conformance.explore.courses import Configuration, Course, Step, Value, headers_for
from conformance.explore.judges import (
    Evidence,
    allowed_states,
    findings,
    is_idle_too_long,
    left_idle,
    misfits,
    not_retried,
)
from conformance.explore.observing import (
    MODES,
    Published,
    Started,
    Story,
    observed,
    subscribed,
)
from conformance.explore.picks import Walks, name_of
from conformance.explore.record import Calm, Judged, Observed, Outage, Trouble
from conformance.runner.plugin.final_checks import final_checks
from conformance.spec.oracles.backoff import most
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.values import NoSuchValueError, value_hitting, value_preferring
from conformance.world import DUPLEX, UNARY, World, waits
from conformance.xds_config.broken import rejected_cluster, rejected_endpoints
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import Route
from fake_control_plane import Kind, Push
from fake_control_plane import Request as Discovery
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
        self._configuration = course.initial
        self._pushed: dict[tuple[Kind, str], object] = {}
        self._is_down = False
        self._is_withheld = False
        self._had_outage = False
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
        self._walks = Walks(self._client, self._addresses)
        await self._publish(self._course.initial, wait=False)
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
                await self._publish(configuration, wait=not at_once)
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
                self._had_outage = True
                self._world.plane.script.end_streams(StatusCode.UNAVAILABLE)
            case courses.LoseControlPlane():
                await self._lose()
            case courses.RestoreControlPlane():
                await self._restore()
            case courses.Refuse(kind=kind):
                await self._refuse(Kind[kind])
            case courses.Withhold():
                self._is_withheld = True
                self._world.plane.script.hold()
            case courses.Release():
                self._release()
            case courses.Settle(values=values):
                await self._settle(values)

    # The control plane.

    def _served(self, configuration: Configuration) -> XdsConfig:
        listed: dict[int, list[Endpoint]] = {}
        for each in configuration.endpoints:
            endpoint = Endpoint(self._addresses[each.member], each.weight, health=each.health)
            listed.setdefault(each.locality, []).append(endpoint)
        return one_cluster(
            [
                Locality(tuple(endpoints), name_of(number), configuration.weight_of(number))
                for number, endpoints in listed.items()
            ],
            policy=RingHash(configuration.minimum, configuration.maximum),
            routes=(Route(courses.HASHING[configuration.hashing]),),
        )

    async def _publish(self, configuration: Configuration, *, wait: bool) -> None:
        """Send what differs from what is served."""
        known = self._served(configuration).resources_by_name()
        changed = {what: each for what, each in known.items() if each != self._pushed.get(what)}
        sent = self._world.now
        push = await self._world.plane.set(*changed.values()) if changed else None
        self._pushed |= changed
        self._configuration = configuration
        self._story.published.append(Published(configuration, sent, push))
        if wait:
            await self._hear_answers()

    @property
    def _is_reachable(self) -> bool:
        """Return whether the client can get what was sent last, and knows the control plane."""
        if self._is_down or self._is_withheld:
            return False
        events = self._world.plane.transcript.events
        return any(isinstance(event, Discovery) for event in events)

    async def _hear_answers(self) -> None:
        """Wait until the client has answered what was sent last.

        Raises:
            NoAckOrNack: it did not in time.
        """
        push = self._story.published[-1].push
        if push is None or not self._is_reachable:
            return
        for kind in push.versions:
            await self._hear_answer(push, kind)

    async def _hear_answer(self, push: Push, kind: Kind) -> None:
        deadline = timing.AFTER_OUTAGE if self._had_outage else timing.ANSWER
        await self._world.control.answer(push, kind, deadline=deadline)

    async def _refuse(self, kind: Kind) -> None:
        """Send an invalid resource in the place of one that the client has accepted."""
        if self._observed().versions[-1].acked is None:
            return  # the client would have to do without the valid one
        cluster = self._served(self._configuration).get_cluster()
        if kind is Kind.CLUSTER:
            resource, name = rejected_cluster(cluster), cluster.name
        elif self._configuration.endpoints:
            resource, name = rejected_endpoints(cluster), cluster.name
        else:
            return  # without a locality the resource is valid
        self._pushed.pop((kind, name), None)
        push = await self._world.plane.set(resource)
        self._story.invalid.add((kind.name, push.versions[kind]))
        if self._is_reachable:
            await self._hear_answer(push, kind)

    async def _lose(self) -> None:
        if not self._is_down:
            self._is_down = self._had_outage = True
            self._story.outages.append(Outage(began=self._world.now))
            await self._world.plane.stop()

    async def _restore(self) -> None:
        if self._is_down:
            self._is_down = False
            await self._world.plane.resume()
            last = self._story.outages[-1]
            self._story.outages[-1] = msgspec.structs.replace(last, ended=self._world.now)

    def _release(self) -> None:
        self._is_withheld = False
        self._world.plane.script.release()

    # Requests.

    async def _request(
        self,
        values: Iterable[Value],
        deadline: float | None,
        *,
        wait_for_ready: bool = False,
        stays: bool = False,
    ) -> Started:
        headers = [headers_for(self._configuration.hashing, self._text(each)) for each in values]
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
        known = self._texts.get((self._configuration, value))
        if known is None:
            known = self._texts[self._configuration, value] = self._found(value)
        return known

    def _found(self, value: Value) -> str:
        otherwise = value.text or "-".join(map(str, value.first))
        usable = self._configuration.members
        first = [member for member in value.first if member in usable]
        rings = self._walks.rings(self._configuration)
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

    async def _settle(self, values: Sequence[Value], *, is_last: bool = False) -> None:
        """Repeat requests until they, the channel's state and its connections are as they must be.

        The wait ends at a deadline; the judges decide what that means.
        """
        if not self._has_settled and not (values and self._can_begin):
            return
        began = self._world.now
        await self._hear_answers()
        limit = self._patience * timing.SETTLE
        limit += 0.0 if self._has_settled else timing.CALL
        limit += 2 * self._longest_backoff
        limit += timing.AFTER_OUTAGE if self._had_outage else 0.0
        rounds = 0
        while True:
            rounds += 1
            calm = await self._round(values, began, rounds, is_last=is_last)
            is_calm = self._is_calm(calm)
            if is_calm or self._world.now - began > limit:
                break
            await self._wait_for_change()
        self._has_settled = True
        self._had_outage = self._is_down
        self._story.calms.append(msgspec.structs.replace(calm, expired=not is_calm))

    @property
    def _longest_backoff(self) -> float:
        """The longest backoff that the client may be in."""
        failed = [endpoint.attempts for endpoint in self._endpoints]
        return most(max(map(len, failed), default=0), self._client.backoff)

    @property
    def _can_begin(self) -> bool:
        """Return whether the client can get its first configuration."""
        return not (self._is_down or self._is_withheld)

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
        rings = self._walks.rings(self._configuration)
        if not rings or self._configuration.hashing in {"channel", "none"}:
            return any(
                each.mode in {MODES["hold"], MODES["stall"]}
                for number, each in enumerate(self._endpoints)
                if number in self._configuration.members
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
        if not_retried(evidence, calm, calls) or left_idle(evidence, calm):
            return False
        return is_state

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
        await self._restore()
        if self._is_withheld:
            self._release()
        await self._publish(self._configuration, wait=False)
        for started in self._story.started:
            if not started.stays:
                await started.pending.over()
        everywhere = [Value((member,)) for member in self._configuration.members]
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
