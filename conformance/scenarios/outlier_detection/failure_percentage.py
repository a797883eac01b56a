"""A50, Failure Percentage Algorithm: which endpoints are ejected for their failed calls."""

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.outlier_checks import (
    judge_minimum_hosts,
    judge_request_volume,
    judge_shares,
)
from conformance.scenarios.helpers.outliers import (
    CYCLE,
    HOSTS,
    INTERVAL,
    OutlierCluster,
    by_failures,
)
from conformance.world import World

pytestmark = scenario(timer=INTERVAL)


@scenario("A50-FAIL-01", seconds=1)
async def test_failing_endpoint(world: World) -> None:
    """One of five endpoints fails all calls."""
    cluster = await OutlierCluster.begin(world)
    calls, expected = await cluster.ejected()
    await world.check("A50-FAIL-01", calls, expected)


@scenario("A50-FAIL-01", seconds=1)
async def test_drawn_percentages(world: World) -> None:
    """Each endpoint fails a drawn number of ten calls, and the threshold is drawn as well."""
    failures = world.rng.sample(range(CYCLE + 1), HOSTS)
    between = world.rng.randrange(min(failures), max(failures))
    threshold = CYCLE * between + world.rng.randint(1, CYCLE - 1)
    detection = by_failures(threshold=threshold, request_volume=CYCLE)
    await judge_shares(world, "A50-FAIL-01", detection, failures)


@scenario("A50-FAIL-02", seconds=2)
async def test_minimum_hosts(world: World) -> None:
    """Five of six endpoints have calls: a minimum of six is too high, and five is not."""
    await judge_minimum_hosts(world, "A50-FAIL-02", by_failures)


@scenario("A50-FAIL-03", "A50-FAIL-04", seconds=2)
async def test_request_volume(world: World) -> None:
    """Each endpoint gets one call less than the request volume, and then exactly as many."""
    await judge_request_volume(world, "A50-FAIL-03", "A50-FAIL-04", by_failures())


@scenario("A50-FAIL-05", seconds=1)
async def test_at_the_threshold(world: World) -> None:
    """One endpoint fails as many calls as the threshold says, another one more."""
    cluster = await OutlierCluster.begin(world, by_failures(request_volume=CYCLE))
    cluster.fail_some(5, 6)
    kept = cluster.expectation(await cluster.burst(CYCLE))
    ejected = by_failures(threshold=49, request_volume=CYCLE).detection
    ways = {"kept": kept, "ejected": replace(kept, detection=ejected)}
    calls = await cluster.until(*ways.values(), each=CYCLE)
    await world.check("A50-FAIL-05", calls, ways)
