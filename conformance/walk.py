"""Endpoints in the order in which a request meets them on the ring, brought into given states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from conformance import timing
from conformance.expectations import Picks
from conformance.oracles import ring
from conformance.oracles.picker import State
from conformance.oracles.request_hash import xxh64
from conformance.seen import Calls
from conformance.serving import SESSION, Locality, RingHash, Served, plain
from conformance.world import ClientStuck, Headers, World
from test_servers import Close, Mode, Serve, Stall
from test_servers import Endpoint as Member

LARGE: Final = RingHash(minimum=1024)
"""A ring on which nearly every order of a few endpoints begins somewhere."""

MODES: Final[dict[State, Mode]] = {
    "READY": Serve(),
    "IDLE": Stall(),
    "CONNECTING": Stall(),
    "TRANSIENT_FAILURE": Close(),
}
"""What an endpoint's gate does so that the endpoint is, or would be, in a state."""


async def walk(world: World, count: int, *beside: Locality, ring: RingHash = LARGE) -> Walk:
    """Serve one locality of so many equal endpoints, in the order in which a request meets them.

    Args:
        world: the scenario's.
        count: how many; of more than five some orders may not be on the ring.
        beside: further localities, such as those of a lower priority.
        ring: the policy.
    """
    members = await world.endpoints(count)
    served = plain([one.address for one in members], policy=ring)
    served = served.placed(*served.localities, *beside)
    key_format = await world.ring_key_format()
    await world.serve(served)
    return Walk(world, members, served, key_format)


class Walk:
    """What a request meets: `walk[0]` first, then `walk[1]`, and so on.

    The order is that of the client's own ring, computed by the key format that its manifest states
    or that it was calibrated to have.
    """

    def __init__(
        self, world: World, members: Sequence[Member], served: Served, key_format: str
    ) -> None:
        self._world = world
        self._members = tuple(members)
        self.served = served
        variants = [one for one in ring.VARIANTS if one.key_format == key_format]
        self._rings = [
            ring.build_for(served.ring_localities(), served.config(), ring.Candidate(variant))
            for variant in variants
        ]
        self.request = self.beginning_with(*members)

    def __getitem__(self, index: int) -> Member:
        return self._members[index]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def beginning_with(self, *members: Member) -> Headers:
        """The headers of a request that meets these endpoints first, in this order."""
        order = tuple(one.address for one in members)
        while True:
            value = ring.value_preferring(self._rings[0], *order, rng=self._world.rng)
            met = [one.preference(xxh64(value))[: len(order)] for one in self._rings]
            if all(found == order for found in met):
                return {SESSION: value}

    # States

    async def arrange(self, *states: State) -> None:
        """Bring each endpoint into its state, those that are to be IDLE by leaving them alone.

        An endpoint is left IDLE, and stays so, only beside one that is READY: else the policy
        connects it on its own account.

        Raises:
            ClientStuck: the client did not get there.
            ClientUnable: for this client the gates of the fleet cannot do it.
        """
        if set(states) != {"READY"}:
            await self._world.demand_handshakes()
        by_state: dict[State, list[Member]] = {state: [] for state in MODES}
        for member, state in zip(self, states, strict=True):
            by_state[state].append(member)
            await member.set_mode(MODES[state])
        for member in by_state["READY"]:
            await self.make_ready(member)
        beside = by_state["READY"][:1]
        for member in by_state["TRANSIENT_FAILURE"]:
            await self.make_failed(member, *beside)
        for member in by_state["CONNECTING"]:
            await self.make_connecting(member)

    async def make_ready(self, member: Member) -> None:
        """Have an endpoint that serves connected, by a request that picks it.

        Raises:
            ClientStuck: the request was not served there.
        """
        (call,) = await self._world.call([self.beginning_with(member)])
        if call.endpoint != member.address:
            raise ClientStuck(
                f"a request that picks {member.address}, which serves, ended {call.status} "
                f"({call.details or 'no details'}) at {call.endpoint or 'no endpoint'}"
            )

    async def make_failed(self, member: Member, *beside: Member) -> None:
        """Have an endpoint whose gate closes connections tried, by a request that picks it.

        Args:
            member: the endpoint.
            beside: the READY endpoint that the request meets next, if there is one: that it is
                served there tells that the client knows of the failure.

        Raises:
            ClientStuck: it was not tried, or the request not served.
        """
        before = len(member.attempts)
        started = await self._world.start([self.beginning_with(member, *beside)])
        await self._world.attempted(member, before + 1, why="a request picked it")
        if not beside:
            return
        (call,) = await started.over()
        if call.endpoint != beside[0].address:
            raise ClientStuck(
                f"a request whose first endpoint, {member.address}, failed and whose second, "
                f"{beside[0].address}, is connected ended {call.status} "
                f"({call.details or 'no details'}) at {call.endpoint or 'no endpoint'}"
            )

    async def make_connecting(self, member: Member) -> None:
        """Have an endpoint whose gate is silent tried, by a request that picks it, if need be.

        Raises:
            ClientStuck: it was not tried.
        """
        if not any(attempt.closed_at is None for attempt in member.attempts):
            before = len(member.attempts)
            await self._world.start([self.beginning_with(member)])
            await self._world.attempted(member, before + 1, why="a request picked it")

    # Verdicts

    async def judge(self, clause: str, *states: State, calls: int = 5) -> Calls:
        """Put what becomes of the request before the judge, the endpoints being in these states.

        The calls are repeated until they fare as the client's own edition says, or time is up: what
        happened at a gate is known to the client a little later.
        """
        walk = tuple(zip((one.address for one in self), states, strict=True))
        expected = self._world.by_edition(
            clause, lambda edition: Picks(walk=walk, edition="A61" if edition == "A61" else "A42")
        )
        own = self._world.own(clause, expected)
        deadline = timing.HELD if own.waits else timing.CALL
        seen = await self._world.until(
            own, lambda: self._world.call([self.request] * calls, deadline=deadline)
        )
        await self._world.judge(clause, seen, expected)
        return seen
