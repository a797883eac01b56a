"""A50, xDS Validation: which outlier_detection a client accepts in a Cluster."""

import pytest

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import (
    LiveCluster,
    clauses_of,
)
from conformance.world import World
from conformance.xds_config.variants import ResourceVariant

DURATIONS = ("interval", "base_ejection_time", "max_ejection_time")


OUT_OF_RANGE = {
    "A50-CDS-01": ("seconds: -1", "nanos: -1", "seconds: -1 nanos: -1"),
    "A50-CDS-02": ("nanos: 1000000000", "seconds: 315576000001", "nanos: 1000000000"),
}


ENFORCED = "enforcing_failure_percentage { value: 100 }"


PERCENTAGES = {
    "A50-CDS-03": "max_ejection_percent { value: 101 }",
    "A50-CDS-04": "enforcing_success_rate { value: 101 }",
    "A50-CDS-05": f"failure_percentage_threshold {{ value: 101 }} {ENFORCED}",
    "A50-CDS-06": "enforcing_failure_percentage { value: 101 }",
}


def outliers(clause: str, said: str, *otherwise: str) -> ResourceVariant:
    """Return a Cluster with this outlier_detection."""
    return ResourceVariant(clause, f"outlier_detection {{ {said} }}", otherwise=otherwise)


OUTLIERS = (
    *(
        outliers(clause, f"{field} {{ {value} }}")
        for clause, several in OUT_OF_RANGE.items()
        for field, value in zip(DURATIONS, several, strict=True)
    ),
    *(outliers(clause, percentage) for clause, percentage in PERCENTAGES.items()),
)


@scenario(*clauses_of(OUTLIERS), "A37-VALID-29", "A46-NACK-03", seconds=1)
async def test_rejected(world: World) -> None:
    """The client rejects values out of range, and continues to use the last valid Cluster."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(OUTLIERS)


SHARES = (
    "max_ejection_percent",
    "enforcing_success_rate",
    "failure_percentage_threshold",
    "enforcing_failure_percentage",
)


LIMITS = {
    "percentages": [
        outliers("A50-CDS-07", " ".join(f"{field} {{ value: {share} }}" for field in SHARES))
        for share in (100, 0)
    ],
    "times-of-zero": [
        outliers("A50-CDS-07", f"{duration} {{}}", "envoy") for duration in DURATIONS
    ],
}


@scenario("A50-CDS-07", "A37-VALID-29", seconds=1)
@pytest.mark.parametrize(
    "limits", [pytest.param(values, id=name) for name, values in LIMITS.items()]
)
async def test_limits(world: World, limits: list[ResourceVariant]) -> None:
    """The client accepts outlier detection whose values are at their limits."""
    live = await LiveCluster.start(world, "EDS")
    for variant in limits:
        await live.check_accepted(variant)


@scenario("A50-CDS-08", "A37-VALID-29")
async def test_empty(world: World) -> None:
    """The client accepts an outlier_detection without fields."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_accepted(outliers("A50-CDS-08", ""))


# Behaviors that the text leaves open.


@scenario("A50-CDS-09", "A37-VALID-29")
async def test_unspecified_threshold(world: World) -> None:
    """The client accepts or rejects an invalid threshold of an algorithm that is not enforced."""
    live = await LiveCluster.start(world, "EDS")
    not_enforced = outliers("A50-CDS-09", "failure_percentage_threshold { value: 101 }")
    await live.report_choice(not_enforced, used=True)


@scenario("A50-CDS-10", "A37-VALID-29", seconds=1)
async def test_longest_durations(world: World) -> None:
    """The client accepts or rejects outlier detection durations of 10,000 years."""
    live = await LiveCluster.start(world, "EDS")
    for duration in DURATIONS:
        longest = f"{duration} {{ seconds: 315576000000 nanos: 999999999 }}"
        await live.report_choice(outliers("A50-CDS-10", longest), used=True)
