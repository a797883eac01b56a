"""A50, xDS Integration: which fields of a Cluster configure outlier detection."""

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import EjectsByChance, EjectsOutliers
from conformance.scenarios.helpers.outlier_checks import (
    judge_fifth_endpoint,
    judge_request_volume,
    judge_shares,
)
from conformance.scenarios.helpers.outliers import (
    BASE,
    CYCLE,
    HOSTS,
    INTERVAL,
    LONG_INTERVAL,
    Algorithm,
    OutlierCluster,
    by_failures,
    by_success_rate,
)
from conformance.world import World
from conformance.xds_config.outlier_detection import OutlierDetection

pytestmark = scenario(timer=INTERVAL)

SOME_ENFORCED = 20
"""Percent. A sweep ejects 8 of 40 outliers on average, and more than the bound with a chance of
1e-6 at most. A client that ejects 75 percent exceeds the bound with a chance of 99 percent."""

ALWAYS = 100
"""Percent, with which any number of ejections is expected, but none."""

ALL, OUTLIERS = 60, 40

FEW = 3
"""A request volume, one more than the calls of a look."""


@scenario("A50-XDS-01", seconds=1)
async def test_no_outlier_detection(world: World) -> None:
    """An endpoint fails all calls, and the Cluster has no outlier_detection."""
    cluster = await OutlierCluster.begin(world, None)
    results = await cluster.burst()
    expected = EjectsOutliers(BASE.detection, results, cluster.ready)
    await world.check("A50-XDS-01", await cluster.look(), expected)


@scenario(seconds=1)
@pytest.mark.parametrize(
    ("clause", "detection", "unset"),
    [
        pytest.param(
            "A50-XDS-02",
            by_success_rate(enforcement_percentage=0),
            (),
            id="no-success-rate",
            marks=scenario("A50-XDS-02"),
        ),
        pytest.param(
            "A50-XDS-03",
            by_failures(enforcement_percentage=0),
            (),
            id="no-failure-percentage",
            marks=scenario("A50-XDS-03"),
        ),
        pytest.param(
            "A50-XDS-03",
            by_failures(),
            ("enforcing_failure_percentage",),
            id="unset-failure-percentage",
            marks=scenario("A50-XDS-03"),
        ),
    ],
)
async def test_not_enforced(
    world: World, clause: str, detection: OutlierDetection, unset: tuple[str, ...]
) -> None:
    """An endpoint is an outlier by an algorithm that is not enforced."""
    cluster = await OutlierCluster.begin(world, detection.without(*unset))
    results = await cluster.burst()
    expected = EjectsOutliers(BASE.detection, results, cluster.ready)
    await world.check(clause, await cluster.look(), expected)


@scenario("A50-XDS-04", seconds=1.5)
async def test_success_rate_by_default(world: World) -> None:
    """An endpoint is an outlier by success rate, and enforcing_success_rate is unset."""
    detection = by_success_rate().without("enforcing_success_rate")
    cluster = await OutlierCluster.begin(world, detection)
    calls, expected = await cluster.ejected()
    await world.check("A50-XDS-04", calls, expected)


@scenario("A50-XDS-05", seconds=2)
async def test_default_max_ejection_percent(world: World) -> None:
    """Two of five endpoints fail all calls, and max_ejection_percent is unset."""
    detection = by_failures(max_ejection_percent=10).without("max_ejection_percent")
    cluster = await OutlierCluster.begin(world, detection, failing=2)
    calls, expected = await cluster.ejected()
    await world.check("A50-XDS-05", calls, expected)


@scenario("A50-XDS-05", seconds=2)
async def test_default_threshold(world: World) -> None:
    """One endpoint fails 90 percent of its calls, and another one 80."""
    detection = by_failures(threshold=85, request_volume=CYCLE)
    await judge_shares(
        world, "A50-XDS-05", detection.without("failure_percentage_threshold"), (9, 8)
    )


@scenario(seconds=3)
@pytest.mark.parametrize(
    ("clause", "detection", "volume"),
    [
        pytest.param(
            "A50-XDS-06",
            by_failures(minimum_hosts=2, request_volume=50).without(
                "failure_percentage_request_volume"
            ),
            50,
            id="failures",
            marks=scenario("A50-XDS-06"),
        ),
        pytest.param(
            "A50-XDS-07",
            by_success_rate(minimum_hosts=2, request_volume=100).without(
                "success_rate_request_volume"
            ),
            100,
            id="rate",
            marks=scenario("A50-XDS-07"),
        ),
    ],
)
async def test_default_request_volume(
    world: World, clause: str, detection: OutlierDetection, volume: int
) -> None:
    """Two endpoints get one call less than the default, and then exactly as many."""
    longer = replace(detection, interval=2 * INTERVAL)
    await judge_request_volume(world, clause, clause, longer, volume=volume, count=2)


@scenario(seconds=3)
@pytest.mark.parametrize(
    ("clause", "detection"),
    [
        pytest.param(
            "A50-XDS-06",
            by_failures().without("failure_percentage_minimum_hosts"),
            id="failures",
            marks=scenario("A50-XDS-06"),
        ),
        pytest.param(
            "A50-XDS-07",
            by_success_rate().without("success_rate_minimum_hosts"),
            id="rate",
            marks=scenario("A50-XDS-07"),
        ),
    ],
)
async def test_default_minimum_hosts(
    world: World, clause: str, detection: OutlierDetection
) -> None:
    """One of four endpoints fails all calls, and then one of five."""
    await judge_fifth_endpoint(world, clause, detection)


@scenario("A50-XDS-07", seconds=3)
async def test_default_stdev_factor(world: World) -> None:
    """One endpoint fails all calls: of four by 1.7 deviations, and of five by two."""
    detection = by_success_rate(stdev_factor=1900, minimum_hosts=HOSTS - 1)
    unset = detection.without("success_rate_stdev_factor")
    await judge_fifth_endpoint(world, "A50-XDS-07", unset)


@scenario(seconds=3)
@pytest.mark.parametrize(
    ("clause", "algorithm"),
    [
        pytest.param(
            "A50-ENFORCE-01", by_failures, id="failures", marks=scenario("A50-ENFORCE-01")
        ),
        pytest.param(
            "A50-ENFORCE-02", by_success_rate, id="rate", marks=scenario("A50-ENFORCE-02")
        ),
    ],
)
async def test_enforced_at_times(world: World, clause: str, algorithm: Algorithm) -> None:
    """Forty of sixty endpoints fail all calls; the enforcement is 20 percent."""
    detection = algorithm(
        enforcement_percentage=SOME_ENFORCED, request_volume=FEW, interval=LONG_INTERVAL
    )
    cluster = await OutlierCluster.begin(world, detection, count=ALL, failing=OUTLIERS)
    await cluster.burst(FEW)
    expected = EjectsByChance(cluster.ready[:OUTLIERS], SOME_ENFORCED)
    calls = await cluster.until(EjectsByChance(cluster.ready[:OUTLIERS], ALWAYS), each=FEW)
    await world.check(clause, calls, expected)
