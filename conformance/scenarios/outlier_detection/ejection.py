"""A50: what the ejection of an endpoint does, how many are ejected, and which calls count."""

from functools import partial

import grpc
import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    Duration,
    EachServesSome,
    EndsWith,
)
from conformance.scenarios.helpers.ejection_times import PACE, EjectionTimes, steady_calls
from conformance.scenarios.helpers.outliers import (
    BASE,
    HOSTS,
    INTERVAL,
    LOW,
    SHORT_VOLUME,
    VOLUME,
    Algorithm,
    OutlierCluster,
    by_failures,
    by_success_rate,
)
from conformance.world import World
from conformance.xds_config.policies import RingHash

pytestmark = scenario(timer=INTERVAL)

MANY = 10
"""Endpoints where a percentage of them is ejected."""

FAILURES = {*grpc.StatusCode} - {grpc.StatusCode.OK, grpc.StatusCode.INTERNAL}
"""In all other scenarios, calls fail with INTERNAL."""


@scenario("A50-COUNT-01", seconds=2.5)
async def test_several_intervals(world: World) -> None:
    """Each endpoint gets a third of the request volume in each of three intervals."""
    cluster = await OutlierCluster.begin(world, by_failures(threshold=LOW))
    for _ in range(2):
        await cluster.burst(VOLUME // 3)
    calls, expected = await cluster.after_sweeps(VOLUME // 3)
    await world.check("A50-COUNT-01", calls, expected)


@scenario("A50-COUNT-02", seconds=1.5)
async def test_any_status(world: World) -> None:
    """One endpoint ends its calls with a drawn status."""
    cluster = await OutlierCluster.begin(world)
    cluster.members[0].set_failures(1, status=world.rng.choice(sorted(FAILURES, key=str)))
    calls, expected = await cluster.ejected()
    await world.check("A50-COUNT-02", calls, expected)


@scenario("A50-MAX-01", seconds=1.5)
@pytest.mark.parametrize(
    ("algorithm", "percent"),
    [
        pytest.param(by_failures, 20, id="failure-percentage"),
        pytest.param(by_success_rate, 15, id="success-rate"),
    ],
)
async def test_max_ejection_percent(world: World, algorithm: Algorithm, percent: int) -> None:
    """Three of ten endpoints fail all calls; two of them may be ejected."""
    detection = algorithm(max_ejection_percent=percent)
    cluster = await OutlierCluster.begin(world, detection, count=MANY, failing=3)
    calls, expected = await cluster.ejected()
    await world.check("A50-MAX-01", calls, expected)


@scenario("A50-MAX-02", seconds=1.5)
async def test_low_max_ejection_percent(world: World) -> None:
    """Two of five endpoints fail all calls, with a max_ejection_percent of 1."""
    cluster = await OutlierCluster.begin(world, by_failures(max_ejection_percent=1), failing=2)
    calls, expected = await cluster.ejected()
    await world.check("A50-MAX-02", calls, expected)


@scenario("A50-MAX-03", seconds=2.5)
async def test_no_max_ejection_percent(world: World) -> None:
    """One of five endpoints fails all calls, with a max_ejection_percent of 0."""
    cluster = await OutlierCluster.begin(world, by_failures(max_ejection_percent=0))
    kept = cluster.expectation(await cluster.burst())
    await cluster.burst()
    calls = await cluster.look()
    ejected = replace(kept, detection=by_failures(max_ejection_percent=1).detection)
    await world.check("A50-MAX-03", calls, {"ejected": ejected, "kept": kept})


@scenario("A50-EJECT-01", seconds=2)
async def test_round_robin(world: World) -> None:
    """An endpoint under ROUND_ROBIN is ejected; calls are made in several intervals."""
    cluster = await OutlierCluster.begin(world)
    await cluster.require_ejected()
    started = await world.start(world.sessions(round(3 * INTERVAL / PACE)), pace=PACE)
    calls = await started.over()
    await world.check("A50-EJECT-01", calls, AllServedBy(cluster.ready[1:]))


@scenario("A50-EJECT-02", seconds=1.5)
async def test_ring_hash(world: World) -> None:
    """An endpoint under RING_HASH is ejected."""
    cluster = await OutlierCluster.begin(world, policy=RingHash())
    expected = cluster.served.matches_ring(failed=cluster.ready[:1])
    headers = world.sessions(4 * VOLUME * HOSTS)
    calls = await world.eventually(expected, partial(world.call, headers))
    await world.check("A50-EJECT-02", calls, expected)


@scenario("A50-EJECT-03", seconds=1.5)
async def test_all_ejected(world: World) -> None:
    """All endpoints of the only priority are ejected."""
    cluster = await OutlierCluster.begin(world, failing=HOSTS)
    calls = await cluster.until(EndsWith("UNAVAILABLE"))
    await world.check("A50-EJECT-03", calls, EndsWith("UNAVAILABLE"))


@scenario("A50-EJECT-04", seconds=1.5)
async def test_failover(world: World) -> None:
    """All endpoints of the first of two priorities are ejected."""
    cluster = await OutlierCluster.begin(world, failing=HOSTS, spare=2)
    expected = AllServedBy(cluster.spares)
    calls = await cluster.until(expected)
    await world.check("A50-EJECT-04", calls, expected)


@scenario("A50-EJECT-05", "A50-EJECT-06", seconds=2.5)
async def test_unejection(world: World) -> None:
    """An endpoint is ejected, serves once more, and its ejection ends."""
    cluster = await OutlierCluster.begin(world, by_failures(base_ejection_time=2 * INTERVAL))
    await cluster.require_ejected()
    cluster.fail()
    expected = EachServesSome(cluster.ready)
    calls = await world.eventually(expected, cluster.look)
    await world.check("A50-EJECT-05", calls, expected)
    attempts = world.attempts.seen(cluster.members[0])
    await world.check("A50-EJECT-06", attempts, AttemptCount(most={cluster.ready[0]: 1}))


@scenario("A50-EJECT-07", seconds=2.5)
async def test_both_algorithms(world: World) -> None:
    """An endpoint is an outlier by both algorithms of a sweep."""
    base = 4 * INTERVAL
    both = replace(
        BASE,
        base_ejection_time=base,
        success_rate=by_success_rate(request_volume=SHORT_VOLUME).success_rate,
        failure_percentage=by_failures(
            threshold=LOW, request_volume=SHORT_VOLUME
        ).failure_percentage,
    )
    cluster = await OutlierCluster.begin(world, both)
    async with steady_calls(world):
        time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
    once = Duration(least=base, most=2 * base, allowance=INTERVAL)
    twice = Duration(least=2 * base, most=3 * base, allowance=INTERVAL)
    await world.check("A50-EJECT-07", time, {"once": once, "twice": twice})
