"""Plan random faults and updates as values, and carry them out during requests."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.observations import SoakCourse
from conformance.spec.oracles.soak import Fault, Listing, Request
from conformance.world import CONCURRENCY, PendingCalls, World, waits
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash, RoundRobin
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Mode, Serve, Stall

CALM: Final = round(1.5 * timing.MOMENTS / timing.SOAK_PACE)
"""Number of requests without an action after a storm; no fault explains failures in the last
third."""

TURNS, KILLS = 10, 4
"""Number of mode changes and of kills in a storm."""

LIST: Final = 100
"""Number of requests between two changes of the list, nearly all of them after the last kill. By
then hardly any endpoint is IDLE. A client that crashes when an update removes an endpoint during a
connection attempt survives this; picker.many_endpoints_added_and_removed exposes it."""

KILL: Final = 10
"""Number of requests after a change of the list during which connections are dropped."""

MOST_SILENT: Final = 2
"""The most endpoints that are silent at once: requests must keep ending, because actions depend on
their number."""

SMALL, LARGE = RingHash(minimum=64), RingHash()
RINGS: Final = (SMALL, LARGE)
"""Each storm has one of them and ROUND_ROBIN; calms use them in turn."""

STORM: Final = 3 * LIST
"""Number of requests during which endpoints fail."""

SILENT: Final = (Stall, Hold)
LOCALITIES: Final = ("one", "two", "three")


class ModeChange(msgspec.Struct, frozen=True):
    """An endpoint changes its mode."""

    member: int
    mode: Mode


class Kill(msgspec.Struct, frozen=True):
    """An endpoint drops its connections."""

    member: int


class ListChange(msgspec.Struct, frozen=True):
    """An update of the endpoints and the policy."""

    members: tuple[int, ...]
    policy: RingHash | RoundRobin


class SoakAction(msgspec.Struct, frozen=True):
    """An action to take once `after` requests have ended."""

    after: int
    what: ModeChange | Kill | ListChange


def plan(rng: random.Random, *, members: int, requests: int) -> tuple[SoakAction, ...]:
    """Plan storms, in which endpoints fail and lists change, and calms between them.

    The first endpoint is always listed and always serves, except that it may drop its connections.
    So if no fault explains a failed request, the client has lost that request. Nothing fails before
    the first request has ended, because the first requests must be served.
    """
    actions = [SoakAction(0, ListChange(tuple(range(members)), SMALL))]
    for number, begin in enumerate(range(0, requests, STORM + CALM)):
        modes: list[Mode] = [Serve()] * members
        policies: list[RingHash | RoundRobin] = [rng.choice(RINGS), RoundRobin()]
        rng.shuffle(policies)
        changes = [
            SoakAction(begin + place * LIST, _change(rng, members, policy))
            for place, policy in enumerate(policies, start=1)
        ]
        kills = [
            SoakAction(begin + rng.randrange(0, STORM, LIST) + rng.randint(1, KILL), Kill(killed))
            for killed in rng.choices(range(members), k=KILLS)
        ]
        turns: list[SoakAction] = []
        for after in sorted(rng.choices(range(begin + 1, begin + STORM), k=TURNS)):
            turn = _turn(rng, modes)
            modes[turn.member] = turn.mode
            turns.append(SoakAction(after, turn))
        actions += sorted((*changes, *kills, *turns), key=lambda request: request.after)
        end = begin + STORM
        variant = [member for member, mode in enumerate(modes) if mode != Serve()]
        actions += [SoakAction(end, ModeChange(member, Serve())) for member in variant]
        actions.append(SoakAction(end, _change(rng, members, RINGS[number % len(RINGS)])))
    return tuple(actions)


def _turn(rng: random.Random, modes: Sequence[Mode]) -> ModeChange:
    """Return another mode for an endpoint other than the first."""
    member = rng.randrange(1, len(modes))
    silent = sum(isinstance(mode, SILENT) for mode in modes)
    choices: list[Mode] = [Serve(), Close()]
    if silent < MOST_SILENT:
        choices += [Stall(), Hold()]
    return ModeChange(member, rng.choice([mode for mode in choices if mode != modes[member]]))


def _change(rng: random.Random, members: int, policy: RingHash | RoundRobin) -> ListChange:
    """Return a list of the first endpoint and some of the others, never all."""
    others = rng.sample(range(1, members), rng.randrange(2, members - 1))
    return ListChange((0, *sorted(others)), policy)


class Soak:
    """Carries out a plan."""

    def __init__(self, world: World, members: Sequence[Member]) -> None:
        self._world = world
        self._members = members
        self._listings: list[Listing] = []
        self._faults: list[Fault] = []
        self._lasting: dict[int, Fault] = {}

    def served(self, change: ListChange) -> XdsConfig:
        """Return the config of a change; an endpoint never changes its locality."""
        turns = len(LOCALITIES)
        places = (
            Locality(
                tuple(Endpoint(self._members[m].address) for m in change.members if m % turns == n),
                name,
            )
            for n, name in enumerate(LOCALITIES)
        )
        return one_cluster(
            tuple(place for place in places if place.endpoints),
            policy=change.policy,
        )

    async def run(self, actions: Sequence[SoakAction], *, requests: int) -> SoakCourse:
        """Make the requests, take each action in its turn, and return the course of both.

        Raises:
            PreconditionTimeout: the requests took too long.
        """
        world = self._world
        due = deque(actions)
        await self._do_all(due, ended=0)
        await world.require_served(
            world.sessions(CONCURRENCY)
        )  # The first requests of a client are slow.
        started = await world.start(
            world.sessions(requests), pace=timing.SOAK_PACE, deadline=timing.SOAK_CALL
        )
        longest = requests * timing.SOAK_PACE + timing.SOAK_CALL + timing.BATCH
        is_done = await waits.came(self._carry_out(due, started), within=longest)
        calls = await started.over()
        if not is_done:
            raise PreconditionTimeout(
                f"{requests} requests, one every {timing.SOAK_PACE:g} s, had not ended after "
                f"{longest:g} s"
            )
        spans = started.spans
        now = world.now
        return SoakCourse(
            requests=tuple(
                Request(
                    id=call.id,
                    began=spans[call.id][0],
                    ended=spans[call.id][1],
                    status=call.status,
                    endpoint=call.endpoint,
                )
                for call in calls
            ),
            listings=tuple(
                replace(listing, ended=min(listing.ended, now)) for listing in self._listings
            ),
            faults=tuple(
                replace(fault, ended=min(fault.ended, now))
                for fault in (*self._faults, *self._lasting.values())
            ),
            lateness=round(world.clock.lateness.worst, 3),
        )

    async def _carry_out(self, due: deque[SoakAction], started: PendingCalls) -> None:
        """Take each action in its turn, until all requests have ended."""
        async for ended in started.ends():
            await self._do_all(due, ended=ended)

    async def _do_all(self, due: deque[SoakAction], *, ended: int) -> None:
        """Take the actions that are due once `ended` requests have ended."""
        while due and due[0].after <= ended:
            match due.popleft().what:
                case ListChange() as change:
                    await self._change(change)
                case Kill(member):
                    await self._kill(member)
                case ModeChange(member, mode):
                    await self._turn(member, mode)

    async def _change(self, change: ListChange) -> None:
        served, began = self.served(change), self._world.now
        await self._world.serve(served)
        if self._listings:
            self._listings[-1] = replace(self._listings[-1], ended=self._world.now)
        self._listings.append(Listing(addresses=served.addresses(), began=began, ended=math.inf))

    async def _turn(self, member: int, mode: Mode) -> None:
        """Change the mode of an endpoint; drop stalled connections, which would stay stalled."""
        endpoint, began = self._members[member], self._world.now
        was_stalled = isinstance(endpoint.mode, Stall)
        await endpoint.set_mode(mode)
        if was_stalled:
            await endpoint.kill()
        if lasting := self._lasting.pop(member, None):
            self._faults.append(replace(lasting, ended=self._world.now))
        if mode != Serve():
            self._lasting[member] = Fault(
                address=endpoint.address,
                began=began,
                ended=math.inf,
                is_silent=isinstance(mode, SILENT),
            )

    async def _kill(self, member: int) -> None:
        endpoint, began = self._members[member], self._world.now
        await endpoint.kill()
        self._faults.append(Fault(address=endpoint.address, began=began, ended=self._world.now))
