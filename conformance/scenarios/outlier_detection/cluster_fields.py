"""A50, xDS Integration: which fields of a Cluster configure outlier detection."""

from functools import partial

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import EjectsByChance, EjectsOutliers
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
from conformance.spec.oracles.outlier_detection import Detection, FailurePercentage
from conformance.world import World
from conformance.xds_config.outlier_detection import OutlierDetection

pytestmark = scenario(timer=INTERVAL)

SOME_ENFORCED = 20
"""Percent. A sweep ejects 8 of 40 outliers on average, and more than the bound with a chance of
1e-6 at most. A client that ejects 75 percent exceeds the bound with a chance of 99 percent."""

ALL, OUTLIERS = 60, 40

FEW = 3
"""A request volume, one more than the calls of a look."""

OTHERS = ("failure_percentage_minimum_hosts", "failure_percentage_request_volume")

MANY = 5
"""The default request volume has 5 cycles."""


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


@scenario("A50-XDS-05", seconds=5, waits=True)
@pytest.mark.parametrize(
    ("field", "failures"),
    [
        pytest.param("max_ejection_percent", (9, 9), id="percent"),
        pytest.param("failure_percentage_threshold", (9, 8), id="threshold"),
    ],
)
async def test_defaults(world: World, field: str, failures: tuple[int, int]) -> None:
    """Two endpoints fail 90 percent of their calls, or one of them fails 80 percent."""
    defaults = Detection(failure_percentage=FailurePercentage())
    is_percent = field == "max_ejection_percent"
    by_default = by_failures(interval=2 * LONG_INTERVAL).without(field, *OTHERS)
    cluster = await OutlierCluster.begin(world, by_default, count=2 * HOSTS)
    cluster.fail_some(*failures)
    make_calls = partial(world.call, world.sessions(MANY * CYCLE * len(cluster.ready)))
    right = defaults if is_percent else replace(defaults, max_ejection_percent=100)
    expected = EjectsOutliers(right, cluster.results(await make_calls()), cluster.ready)
    calls = await world.eventually(expected, make_calls)
    await world.check("A50-XDS-05", calls, expected)


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
    calls = await cluster.until(expected, each=FEW)
    await world.check(clause, calls, expected)
