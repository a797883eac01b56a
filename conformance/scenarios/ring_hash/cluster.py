"""A42, Ring Hash LB Policy / xDS API Fields: RING_HASH in the Cluster resource."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from conformance import timing
from conformance.judging.aborts import ResourceRejected
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AnswerVersion,
    EndsWith,
    EqualShares,
    Expectation,
    MatchesRing,
    NackHasDetail,
    OneEndpoint,
    SeveralEndpoints,
)
from conformance.judging.observations import Answer, Calls
from conformance.scenarios.helpers.live_policies import in_use, requests_meanwhile
from conformance.scenarios.helpers.localities import between
from conformance.scenarios.helpers.updates import first_rejected
from conformance.world import ENOUGH_TO_DIFFER, TURNS, World
from conformance.xds_config.config import XdsConfig, aggregate, single_locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.routes import SESSION
from fake_control_plane import Kind

LIMIT = 8 * 1024 * 1024
"""8M: the largest size that a client must accept."""

RAISED_CAP = 16384

TWICE = 2
"""Number of calls with each of 25 header values. They fall on different places of a rotation over
four endpoints, so that ROUND_ROBIN does not look like a ring."""

GUARD = "GRPC_XDS_EXPERIMENTAL_ENABLE_RING_HASH"


@scenario("A42-CDS-01")
async def test_ring_hash(world: World) -> None:
    """The client accepts RING_HASH and balances requests by their hash."""
    await world.plain_ring()
    calls = await world.call(TWICE * world.sessions(ENOUGH_TO_DIFFER + 1))
    await world.check("A42-CDS-01", calls, OneEndpoint(each_value_of=SESSION))
    await world.check("A42-CDS-01", calls, SeveralEndpoints())


@pytest.mark.parametrize(
    ("clause", "ring"),
    [
        case("no-config", "A42-CDS-03", RingHash(has_config=False)),
        case("minimum-unset", "A42-CDS-06", RingHash(maximum=LIMIT)),
        case("minimum-unset-below-a-low-maximum", "A42-CDS-06", RingHash(maximum=1500)),
        case("maximum-unset", "A42-CDS-07", RingHash(minimum=5000)),
        case("minimum", "A42-CDS-04", RingHash(minimum=3000)),
        case("minimum-small", "A42-CDS-04", RingHash(minimum=48)),
        case("hash-function-named", "A42-CDS-12", RingHash(minimum=512, hash_function="XX_HASH")),
        case("hash-function-unset", "A42-CDS-15", RingHash(minimum=512, hash_function=None)),
    ],
)
async def test_sizes(world: World, clause: str, ring: RingHash) -> None:
    """The client builds the ring with the sizes of the Cluster, or their defaults."""
    served = await world.plain_ring(ring=ring)
    calls = await world.call(world.values.telling(served))
    uncapped = served.with_ring_cap(LIMIT)
    await world.check(
        clause, calls, {"A42": served.matches_ring(), "envoy": uncapped.matches_ring()}
    )


@scenario("A42-CDS-07", knobs={"ring_size_cap": RAISED_CAP})
async def test_maximum_unset_under_a_raised_cap(world: World) -> None:
    """If the Cluster sets no maximum, only the local cap limits the ring."""
    served = await world.plain_ring(ring=RingHash(minimum=5000))
    uncapped = served.with_ring_cap(RAISED_CAP)
    calls = await world.call(world.values.telling(uncapped, apart_from=served))
    await world.check("A42-CDS-07", calls, uncapped.matches_ring())


@scenario("A42-CDS-03", knobs={"ring_size_cap": RAISED_CAP})
async def test_no_config_under_a_raised_cap(world: World) -> None:
    """Without ring_hash_lb_config, only the local cap limits a ring that a light endpoint needs."""
    ring = RingHash(has_config=False)
    served = await world.plain_ring(ring=ring, weights=(1, 2000, 2000, 2000))
    uncapped = served.with_ring_cap(RAISED_CAP)
    calls = await world.call(world.values.telling(uncapped, apart_from=served))
    await world.check("A42-CDS-03", calls, uncapped.matches_ring())


@pytest.mark.parametrize(
    ("clause", "weight", "ring"),
    [
        case("beside-a-minimum", "A42-CDS-05", 40, RingHash(minimum=8, maximum=12)),
        case("alone", "A42-CDS-05", 500, RingHash(maximum=1025)),
        case("equal-sizes", "A42-CDS-05", 40, RingHash(minimum=12, maximum=12)),
    ],
)
async def test_maximum(world: World, clause: str, weight: int, ring: RingHash) -> None:
    """The client builds the ring with the maximum_ring_size of the Cluster.

    A light endpoint would need a ring above the maximum.
    """
    served = await world.plain_ring(ring=ring, weights=(1, weight, weight, weight))
    calls = await world.call(world.values.telling(served))
    await world.check(clause, calls, served.matches_ring())


@pytest.mark.parametrize(
    ("clause", "ring"),
    [
        case("minimum-8m", "A42-CDS-10", RingHash(minimum=LIMIT)),
        case("maximum-8m", "A42-CDS-11", RingHash(minimum=300, maximum=LIMIT)),
        case("maximum-unset", "A42-CDS-07", RingHash(minimum=LIMIT)),
    ],
)
async def test_accepted(world: World, clause: str, ring: RingHash) -> None:
    """The client accepts and uses a size of exactly 8M, or a maximum that is so by default.

    The ring before has another size, so that requests show when the new ring is in use.
    """
    served = await world.plain_ring()
    headers = world.values.sessions_to_map()
    await world.require_served(headers[:1])
    large = served.with_policy(ring)
    answer = await world.control.offer(Kind.CLUSTER, large.cluster(), deadline=timing.LARGE_RING)
    taken = AckedOrNacked(acked=True)
    await world.check(clause, answer, {"A42": taken, "envoy": taken})
    if answer.acked:
        by: dict[str, Expectation] = {
            "A42": large.matches_ring(),
            "envoy": OneEndpoint(each_value_of=SESSION),
        }
        calls = await world.eventually(
            world.checks.own(clause, by), lambda: world.call(TWICE * headers)
        )
        await world.check(clause, calls, by)


@pytest.mark.parametrize(
    ("clause", "ring"),
    [
        case("minimum-beyond-8m", "A42-CDS-08", RingHash(minimum=LIMIT + 1)),
        case("minimum-beyond-32-bits", "A42-CDS-08", RingHash(minimum=2**32 + 1024)),
        case("minimum-beyond-63-bits", "A42-CDS-08", RingHash(minimum=2**63 + 1024)),
        case("maximum-beyond-8m", "A42-CDS-09", RingHash(maximum=LIMIT + 1)),
        case("both-sizes", "A42-CDS-09", RingHash(minimum=300, maximum=LIMIT + 1)),
        case("maximum-beyond-32-bits", "A42-CDS-09", RingHash(maximum=2**32 + 1024)),
        case("maximum-beyond-63-bits", "A42-CDS-09", RingHash(maximum=2**63 + 1024)),
        case("murmur-hash-2", "A42-CDS-13", RingHash(hash_function="MURMUR_HASH_2")),
        case("hash-function-7", "A42-CDS-14", RingHash(hash_function=7)),
    ],
)
async def test_rejected(world: World, clause: str, ring: RingHash) -> None:
    """The client rejects a size above 8M, and any hash function but XX_HASH."""
    answer = await offer_cluster(world, lambda served: served.with_policy(ring).cluster())
    await world.check(
        clause, answer, {"A42": AckedOrNacked(acked=False), "envoy": AckedOrNacked(acked=True)}
    )


@scenario("A42-CDS-19", "A42-CDS-30", "A42-CDS-31", seconds=0.7)
async def test_config_after_nack(world: World) -> None:
    """After the client rejects a Cluster, it keeps using the last accepted one."""
    served = await world.plain_ring(ring=RingHash(minimum=256))
    headers = world.values.sessions_to_map()
    await world.require_served(headers)
    rejected = await first_rejected(world, served, headers, invalid_clusters(served))
    if rejected is None:
        return
    cluster, answer = rejected
    await world.check("A42-CDS-30", answer, AnswerVersion())
    await world.check("A42-CDS-31", answer, NackHasDetail())
    await world.attempts.quiet(why="the NACK: a client might apply the resource by mistake")
    await world.check("A42-CDS-19", await world.call(headers), served.matches_ring())
    for changed in (served.with_policy(RingHash(minimum=300)).cluster(), cluster):
        answer = await world.control.offer(Kind.CLUSTER, changed)
        await world.check("A42-CDS-30", answer, AnswerVersion())


def invalid_clusters(served: XdsConfig) -> tuple[Any, ...]:
    """Return Clusters with a ring beyond 8M, with another hash function, and without a source."""
    no_source = served.with_policy(RingHash(minimum=64)).cluster()
    no_source.ClearField("eds_cluster_config")
    return (
        served.with_policy(RingHash(minimum=LIMIT + 1, maximum=LIMIT + 1)).cluster(),
        served.with_policy(RingHash(minimum=64, hash_function="MURMUR_HASH_2")).cluster(),
        no_source,
    )


@pytest.mark.parametrize(
    ("clause", "case", "change", "readings"),
    [
        case(
            "minimum-above-maximum",
            "A42-CDS-16",
            "minimum 64 above maximum 32",
            RingHash(minimum=64, maximum=32),
            {"the maximum": RingHash(maximum=32, minimum=32), "the minimum": RingHash(minimum=64)},
        ),
        case(
            "default-above-maximum",
            "A42-CDS-16",
            "maximum 50 alone",
            RingHash(maximum=50),
            {
                "the maximum": RingHash(maximum=50, minimum=50),
                "the default minimum": RingHash(),
                "the smallest minimum": RingHash(maximum=50, minimum=1),
            },
        ),
        case(
            "minimum-zero",
            "A42-CDS-17",
            "",
            RingHash(minimum=0),
            {"the default": RingHash(), "the smallest": RingHash(minimum=1)},
        ),
        case("maximum-zero", "A42-CDS-18", "", RingHash(maximum=0), {"the default": RingHash()}),
    ],
)
async def test_unspecified_fields(
    world: World, clause: str, case: str, change: RingHash, readings: dict[str, RingHash]
) -> None:
    """The text does not say how a client handles these sizes.

    The ring before has none of them.
    """
    served = await world.plain_ring(ring=RingHash(minimum=400))
    await world.require_served(world.sessions(1))
    answer = await world.control.offer(Kind.CLUSTER, served.with_policy(change).cluster())
    rings = {f"a ring of {name}": served.with_policy(policy) for name, policy in readings.items()}
    mapped = {name: ring.matches_ring() for name, ring in rings.items()}
    await check_choice(world, clause, answer, mapped, case=case)


@scenario("A42-CDS-20")
async def test_ring_hash_config_under_round_robin(world: World) -> None:
    """An invalid ring_hash_lb_config under ROUND_ROBIN: the client accepts or rejects it."""

    def cluster(served: XdsConfig) -> Any:
        changed = served.with_policy(RingHash(maximum=LIMIT + 1)).cluster()
        changed.lb_policy = changed.ROUND_ROBIN
        return changed

    await check_choice(world, "A42-CDS-20", await offer_cluster(world, cluster))


@scenario("A42-CDS-21")
@pytest.mark.parametrize("of", ["", "maglev_lb_config", "ring_hash_lb_config"])
async def test_maglev(world: World, of: str) -> None:
    """The client rejects a Cluster whose lb_policy is MAGLEV, also if it has a config for it."""

    def cluster(served: XdsConfig) -> Any:
        changed = served.with_policy(RingHash(has_config=False)).cluster()
        changed.lb_policy = changed.MAGLEV
        if of:
            getattr(changed, of).SetInParent()
        return changed

    answer = await offer_cluster(world, cluster)
    by_edition = {"A42": AckedOrNacked(acked=False), "envoy": AckedOrNacked(acked=True)}
    await world.check("A42-CDS-21", answer, by_edition)


async def check_choice(
    world: World,
    clause: str,
    answer: Answer,
    rings: Mapping[str, MatchesRing] | None = None,
    *,
    case: str = "",
) -> None:
    """Report a NACK, or an ACK and the behavior of calls; `case` distinguishes several reports."""
    of = f"{case}: " if case else ""
    if not answer.acked:
        await world.check(clause, answer, {f"{of}NACK": AckedOrNacked(acked=False)})
        return
    await world.attempts.quiet(why="the ACK: time for the resource to be applied")
    calls = await world.call(world.values.sessions_to_map())
    served: Mapping[str, Expectation] = rings or {"calls succeed": EndsWith("OK")}
    choices: dict[str, Expectation] = {
        **served,
        "calls fail": EndsWith("UNAVAILABLE"),
        "calls fail with INTERNAL": EndsWith("INTERNAL"),
    }
    await world.check(clause, calls, {f"{of}ACK, and {how}": way for how, way in choices.items()})


async def offer_cluster(world: World, change: Callable[[XdsConfig], Any]) -> Answer:
    """Send a changed Cluster while a valid one is in use; return the client's ACK or NACK."""
    served = await world.plain_ring()
    await world.require_served(world.sessions(1))
    return await world.control.offer(Kind.CLUSTER, change(served))


@scenario("A42-CDS-02")
async def test_round_robin(world: World) -> None:
    """The client accepts ROUND_ROBIN and balances requests in turn."""
    served = single_locality(await world.addresses(TURNS), policy=RoundRobin())
    await world.serve(served)
    await world.check_rotation("A42-CDS-02", served)


@scenario("A42-CDS-22")
async def test_round_robin_to_ring_hash(world: World) -> None:
    """After an update to RING_HASH, the client places requests by their hash."""
    served = single_locality(await world.addresses(4), policy=RoundRobin())
    await world.serve(served)
    headers = TWICE * world.sessions(ENOUGH_TO_DIFFER + 1)
    await world.require_served(headers)
    changed = served.with_policy(RingHash())
    await world.serve(changed)
    calls = await world.eventually(changed.matches_ring(), lambda: world.call(headers))
    await world.check("A42-CDS-22", calls, changed.matches_ring())


@scenario("A42-CDS-22", "A42-CDS-23")
async def test_ring_hash_to_round_robin(world: World) -> None:
    """After an update to ROUND_ROBIN, the client spreads requests in turn, also a second time."""
    served = single_locality(await world.addresses(TURNS))
    in_turn = served.with_policy(RoundRobin())
    headers = TWICE * world.values.sessions_to_map()
    await world.serve(served)
    await world.require_served(headers)
    await world.serve(in_turn)
    await world.check_rotation("A42-CDS-23", in_turn)
    await world.serve(served)
    calls = await world.eventually(served.matches_ring(), lambda: world.call(headers))
    await world.check("A42-CDS-22", calls, served.matches_ring())
    await world.serve(in_turn)
    await world.check_rotation("A42-CDS-23", in_turn)


@scenario("A42-CDS-03", "A42-CDS-06", "A42-CDS-24")
async def test_changed_sizes(world: World) -> None:
    """After an update of the ring sizes, the client places requests on a ring of the new size.

    One update removes the minimum, one ring_hash_lb_config, and the last one changes only the
    maximum. A client that keeps the old ring looks like one with unknown keys; 150 calls expose it
    by its arcs.
    """
    ring = RingHash(minimum=64, maximum=80)
    served = await world.plain_ring(ring=ring, weights=(1, 400, 400, 400))
    headers = world.sessions(150)
    await world.require_served(headers[:1])
    small, none = RingHash(minimum=128, maximum=160), RingHash(has_config=False)
    unset = RingHash(maximum=1500)
    clauses = {none: "A42-CDS-03", unset: "A42-CDS-06"}
    for ring in (RingHash(minimum=2048), unset, small, none, small, RingHash(minimum=128)):
        changed = served.with_policy(ring)
        await world.serve(changed)
        calls = await world.eventually(changed.matches_ring(), partial(world.call, headers))
        await world.check(clauses.get(ring, "A42-CDS-24"), calls, changed.matches_ring())


@scenario("A42-CDS-32", needs=("metadata",), seconds=0.7)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(RoundRobin(), RingHash(), id="to-ring-hash"),
        pytest.param(RingHash(), RoundRobin(), id="to-round-robin"),
        pytest.param(RingHash(minimum=64), RingHash(minimum=2048), id="other-sizes"),
    ],
)
async def test_requests_during_change(world: World, before: Policy, after: Policy) -> None:
    """While an update changes the policy or the ring sizes, the client serves requests.

    Requests run from before the update until it is in use.
    """
    served = single_locality(await world.addresses(4), policy=before)
    await world.serve(served)
    await world.require_served(world.sessions(ENOUGH_TO_DIFFER))
    meanwhile = await requests_meanwhile(world)
    await world.serve(served.with_policy(after))
    await world.check("A42-CDS-32", *await in_use(world, served, after))
    await world.check("A42-CDS-32", await meanwhile.over(), EndsWith("OK"))


@scenario("A42-CDS-25", seconds=0.6)
@pytest.mark.parametrize(
    ("own", "of_the_leaf", "of_others"),
    [
        pytest.param(RingHash(), RoundRobin(), None, id="ring-hash-above-round-robin"),
        pytest.param(RoundRobin(), RingHash(), None, id="round-robin-above-ring-hash"),
        pytest.param(RingHash(10), RingHash(700), None, id="ring-hash-above-ring-hash"),
        pytest.param(RingHash(10), RingHash(700), RoundRobin(), id="between-other-leaves"),
    ],
)
async def test_aggregate(
    world: World, own: Policy, of_the_leaf: Policy, of_others: Policy | None
) -> None:
    """Below an aggregate, the policy of the aggregate applies (A42), or that of the leaf (A75).

    In one case there is a leaf without endpoints before the leaf in use, and a third leaf after it.
    There are two calls with each header value, so that the same calls show either policy.
    """
    world.preconditions.aggregates()
    leaf = single_locality(await world.addresses(TURNS), name="leaf", policy=of_the_leaf)
    others = await world.addresses(1)
    leaves = [leaf] if of_others is None else between(leaf, others, policy=of_others)
    await world.serve(aggregate(*leaves, policy=own))
    by_edition: dict[str, Expectation] = {
        edition: EqualShares(leaf.addresses())
        if isinstance(policy, RoundRobin)
        else leaf.with_policy(policy).matches_ring()
        for edition, policy in (("A42", own), ("A75", of_the_leaf), ("envoy", of_the_leaf))
    }
    headers = [session for session in world.values.sessions_to_map() for _ in range(TWICE)]
    judged = world.checks.own("A42-CDS-25", by_edition)
    calls = await world.rounds.eventually_stable(judged, lambda: world.call(headers, concurrency=1))
    await world.check("A42-CDS-25", calls, by_edition)


@scenario("A42-CDS-26", alone=True, seconds=1)
async def test_environment_guard(world: World) -> None:
    """An environment variable may guard RING_HASH."""
    await world.plain_ring()
    channels = {
        "unset": await world.channels.default(),
        "false": await world.channels.open_in_new_process(**{GUARD: "false"}),
    }
    for guard, channel in channels.items():
        seen: Calls | Answer
        choices: dict[str, Expectation]
        try:
            # One call after another, so that they do not all wait for the first connection.
            same = [{SESSION: "same"}] * ENOUGH_TO_DIFFER
            seen = await world.call(same, channel=channel, concurrency=1)
            choices = {
                "RING_HASH is used": OneEndpoint(),
                "another policy is used": SeveralEndpoints(),
                "the Cluster is refused": EndsWith("UNAVAILABLE"),
            }
        except ResourceRejected as refused:
            seen = Answer(kind="CDS", version="", acked=False, error_detail=str(refused))
            choices = {"the Cluster is refused": AckedOrNacked(acked=False)}
        by_guard = {f"variable {guard}: {way}": expected for way, expected in choices.items()}
        await world.check("A42-CDS-26", seen, by_guard)
