"""A52: updates of a list during requests, lists of aggregates, and the guard."""

from functools import partial

import pytest

from conformance.judging.aborts import ResourceRejected
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EachServesSome,
    EndpointsTried,
    EndsWith,
    EqualShares,
    Expectation,
    OneEndpoint,
    SeveralEndpoints,
)
from conformance.judging.observations import Answer, Calls
from conformance.scenarios.helpers.live_policies import (
    Config,
    CustomCluster,
    custom,
    in_use,
    requests_meanwhile,
)
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.world import ENOUGH_TO_DIFFER, ROUNDS, TURNS, World
from conformance.xds_config.config import aggregate, single_locality, with_raw_clusters
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import (
    in_localities,
    policies,
    ring_hash,
    round_robin,
    struct,
    unknown,
)
from conformance.xds_config.routes import SESSION
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind

GUARD = "GRPC_EXPERIMENTAL_XDS_CUSTOM_LB_CONFIG"


LISTS = {RingHash: policies(ring_hash()), RoundRobin: policies(round_robin())}


# The fields of a Cluster, and the policy that they select.
CHANGES: dict[str, tuple[str, Policy]] = {
    "list-comes": (LISTS[RingHash], RingHash()),
    "list-goes": ("", RoundRobin()),
    "to-turns": (LISTS[RoundRobin], RoundRobin()),
    "to-localities": (policies(in_localities(round_robin())), RoundRobin()),
    "to-ring-hash": (LISTS[RingHash], RingHash()),
}


@scenario("A52-CHANGE-01", "A52-CHANGE-02", needs=("metadata",), seconds=1.5)
async def test_change_under_load(world: World) -> None:
    """After an update changes the policy, the client balances by the new one; no request fails."""
    served = single_locality(await world.addresses(4), policy=RoundRobin())
    await world.serve(served)
    await world.require_served(world.sessions(ENOUGH_TO_DIFFER))
    for name, (said, as_if) in CHANGES.items():
        meanwhile = await requests_meanwhile(world)
        changed = ResourceVariant("A52-CHANGE-01", said).of(served.cluster())
        answer = await world.control.offer(Kind.CLUSTER, changed, label=name)
        await world.check("A52-CHANGE-01", answer, AckedOrNacked(acked=True))
        if answer.acked:
            await world.check("A52-CHANGE-01", *await in_use(world, served, as_if))
        await world.check("A52-CHANGE-02", await meanwhile.over(), EndsWith("OK"))


@scenario("A52-CHANGE-06", seconds=1)
async def test_connections(world: World) -> None:
    """Endpoints keep their connections when one policy replaces another, or get new ones.

    A new policy in use has connected to all endpoints, if it makes new connections.
    """
    members = await world.endpoints(3)
    served = single_locality([member.address for member in members], policy=RoundRobin())
    await world.serve(served)
    await world.rounds.require(
        EachServesSome(served.addresses()),
        partial(world.call, world.sessions(ENOUGH_TO_DIFFER)),
        why="all endpoints serve",
    )
    for name, (said, as_if) in CHANGES.items():
        changed_at = world.now
        answer = await send_and_await_answer(world, served, ResourceVariant("A52-CHANGE-06", said))
        world.control.require_accepted(Kind.CLUSTER, answer)
        await in_use(world, served, as_if)
        attempts = world.attempts.seen(*members, since=changed_at)
        choices: dict[str, Expectation] = {
            f"{name}: kept": EndpointsTried(0),
            f"{name}: anew": EndpointsTried(len(members), least=1),
        }
        await world.check("A52-CHANGE-06", attempts, choices)


@scenario("A52-CHANGE-03", seconds=0.6)
@pytest.mark.parametrize(
    ("own", "of_the_leaf"),
    [
        pytest.param(RingHash(), RoundRobin(), id="ring-hash-above-round-robin"),
        pytest.param(RoundRobin(), RingHash(), id="round-robin-above-ring-hash"),
    ],
)
async def test_aggregate(world: World, own: Policy, of_the_leaf: Policy) -> None:
    """Below an aggregate, the policy of the aggregate applies (A52), or that of the leaf (A75).

    There are as many calls with each header value as endpoints, so that the same calls show either
    policy.
    """
    leaf = single_locality(await world.addresses(TURNS), name="leaf", policy=RoundRobin())
    served = aggregate(leaf, policy=RoundRobin())
    clusters = {None: own, "leaf": of_the_leaf}
    variant = (
        ResourceVariant("A52-CHANGE-03", LISTS[type(policy)]).of(
            served.get_cluster(name).resource()
        )
        for name, policy in clusters.items()
    )
    await world.serve(with_raw_clusters(served, *variant))
    choices: dict[Policy, Expectation] = {
        RingHash(): leaf.with_policy(RingHash()).matches_ring(),
        RoundRobin(): EqualShares(leaf.addresses()),
    }
    by_edition = {"A52": choices[own], "A75": choices[of_the_leaf]}
    headers = [session for session in world.sessions(ROUNDS) for _turn in range(TURNS)]
    judged = world.checks.own("A52-CHANGE-03", by_edition)
    calls = await world.rounds.eventually_stable(judged, lambda: world.call(headers, concurrency=1))
    await world.check("A52-CHANGE-03", calls, by_edition)


BAD = {
    "nothing known": policies(unknown()),
    "a ring of another hash": policies(ring_hash(function="hash_function: MURMUR_HASH_2")),
    "a size that is no number": policies(struct("ring_hash_experimental", {"minRingSize": "many"})),
    "nothing known below": policies(in_localities(unknown()), round_robin()),
}


@scenario("A52-CHANGE-05")
async def test_bad_list_of_an_aggregate(world: World) -> None:
    """The client rejects an invalid list of an aggregate (A52), or may ignore it (A75)."""
    clause = "A52-CHANGE-05"
    leaf = single_locality(await world.addresses(2), name="leaf", policy=RoundRobin())
    served = aggregate(leaf, policy=RoundRobin())
    await world.serve(served)
    await world.require_served(world.sessions(1))
    for bad in BAD.values():
        answer = await send_and_await_answer(world, served, ResourceVariant(clause, bad))
        by_edition = {"A52": AckedOrNacked(acked=False), "A75": AckedOrNacked(acked=True)}
        await world.check(clause, answer, by_edition)
        calls = await world.call(world.sessions(8))
        await world.check(clause, calls, world.checks.alike(clause, AllServedBy(leaf.addresses())))
        await world.serve(served)


@scenario("A52-CHANGE-04", alone=True, seconds=1)
async def test_environment_guard(world: World) -> None:
    """An environment variable may guard load_balancing_policy.

    The list has RingHash, and lb_policy is ROUND_ROBIN.
    """
    served = single_locality(await world.addresses(4), policy=RoundRobin())
    listed = ResourceVariant("A52-CHANGE-04", LISTS[RingHash]).of(served.cluster())
    await world.serve(with_raw_clusters(served, listed))
    channels = {
        "unset": await world.channels.default(),
        "false": await world.channels.open_in_new_process(**{GUARD: "false"}),
    }
    # One call after another, so that they do not all wait for the first connection.
    same = [{SESSION: "same"}] * ENOUGH_TO_DIFFER
    for guard, channel in channels.items():
        seen: Calls | Answer
        try:
            seen = await world.call(same, channel=channel, concurrency=1)
            choices: dict[str, Expectation] = {
                "by the list": OneEndpoint(),
                "by lb_policy": SeveralEndpoints(),
                "refused": EndsWith("UNAVAILABLE"),
            }
        except ResourceRejected as refused:
            seen = Answer(kind="CDS", version="", acked=False, error_detail=str(refused))
            choices = {"refused": AckedOrNacked(acked=False)}
        by_guard = {f"variable {guard}: {way}": expected for way, expected in choices.items()}
        await world.check("A52-CHANGE-04", seen, by_guard)


# A config of the custom policy, the fields that replace it, and the policy that they mean.
TAKEN_IN_TURN: tuple[tuple[Config, str, Policy], ...] = (
    ({"endpoint": 1, "row": "after turns"}, policies(ring_hash()), RingHash()),
    ({"endpoint": 0, "row": "after a ring"}, policies(in_localities(round_robin())), RoundRobin()),
    ({"endpoint": 1, "row": "after localities"}, "", RoundRobin()),
)


@scenario("A52-CHANGE-01", "A52-CHANGE-02", needs=("custom_policy",), seconds=1.5)
async def test_custom_policy_under_load(world: World) -> None:
    """Updates replace the custom policy by others and back, and no request fails."""
    live = await CustomCluster.start(world, 2, 2)
    for config, said, as_if in TAKEN_IN_TURN:
        meanwhile = await requests_meanwhile(world)
        if await live.offer(ResourceVariant("A52-CHANGE-01", policies(custom(config)))):
            await live.picks("A52-CHANGE-01", config, live.all_of_them)
        await world.check("A52-CHANGE-02", await meanwhile.over(), EndsWith("OK"))
        meanwhile = await requests_meanwhile(world)
        if await live.offer(ResourceVariant("A52-CHANGE-01", said)):
            await world.check("A52-CHANGE-01", *await in_use(world, live.served, as_if))
        await world.check("A52-CHANGE-02", await meanwhile.over(), EndsWith("OK"))
