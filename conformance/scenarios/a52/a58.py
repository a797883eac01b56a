"""A58: fields of ClientSideWeightedRoundRobin for which a client rejects a Cluster, or does not."""

import pytest

from conformance.judging.declaration import case, scenario
from conformance.scenarios.helpers.live_clusters import AFTERWARDS, UNCHANGED, LiveCluster
from conformance.scenarios.helpers.live_policies import LivePolicy
from conformance.world import World
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import (
    in_localities,
    policies,
    ring_hash,
    weighted_round_robin,
)
from conformance.xds_config.variants import ClusterVariant

BAD_RING = ring_hash(function="hash_function: MURMUR_HASH_2")
"""A client that reads this entry rejects the Cluster."""

TIMES = (
    "blackout_period",
    "oob_reporting_period",
    "weight_expiration_period",
    "weight_update_period",
)
A_SECOND = " ".join(f"{time} {{ seconds: 1 }}" for time in TIMES)
LONGEST = 315_576_000_000
"""The most seconds of a Duration (google/protobuf/duration.proto)."""


def penalty(value: str) -> str:
    """Return an entry with this error_utilization_penalty."""
    return weighted_round_robin(f"error_utilization_penalty {{ value: {value} }}")


# No entry follows, so a client that does not support the policy rejects the list as well.
BELOW_ZERO = tuple(
    ClusterVariant("A58-WRR-01", policies(penalty(value))) for value in ("-1", "-0.001")
)


@scenario("A58-WRR-01", AFTERWARDS, UNCHANGED)
async def test_penalty_below_zero(world: World) -> None:
    """The client rejects a negative error_utilization_penalty."""
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all(BELOW_ZERO)


@scenario("A58-WRR-01", AFTERWARDS, UNCHANGED)
async def test_penalty_below_zero_below_wrr_locality(world: World) -> None:
    """The client rejects a negative error_utilization_penalty below WrrLocality."""
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all([ClusterVariant("A58-WRR-01", policies(in_localities(penalty("-1"))))])


@scenario("A58-WRR-02", AFTERWARDS)
async def test_short_periods(world: World) -> None:
    """The client accepts a weight_update_period below 100 ms."""
    live = await LiveCluster.begin(world, "EDS")
    for period in ("", "nanos: 1000000"):
        entry = weighted_round_robin(f"weight_update_period {{ {period} }}")
        await live.taken(ClusterVariant("A58-WRR-02", policies(entry)))


@scenario(AFTERWARDS)
@pytest.mark.parametrize(
    ("clause", "fields"),
    [
        *(case(f"negative-{time}", "A58-WRR-03", f"{time} {{ seconds: -1 }}") for time in TIMES),
        case("too-long", "A58-WRR-04", f"blackout_period {{ seconds: {LONGEST + 1} }}"),
        case("two-signs", "A58-WRR-04", "blackout_period { seconds: 1 nanos: -1 }"),
    ],
)
async def test_left_open(world: World, clause: str, fields: str) -> None:
    """The text does not say how a client handles such a time."""
    live = await LiveCluster.begin(world, "EDS")
    await live.left_open(ClusterVariant(clause, policies(weighted_round_robin(fields))), used=True)


@scenario("A58-WRR-05", seconds=0.5)
async def test_below_wrr_locality(world: World) -> None:
    """Below WrrLocality the client uses weighted_round_robin and skips the entries after it."""
    live = await LivePolicy.begin(world)
    weighted = weighted_round_robin(f"enable_oob_load_report {{ value: false }} {A_SECOND}")
    entries = in_localities(weighted, BAD_RING)
    await live.taken(ClusterVariant("A58-WRR-05", policies(entries)), RoundRobin())
