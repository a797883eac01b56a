"""A50, Outlier Detection Behavior: for how long an endpoint is ejected."""

from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import Duration
from conformance.scenarios.helpers.ejection_times import EjectionTimes, lasts, steady_calls
from conformance.scenarios.helpers.outliers import (
    INTERVAL,
    LONG_INTERVAL,
    LOW,
    SHORT_VOLUME,
    OutlierCluster,
    by_failures,
)
from conformance.world import World

pytestmark = scenario(timer=INTERVAL)

BASE_TIME = 1.5 * INTERVAL
"""Seconds. It is no multiple of the interval, so no sweep is at the very end of an ejection."""

LONG_TIME = 3.5 * INTERVAL


@scenario("A50-TIME-01", "A50-TIME-02", seconds=3, waits=True)
async def test_growth(world: World) -> None:
    """An endpoint always fails: it is ejected twice in succession."""
    detection = by_failures(base_ejection_time=BASE_TIME, request_volume=SHORT_VOLUME)
    cluster = await OutlierCluster.begin(world, detection)
    async with steady_calls(world):
        first = await EjectionTimes(world, cluster).ejection(cluster.members[0])
        await world.check("A50-TIME-01", first, lasts(detection, 1))
        world.checks.turn_to("A50-TIME-02")
        second = await EjectionTimes(world, cluster).ejection(cluster.members[0])
        await world.check("A50-TIME-02", second, lasts(detection, 2))


@scenario("A50-TIME-03", seconds=4, waits=True)
async def test_max_ejection_time(world: World) -> None:
    """An endpoint always fails: it is ejected three times in succession."""
    detection = by_failures(
        base_ejection_time=BASE_TIME, max_ejection_time=BASE_TIME, request_volume=SHORT_VOLUME
    )
    cluster = await OutlierCluster.begin(world, detection)
    async with steady_calls(world):
        for _ in range(3):
            time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
    await world.check("A50-TIME-03", time, lasts(detection, 3))


@scenario("A50-TIME-04", seconds=2, waits=True)
async def test_short_max_ejection_time(world: World) -> None:
    """The max_ejection_time is far below base_ejection_time."""
    detection = by_failures(
        base_ejection_time=LONG_TIME, max_ejection_time=INTERVAL / 3, request_volume=SHORT_VOLUME
    )
    cluster = await OutlierCluster.begin(world, detection)
    async with steady_calls(world):
        time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
    await world.check("A50-TIME-04", time, lasts(detection, 1))


@scenario("A50-TIME-05", seconds=5, waits=True)
async def test_decrease(world: World) -> None:
    """An endpoint is ejected, serves for several intervals, and fails once more."""
    detection = by_failures(base_ejection_time=LONG_TIME, request_volume=SHORT_VOLUME)
    cluster = await OutlierCluster.begin(world, detection)
    async with steady_calls(world):
        await EjectionTimes(world, cluster).ejection(cluster.members[0])
        cluster.fail()
        await cluster.pass_sweeps(3)
        cluster.fail(cluster.members[0])
        time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
    await world.check("A50-TIME-05", time, lasts(detection, 1))


@scenario("A50-TIME-06", seconds=4, waits=True)
async def test_interval(world: World) -> None:
    """One endpoint is ejected, and at once another one begins to fail."""
    detection = replace(by_failures(threshold=LOW, minimum_hosts=1), interval=LONG_INTERVAL)
    cluster = await OutlierCluster.begin(world, detection)
    first, second, *_ = cluster.members
    async with steady_calls(world):
        time = await EjectionTimes(world, cluster).between(first, second)
    late = timing.LATE_SWEEP
    expected = Duration(least=LONG_INTERVAL - late, most=LONG_INTERVAL + late, allowance=late)
    await world.check("A50-TIME-06", time, expected)


@scenario("A50-TIME-07", seconds=4, waits=True)
async def test_default_max_ejection_time(world: World) -> None:
    """An endpoint always fails, and max_ejection_time is unset: it is ejected twice."""
    detection = by_failures(base_ejection_time=BASE_TIME, request_volume=SHORT_VOLUME)
    cluster = await OutlierCluster.begin(world, detection.without("max_ejection_time"))
    async with steady_calls(world):
        for times in (1, 2):
            time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
            await world.check("A50-TIME-07", time, lasts(detection, times))
