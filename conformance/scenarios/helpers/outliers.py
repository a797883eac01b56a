"""Clusters with outlier_detection whose backends fail by script, and bursts between two sweeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Self

from msgspec.structs import replace

from conformance.judging.aborts import SuiteTimeout
from conformance.judging.expectations import (
    EachServesSome,
    EjectsOutliers,
    Expectation,
    fits,
)
from conformance.judging.observations import Calls
from conformance.spec.oracles.outlier_detection import FailurePercentage, Results, SuccessRate
from conformance.spec.oracles.statistics import FALSE_ALARM
from conformance.world import World, waits
from conformance.world.rounds import stuck
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.outlier_detection import OutlierDetection
from conformance.xds_config.policies import Policy, RoundRobin
from conformance.xds_config.trees import with_clusters
from test_servers import BackendEndpoint, Close

LOW: Final = 5
"""A threshold, in percent, that counts of several bursts exceed even with all the calls that were
made before the failures."""

INTERVAL: Final = 0.3
"""Seconds between two sweeps. A burst takes a tenth of it."""

LONG_INTERVAL: Final = 1.0
"""Seconds between two sweeps for bursts of several hundred calls."""

PHASE: Final = 0.3
"""The part of an interval that has passed when a burst begins. It allows for the lateness of the
client's timers, which adds up from sweep to sweep."""

ONE_SWEEP: Final = 1.3
"""Intervals in which a client makes one sweep at least, even if it is late."""

LOOKS: Final = 120
"""Intervals in which bursts are made until a conforming client has ejected an outlier. A look takes
three of them, and a sweep may fall within its burst."""

LONG: Final = 300.0
"""A base_ejection_time, in seconds, that does not end within a scenario."""

ALL_ATTEMPTS: Final = 1000
"""More attempts to connect than there are while nothing is done."""

SHORT_VOLUME: Final = 3
"""The request_volume of scenarios with steady traffic: half of the calls that each of `HOSTS`
endpoints gets in an interval."""

IN_TURN, BY_HASH = 4, 40
"""Calls for each endpoint that reach all of them. On a ring, one of five gets none of 200 calls
with a chance below 1e-12."""

HOSTS: Final = 5
"""Endpoints of most scenarios."""

VOLUME: Final = 6
"""The request_volume of most scenarios."""

ENOUGH: Final = 8
"""Calls for each endpoint in a burst: more than the request_volume, which another row is about."""

CYCLE: Final = 10
"""An endpoint that fails some calls fails them in each 10."""

Algorithm = Callable[..., OutlierDetection]


def by_failures(
    *,
    threshold: int = 50,
    enforcement_percentage: int = 100,
    minimum_hosts: int = HOSTS,
    request_volume: int = VOLUME,
    **others: Any,
) -> OutlierDetection:
    """Return an outlier_detection with the failure percentage algorithm alone."""
    algorithm = FailurePercentage(
        threshold=threshold,
        enforcement_percentage=enforcement_percentage,
        minimum_hosts=minimum_hosts,
        request_volume=request_volume,
    )
    return replace(BASE, failure_percentage=algorithm, **others)


def by_success_rate(
    *,
    stdev_factor: int = 500,
    enforcement_percentage: int = 100,
    minimum_hosts: int = HOSTS,
    request_volume: int = VOLUME,
    **others: Any,
) -> OutlierDetection:
    """Return an outlier_detection with the success rate algorithm alone.

    With a factor of 500, one of five endpoints that fails all calls is an outlier: it is two
    deviations below the mean.
    """
    algorithm = SuccessRate(
        stdev_factor=stdev_factor,
        enforcement_percentage=enforcement_percentage,
        minimum_hosts=minimum_hosts,
        request_volume=request_volume,
    )
    return replace(BASE, success_rate=algorithm, **others)


BASE: Final = OutlierDetection(interval=INTERVAL, base_ejection_time=LONG)

DETECTION: Final = by_failures()


class OutlierCluster:
    """A cluster in use whose endpoints are all connected, but those that close connections.

    Args:
        world: the scenario's world.
        members: the endpoints.
        served: the config of the cluster and its route, with its outlier_detection.
        closed: the number of endpoints that close each connection, the last ones.
    """

    def __init__(
        self, world: World, members: Sequence[BackendEndpoint], served: XdsConfig, closed: int = 0
    ) -> None:
        self._world = world
        self.members = members
        self.served = served
        self.addresses = tuple(member.address for member in members)
        self.ready = self.addresses[: len(members) - closed]
        self.spares: tuple[str, ...] = ()
        self._started = world.now
        self._failing = set[str]()
        self._split = 1.0
        """The chance that a sweep fell within each of the last bursts."""

    @property
    def _interval(self) -> float:
        """The seconds between two sweeps, if there are any."""
        detection = self.served.get_cluster().outlier_detection
        return INTERVAL if detection is None else min(detection.interval, LONG_INTERVAL)

    @classmethod
    async def begin(
        cls,
        world: World,
        detection: OutlierDetection | None = DETECTION,
        *,
        count: int = HOSTS,
        closed: int = 0,
        spare: int = 0,
        failing: int = 1,
        policy: Policy = RoundRobin(),  # noqa: B008 - frozen
    ) -> Self:
        """Serve equal endpoints, and wait until they are connected; then some fail all calls.

        Args:
            world: the scenario's world.
            detection: the outlier_detection; None: none.
            count: the number of endpoints.
            closed: the number of endpoints that close each connection, in addition.
            spare: the number of endpoints of a second priority, in addition.
            failing: the number of endpoints that fail all calls, the first ones.
            policy: the LB policy.

        Raises:
            ResourceRejected, PreconditionTimeout: the cluster does not serve.
            Unsupported: the client does not state A50. Then the cluster serves all the same.
        """
        members = await world.endpoints(count)
        members += await world.endpoints(closed, mode=Close())
        spares = await world.addresses(spare)
        places = [Locality(tuple(Endpoint(member.address) for member in members))]
        if spares:
            places.append(Locality(tuple(map(Endpoint, spares)), name="spare", priority=1))
        cluster = cls(world, members, one_cluster(places, policy=policy), closed)
        cluster.spares = spares
        await cluster.detect(detection)
        await cluster.require_all()
        world.preconditions.outlier_detection()
        cluster._started = world.attempts.seen().attempts[0].at
        cluster.fail(*members[:failing])
        return cluster

    def fail(self, *failing: BackendEndpoint) -> None:
        """Let these endpoints fail all calls, and the others none."""
        self._failing = {member.address for member in failing}
        for member in self.members:
            member.set_failures(int(member in failing))

    def fail_some(self, *failures: int) -> None:
        """Let the first endpoints fail these numbers of each `CYCLE` calls."""
        for member, failing in zip(self.members, failures, strict=False):
            member.set_failures(failing, of=CYCLE)

    async def require_all(self) -> None:
        """Wait until calls reach every endpoint that does not close connections."""
        is_in_turn = isinstance(self.served.get_cluster().policy, RoundRobin)
        each = IN_TURN if is_in_turn else BY_HASH
        calls = partial(self.call, each)
        why = "all endpoints serve"
        await self._world.rounds.require(EachServesSome(self.ready), calls, why=why)

    async def detect(self, detection: OutlierDetection | None) -> None:
        """Serve the Cluster with this outlier_detection, or with none."""
        cluster = replace(self.served.get_cluster(), outlier_detection=detection)
        self.served = with_clusters(self.served, cluster)
        await self._world.serve(self.served)

    async def pass_sweeps(self, count: int = 1, phase: float = PHASE) -> None:
        """Wait until the client has made `count` sweeps, and this part of an interval has passed.

        The client's first interval starts as it gets its first list of endpoints, and so just
        before its first attempt to connect.
        """
        since, interval = self._world.now - self._started, self._interval
        until = (since // interval + count + phase) * interval
        await self.pause(until - since, why=f"{count} sweeps")

    async def pause(self, seconds: float, *, why: str = "calls are counted") -> None:
        """Make no call for these seconds."""
        await self._world.attempts.quiet_from_now(why=why, seconds=seconds, count=ALL_ATTEMPTS)

    async def burst(self, each: int = ENOUGH, *, phase: float = PHASE) -> dict[str, Results]:
        """Make `each` calls to each endpoint between two pauses; return their results.

        It begins two sweeps after the calls before it: no sweep that is late by less than an
        interval counts them together.
        """
        await self.pass_sweeps(2, phase)
        begun = self._world.now
        calls = await self.call(each)
        self._split *= min((self._world.now - begun) / self._interval, 1.0)
        await self.pass_sweeps()
        return self.results(calls)

    async def look(self) -> Calls:
        """Make two calls for each endpoint, fewer than any request_volume."""
        return await self.call(2)

    async def call(self, each: int) -> Calls:
        """Make `each` calls for each endpoint that is connected."""
        headers = self._world.sessions(each * len(self.ready))
        return await self._world.call(headers)

    def results(self, calls: Calls) -> dict[str, Results]:
        """Count the calls at each endpoint by success and failure."""
        counts = Counter((call.endpoint, call.status == "OK") for call in calls)
        return {
            address: Results(counts[address, True], counts[address, False])
            for address in self.addresses
        }

    async def after_sweeps(self, each: int = ENOUGH) -> tuple[Calls, EjectsOutliers]:
        """Make a burst of calls; return calls after the next sweep, and what they must fit."""
        expected = self.expectation(await self.burst(each))
        return await self.look(), expected

    async def ejected(self, each: int = ENOUGH) -> tuple[Calls, EjectsOutliers]:
        """Make bursts until calls fit what `fail` has set, as a sweep may fall within a burst.

        A sweep that is late may eject an endpoint before the first burst.

        Returns:
            Calls after one more sweep, and what they must fit.
        """
        expected = self._ejected(each)
        return await self.until(expected, each=each), expected

    def _ejected(self, each: int) -> EjectsOutliers:
        """Return what calls must fit after a burst with the results that `fail` has set."""
        results = {
            address: Results(0, each) if address in self._failing else Results(each, 0)
            for address in self.ready
        }
        unreached = dict.fromkeys(self.addresses[len(self.ready) :], Results(0, 0))
        return self.expectation(results | unreached)

    async def until(self, *ways: Expectation, each: int = ENOUGH) -> Calls:
        """Make bursts until calls fit any expectation; return calls after one more sweep."""
        calls = await self._first(*ways, each=each)
        if calls.overdue:
            return calls
        await self.pause(ONE_SWEEP * self._interval)
        return await self.look()

    async def _first(self, *ways: Expectation, each: int) -> Calls:
        """Return the first calls that fit any expectation, with a burst before each other look.

        Raises:
            SuiteTimeout: no calls fitted, and a sweep may have fallen within each burst.
        """
        self._split = 1.0

        async def look() -> Calls:
            calls = await self.look()
            if not has_fitted(calls):
                await self.burst(each, phase=self._world.rng.random())
                calls = await self.look()
            return calls

        def has_fitted(calls: Calls) -> bool:
            return any(fits(expected, calls) for expected in ways)

        waited = await waits.until(
            look,
            lambda calls: has_fitted(calls) or self._split <= FALSE_ALARM,
            within=LOOKS * self._interval,
            what="calls after a burst as are wanted",
        )
        is_overdue = not has_fitted(waited.seen)
        if is_overdue and self._split > FALSE_ALARM:
            raise SuiteTimeout(
                f"a sweep fell within each burst with a chance of {self._split:.1g}: the machine "
                "may be too busy"
            )
        return Calls(waited.seen.calls, overdue=is_overdue)

    async def require_ejected(self, each: int = ENOUGH) -> None:
        """Make bursts until the client has ejected the outliers.

        Raises:
            PreconditionTimeout: it did not eject them.
            SuiteTimeout: a sweep may have fallen within each burst.
        """
        expected = self._ejected(each)
        calls = await self._first(expected, each=each)
        if calls.overdue:
            raise stuck(expected, calls, LOOKS * self._interval, "they are outliers")

    async def add(self) -> None:
        """Add an endpoint, and wait until it is connected; meanwhile no call fails."""
        failing = [member for member in self.members if member.address in self._failing]
        self.fail()
        (member,) = await self._world.endpoints(1)
        self.members = (*self.members, member)
        self.addresses += (member.address,)
        self.ready = self.addresses
        await self.place(*map(Endpoint, self.addresses))
        await self.require_all()
        self.fail(*failing)

    async def place(self, *endpoints: Endpoint) -> None:
        """Serve this list of endpoints."""
        cluster = self.served.get_cluster().with_localities(Locality(endpoints))
        self.served = with_clusters(self.served, cluster)
        await self._world.serve(self.served)

    def expectation(self, results: dict[str, Results]) -> EjectsOutliers:
        """Return what calls must fit after a sweep with these results."""
        detection = self.served.get_cluster().outlier_detection
        assert detection is not None, "nothing is ejected without an outlier_detection"
        return EjectsOutliers(detection.detection, results, self.ready)
