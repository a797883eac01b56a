"""A cluster in use whose LB policy changes, update by update, and what it is balanced by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from conformance.judging.expectations import AckedOrNacked, EachServesSome, EqualShares, Expectation
from conformance.judging.observations import Calls, Observation
from conformance.scenarios.helpers.background_traffic import BackgroundTraffic
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.world import ENOUGH_TO_DIFFER, World
from conformance.xds_config.config import XdsConfig, weighted_locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.routes import CLUSTER, SESSION
from conformance.xds_config.variants import ClusterVariant
from fake_control_plane import Kind

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
