"""Trees of clusters over real sockets: what is late, refused or gone, and who is asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from client_under_test.reference.channel.channel import Channel
from client_under_test.reference.values import Status
from fake_control_plane import Kind
from fake_control_plane import resources as made
from test_servers import BackendEndpoint, Stall

from .rig import DEADLINE, FAST, Rig, call, place, start

EDITIONS = ("seed", "modern")


async def answered_by(channel: Channel, **how: Any) -> str:
    outcome = start(channel, metadata=(("rpc-behavior", "sleep-0"),), wait_for_ready=True, **how)
    assert (await outcome.status()).code == "OK"
    return await outcome.host()


async def served_by(channel: Channel, endpoint: BackendEndpoint) -> None:
    """An ACK comes before the policy has changed: until then others may answer, but one does."""
    async with asyncio.timeout(DEADLINE):
        while await answered_by(channel) != endpoint.address:
            pass


async def fails(channel: Channel, **how: Any) -> Status:
    """So it is with failure."""
    async with asyncio.timeout(DEADLINE):
        while (status := await call(channel, **how)).code == "OK":
            pass
    return status


def leaf(name: str, *endpoints: BackendEndpoint, **of: Any) -> tuple[Any, Any]:
    addresses = [endpoint.address for endpoint in endpoints]
    return made.eds_cluster(name, **of), made.endpoints(name, place(*addresses))


def bad(name: str) -> Any:
    return made.eds_cluster(name, policy=made.ring_hash(hash_function="MURMUR_HASH_2"))


async def let_go(rig: Rig, kind: Kind, name: str) -> None:
    await rig.plane.transcript.unsubscribed(kind, name, deadline=DEADLINE)


@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_left_the_tree_is_let_go_when_the_new_one_is_complete(
    rig: Rig, edition: str
) -> None:
    first, second = await rig.endpoints(2)
    await rig.plane.set(
        made.aggregate_cluster("top", "a", "a"), *leaf("a", first), *leaf("b", second)
    )
    await rig.route_to("top")
    rig.plane.script.hide(Kind.ENDPOINTS, "b")
    channel = rig.channel(rig.client(edition=edition))
    assert await answered_by(channel) == first.address
    push = await rig.plane.set(made.aggregate_cluster("top", "b"))
    await rig.plane.transcript.acked(push, Kind.CLUSTER, deadline=DEADLINE)
    await rig.plane.transcript.subscribed(Kind.ENDPOINTS, "b", deadline=DEADLINE)
    assert await answered_by(channel) == first.address
    rig.plane.script.unhide(Kind.ENDPOINTS, "b")
    await served_by(channel, second)
    await let_go(rig, Kind.CLUSTER, "a")
    await let_go(rig, Kind.ENDPOINTS, "a")
    asked = [event for event in rig.plane.transcript.events if hasattr(event, "resource_names")]
    assert all(len(request.resource_names) == len({*request.resource_names}) for request in asked)


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_leaf_that_is_refused_while_others_serve(rig: Rig, edition: str) -> None:
    """A37 keeps what is in force, A74 passes over it: requests do not fail in either."""
    (first,) = await rig.endpoints(1)
    await rig.plane.set(made.aggregate_cluster("top", "a"), *leaf("a", first), bad("b"))
    await rig.route_to("top")
    channel = rig.channel(rig.client(edition=edition))
    assert await answered_by(channel) == first.address
    push = await rig.plane.set(made.aggregate_cluster("top", "b", "a"))
    await rig.plane.transcript.nacked(push, Kind.CLUSTER, deadline=DEADLINE)
    assert [(await call(channel)).code for _ in range(5)] == ["OK"] * 5


async def test_a37_a_leaf_that_was_refused_from_the_beginning(rig: Rig) -> None:
    (first,) = await rig.endpoints(1)
    await rig.plane.set(made.aggregate_cluster("top", "a", "b"), *leaf("a", first), bad("b"))
    await rig.route_to("top")
    channel = rig.channel(rig.client(edition="seed"))
    status = await call(channel)
    assert status.code == "UNAVAILABLE"
    assert "Cluster b" in status.details
    waiting = start(channel, wait_for_ready=True)
    await rig.plane.set(*leaf("b"))
    assert (await waiting.status()).code == "OK"


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_leaf_that_is_deleted_and_comes_back(rig: Rig, edition: str) -> None:
    first, second = await rig.endpoints(2)
    await rig.plane.set(
        made.aggregate_cluster("top", "a", "b"), *leaf("a", first), *leaf("b", second)
    )
    await rig.route_to("top")
    channel = rig.channel(rig.client(edition=edition))
    assert await answered_by(channel) == first.address
    await rig.plane.delete(Kind.CLUSTER, "a")
    if edition == "seed":
        assert "does not exist" in (await fails(channel)).details
    else:
        await served_by(channel, second)
    await rig.plane.set(*leaf("a", first))
    await served_by(channel, first)


async def test_a37_a_new_first_leaf_takes_over_when_it_is_ready(rig: Rig) -> None:
    first, second = await rig.endpoints(2)
    await second.set_mode(Stall())
    await rig.plane.set(made.aggregate_cluster("top", "a"), *leaf("a", first), *leaf("b", second))
    await rig.route_to("top")
    channel = rig.channel(rig.client(edition="seed"))
    assert await answered_by(channel) == first.address
    attempts = len(second.attempts)
    await rig.plane.set(made.aggregate_cluster("top", "b", "a"))
    async with asyncio.timeout(DEADLINE):
        while len(second.attempts) == attempts:
            assert await answered_by(channel) == first.address
    assert await answered_by(channel) == first.address


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_leaf_without_data_is_one_without_endpoints(rig: Rig, edition: str) -> None:
    (second,) = await rig.endpoints(1)
    await rig.plane.set(made.aggregate_cluster("top", "a", "b"), *leaf("a"), *leaf("b", second))
    await rig.route_to("top")
    rig.plane.script.hide(Kind.ENDPOINTS, "a")
    channel = rig.channel(rig.client(scale=FAST, edition=edition))
    assert await answered_by(channel) == second.address


@pytest.mark.parametrize("edition", EDITIONS)
async def test_routes_to_a_cluster_that_has_not_come(rig: Rig, edition: str) -> None:
    """A74 goes on with the old routes; before it requests wait for the cluster."""
    first, second = await rig.endpoints(2)
    await rig.plane.set(*leaf("a", first), *leaf("b", second))
    await rig.route_to("a")
    rig.plane.script.hide(Kind.CLUSTER, "b")
    channel = rig.channel(rig.client(edition=edition))
    assert await answered_by(channel) == first.address
    await rig.route_to("b")
    await rig.plane.transcript.subscribed(Kind.CLUSTER, "b", deadline=DEADLINE)
    if edition == "modern":
        assert await answered_by(channel) == first.address
    else:
        assert (await fails(channel, deadline=0.2)).code == "DEADLINE_EXCEEDED"
    rig.plane.script.unhide(Kind.CLUSTER, "b")
    await served_by(channel, second)
    await let_go(rig, Kind.CLUSTER, "a")


@pytest.mark.parametrize("edition", EDITIONS)
async def test_one_watch_for_a_cluster_in_several_trees_and_news_for_each(
    rig: Rig, edition: str
) -> None:
    first, second = await rig.endpoints(2)
    await rig.plane.set(made.aggregate_cluster("top", "a"), *leaf("a", first))
    await rig.plane.set(
        made.listener("xdspec.test", route_config="route"),
        made.route_configuration(
            "route",
            made.route(cluster="top", path="/grpc.testing.TestService/EmptyCall"),
            made.route(cluster="a"),
        ),
    )
    channel = rig.channel(rig.client(edition=edition))
    empty = "/grpc.testing.TestService/EmptyCall"
    assert await answered_by(channel) == first.address
    assert (await call(channel, path=empty)).code == "OK"
    await rig.plane.set(made.endpoints("a", place(second.address)))
    await served_by(channel, second)
    assert await answered_by(channel, path=empty) == second.address


@pytest.mark.parametrize("edition", EDITIONS)
async def test_hundreds_of_leaves(rig: Rig, edition: str) -> None:
    (last,) = await rig.endpoints(1)
    names = [f"leaf-{number}" for number in range(300)]
    await rig.plane.set(
        made.aggregate_cluster("top", *names),
        *(resource for name in names[:-1] for resource in leaf(name)),
        *leaf(names[-1], last),
    )
    await rig.route_to("top")
    channel = rig.channel(rig.client(edition=edition))
    assert await answered_by(channel) == last.address
