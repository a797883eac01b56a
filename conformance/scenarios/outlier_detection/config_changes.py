"""A50: what changes of the config and of the list of endpoints do to ejections."""

from functools import partial

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, EachServesSome
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.ejection_times import EjectionTimes, lasts, steady_calls
from conformance.scenarios.helpers.outliers import (
    BASE,
    HOSTS,
    INTERVAL,
    LONG_INTERVAL,
    LOW,
    SHORT_VOLUME,
    VOLUME,
    OutlierCluster,
    by_failures,
)
from conformance.world import World
from conformance.xds_config.endpoints import Endpoint
from conformance.xds_config.outlier_detection import OutlierDetection

pytestmark = scenario(timer=INTERVAL)

HOUR = 3600.0


@scenario("A50-CONFIG-01", seconds=2)
@pytest.mark.parametrize(
    "changed", [pytest.param(None, id="removed"), pytest.param(BASE, id="no-algorithm")]
)
async def test_no_algorithm(world: World, changed: OutlierDetection | None) -> None:
    """An endpoint is ejected when an update leaves no algorithm."""
    cluster = await OutlierCluster.begin(world)
    await cluster.require_ejected()
    cluster.fail()
    await cluster.detect(changed)
    await cluster.pass_sweeps()
    expected = EachServesSome(cluster.ready)
    calls = await world.eventually(expected, cluster.look)
    await world.check("A50-CONFIG-01", calls, expected)


@scenario("A50-CONFIG-02", seconds=3, waits=True)
async def test_multiplier_without_algorithm(world: World) -> None:
    """During an ejection, one update removes outlier_detection, and the next one adds it."""
    detection = by_failures(base_ejection_time=3.5 * INTERVAL, request_volume=SHORT_VOLUME)
    cluster = await OutlierCluster.begin(world, detection)
    await cluster.require_ejected()
    await cluster.detect(None)
    await cluster.pass_sweeps()
    cluster.fail()
    await world.rounds.require(
        EachServesSome(cluster.ready), cluster.look, why="outlier_detection was removed"
    )
    cluster.fail(cluster.members[0])
    await cluster.detect(detection)
    await world.attempts.quiet_from_now(why="the config is in use", seconds=INTERVAL / 6)
    async with steady_calls(world):
        time = await EjectionTimes(world, cluster).ejection(cluster.members[0])
    await world.check("A50-CONFIG-02", time, lasts(detection, 1))


@scenario("A50-CONFIG-03", seconds=3)
async def test_frequent_updates(world: World) -> None:
    """An update arrives several times in each interval, and calls to all endpoints after each.

    The pause lets sweeps see these calls, even those of a client that counts from the update on.
    """
    detection = replace(by_failures(request_volume=1), interval=LONG_INTERVAL)
    cluster = await OutlierCluster.begin(world, detection)
    expected = AllServedBy(cluster.ready[1:])

    async def look() -> Calls:
        percent = world.rng.randint(50, 100)
        await cluster.detect(replace(detection, max_ejection_percent=percent))
        calls = await world.call(world.sessions(VOLUME * HOSTS))
        await cluster.pause(INTERVAL)
        return calls

    calls = await world.eventually(expected, look)
    await world.check("A50-CONFIG-03", calls, expected)


@scenario("A50-CONFIG-04", seconds=1.5)
async def test_shorter_interval(world: World) -> None:
    """Calls fail in an interval of an hour, which an update then shortens."""
    detection = by_failures(threshold=LOW)
    cluster = await OutlierCluster.begin(world, replace(detection, interval=HOUR))
    results = await cluster.burst(4 * VOLUME)
    await cluster.detect(detection)
    await cluster.pass_sweeps()
    calls = await cluster.look()
    await world.check("A50-CONFIG-04", calls, cluster.expectation(results))


@scenario("A50-CONFIG-05", "A50-CONFIG-06", seconds=3)
async def test_added(world: World) -> None:
    """An update adds outlier_detection to a Cluster in use, one of whose endpoints fails."""
    cluster = await OutlierCluster.begin(world, None)
    await cluster.burst()
    await cluster.detect(by_failures(threshold=LOW))
    calls, expected = await cluster.after_sweeps(1)
    await world.check("A50-CONFIG-05", calls, expected)
    world.checks.turn_to("A50-CONFIG-06")
    calls, expected = await cluster.ejected()
    await world.check("A50-CONFIG-06", calls, expected)


@scenario("A50-MAP-01", seconds=2)
async def test_return(world: World) -> None:
    """An ejected endpoint leaves the list and returns; another one is added meanwhile."""
    cluster = await OutlierCluster.begin(world)
    await cluster.require_ejected()
    cluster.fail()
    (added,) = await world.addresses(1)
    others = (*cluster.ready[1:], added)
    await cluster.place(*map(Endpoint, others))
    why = "the list has them"
    calls = partial(world.call, world.sessions(4 * HOSTS))
    await world.rounds.require(EachServesSome(others), calls, why=why)
    everyone = (*others, cluster.ready[0])
    await cluster.place(*map(Endpoint, everyone))
    expected = EachServesSome(everyone)
    await world.check("A50-MAP-01", await world.eventually(expected, calls), expected)


@scenario(seconds=2)
@pytest.mark.parametrize(
    ("clause", "weight"),
    [
        pytest.param("A50-MAP-02", None, id="list", marks=scenario("A50-MAP-02")),
        pytest.param("A50-MAP-03", 3, id="weight", marks=scenario("A50-MAP-03")),
    ],
)
async def test_other_list(world: World, clause: str, weight: int | None) -> None:
    """An endpoint is ejected, and stays in the list while another one is added."""
    cluster = await OutlierCluster.begin(world)
    await cluster.require_ejected()
    cluster.fail()
    (added,) = await world.addresses(1)
    ejected, *others = cluster.ready
    await cluster.place(Endpoint(ejected, weight), *map(Endpoint, (*others, added)))
    calls = partial(world.call, world.sessions(4 * HOSTS))
    await world.rounds.require(EachServesSome((added,)), calls, why="an update added it")
    await cluster.pass_sweeps()
    await world.check(clause, await calls(), AllServedBy((*others, added)))
