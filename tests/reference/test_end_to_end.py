"""The whole client over real sockets: what the scenarios of A42 do not look at."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from client_under_test.reference.values import State
from fake_control_plane import Kind, Locality
from fake_control_plane import resources as made
from test_servers import Close, Serve

from .rig import DEADLINE, FAST, NAME, Rig, States, call, place, start, statuses, until

RING = made.ring_hash()


async def test_one_call(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1))
    assert (await call(rig.channel())).code == "OK"
    (row,) = rig.fleet.ledger.rpcs
    assert row.path.endswith("/UnaryCall")


async def test_each_resource_is_asked_for_by_name_and_acked(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1), service_name="service")
    push = await rig.plane.set(made.endpoints("service", place(*await rig.addresses(1))))
    assert (await call(rig.channel())).code == "OK"
    for kind, name in (
        (Kind.LISTENER, NAME),
        (Kind.ROUTE, "route"),
        (Kind.CLUSTER, "cluster"),
        (Kind.ENDPOINTS, "service"),
    ):
        await rig.plane.transcript.subscribed(kind, name, deadline=DEADLINE)
    await rig.plane.transcript.acked(push, Kind.ENDPOINTS, deadline=DEADLINE)


async def test_a_bad_cluster_is_nacked_by_name_and_field_while_the_old_one_serves(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1))
    channel = rig.channel()
    assert (await call(channel)).code == "OK"
    bad = made.eds_cluster("cluster", policy=made.ring_hash(maximum=2**23 + 1))
    push = await rig.plane.set(bad)
    nack = await rig.plane.transcript.nacked(push, Kind.CLUSTER, deadline=DEADLINE)
    assert "Cluster cluster" in (nack.error_detail or "")
    assert "ring_hash_lb_config.maximum_ring_size: 8388609" in (nack.error_detail or "")
    assert (await call(channel)).code == "OK"
    good = await rig.plane.set(made.eds_cluster("cluster", policy=RING))
    await rig.plane.transcript.acked(good, Kind.CLUSTER, deadline=DEADLINE)


async def test_nothing_to_connect_to(rig: Rig) -> None:
    await rig.serve()
    status = await call(rig.channel())
    assert status.code == "UNAVAILABLE"


@pytest.mark.parametrize("kind", list(Kind))
async def test_what_never_comes_does_not_exist_after_its_time(rig: Rig, kind: Kind) -> None:
    await rig.serve(*await rig.addresses(1))
    names = {Kind.LISTENER: NAME, Kind.ROUTE: "route"}
    rig.plane.script.hide(kind, names.get(kind, "cluster"))
    channel = rig.channel(rig.client(scale=FAST))
    began = asyncio.get_running_loop().time()
    status = await call(channel)
    assert status.code == "UNAVAILABLE"
    assert "does not exist" in status.details
    assert asyncio.get_running_loop().time() - began >= 15 * FAST
    rig.plane.script.unhide(kind, names.get(kind, "cluster"))
    waiting = start(channel, wait_for_ready=True)
    assert (await waiting.status()).code == "OK"


@pytest.mark.parametrize("kind", [Kind.LISTENER, Kind.CLUSTER])
async def test_deleted_and_back(rig: Rig, kind: Kind) -> None:
    await rig.serve(*await rig.addresses(1))
    channel = rig.channel()
    assert (await call(channel)).code == "OK"
    name = NAME if kind is Kind.LISTENER else "cluster"
    push = await rig.plane.delete(kind, name)
    await rig.plane.transcript.acked(push, kind, deadline=DEADLINE)
    while (status := await call(channel)).code == "OK":
        pass
    assert status.code == "UNAVAILABLE"
    assert "does not exist" in status.details
    back = (
        made.listener(NAME, route_config="route")
        if kind is Kind.LISTENER
        else made.eds_cluster("cluster")
    )
    waiting = start(channel, wait_for_ready=True)
    await rig.plane.set(back)
    assert (await waiting.status()).code == "OK"


async def test_the_control_plane_goes_and_comes_back(rig: Rig) -> None:
    first, second = await rig.addresses(2)
    await rig.serve(first)
    channel = rig.channel(rig.client(scale=FAST))
    assert (await call(channel)).code == "OK"
    await rig.plane.stop()
    assert (await call(channel)).code == "OK"
    await rig.plane.resume()
    push = await rig.plane.set(made.endpoints("cluster", place(second)))
    await rig.plane.transcript.acked(push, Kind.ENDPOINTS, deadline=DEADLINE)
    rows = len(rig.fleet.ledger.rpcs)
    assert (await call(channel)).code == "OK"
    assert len(rig.fleet.ledger.rpcs) == rows + 1


async def test_a_control_plane_that_cannot_be_reached_fails_calls_but_not_those_that_wait(
    rig: Rig,
) -> None:
    await rig.serve(*await rig.addresses(1))
    await rig.plane.stop()
    channel = rig.channel(rig.client(scale=FAST))
    waiting = start(channel, wait_for_ready=True)
    status = await call(channel)
    assert status.code == "UNAVAILABLE"
    assert "xDS server" in status.details
    await rig.plane.resume()
    assert (await waiting.status()).code == "OK"


async def test_channels_share_a_stream_and_its_last_one_leaves_nothing_subscribed(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1))
    client = rig.client()
    first, second = rig.channel(client), rig.channel(client)
    assert [(await call(channel)).code for channel in (first, second)] == ["OK", "OK"]
    opened = [e for e in rig.plane.transcript.events if type(e).__name__ == "StreamOpened"]
    assert len(opened) == 1
    first.close()
    assert (await call(second)).code == "OK"


async def test_routes_move_to_another_cluster_and_the_old_one_is_let_go(rig: Rig) -> None:
    first, two = await rig.addresses(2)
    await rig.serve(first)
    await rig.plane.set(
        made.eds_cluster("other"),
        made.endpoints("other", place(two)),
    )
    channel = rig.channel()
    held = start(channel, kept_open=True, deadline=None)
    assert await held.host() == first
    await rig.route_to("other")
    await rig.plane.transcript.subscribed(Kind.CLUSTER, "other", deadline=DEADLINE)
    assert (await call(channel)).code == "OK"
    assert not held.over.done()
    assert held.call is not None
    held.call.cancel()
    assert (await held.status()).code == "CANCELLED"
    await rig.plane.transcript.unsubscribed(Kind.CLUSTER, "cluster", deadline=DEADLINE)
    await rig.plane.transcript.unsubscribed(Kind.ENDPOINTS, "cluster", deadline=DEADLINE)


@pytest.mark.parametrize("edition", ["seed", "seed-2021", "modern"])
async def test_aggregate_falls_over_and_back(rig: Rig, edition: str) -> None:
    (first,), (second,) = await rig.endpoints(1), await rig.endpoints(1)
    await rig.plane.set(
        made.aggregate_cluster("top", "a", "b"),
        made.eds_cluster("a"),
        made.eds_cluster("b"),
        made.endpoints("a", place(first.address)),
        made.endpoints("b", place(second.address)),
    )
    await rig.route_to("top")
    channel = rig.channel(rig.client(scale=FAST, edition=edition))

    async def answered_by() -> str:
        outcome = start(channel, metadata=(("rpc-behavior", "sleep-0"),), wait_for_ready=True)
        assert (await outcome.status()).code == "OK"
        return await outcome.host()

    assert await answered_by() == first.address
    await first.set_mode(Close())
    await first.kill()
    async with asyncio.timeout(DEADLINE):
        while await answered_by() != second.address:
            pass
    await first.set_mode(Serve())
    async with asyncio.timeout(DEADLINE):
        while await answered_by() != first.address:
            pass


@pytest.mark.parametrize("edition", ["seed", "modern"])
async def test_logical_dns(rig: Rig, edition: str) -> None:
    (address,) = await rig.addresses(1)
    await rig.plane.set(
        made.logical_dns_cluster("dns", "127.0.0.1", int(address.rpartition(":")[2]))
    )
    await rig.route_to("dns")
    assert (await call(rig.channel(rig.client(edition=edition)))).code == "OK"


async def test_drops(rig: Rig) -> None:
    (address,) = await rig.addresses(1)
    await rig.serve(address)
    await rig.plane.set(
        made.endpoints("cluster", place(address), drops=[made.drop("all", 1_000_000)])
    )
    status = await call(rig.channel(), wait_for_ready=True)
    assert status.code == "UNAVAILABLE"
    assert "all" in status.details


async def test_circuit_breaking_counts_over_channels(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1), max_requests=3)
    client = rig.client()
    first, two = rig.channel(client), rig.channel(client)
    held = [start(channel, kept_open=True, deadline=None) for channel in (first, two, first)]
    for outcome in held:
        await outcome.host()
    assert (await call(two)).code == "UNAVAILABLE"
    assert held[0].call is not None
    held[0].call.cancel()
    assert (await call(two)).code == "OK"


async def test_load_reports_balance_with_the_backends(rig: Rig) -> None:
    near, far = await rig.addresses(2)
    rig.plane.script.loads.ask(interval=0.1)
    await rig.plane.set(
        made.eds_cluster("cluster", lrs=True, policy=RING, service_name="service"),
        made.endpoints("service", place(near, name="near"), place(far, name="far")),
    )
    await rig.route_to("cluster")
    channel = rig.channel()
    good = [start(channel, metadata=(("session", str(n)),)) for n in range(30)]
    bad = [
        start(channel, metadata=(("session", str(n)), ("rpc-behavior", "error-code-9")))
        for n in range(12)
    ]
    held = start(channel, kept_open=True, deadline=None)
    await held.host()
    assert await statuses(good) == Counter({"OK": 30})
    assert await statuses(bad) == Counter({"FAILED_PRECONDITION": 12})
    loads = rig.plane.loads

    def seen() -> tuple[int, int, int, int]:
        total = loads.load("cluster", service="service")
        return total.issued, total.successful, total.errors, total.in_progress

    await until(lambda: seen() == (43, 30, 12, 1))
    counted = Counter(row.endpoint for row in rig.fleet.ledger.rpcs)
    by_locality = loads.by_locality("cluster")
    assert sorted(counted.values()) == sorted(
        by_locality[Locality(region=name)].issued for name in ("near", "far")
    )
    assert held.call is not None
    held.call.cancel()
    await until(lambda: loads.load("cluster").in_progress == 0)


async def test_no_load_stream_without_lrs_server(rig: Rig) -> None:
    rig.plane.script.loads.ask(interval=0.05)
    await rig.serve(*await rig.addresses(1))
    assert (await call(rig.channel())).code == "OK"
    assert not rig.plane.loads.rows
    assert len([e for e in rig.plane.transcript.events if type(e).__name__ == "StreamOpened"]) == 1


async def test_states(rig: Rig) -> None:
    (endpoint,) = await rig.endpoints(1)
    await rig.serve(endpoint.address)
    channel = rig.channel(rig.client(scale=FAST))
    states = States(channel)
    assert states.seen == [State.IDLE]
    channel.connect()
    await states.reached(State.READY)
    assert states.seen == [State.IDLE, State.CONNECTING, State.READY]
    await endpoint.set_mode(Close())
    await endpoint.kill()
    await states.reached(State.TRANSIENT_FAILURE)


async def test_deadline_while_waiting_and_while_sent(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1))
    channel = rig.channel()
    slow = (("rpc-behavior", "sleep-5"),)
    sent = await call(channel, metadata=slow, deadline=1)
    assert sent.code == "DEADLINE_EXCEEDED"
    assert "response" in sent.details
    rig.plane.script.hold(*Kind)
    elsewhere = rig.channel(rig.client())
    waiting = await call(elsewhere, deadline=0.1)
    assert waiting.code == "DEADLINE_EXCEEDED"
    assert "connection" in waiting.details


async def test_a_call_without_a_route_fails(rig: Rig) -> None:
    await rig.serve(*await rig.addresses(1))
    await rig.plane.set(
        made.route_configuration("route", made.route(cluster="cluster", path="/other"))
    )
    status = await call(rig.channel(), wait_for_ready=True)
    assert status.code == "UNAVAILABLE"
    assert "no route" in status.details


async def test_a_bad_bootstrap_fails_calls(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPC_XDS_BOOTSTRAP_CONFIG", "{}")
    status = await call(rig.channel())
    assert status.code == "UNAVAILABLE"
    assert "xds_servers" in status.details


async def test_large_responses_pass_flow_control(rig: Rig) -> None:
    """More than the 64 KiB that HTTP/2 lets pass without an update of the window."""
    address, *_ = await rig.addresses(1)
    others = [f"127.7.{n // 250}.{n % 250 + 1}:1" for n in range(5000)]
    await rig.plane.set(
        made.eds_cluster("cluster"),
        made.endpoints("cluster", place(address), place(*others, name="two", priority=1)),
    )
    await rig.route_to("cluster")
    assert (await call(rig.channel())).code == "OK"
