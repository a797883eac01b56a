"""Change the LB policy of a cluster in use, built-in or custom, with calls in the background."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Self

from conformance import timing
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    ConfigReceived,
    EachServesSome,
    EqualShares,
    Expectation,
)
from conformance.judging.observations import Calls, Observation, PolicyUpdates
from conformance.scenarios.helpers.live_clusters import send_and_await_answer
from conformance.world import ENOUGH_TO_DIFFER, PendingCalls, World
from conformance.world.policies import TEST_POLICY
from conformance.world.rounds import stuck
from conformance.xds_config.config import XdsConfig, one_cluster, weighted_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import typed_struct
from conformance.xds_config.routes import CLUSTER, SESSION
from conformance.xds_config.variants import TYPE, ClusterVariant
from fake_control_plane import Kind


class BackgroundTraffic:
    """Requests from before an update on.

    Those that see whether it is in use are looked at as well, so that none is missing in between.
    """

    def __init__(self, world: World, calls: PendingCalls, before: int) -> None:
        self._world = world
        self._calls = calls
        self._before = before

    @classmethod
    async def begin(cls, world: World, headers: Sequence[Mapping[str, str]]) -> Self:
        """Have one made after the other, with these headers."""
        before = len(world.calls.made)
        return cls(world, await world.start(headers, pace=timing.SOAK_PACE), before)

    async def over(self) -> Calls:
        """All that were made since."""
        await self._calls.over()
        return self._world.calls.made_after(self._before)


BEFORE = RingHash(minimum=200)
"""By `lb_policy`, of a size that no update asks for."""

ENDPOINTS, TURNS = 4, 5
"""Each endpoint gets so many requests of one hash, if they go round. That turns are not drawn by
lot is for another clause to say (A42-CDS-02), so they may be few: each update costs as much."""

SAME = ({SESSION: "same"},)

TWICE = 2
"""So often each hash is met on a ring: else turns pass for one whose entries nobody can name."""

MEANWHILE = 60
"""Calls from before an update until well after its ACK: 0.3 s, of which the ACK takes a tenth."""


class LivePolicy:
    """A cluster of equal endpoints. Each update has another policy than what was in use before it.

    So it is seen whether the update is used: a ring by where requests of many hashes go, and turns
    by one that keeps to one hash.

    Args:
        world: of the scenario.
        served: the cluster, and the route to it.
    """

    def __init__(self, world: World, served: XdsConfig) -> None:
        self._world = world
        self._served = served
        self._in_use: Policy | None = None

    @classmethod
    async def begin(cls, world: World, *, weights: Sequence[int] = (1,) * ENDPOINTS) -> LivePolicy:
        """Have it serve, in turn.

        Args:
            world: of the scenario.
            weights: of the endpoints.

        Raises:
            ClientRefused, ClientStuck: it does not.
        """
        addresses = await world.addresses(len(weights))
        served = weighted_locality(dict(zip(addresses, weights, strict=True)), policy=RoundRobin())
        await world.serve(served)
        live = cls(world, served)
        await live._require(RoundRobin())
        return live

    async def taken(self, odd: ClusterVariant, as_if: Policy, *, exactly: bool = False) -> None:
        """Judge that an update is accepted, and used as `lb_policy` with this policy would be.

        Args:
            odd: what the Cluster has besides.
            as_if: the policy.
            exactly: whether a ring is looked at entry by entry.

        Raises:
            ClientStuck: another policy, which is to be in use before it, never is.
        """
        if self._in_use is None or type(self._in_use) is type(as_if):
            await self._go_to(BEFORE if isinstance(as_if, RoundRobin) else RoundRobin())
        answer = await send_and_await_answer(
            self._world, self._served.with_policy(RoundRobin()), odd
        )
        await self._check(odd.clause, answer, AckedOrNacked(acked=True))
        if answer.acked:
            self._in_use = None
            calls = await self._calls(as_if, exactly=exactly)
            await self._check(odd.clause, calls, self._wanted(as_if))
            if not calls.overdue:
                self._in_use = as_if

    def _wanted(self, policy: Policy) -> Expectation:
        changed = self._served.with_policy(policy)
        if isinstance(policy, RoundRobin):
            return EqualShares(changed.addresses())
        return changed.matches_ring()

    async def _calls(self, policy: Policy, *, exactly: bool) -> Calls:
        """What is to be judged, once the policy is in use."""
        changed, call = self._served.with_policy(policy), self._world.call
        if isinstance(policy, RoundRobin):
            calls = partial(call, SAME * len(changed.addresses()) * TURNS, concurrency=1)
            return await self._world.rounds.eventually_stable(
                EachServesSome(changed.addresses()), calls
            )
        values = self._world.values
        headers = values.telling(changed) if exactly else TWICE * values.sessions(ENOUGH_TO_DIFFER)
        return await self._world.eventually(changed.matches_ring(), partial(call, headers))

    async def _go_to(self, policy: Policy) -> None:
        cluster = self._served.with_policy(policy).cluster()
        await self._world.control.offer(Kind.CLUSTER, cluster, told=f"{CLUSTER}, {policy}")
        await self._require(policy)

    async def _require(self, policy: Policy) -> None:
        changed, call = self._served.with_policy(policy), self._world.call
        why = f"a Cluster of {policy} was served"
        if isinstance(policy, RoundRobin):
            calls = partial(call, SAME * len(changed.addresses()), concurrency=1)
            await self._world.rounds.require(EachServesSome(changed.addresses()), calls, why=why)
        else:
            calls = partial(call, TWICE * self._world.sessions(ENOUGH_TO_DIFFER))
            await self._world.rounds.require(changed.matches_ring(), calls, why=why)
        self._in_use = policy

    async def _check(self, clause: str, seen: Observation, expected: Expectation) -> None:
        """Put a clause before the judge that every edition words to the same effect."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


async def requests_meanwhile(world: World) -> BackgroundTraffic:
    """Requests that are made while an update is taken, and those that see it in use."""
    return await BackgroundTraffic.begin(world, world.sessions(MEANWHILE))


async def in_use(world: World, served: XdsConfig, as_if: Policy) -> tuple[Calls, Expectation]:
    """Calls once the policy is in use, or time is up, and what they are to be."""
    expected: Expectation = EachServesSome(served.addresses())
    headers: Sequence[Mapping[str, str]] = SAME * ENOUGH_TO_DIFFER
    if isinstance(as_if, RingHash):
        expected = served.with_policy(as_if).matches_ring()
        headers = TWICE * world.sessions(ENOUGH_TO_DIFFER)
    return await world.eventually(expected, partial(world.call, headers, concurrency=1)), expected


SOME: Final = 8
"""Calls that show where all of them go: none is drawn by lot."""

Config = Mapping[str, Any]


def custom(config: Config | None) -> str:
    """An entry of the registered policy."""
    return typed_struct(f"{TYPE}/{TEST_POLICY}", config)


class CustomCluster:
    """A cluster in use. Each update has a config of its own, by which it is told.

    Args:
        world: of a scenario that needs `custom_policy`.
        served: the cluster, and the route to it.
    """

    def __init__(self, world: World, served: XdsConfig) -> None:
        self._world = world
        self.served = served

    @classmethod
    async def begin(cls, world: World, *sizes: int) -> CustomCluster:
        """Register the policy, and have a cluster serve that does not use it yet.

        Args:
            world: of the scenario.
            sizes: of its localities, in endpoints.

        Raises:
            ClientRefused, ClientStuck: it does not serve.
        """
        await world.policies.register()
        localities = [
            Locality(tuple(map(Endpoint, await world.addresses(size))), name=f"locality-{number}")
            for number, size in enumerate(sizes)
        ]
        served = one_cluster(localities, policy=RoundRobin())
        await world.serve(served)
        await world.require_served(world.sessions(SOME))
        return cls(world, served)

    @property
    def all_of_them(self) -> tuple[tuple[str, ...], ...]:
        """The addresses of all localities in one group."""
        return (self.served.addresses(),)

    @property
    def by_locality(self) -> tuple[tuple[str, ...], ...]:
        """The addresses of each locality by itself."""
        places = self.served.get_cluster().localities
        return tuple(tuple(endpoint.address for endpoint in place.endpoints) for place in places)

    async def offer(self, odd: ClusterVariant) -> bool:
        """Judge that an update of the Cluster is accepted; whether it is."""
        answer = await send_and_await_answer(self._world, self.served, odd)
        await self._check(odd.clause, answer, AckedOrNacked(acked=True))
        return answer.acked

    async def refused(self, odd: ClusterVariant) -> None:
        """Judge that an update of the Cluster is refused."""
        answer = await send_and_await_answer(self._world, self.served, odd)
        await self._check(odd.clause, answer, AckedOrNacked(acked=False))

    async def given(
        self, odd: ClusterVariant, config: Config, groups: Sequence[Sequence[str]] | None = None
    ) -> None:
        """Judge that an update is accepted, and that instances are given its config.

        Args:
            odd: what the Cluster has besides.
            config: as it is to arrive.
            groups: of endpoints, with an instance each; None: all in one.
        """
        if await self.offer(odd):
            expected = hands_on(config, groups or self.all_of_them)
            seen = await self._world.policies.until(expected)
            await self._check(odd.clause, seen, expected)

    async def require_given(
        self, config: Config, groups: Sequence[Sequence[str]] | None = None
    ) -> PolicyUpdates:
        """Go on only when instances were given this config.

        Raises:
            ClientStuck: they were not in time.
        """
        expected = hands_on(config, groups or self.all_of_them)
        seen = await self._world.policies.until(expected)
        if not expected.finding(seen).holds:
            raise stuck(expected, seen, timing.APPLY, "a Cluster with it was accepted")
        return seen

    async def require_picked(self, config: Config) -> tuple[str, ...]:
        """The endpoints that all calls go to by this config.

        Raises:
            ClientStuck: it is not given, or they go elsewhere.
        """
        where = picked(await self.require_given(config), config)
        calls = partial(self._world.call, self._world.sessions(SOME))
        await self._world.rounds.require(AllServedBy(where), calls, why=f"it was given {config}")
        return where

    async def picks(self, clause: str, config: Config, groups: Sequence[Sequence[str]]) -> Calls:
        """Judge that calls go where this config says, of the endpoints as instances have them."""
        seen = await self.require_given(config, groups)
        where = AllServedBy(picked(seen, config))
        calls = partial(self._world.call, self._world.sessions(SOME))
        made = await self._world.eventually(where, calls)
        await self._check(clause, made, where)
        return made

    async def place(self, *localities: Locality) -> None:
        """Serve other endpoints; of the Cluster nothing changes."""
        self.served = self.served.with_localities(*localities)
        await self._world.control.offer(Kind.ENDPOINTS, self.served.endpoints())

    async def _check(self, clause: str, seen: Any, expected: Expectation) -> None:
        """Put a clause before the judge that every edition words to the same effect."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


def hands_on(config: Config | None, groups: Sequence[Sequence[str]]) -> ConfigReceived:
    """Those groups with that config."""
    return ConfigReceived(json.dumps(config), tuple(map(tuple, groups)))


def picked(seen: PolicyUpdates, config: Config) -> tuple[str, ...]:
    """The endpoints that instances pick that have this config."""
    number, expected = int(config.get("endpoint", 0)), hands_on(config, ())
    return tuple(
        instance.endpoints[number % len(instance.endpoints)][0]
        for instance in seen.latest()
        if instance.endpoints and expected.is_config(instance.config)
    )
