"""Steady traffic, and the times at which outlier detection begins and ends to eject (A50)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, SuiteTimeout
from conformance.judging.expectations import EjectionLasts
from conformance.judging.observations import Elapsed
from conformance.scenarios.helpers.outliers import OutlierCluster
from conformance.world import World, waits
from conformance.xds_config.outlier_detection import OutlierDetection
from test_servers import BackendEndpoint, Rpc

TURNS: Final = 3
"""Turns of round_robin in which an endpoint that gets none of the calls is ejected."""

PACE: Final = 0.01
"""Seconds from one call of steady traffic to the next."""

FEW: Final = 10
"""Calls of steady traffic that are requested together."""


@asynccontextmanager
async def steady_calls(world: World) -> AsyncIterator[None]:
    """Make a call every 10 ms until the block ends."""
    is_over = False

    async def repeat() -> None:
        while not is_over:
            started = await world.start(world.sessions(FEW), pace=PACE)
            await started.over()

    calls = asyncio.create_task(repeat())
    try:
        yield
    finally:
        is_over = True
        await calls


def lasts(detection: OutlierDetection, times: int) -> EjectionLasts:
    """Expect the duration of an ejection, if it is number `times` in succession."""
    return EjectionLasts(detection.detection, times, allowance=timing.LATE_SWEEP)


class EjectionTimes:
    """The times at which endpoints that get calls all the time are ejected, and used once more.

    Args:
        world: the scenario's world.
        cluster: its cluster, in use.
    """

    def __init__(self, world: World, cluster: OutlierCluster) -> None:
        self._world = world
        self._cluster = cluster

    async def ejection(self, member: BackendEndpoint) -> Elapsed:
        """Wait until an endpoint gets no calls, and then some once more.

        Returns:
            The time between the calls before and after.

        Raises:
            PreconditionTimeout: it was not ejected, or not used once more.
            SuiteTimeout: too few calls were made for that.
        """
        turns, found, previous, passed_over = self._turns(), list[float](), 0.0, 0

        def is_back(row: Rpc) -> bool:
            nonlocal previous, passed_over
            if row.endpoint != member.id:
                passed_over += 1
                return False
            if previous and passed_over > turns:
                found.extend((previous, row.at))
            previous, passed_over = row.at, 0
            return bool(found)

        await self._wait(is_back, f"calls at {member.address} to end and to begin once more")
        return self._elapsed(
            "the last call before the ejection", found[0], "the first after it", found[1]
        )

    async def between(self, first: BackendEndpoint, second: BackendEndpoint) -> Elapsed:
        """Wait until one endpoint is ejected, then let another one fail until it is ejected.

        Returns:
            The time between the last calls of the two.

        Raises:
            PreconditionTimeout: one of them was not ejected.
            SuiteTimeout: too few calls were made for that.
        """
        before = await self._ejected(first)
        self._cluster.fail(first, second)
        after = await self._ejected(second)
        return self._elapsed(
            "the last call of the first outlier", before, "that of the second", after
        )

    async def _ejected(self, member: BackendEndpoint) -> float:
        """Wait until an endpoint gets no calls; return the time of its last one."""
        turns, last, passed_over = self._turns(), 0.0, 0

        def is_passed_over(row: Rpc) -> bool:
            nonlocal last, passed_over
            if row.endpoint == member.id:
                last, passed_over = row.at, 0
            else:
                passed_over += 1
            return bool(last) and passed_over > turns

        await self._wait(is_passed_over, f"calls at {member.address} to end")
        return last

    def _turns(self) -> int:
        return TURNS * len(self._cluster.ready)

    def _elapsed(self, since: str, begins: float, until: str, ends: float) -> Elapsed:
        clock = self._world.clock
        return clock.elapsed(since, clock.at(begins), until, clock.at(ends))

    async def _wait(self, is_over: Callable[[Rpc], bool], what: str) -> None:
        """Wait for the calls that make this true, of those that begin from now on."""
        ledger, started = self._world.fleet.ledger, self._world.now
        before, is_found = len(ledger), False

        def begins(row: Rpc) -> bool:
            nonlocal is_found
            is_found = is_found or (row.ended_at is None and is_over(row))
            return is_found

        waiting = ledger.wait(begins, since=before, deadline=timing.EVENT)
        await self._world.control.unless_refused(waits.watched(waiting))
        if not is_found:
            self._require_volume(len(ledger) - before, self._world.now - started)
            raise PreconditionTimeout(
                f"expected {what} within {timing.EVENT:g} s, though it is an outlier"
            )

    def _require_volume(self, calls: int, seconds: float) -> None:
        """Raise SuiteTimeout if these calls were too few for sweeps to count each endpoint."""
        detection = self._cluster.served.get_cluster().outlier_detection
        assert detection is not None, "nothing is ejected without an outlier_detection"
        algorithms = (detection.success_rate, detection.failure_percentage)
        volume = max(algorithm.request_volume for algorithm in algorithms if algorithm)
        each = calls / len(self._cluster.ready) / seconds * detection.interval
        if each < volume:
            raise SuiteTimeout(
                f"each endpoint got {each:.1f} calls in an interval, fewer than the "
                f"request_volume of {volume}: the machine may be too busy"
            )
