"""Checks of outlier detection that both algorithms have in common (A50)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenarios.helpers.outliers import (
    CYCLE,
    HOSTS,
    VOLUME,
    Algorithm,
    OutlierCluster,
)
from conformance.world import World
from conformance.xds_config.outlier_detection import OutlierDetection


async def judge_shares(
    world: World, clause: str, detection: OutlierDetection, failures: Sequence[int]
) -> None:
    """Judge which endpoints are ejected if they fail these numbers of `CYCLE` calls."""
    cluster = await OutlierCluster.begin(world, detection)
    cluster.fail_some(*failures)
    expected = cluster.expectation(await cluster.burst(CYCLE))
    calls = await cluster.until(expected, each=CYCLE)
    await world.check(clause, calls, expected)


async def judge_minimum_hosts(world: World, clause: str, algorithm: Algorithm) -> None:
    """Judge a minimum of six endpoints, then of five: of six endpoints, one is not connected."""
    cluster = await OutlierCluster.begin(world, algorithm(minimum_hosts=HOSTS + 1), closed=1)
    calls, expected = await cluster.after_sweeps()
    await world.check(clause, calls, expected)
    await cluster.detect(algorithm(minimum_hosts=HOSTS))
    calls, expected = await cluster.ejected()
    await world.check(clause, calls, expected)


async def judge_request_volume(
    world: World,
    too_few: str,
    enough: str,
    detection: OutlierDetection,
    *,
    volume: int = VOLUME,
    count: int = HOSTS,
) -> None:
    """Judge bursts with one call less than the request volume, and bursts of just enough.

    Args:
        world: the scenario's world.
        too_few: the clause on bursts of too few calls.
        enough: the clause on those of enough.
        detection: the outlier_detection.
        volume: its request volume.
        count: the number of endpoints.
    """
    cluster = await OutlierCluster.begin(world, detection, count=count)
    calls, expected = await cluster.after_sweeps(volume - 1)
    await world.check(too_few, calls, expected)
    calls, expected = await cluster.ejected(volume)
    await world.check(enough, calls, expected)


async def judge_fifth_endpoint(world: World, clause: str, detection: OutlierDetection) -> None:
    """Judge four endpoints, none of which is an outlier, and then five, one of which is."""
    cluster = await OutlierCluster.begin(world, detection, count=HOSTS - 1)
    calls, expected = await cluster.after_sweeps()
    await world.check(clause, calls, expected)
    await cluster.add()
    calls, expected = await cluster.ejected()
    await world.check(clause, calls, expected)
