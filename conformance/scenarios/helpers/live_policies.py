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
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.world import ENOUGH_TO_DIFFER, PendingCalls, World
from conformance.world.policies import TEST_POLICY
from conformance.world.rounds import stuck
from conformance.xds_config.config import XdsConfig, one_cluster, weighted_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import typed_struct
from conformance.xds_config.routes import CLUSTER, SESSION
from conformance.xds_config.variants import TYPE, ResourceVariant
from fake_control_plane import Kind


class BackgroundTraffic:
    """Requests from before an update until it is in use.

    They include the requests that check whether the update is in use, so that there is no gap.
    """

    def __init__(self, world: World, calls: PendingCalls, before: int) -> None:
        self._world = world
        self._calls = calls
        self._before = before

    @classmethod
    async def start(cls, world: World, headers: Sequence[Mapping[str, str]]) -> Self:
        """Start requests with these headers, one after another."""
        before = len(world.calls.made)
        return cls(world, await world.start(headers, pace=timing.SOAK_PACE), before)

    async def over(self) -> Calls:
        """Wait until the requests have ended; return all requests since the start."""
        await self._calls.over()
        return self._world.calls.made_after(self._before)


BEFORE = RingHash(minimum=200)
"""The policy in `lb_policy` before an update; no update has this ring size."""

ENDPOINTS, TURNS = 4, 5
"""Number of endpoints, and of requests with one hash that each gets under ROUND_ROBIN. The number
is small, because each update costs this many requests and A42-CDS-02 checks the rotation."""

SAME = ({SESSION: "same"},)

TWICE = 2
"""Number of requests with each hash. With only one, ROUND_ROBIN would look like a ring with unknown
keys."""

BACKGROUND_REQUESTS = 60
"""Calls from before an update until well after its ACK: 0.3 s; the ACK takes 0.03 s."""


class LivePolicy:
    """A cluster of equal endpoints. Each update has another policy than the one in use.

    So requests show whether the client uses the update: a ring by the endpoints of many hashes, and
    ROUND_ROBIN by the endpoints of one hash.

    Args:
        world: the scenario's world.
        served: the config of the cluster and its route.
    """

    def __init__(self, world: World, served: XdsConfig) -> None:
        self._world = world
        self._served = served
        self._in_use: Policy | None = None

    @classmethod
    async def start(cls, world: World, *, weights: Sequence[int] = (1,) * ENDPOINTS) -> LivePolicy:
        """Serve the cluster with ROUND_ROBIN.

        Args:
            world: the scenario's world.
            weights: weights of the endpoints.

        Raises:
            ResourceRejected, PreconditionTimeout: the cluster does not serve.
        """
        addresses = await world.addresses(len(weights))
        served = weighted_locality(dict(zip(addresses, weights, strict=True)), policy=RoundRobin())
        await world.serve(served)
        live = cls(world, served)
        await live._require(RoundRobin())
        return live

    async def check_accepted(
        self, variant: ResourceVariant, as_if: Policy, *, exactly: bool = False
    ) -> None:
        """Check that the client accepts an update, and balances as by `as_if` in `lb_policy`.

        Args:
            variant: the variant of the Cluster.
            as_if: the expected policy.
            exactly: True to check a ring entry by entry; before, a ring of another size may be
                in use.

        Raises:
            PreconditionTimeout: the client did not use another policy before the update.
        """
        is_alike = self._in_use == as_if if exactly else type(self._in_use) is type(as_if)
        if self._in_use is None or is_alike:
            await self._go_to(BEFORE if isinstance(as_if, RoundRobin) else RoundRobin())
        answer = await send_and_await_answer(
            self._world, self._served.with_policy(RoundRobin()), variant
        )
        await self._check(variant.clause, answer, AckedOrNacked(acked=True))
        if answer.acked:
            self._in_use = None
            calls = await self._calls(as_if, exactly=exactly)
            await self._check(variant.clause, calls, self._wanted(as_if))
            if not calls.overdue:
                self._in_use = as_if

    def _wanted(self, policy: Policy) -> Expectation:
        changed = self._served.with_policy(policy)
        if isinstance(policy, RoundRobin):
            return EqualShares(changed.addresses())
        return changed.matches_ring()

    async def _calls(self, policy: Policy, *, exactly: bool) -> Calls:
        """Return the calls to check, once the policy is in use."""
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
        await self._world.control.offer(Kind.CLUSTER, cluster, label=f"{CLUSTER}, {policy}")
        await self._require(policy)

    async def _require(self, policy: Policy) -> None:
        changed, call = self._served.with_policy(policy), self._world.call
        why = f"a Cluster with {policy} was served"
        if isinstance(policy, RoundRobin):
            calls = partial(call, SAME * len(changed.addresses()), concurrency=1)
            await self._world.rounds.require(EachServesSome(changed.addresses()), calls, why=why)
        else:
            calls = partial(call, TWICE * self._world.sessions(ENOUGH_TO_DIFFER))
            await self._world.rounds.require(changed.matches_ring(), calls, why=why)
        self._in_use = policy

    async def _check(self, clause: str, seen: Observation, expected: Expectation) -> None:
        """Check a clause that has the same effect in all editions."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


async def requests_meanwhile(world: World) -> BackgroundTraffic:
    """Start requests from before an update until it is in use."""
    return await BackgroundTraffic.start(world, world.sessions(BACKGROUND_REQUESTS))


async def in_use(world: World, served: XdsConfig, as_if: Policy) -> tuple[Calls, Expectation]:
    """Return calls once the policy is in use, or time is up, and the expectation for them."""
    expected: Expectation = EachServesSome(served.addresses())
    headers: Sequence[Mapping[str, str]] = SAME * ENOUGH_TO_DIFFER
    if isinstance(as_if, RingHash):
        expected = served.with_policy(as_if).matches_ring()
        headers = TWICE * world.sessions(ENOUGH_TO_DIFFER)
    return await world.eventually(expected, partial(world.call, headers, concurrency=1)), expected


SOME: Final = 8
"""Number of calls that show the endpoint of all calls, because the policy picks no random one."""

Config = Mapping[str, Any]


def custom(config: Config | None) -> str:
    """Return a list entry of the registered policy."""
    return typed_struct(f"{TYPE}/{TEST_POLICY}", config)


class CustomCluster:
    """A cluster in use. Each update has a unique config, which identifies it.

    Args:
        world: the world of a scenario with the capability `custom_policy`.
        served: the config of the cluster and its route.
    """

    def __init__(self, world: World, served: XdsConfig) -> None:
        self._world = world
        self.served = served

    @classmethod
    async def start(cls, world: World, *sizes: int) -> CustomCluster:
        """Register the policy, and serve a cluster that does not use it yet.

        Args:
            world: the scenario's world.
            sizes: number of endpoints of each locality.

        Raises:
            ResourceRejected, PreconditionTimeout: the cluster does not serve.
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
        """The addresses of all localities, in one group."""
        return (self.served.addresses(),)

    @property
    def by_locality(self) -> tuple[tuple[str, ...], ...]:
        """The addresses of each locality, as separate groups."""
        places = self.served.get_cluster().localities
        return tuple(tuple(endpoint.address for endpoint in place.endpoints) for place in places)

    async def offer(self, variant: ResourceVariant) -> bool:
        """Check that the client accepts an update of the Cluster; return whether it does."""
        answer = await send_and_await_answer(self._world, self.served, variant)
        await self._check(variant.clause, answer, AckedOrNacked(acked=True))
        return answer.acked

    async def check_rejected(self, variant: ResourceVariant) -> None:
        """Check that the client rejects an update of the Cluster."""
        answer = await send_and_await_answer(self._world, self.served, variant)
        await self._check(variant.clause, answer, AckedOrNacked(acked=False))

    async def check_config_received(
        self,
        variant: ResourceVariant,
        config: Config,
        groups: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Check that the client accepts an update, and that policy instances get its config.

        Args:
            variant: the variant of the Cluster.
            config: the config that instances must get.
            groups: groups of endpoints with one instance each; None for one group of all.
        """
        if await self.offer(variant):
            expected = hands_on(config, groups or self.all_of_them)
            seen = await self._world.policies.until(expected)
            await self._check(variant.clause, seen, expected)

    async def require_given(
        self, config: Config, groups: Sequence[Sequence[str]] | None = None
    ) -> PolicyUpdates:
        """Require that policy instances get this config.

        Raises:
            PreconditionTimeout: they did not in time.
        """
        expected = hands_on(config, groups or self.all_of_them)
        seen = await self._world.policies.until(expected)
        if not expected.finding(seen).holds:
            raise stuck(expected, seen, timing.APPLY, "a Cluster with it was accepted")
        return seen

    async def require_picked(self, config: Config) -> tuple[str, ...]:
        """Return the endpoints that all calls reach by this config.

        Raises:
            PreconditionTimeout: instances did not get the config, or calls did not follow it.
        """
        where = picked(await self.require_given(config), config)
        calls = partial(self._world.call, self._world.sessions(SOME))
        await self._world.rounds.require(AllServedBy(where), calls, why=f"it was given {config}")
        return where

    async def picks(self, clause: str, config: Config, groups: Sequence[Sequence[str]]) -> Calls:
        """Check that calls reach the endpoint that this config picks, in each instance's order."""
        seen = await self.require_given(config, groups)
        where = AllServedBy(picked(seen, config))
        calls = partial(self._world.call, self._world.sessions(SOME))
        made = await self._world.eventually(where, calls)
        await self._check(clause, made, where)
        return made

    async def place(self, *localities: Locality) -> None:
        """Serve other endpoints without a change of the Cluster."""
        self.served = self.served.with_localities(*localities)
        await self._world.control.offer(Kind.ENDPOINTS, self.served.endpoints())

    async def _check(self, clause: str, seen: Any, expected: Expectation) -> None:
        """Check a clause that has the same effect in all editions."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


def hands_on(config: Config | None, groups: Sequence[Sequence[str]]) -> ConfigReceived:
    """Expect instances with these groups of endpoints and this config."""
    return ConfigReceived(json.dumps(config), tuple(map(tuple, groups)))


def picked(seen: PolicyUpdates, config: Config) -> tuple[str, ...]:
    """Return the endpoints that the instances with this config pick."""
    number, expected = int(config.get("endpoint", 0)), hands_on(config, ())
    return tuple(
        instance.endpoints[number % len(instance.endpoints)][0]
        for instance in seen.latest()
        if instance.endpoints and expected.is_config(instance.config)
    )
