"""A cluster in use whose policy the suite has registered, and what becomes of its updates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from conformance import timing
from conformance.judging.expectations import AckedOrNacked, AllServedBy, ConfigReceived, Expectation
from conformance.judging.observations import Calls, PolicyUpdates
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.world import World
from conformance.world.policies import TEST_POLICY
from conformance.world.rounds import stuck
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import typed_struct
from conformance.xds_config.variants import TYPE, ClusterVariant
from fake_control_plane import Kind

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
