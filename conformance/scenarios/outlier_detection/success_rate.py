"""A50, Success Rate Algorithm: which endpoints are ejected because others succeed more often."""

import random

import pytest

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
    by_success_rate,
)
from conformance.spec.oracles.outlier_detection import (
    Ambiguous,
    Results,
    mistaken_outliers,
    success_rate_outliers,
)
from conformance.world import World
from conformance.xds_config.outlier_detection import OutlierDetection

pytestmark = scenario(timer=INTERVAL)

FACTORS = range(300, 1900, 50)
"""With higher factors, few draws have an outlier."""


def drawn(rng: random.Random) -> tuple[list[int], OutlierDetection]:
    """Return how many of ten calls each endpoint fails, and a config.

    There is an outlier at least, and no known mistake leads to the same outliers.
    """
    while True:
        failures = [rng.randint(0, CYCLE) for _ in range(HOSTS)]
        detection = by_success_rate(stdev_factor=rng.choice(FACTORS), request_volume=CYCLE)
        results = {f"{number}": Results(CYCLE - n, n) for number, n in enumerate(failures)}
        assert detection.success_rate is not None, "it was made with the algorithm"
        try:
            outliers = success_rate_outliers(detection.success_rate, results)
        except Ambiguous:
            continue
        if outliers and outliers not in mistaken_outliers(detection.success_rate, results):
            return failures, detection


@scenario("A50-RATE-01", seconds=1)
async def test_drawn_rates(world: World) -> None:
    """Each endpoint succeeds at a drawn rate, and the factor is drawn as well."""
    failures, detection = drawn(world.rng)
    await judge_shares(world, "A50-RATE-01", detection, failures)


@scenario("A50-RATE-02", seconds=2)
async def test_minimum_hosts(world: World) -> None:
    """Five of six endpoints have calls: a minimum of six is too high, and five is not."""
    await judge_minimum_hosts(world, "A50-RATE-02", by_success_rate)


@scenario("A50-RATE-03", "A50-RATE-04", seconds=2)
async def test_request_volume(world: World) -> None:
    """Each endpoint gets one call less than the request volume, and then exactly as many."""
    await judge_request_volume(world, "A50-RATE-03", "A50-RATE-04", by_success_rate())


@scenario("A50-RATE-05", seconds=2)
async def test_stdev_factor(world: World) -> None:
    """One of five endpoints fails all calls: two deviations below the mean."""
    cluster = await OutlierCluster.begin(world, by_success_rate(stdev_factor=2100))
    calls, expected = await cluster.after_sweeps()
    await world.check("A50-RATE-05", calls, expected)
    await cluster.detect(by_success_rate(stdev_factor=1900))
    calls, expected = await cluster.ejected()
    await world.check("A50-RATE-05", calls, expected)


@scenario("A50-RATE-06", seconds=1)
@pytest.mark.parametrize("cycle", [pytest.param(1, id="all"), pytest.param(2, id="half")])
async def test_equal_rates(world: World, cycle: int) -> None:
    """All endpoints fail the same share of their calls."""
    cluster = await OutlierCluster.begin(world, by_success_rate())
    for member in cluster.members:
        member.set_failures(1, of=cycle)
    calls, expected = await cluster.after_sweeps()
    await world.check("A50-RATE-06", calls, expected)
