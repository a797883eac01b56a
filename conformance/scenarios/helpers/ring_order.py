"""Arrange endpoints in the ring order of a request, and bring them into given states."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Awaitable, Iterator, Mapping, Sequence
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
    """Make the client apply a config without any request to it.

    The config first comes together with another cluster, which gets a request and is then removed.
    So no request can match a route before its cluster came, which may happen if both are new.

    Raises:
        ResourceRejected, NoAckOrNack: the client did not accept the config.
    """
    other = single_locality(await world.addresses(1), name="other", path=EMPTY)
    await world.serve(merge(served, other))
    await world.require_served(world.sessions(1), path=EMPTY)
    await world.serve(served)


LARGE_SIZE: Final = 3000
LARGE: Final = RingHash(minimum=LARGE_SIZE)
"""A ring on which a given order of five endpoints occurs, unless by a chance of about 1e-9. By
simulation it is 1e-3, 6e-5 and 1e-6 on rings of 1,025, 1,500 and 2,050 entries: neighboring entries
mostly start the same order, so the entries are not as many independent chances."""

TRIES: Final = 1000
"""The most values to try. A value that fits one of the client's possible rings usually fits all."""

MODES: Final[dict[State, Mode]] = {
    "READY": Serve(),
    "IDLE": Hold(),
    "CONNECTING": Hold(),
    "TRANSIENT_FAILURE": Close(),
}
"""The mode that brings an endpoint into a state, or would do so."""


async def ring_order(
    world: World,
    count: int,
    *beside: Locality,
    ring: Policy = LARGE,
    weights: Sequence[int] = (),
    routes: Sequence[Route] = (Route(BY_SESSION),),
    before_requests: bool = False,
) -> RingOrder:
    """Serve one locality of `count` endpoints; return them in the ring order of a request.

    The list has them in the opposite order, so a client that follows the list fails.

    Args:
        world: the scenario's world.
        count: number of endpoints; with more than five, some orders may not occur on the ring.
        beside: further localities, such as those of a lower priority.
        ring: the LB policy.
        weights: weights of the endpoints; unset by default.
        routes: the routes; the last one hashes the session, unless the policy does.
        before_requests: True if the client must have the endpoints before any request.
    """
    members = await world.endpoints(count)
    weighted = itertools.zip_longest(members, weights)
    listed: dict[str, int | None] = {member.address: weight for member, weight in weighted}
    served = weighted_locality(dict(reversed(listed.items())), policy=ring)
    served = served.with_localities(*served.get_cluster().localities, *beside)
    served = msgspec.structs.replace(served, routes=tuple(routes))
    key_format = world.checks.key_format
    await (serve_before_requests(world, served) if before_requests else world.serve(served))
    return RingOrder(world, members, served, key_format)


class RingOrder:
    """The endpoints in the ring order of a request: first `order[0]`, then `order[1]`, and so on.

    The order is that of the client's ring, by the key format in its manifest or from calibration.
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

    @functools.cached_property
    def request(self) -> dict[str, str]:
        """The headers of a request whose ring order is that of the endpoints."""
        return self.beginning_with(*self)

    def __getitem__(self, index: int) -> Member:
        return self._members[index]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def beginning_with(self, *members: Member, entries: int = 1) -> dict[str, str]:
        """Return the headers of a request whose ring order starts with these endpoints.

        Args:
            members: the endpoints, in order.
            entries: the least number of entries of the first endpoint before another endpoint.
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
            f"None of {TRIES} values reaches {', '.join(order)} first on all rings that the client "
            "may have."
        )

    def at_an_entry_of(self, member: Member) -> Headers:
        """Return the headers of a request with the hash of an entry of this endpoint.

        A client with a wrong search, such as for a strictly greater entry, finds another endpoint.
        """
        return {SESSION: value_of_an_entry(self._rings, member.address)}

    def at_the_end(self) -> list[tuple[str, Headers]]:
        """Return the endpoints of the ring's last entries, with headers that hash onto them.

        A client that compares hashes as signed numbers has another last entry; both are returned.
        """
        last = {ring.keys[-1]: ring.addresses[ring.owners[-1]] for ring in self._rings}
        return [(address, {SESSION: key}) for key, address in last.items()]

    def around(self) -> tuple[str, ...]:
        """Return every endpoint, in ring order from the lowest hash."""
        return self._rings[0].preference(0)

    def is_first(self, member: Member, headers: Mapping[str, str]) -> bool:
        """Return whether a request picks this endpoint first, on all rings of the client."""
        value = xxh64(headers[SESSION])
        return all(ring.preference(value)[0] == member.address for ring in self._rings)

    def goes_on_at_the_start(self) -> bool:
        """Return whether a search past the end of the ring differs from one that turns back there.

        The endpoints of the last entries, of which there is one on each ring, are left out.
        """
        last = {ring.addresses[ring.owners[-1]] for ring in self._rings}
        ways = [[ring.addresses[owner] for owner in ring.owners] for ring in self._rings]
        firsts = [
            [next(each for each in walk if each not in last) for walk in (way, reversed(way))]
            for way in ways
        ]
        return all(onward != back for onward, back in firsts)

    def returns_to_its_start(self) -> bool:
        """Return whether the ring starts with an endpoint, another and the first once more."""
        first, _, third = self.turns(3)
        return first == third

    def turns(self, count: int) -> tuple[str, ...]:
        """Return the endpoints of the ring's first entries, once for consecutive entries."""
        ring = self._rings[0]
        owners = (owner for owner, _ in groupby(ring.owners))
        return tuple(ring.addresses[owner] for owner in islice(owners, count))

    def without(self, *members: Member) -> XdsConfig:
        """Return the config without these endpoints."""
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
        """Bring each endpoint into its state.

        An endpoint is IDLE if no request picks it. It stays IDLE only if another endpoint is READY;
        otherwise the policy connects it proactively.

        Raises:
            PreconditionTimeout, WrongOutcome: the client did not reach these states.
            Unsupported: the backends cannot cause these states for this client.
        """
        await self.set_modes(*(MODES[state] for state in states))
        by_state: dict[State, list[Member]] = {state: [] for state in MODES}
        for member, state in zip(self, states, strict=True):
            by_state[state].append(member)
        for member in by_state["READY"]:
            await self.make_ready(member)
        for member in by_state["CONNECTING"]:
            await self.make_connecting(member)
        beside, failing = by_state["READY"][:1], by_state["TRANSIENT_FAILURE"]
        if not beside:
            await self._fail_together(*failing)
            return
        for member in failing:
            await self.make_failed(member, *beside)

    async def _fail_together(self, *members: Member) -> None:
        """Make endpoints fail after the client has tried each of them.

        One after another, later requests might try none: some clients fail every request once two
        endpoints have failed.
        """
        for member in members:
            await member.set_mode(Hold())
        for member in members:
            await self.make_connecting(member)
        for member in members:
            await member.set_mode(Close())

    async def set_modes(self, *modes: Mode) -> None:
        """Set the mode of each endpoint.

        Raises:
            Unsupported: the backends cannot do this for this client.
        """
        if not (self._can_be_held or all(isinstance(mode, Serve) for mode in modes)):
            await self._world.preconditions.handshakes()
            self._can_be_held = True
        for member, mode in zip(self, modes, strict=True):
            await member.set_mode(mode)

    async def make_ready(self, member: Member) -> None:
        """Connect an endpoint that serves, by a request that picks it.

        Raises:
            PreconditionTimeout, WrongOutcome: the endpoint did not serve the request.
        """
        request = self.beginning_with(member)
        (call,) = await self._world.call([request], deadline=timing.COLD_CALL)
        _served_by(member, call, "the first on the ring for a request")

    async def make_failed(self, member: Member, *beside: Member) -> None:
        """Make the client try an endpoint that closes connections, by a request that picks it.

        Args:
            member: the endpoint.
            beside: the READY endpoint that is next in ring order, if any. It serves the request
                once the client has noticed the failure.

        Raises:
            PreconditionTimeout, WrongOutcome: the client did not try the endpoint, or the request
                was not served.
        """
        before = len(member.attempts)
        if not beside and before and isinstance(member.attempts[-1].mode, Close):
            return  # A request for another endpoint tried it, or the policy did.
        started = await self._world.start([self.beginning_with(member, *beside)])
        await self._world.attempts.require_count(member, before + 1, why="a request picked it")
        if not beside:
            return
        (call,) = await started.over()
        second = f"the second on the ring for a request whose first, {member.address}, has failed"
        _served_by(beside[0], call, second)

    async def make_connecting(self, member: Member) -> None:
        """Make the client try an endpoint that does not answer, by a request if necessary.

        Raises:
            PreconditionTimeout: the client did not try it.
        """
        if not any(attempt.closed_at is None for attempt in member.attempts):
            before = len(member.attempts)
            await self._world.start([self.beginning_with(member)])
            await self._world.attempts.require_count(member, before + 1, why="a request picked it")

    # Verdicts

    async def check(
        self, clause: str, *states: State, request: Headers | None = None, calls: int = 5
    ) -> Calls:
        """Check the outcome of requests while the endpoints are in these states.

        If none is READY, the calls are repeated until they match the client's edition or time is
        up, because the client notices failures a little later. If one is READY, the client has
        noticed them already; others may be IDLE, and repeated calls would change that.
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
        """Check which IDLE endpoints a request connects.

        One endpoint is READY, so that the policy connects none proactively.
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
                *behind, why="an IDLE endpoint comes before them in ring order"
            )
            seen = self._world.attempts.seen(*idle)
        await self._world.check(clause, seen, expected)

    def in_states(self, *states: State) -> tuple[tuple[str, State], ...]:
        """Return each address with its state, in ring order."""
        return tuple(zip((endpoint.address for endpoint in self), states, strict=True))


def picker_of(edition: str) -> PickerEdition:
    """Return the edition of the picker that a client of this edition has."""
    return "A61" if edition == "A61" else "A42"


def _served_by(member: Member, call: Call, place: str) -> None:
    if call.endpoint == member.address and call.status == "OK":
        return
    details = f" ({call.details})" if call.details else ""
    seen = f"{call.status}{details} from {call.endpoint or 'no endpoint'}"
    said = f"expected OK from {member.address}, {place}, saw {seen}"
    is_late = call.status != "OK" and call.status in OF_TIME
    raise (PreconditionTimeout if is_late else WrongOutcome)(said)


RAISED_CAP = 16384


def ring_of_5001(addresses: Sequence[str], ring: Policy) -> XdsConfig:
    """Return a config whose weights require 5,001 entries, unless a maximum is lower."""
    light, first, two = addresses
    return weighted_locality({light: 1, first: 2500, two: 2500}, policy=ring).with_ring_cap(
        RAISED_CAP
    )
