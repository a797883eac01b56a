"""Bring the endpoints into given states, in the order in which a request meets them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final

import msgspec

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, WrongOutcome
from conformance.judging.expectations import Connects, Picks
from conformance.judging.expectations.timing_sensitivity import OF_TIME
from conformance.judging.observations import Call, Calls
from conformance.spec.oracles.distinguishing import value_of_an_entry
from conformance.spec.oracles.picker import PickerEdition, State
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.values import NoSuchValueError, value_preferring
from conformance.spec.oracles.ring.variants import CANDIDATES
from conformance.world import EMPTY, Headers, World
from conformance.xds_config.config import XdsConfig, merge, single_locality, weighted_locality
from conformance.xds_config.endpoints import Locality
from conformance.xds_config.policies import Policy, RingHash
from conformance.xds_config.routes import BY_SESSION, SESSION, Route
from test_servers import BackendEndpoint as Member
from test_servers import Close, Hold, Mode, Serve


async def serve_before_requests(world: World, served: XdsConfig) -> None:
    """Have the client take this in without any request for it.

    It came with another cluster, to which a request was made, and which is left out then. So no
    request can meet a route that is there before its cluster, as happens where both are new.

    Raises:
        ClientRefused, ClientSilent: as they say.
    """
    other = single_locality(await world.addresses(1), name="other", path=EMPTY)
    await world.serve(merge(served, other))
    await world.require_served(world.sessions(1), path=EMPTY)
    await world.serve(served)


LARGE: Final = RingHash(minimum=2048)
"""A ring on which every order of five endpoints begins somewhere: that one of their 120 does not
has a chance of 120 x (119 / 120)^2050, below 1e-5."""

TRIES: Final = 1000
"""Values that are good on one of the rings that a client may have: nearly each is on all."""

MODES: Final[dict[State, Mode]] = {
    "READY": Serve(),
    "IDLE": Hold(),
    "CONNECTING": Hold(),
    "TRANSIENT_FAILURE": Close(),
}
"""What an endpoint's gate does so that the endpoint is, or would be, in a state."""


async def ring_order(
    world: World,
    count: int,
    *beside: Locality,
    ring: Policy = LARGE,
    weights: Sequence[int] = (),
    routes: Sequence[Route] = (Route(BY_SESSION),),
    unasked: bool = False,
) -> RingOrder:
    """Serve one locality of so many endpoints, in the order in which a request meets them.

    Args:
        world: the scenario's.
        count: how many; of more than five some orders may not be on the ring.
        beside: further localities, such as those of a lower priority.
        ring: the policy.
        weights: of the endpoints; unset, if none is given.
        routes: the last one hashes the session, unless the policy does.
        unasked: whether the client is to know of them before any request.
    """
    members = await world.endpoints(count)
    listed: dict[str, int | None] = dict.fromkeys(member.address for member in members)
    listed.update(zip(listed, weights, strict=False))
    served = weighted_locality(listed, policy=ring)
    served = served.with_localities(*served.get_cluster().localities, *beside)
    served = msgspec.structs.replace(served, routes=tuple(routes))
    key_format = world.checks.key_format
    await (serve_before_requests(world, served) if unasked else world.serve(served))
    return RingOrder(world, members, served, key_format)


class RingOrder:
    """What a request meets: `walk[0]` first, then `walk[1]`, and so on.

    The order is that of the client's own ring, computed by the key format that its manifest states
    or that a calibration has found.
    """

    def __init__(
        self, world: World, members: Sequence[Member], served: XdsConfig, key_format: str
    ) -> None:
        self._world = world
        self._members = tuple(members)
        self.served = served
        self.key_format = key_format
        candidates = [
            candidate for candidate in CANDIDATES if candidate.variant.key_format == key_format
        ]
        self._rings = tuple(
            dict.fromkeys(
                build_for(served.ring_localities(), served.config(), candidate)
                for candidate in candidates
            )
        )
        self._can_be_held = False
        self.request = self.beginning_with(*members)

    def __getitem__(self, index: int) -> Member:
        return self._members[index]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def beginning_with(self, *members: Member, entries: int = 1) -> Headers:
        """The headers of a request that meets these endpoints first, in this order.

        Args:
            members: the endpoints.
            entries: how many entries of the first of them it meets before another one, at least.
        """
        order = tuple(member.address for member in members)
        for _ in range(TRIES):
            value = value_preferring(self._rings[0], *order, rng=self._world.rng)
            if all(
                ring.preference(xxh64(value))[: len(order)] == order
                and {*islice(ring.met(xxh64(value)), entries)} == {order[0]}
                for ring in self._rings
            ):
                return {SESSION: value}
        raise NoSuchValueError(
            f"None of {TRIES} values meets {', '.join(order)} first on all of the rings that the "
            "client may have."
        )

    def at_an_entry_of(self, member: Member) -> Headers:
        """The headers of a request with the hash of an entry of this endpoint.

        Who looks for the entry in a wrong way, such as for one that is greater, meets another one.
        """
        return {SESSION: value_of_an_entry(self._rings, member.address)}

    def at_the_end(self) -> list[tuple[str, Headers]]:
        """The endpoint of the ring's last entry, and headers that have the hash of that entry.

        A client that compares hashes as signed numbers has its last entry elsewhere: both.
        """
        last = {ring.keys[-1]: ring.addresses[ring.owners[-1]] for ring in self._rings}
        return [(address, {SESSION: key}) for key, address in last.items()]

    def around(self) -> tuple[str, ...]:
        """Every endpoint, in the order in which the ring has them from its lowest hash on."""
        return self._rings[0].preference(0)

    def turns(self, count: int) -> tuple[str, ...]:
        """The endpoints of the ring's first entries, each once for all its entries in a row."""
        ring = self._rings[0]
        owners = (owner for owner, _ in groupby(ring.owners))
        return tuple(ring.addresses[owner] for owner in islice(owners, count))

    def without(self, *members: Member) -> XdsConfig:
        """What is served, without these endpoints."""
        gone = {member.address for member in members}
        return self.served.with_localities(
            *(
                msgspec.structs.replace(
                    place, endpoints=tuple(e for e in place.endpoints if e.address not in gone)
                )
                for place in self.served.get_cluster().localities
            )
        )

    # States

    async def arrange(self, *states: State) -> None:
        """Bring each endpoint into its state, those that are to be IDLE by leaving them alone.

        An endpoint is left IDLE, and stays so, only beside one that is READY: else the policy
        connects it on its own account.

        Raises:
            ClientStuck, ClientStrayed: the client did not get there.
            ClientUnable: for this client the gates of the fleet cannot do it.
        """
        await self.set_modes(*(MODES[state] for state in states))
        by_state: dict[State, list[Member]] = {state: [] for state in MODES}
        for member, state in zip(self, states, strict=True):
            by_state[state].append(member)
        for member in by_state["READY"]:
            await self.make_ready(member)
        beside = by_state["READY"][:1]
        for member in by_state["TRANSIENT_FAILURE"]:
            await self.make_failed(member, *beside)
        for member in by_state["CONNECTING"]:
            await self.make_connecting(member)

    async def set_modes(self, *modes: Mode) -> None:
        """Have each endpoint's gate do this.

        Raises:
            ClientUnable: for this client the gates of the fleet cannot do what they are to.
        """
        if not (self._can_be_held or all(isinstance(mode, Serve) for mode in modes)):
            await self._world.preconditions.handshakes()
            self._can_be_held = True
        for member, mode in zip(self, modes, strict=True):
            await member.set_mode(mode)

    async def make_ready(self, member: Member) -> None:
        """Have an endpoint that serves connected, by a request that picks it.

        Raises:
            ClientStuck, ClientStrayed: the request was not served there.
        """
        request = self.beginning_with(member)
        (call,) = await self._world.call([request], deadline=timing.COLD_CALL)
        _served_by(member, call, f"a request that picks {member.address}, which serves,")

    async def make_failed(self, member: Member, *beside: Member) -> None:
        """Have an endpoint whose gate closes connections tried, by a request that picks it.

        Args:
            member: the endpoint.
            beside: the READY endpoint that the request meets next, if there is one: that it is
                served there tells that the client knows of the failure.

        Raises:
            ClientStuck, ClientStrayed: it was not tried, or the request not served.
        """
        before = len(member.attempts)
        if not beside and before and isinstance(member.attempts[-1].mode, Close):
            return  # a request for another endpoint went on to it, or the policy did
        started = await self._world.start([self.beginning_with(member, *beside)])
        await self._world.attempts.require_count(member, before + 1, why="a request picked it")
        if not beside:
            return
        (call,) = await started.over()
        next_one = beside[0]
        met = f"{member.address}, failed and whose second, {next_one.address}, is connected"
        _served_by(next_one, call, f"a request whose first endpoint, {met}")

    async def make_connecting(self, member: Member) -> None:
        """Have an endpoint whose gate is silent tried, by a request that picks it, if need be.

        Raises:
            ClientStuck: it was not tried.
        """
        if not any(attempt.closed_at is None for attempt in member.attempts):
            before = len(member.attempts)
            await self._world.start([self.beginning_with(member)])
            await self._world.attempts.require_count(member, before + 1, why="a request picked it")

    # Verdicts

    async def check(
        self, clause: str, *states: State, request: Headers | None = None, calls: int = 5
    ) -> Calls:
        """Put what becomes of the request before the judge, the endpoints being in these states.

        Where none is READY the calls are repeated until they fare as the client's own edition says,
        or time is up: what failed at a gate is known to the client a little later. Beside one that
        is, the endpoints are known to have failed; and others may be IDLE, which a call changes.
        """
        walk = self.in_states(*states)
        expected = self._world.checks.by_edition(
            clause, lambda edition: Picks(walk=walk, edition=picker_of(edition))
        )
        own = self._world.checks.own(clause, expected)
        headers = [self.request if request is None else request] * calls
        deadline = timing.HELD if own.waits else timing.EVENT

        def call() -> Awaitable[Calls]:
            return self._world.call(headers, deadline=deadline)

        seen = await (call() if "READY" in states else self._world.eventually(own, call))
        await self._world.check(clause, seen, expected)
        return seen

    async def check_connecting(self, clause: str, *states: State) -> None:
        """Put before the judge which IDLE endpoints the request has connected, and which not.

        One is READY, so that the policy connects none on its own account.
        """
        walk = self.in_states(*states)
        expected = self._world.checks.by_edition(
            clause, lambda edition: Connects(walk=walk, edition=picker_of(edition))
        )
        idle = [endpoint for endpoint, state in zip(self, states, strict=True) if state == "IDLE"]
        await self._world.start([self.request])
        seen = await self._world.attempts.until(self._world.checks.own(clause, expected), *idle)
        if behind := idle[1:]:
            await self._world.attempts.quiet_from_now(
                *behind, why="the request met an IDLE one before"
            )
            seen = self._world.attempts.seen(*idle)
        await self._world.check(clause, seen, expected)

    def in_states(self, *states: State) -> tuple[tuple[str, State], ...]:
        """The walk as expectations have it: each address, with its state."""
        return tuple(zip((endpoint.address for endpoint in self), states, strict=True))


def picker_of(edition: str) -> PickerEdition:
    """Whose picker holds by the wording of an edition."""
    return "A61" if edition == "A61" else "A42"


def _served_by(member: Member, call: Call, what: str) -> None:
    if call.endpoint == member.address and call.status == "OK":
        return
    where = call.endpoint or "no endpoint"
    said = f"{what} ended {call.status} ({call.details or 'no details'}) at {where}"
    is_late = call.status != "OK" and call.status in OF_TIME
    raise (PreconditionTimeout if is_late else WrongOutcome)(said)
