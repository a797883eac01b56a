"""A37, Logical DNS: LOGICAL_DNS clusters as leaves, their limit, and requests they never drop.

Their names are IP addresses, which any resolver accepts.
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, EndsWith
from conformance.scenarios.helpers.aggregates import (
    BEFORE_X,
    ROOTS,
    TREES,
    Shape,
    aggregate_config,
    check_each,
    deploy,
    each_position,
    leaf,
)
from conformance.scenarios.helpers.circuit_breaking import (
    Streams,
    below,
    connected,
    limited,
    within_limit,
)
from conformance.scenarios.helpers.localities import serve_again
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.clusters import LogicalDns
from conformance.xds_config.config import with_raw_clusters
from conformance.xds_config.variants import ResourceVariant


@scenario("A37-DNS-15")
async def test_literal_addresses(world: World) -> None:
    """The client accepts localhost and IP addresses as names."""
    members = await world.endpoints(2)
    hosts = ("localhost", "127.0.0.1")
    leaves = [
        leaf(host, discovery=LogicalDns(f"{host}:{member.port}", (member.address,)))
        for host, member in zip(hosts, members, strict=True)
    ]
    await world.serve(aggregate_config(hosts, leaves))
    for host, member in zip(hosts, members, strict=True):
        await world.check("A37-DNS-15", await calls_to(world, host), AllServedBy((member.address,)))


TWO: Final[Shape] = {"two": "two-x two-nested two-b", "two-nested": "two-y two-c"}


@scenario("A37-DNS-13", seconds=1)
async def test_positions(world: World) -> None:
    """The client uses a LOGICAL_DNS cluster at its position among the leaves.

    The leaves before x fail, then x fails, and at the end the others serve again. Another tree has
    two LOGICAL_DNS clusters, the second one below a nested aggregate.
    """
    by_dns = (*each_position("x"), "two-x", "two-y")
    planted = await deploy(world, *TREES, TWO, by_dns=by_dns)
    check = partial(check_each, world, "A37-DNS-13", planted.served, *ROOTS, "two")
    await world.serve(planted.served)
    await check()
    failed = await planted.lose(*BEFORE_X)
    await check(failed=failed)
    lost = await planted.lose(*each_position("x"), "two-x")
    await check(failed=(*failed, *lost))
    await serve_again(world, [member for name in BEFORE_X for member in planted.members[name]])
    await check(failed=lost)


@scenario("A37-DNS-14", needs=("kept_open",))
async def test_circuit_breaking(world: World) -> None:
    """The client enforces the limit of a LOGICAL_DNS cluster, also below an aggregate."""
    direct, leaf_below = [
        replace(limited(name, [member], 3), discovery=LogicalDns(member.address))
        for name, member in zip("bc", await world.endpoints(2), strict=True)
    ]
    served = aggregate_config(("b", "m"), (direct, below("m", "c"), leaf_below))
    await world.serve(served)
    await connected(world, "b", "m")
    streams = Streams(world)
    for root, cluster in (("b", "b"), ("m", "c")):
        await world.check("A37-DNS-14", await streams.start(root, 5), within_limit(served, cluster))
        await world.check("A37-DNS-14", await calls_to(world, root), EndsWith("UNAVAILABLE"))


def service(name: str) -> ResourceVariant:
    """Return a variant with an EDS service name, which a client must ignore for LOGICAL_DNS."""
    more = f"eds_cluster_config {{ eds_config {{ ads {{}} }} service_name: '{name}' }}"
    return ResourceVariant("A37-DNS-14", more)


@scenario("A37-DNS-14", needs=("kept_open",))
async def test_shared_circuit_breaker(world: World) -> None:
    """The client counts requests to a LOGICAL_DNS cluster together, whatever its DNS name.

    While streams are open, an update changes the DNS name and the service name, and raises the
    limit by one.
    """
    before, after = (
        replace(limited("m", [member], limit), discovery=LogicalDns(member.address))
        for member, limit in zip(await world.endpoints(2), (3, 4), strict=True)
    )
    served = aggregate_config(("m",), (before,))
    await world.serve(with_raw_clusters(served, service("first").of(served.cluster())))
    await connected(world, "m")
    streams = Streams(world)
    await streams.require_open("m", 3)
    served = aggregate_config(("m",), (after,))
    await world.serve(with_raw_clusters(served, service("second").of(served.cluster())))
    expected = within_limit(served, "m", in_flight=3)
    await world.check("A37-DNS-14", await streams.open_to_limit("m", expected), expected)


EVERYTHING: Final = ResourceVariant(
    "A37-DNS-17",
    "policy { drop_overloads { category: 'all' drop_percentage { numerator: 100 } } }",
    within="load_assignment",
)


@scenario("A37-DNS-17")
async def test_no_drops(world: World) -> None:
    """The client does not drop requests to a LOGICAL_DNS cluster, also below an aggregate."""
    clusters = [
        leaf(name, discovery=LogicalDns(address))
        for name, address in zip("bc", await world.addresses(2), strict=True)
    ]
    served = aggregate_config(("b", "m"), (*clusters, below("m", "c")))
    dropping = [EVERYTHING.of(cluster.resource()) for cluster in clusters]
    await world.serve(with_raw_clusters(served, *dropping))
    for root, cluster in zip(("b", "m"), clusters, strict=True):
        calls = await calls_to(world, root, 20)
        await world.check("A37-DNS-17", calls, AllServedBy(cluster.addresses()))
