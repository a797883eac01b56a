"""xDS protocol: responses that are late, malformed or too many."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import pytest

from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    AnswerVersion,
    NoAttempts,
    SubscribesTo,
    fits,
)
from conformance.world import World
from conformance.xds_config.broken import with_endpoints, without_routes
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.policies import RoundRobin
from fake_control_plane import ExtraResponse, Kind, UnknownTypeResponse

KINDS = [pytest.param(kind, id=kind.name.lower()) for kind in (Kind.CLUSTER, Kind.ENDPOINTS)]


async def one_cluster(world: World) -> tuple[XdsConfig, XdsConfig]:
    """Serve a cluster, and return its config, and one with another endpoint."""
    here, there = (
        single_locality([address], policy=RoundRobin()) for address in await world.addresses(2)
    )
    await world.serve(here)
    await world.require_served(world.sessions(1))
    return here, there


@scenario("A27-ADS-09")
async def test_unsubscribed_endpoints(world: World) -> None:
    """The client ACKs endpoints that it has unsubscribed from, and does not use them later.

    There is no route when they come. The control plane has other endpoints when there is one again.
    """
    here, _ = await one_cluster(world)
    (stray,) = await world.endpoints(1)
    await world.control.offer(Kind.ROUTE, without_routes(here))
    none = SubscribesTo(kind="ENDPOINTS", roots=(), clusters={})
    if not fits(none, await world.control.asked_until(none)):
        raise Unsupported("it stays subscribed to endpoints that it does not need (A27-ADS-03)")
    late = with_endpoints(stray.address)(here.get_cluster()).endpoints()
    push = world.plane.inject(ExtraResponse(Kind.ENDPOINTS, (late,)), None)
    answer = await world.control.answer(push, Kind.ENDPOINTS)
    await world.check("A27-ADS-09", answer, AckedOrNacked(acked=True))
    await world.control.offer(Kind.ROUTE, here.route_configuration())
    again = AllServedBy(here.addresses())
    calls = await world.eventually(again, partial(world.call, world.sessions(1)))
    await world.check("A27-ADS-09", calls, again)
    quiet = await world.attempts.quiet(stray, why="the client had unsubscribed from it")
    await world.check("A27-ADS-09", quiet, NoAttempts())


VERSIONS = ("10", "9", "older", "1", "an older one", "0")
"""They go back, as numbers and in the order of letters."""


@scenario("A27-ADS-10")
async def test_versions(world: World) -> None:
    """The client uses each response, also with a version that is lower than the one before."""
    both = await one_cluster(world)
    for version, config in zip(VERSIONS, cycle(reversed(both))):
        push = await world.plane.set(config.endpoints(), version=version)
        answer = await world.control.answer(push, Kind.ENDPOINTS)
        for expectation in (AckedOrNacked(acked=True), AnswerVersion()):
            await world.check("A27-ADS-10", answer, expectation)
        used = AllServedBy(config.addresses())
        calls = await world.eventually(used, partial(world.call, world.sessions(1)))
        await world.check("A27-ADS-10", calls, used)


@pytest.mark.parametrize("resources", [1, 0], ids=["resource", "empty"])
@scenario("A27-ADS-11")
async def test_unknown_type(world: World, resources: int) -> None:
    """A response of a type that the client does not know changes nothing, and ends nothing."""
    here, there = await one_cluster(world)
    world.plane.inject(UnknownTypeResponse(Kind.CLUSTER, resources), None)
    renamed = single_locality(there.addresses(), name="another", policy=RoundRobin())
    for config in (there, here, renamed):
        await world.serve(config)
        used = AllServedBy(config.addresses())
        calls = await world.rounds.eventually_stable(used, partial(world.call, world.sessions(1)))
        await world.check("A27-ADS-11", calls, used)


@pytest.mark.parametrize("kind", KINDS)
@scenario("A27-ADS-12")
async def test_repeated_resource(world: World, kind: Kind) -> None:
    """The client NACKs a response that has two resources of one name, and ACKs the next one."""
    first, second = (
        config.cluster() if kind is Kind.CLUSTER else config.endpoints()
        for config in await one_cluster(world)
    )
    for sent, acked in (((first, second), False), ((second,), True)):
        push = world.plane.inject(ExtraResponse(kind, sent), None)
        answer = await world.control.answer(push, kind)
        await world.check("A27-ADS-12", answer, AckedOrNacked(acked=acked))


MANY = 900
"""Responses that the control plane sends without a pause; of more than 1,000 it would drop some."""


@scenario("A27-ADS-13", seconds=1.5)
async def test_many_updates(world: World) -> None:
    """The client uses the last of many updates that come at once, and stays with it."""
    both = await one_cluster(world)
    (last,) = await world.addresses(1)
    for number in range(MANY):
        await world.plane.set(both[number % 2].endpoints())
    answer = await world.control.offer(
        Kind.ENDPOINTS, with_endpoints(last)(both[0].get_cluster()).endpoints()
    )
    await world.check("A27-ADS-13", answer, AckedOrNacked(acked=True))
    used = AllServedBy((last,))
    calls = await world.rounds.eventually_stable(used, partial(world.call, world.sessions(3)))
    await world.check("A27-ADS-13", calls, used)


LARGE = 3 << 20
"""Bytes of a response: below the 4 MiB that a gRPC client reads by default."""


@scenario("A27-ADS-14", seconds=1)
async def test_large_response(world: World) -> None:
    """The client uses a Cluster that comes in a response of 3 MiB, and the next one."""
    here, there = await one_cluster(world)
    filler = single_locality(there.addresses(), policy=RoundRobin()).cluster()
    filler.metadata.filter_metadata["filler"]["bytes"] = "x" * LARGE
    filler.eds_cluster_config.service_name = "other endpoints"
    endpoints = there.endpoints()
    endpoints.cluster_name = "other endpoints"
    await world.plane.set(endpoints)
    for cluster, config in ((filler, there), (here.cluster(), here)):
        answer = await world.control.offer(Kind.CLUSTER, cluster, label=f"a Cluster for {config}")
        await world.check("A27-ADS-14", answer, AckedOrNacked(acked=True))
        used = AllServedBy(config.addresses())
        calls = await world.eventually(used, partial(world.call, world.sessions(1)))
        await world.check("A27-ADS-14", calls, used)
