"""A52, Proposal: load_balancing_policy, next to lb_policy and instead of it."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.live_policies import LivePolicy
from conformance.world import World
from conformance.xds_config.policies import RingHash, RoundRobin
from conformance.xds_config.policy_lists import policies, ring_hash, round_robin
from conformance.xds_config.variants import ResourceVariant

TURNS = policies(round_robin())


RING = policies(ring_hash())


BY_HASH = "lb_policy: RING_HASH"


BEYOND = "ring_hash_lb_config { minimum_ring_size { value: 8388609 } }"


TOO_LARGE = "ring_hash_lb_config { maximum_ring_size { value: 8388609 } }"


MURMUR = "ring_hash_lb_config { hash_function: MURMUR_HASH_2 }"


OTHER_SIZES = (
    "ring_hash_lb_config { minimum_ring_size { value: 50 } maximum_ring_size { value: 60 } }"
)


# The fields of a Cluster, and the policy that they select: in each row another than before.
ROWS = (
    (ResourceVariant("A52-FIELD-01", RING), RingHash()),
    (ResourceVariant("A52-FIELD-01", f"{BY_HASH} {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-02", f"{BY_HASH} {OTHER_SIZES} {RING}"), RingHash()),
    (ResourceVariant("A52-FIELD-03", f"lb_policy: RANDOM {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-04", f"{BY_HASH} {BEYOND} {RING}"), RingHash()),
    (ResourceVariant("A52-FIELD-04", f"{BY_HASH} {TOO_LARGE} {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-04", f"{TOO_LARGE} {RING}"), RingHash()),
    (ResourceVariant("A52-FIELD-03", f"lb_policy: MAGLEV {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-03", f"lb_policy: LEAST_REQUEST {RING}"), RingHash()),
    (ResourceVariant("A52-FIELD-03", f"lb_policy: CLUSTER_PROVIDED {TURNS}"), RoundRobin()),
    (
        ResourceVariant("A52-FIELD-03", f"lb_policy: LOAD_BALANCING_POLICY_CONFIG {RING}"),
        RingHash(),
    ),
    (ResourceVariant("A52-FIELD-03", f"lb_policy: 17 {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-04", f"{BY_HASH} {MURMUR} {RING}"), RingHash()),
    (ResourceVariant("A52-FIELD-02", f"{BY_HASH} {OTHER_SIZES} {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-05", f"{BY_HASH} {OTHER_SIZES}"), RingHash(minimum=50, maximum=60)),
    (ResourceVariant("A52-FIELD-01", f"{BY_HASH} {TURNS}"), RoundRobin()),
    (ResourceVariant("A52-FIELD-01", RING), RingHash()),
    (ResourceVariant("A52-FIELD-05"), RoundRobin()),
)


@scenario(*dict.fromkeys(variant.clause for variant, _ in ROWS), seconds=2)
async def test_precedence(world: World) -> None:
    """If a Cluster has load_balancing_policy, the client uses it, whatever lb_policy is."""
    live = await LivePolicy.start(world)
    for variant, as_if in ROWS:
        await live.check_accepted(variant, as_if)


@scenario("A52-FIELD-03", "A37-VALID-29")
async def test_aggregate(world: World) -> None:
    """The client accepts an aggregate with load_balancing_policy and any lb_policy.

    Envoy requires CLUSTER_PROVIDED in an aggregate, so control planes that serve both send it to
    gRPC as well.
    """
    live = await LiveCluster.start(world, "aggregate")
    for policy in ("CLUSTER_PROVIDED", "MAGLEV"):
        await live.check_accepted(ResourceVariant("A52-FIELD-03", f"lb_policy: {policy} {TURNS}"))


@scenario("A52-FIELD-03", "A37-VALID-29")
async def test_logical_dns(world: World) -> None:
    """The client accepts LOGICAL_DNS with load_balancing_policy and any lb_policy."""
    live = await LiveCluster.start(world, "LOGICAL_DNS")
    for policy in ("CLUSTER_PROVIDED", "MAGLEV"):
        await live.check_accepted(ResourceVariant("A52-FIELD-03", f"lb_policy: {policy} {TURNS}"))


UNSUPPORTED = ("RANDOM", "CLUSTER_PROVIDED", "LOAD_BALANCING_POLICY_CONFIG", "17")


@scenario("A52-FIELD-06", "A37-VALID-29", "A46-NACK-03")
async def test_unsupported_policies_alone(world: World) -> None:
    """Without load_balancing_policy the client rejects an unsupported lb_policy."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(
        [ResourceVariant("A52-FIELD-06", f"lb_policy: {policy}") for policy in UNSUPPORTED]
    )


@scenario("A52-FIELD-07", "A37-VALID-29")
async def test_least_request_alone(world: World) -> None:
    """Without load_balancing_policy the client supports or rejects LEAST_REQUEST."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(ResourceVariant("A52-FIELD-07", "lb_policy: LEAST_REQUEST"), used=True)
