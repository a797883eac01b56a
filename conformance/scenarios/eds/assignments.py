"""A27, ClusterLoadAssignment Proto: which endpoints resources a client rejects.

A client must reject a locality or an address that is listed twice, and weights whose sum is too
large. For most
other fields the text says only that they must be set, and clients differ, so these scenarios report
the behavior.
"""

from functools import partial
from itertools import pairwise

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AckedOrNacked, AllServedBy, EachServesSome
from conformance.scenarios.helpers.updates import (
    send_endpoints_and_await_answer,
    send_localities_and_await_answer,
)
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.variants import ResourceVariant

ENTRY = "endpoints.lb_endpoints"


ENDPOINT = f"{ENTRY}.endpoint"


ADDRESS = f"{ENDPOINT}.address"


SOCKET = f"{ADDRESS}.socket_address"


OTHER = "endpoint { address { socket_address { address: '127.0.0.1' port_value: 1 } } }"


SECOND = OTHER.replace("port_value: 1", "port_value: 2")


WEIGHED = "load_balancing_weight { value: 1 }"


AGAIN = f"endpoints {{ locality {{ region: 'locality' }} {WEIGHED} lb_endpoints {{ {OTHER} }} }}"


HALF = f"load_balancing_weight {{ value: {2**31} }}"


async def two(world: World) -> tuple[XdsConfig, XdsConfig]:
    """Serve a cluster with one endpoint; return its config, and a config with another endpoint."""
    here, there = [
        single_locality([address], policy=RoundRobin()) for address in await world.addresses(2)
    ]
    await world.serve(here)
    await world.require_served(world.sessions(5))
    return here, there


@scenario("A27-VALID-01")
async def test_locality_twice(world: World) -> None:
    """The client rejects a locality listed twice in one priority, and accepts it in two."""
    here, there = await two(world)
    answer = await send_endpoints_and_await_answer(
        world, there, ResourceVariant("A27-VALID-01", AGAIN)
    )
    await world.check("A27-VALID-01", answer, AckedOrNacked(acked=False))
    if not answer.acked:
        calls = await world.call(world.sessions(5))
        await world.check("A27-VALID-01", calls, AllServedBy(here.addresses()))
    first, second = (config.get_cluster().localities[0] for config in (here, there))
    answer = await send_localities_and_await_answer(world, here, first, replace(second, priority=1))
    await world.check("A27-VALID-01", answer, AckedOrNacked(acked=True))


@scenario("A27-VALID-01")
async def test_locality_twice_apart(world: World) -> None:
    """The client rejects a locality listed twice with another one between, in any priority.

    Localities that differ in one part of their names are not the same.
    """
    here, _ = await two(world)
    first = here.get_cluster().localities
    addresses = [Endpoint(address) for address in await world.addresses(4)]

    def listed(*names: str, priority: int) -> list[Locality]:
        there = zip(addresses, names, strict=False)
        return [Locality((address,), name, priority=priority) for address, name in there]

    alike = listed("a/b/c", "a/b/d", "a/d/c", "d/b/c", priority=1)
    answer = await send_localities_and_await_answer(world, here, *first, *alike)
    await world.check("A27-VALID-01", answer, AckedOrNacked(acked=True))
    for priority, above in enumerate(((), first)):
        twice = listed("a/b/c", "a/b/d", "a/b/c", priority=priority)
        answer = await send_localities_and_await_answer(world, here, *above, *twice)
        await world.check("A27-VALID-01", answer, AckedOrNacked(acked=False))
        if answer.acked:
            break
        calls = await world.call(world.sessions(5))
        await world.check("A27-VALID-01", calls, AllServedBy(here.addresses()))


@scenario("A27-VALID-10")
async def test_address_twice(world: World) -> None:
    """The client rejects an address listed twice, in a locality, a priority or the cluster."""
    here, _ = await two(world)
    a, b = (Endpoint(address) for address in await world.addresses(2))
    first = Locality((a,), "first")
    lists = (
        (Locality((a, b, a)),),
        (first, Locality((b, a), "other")),
        (first, Locality((b,), "other"), Locality((a,), "first", priority=1)),
    )
    for localities in lists:
        answer = await send_localities_and_await_answer(world, here, *localities)
        await world.check("A27-VALID-10", answer, AckedOrNacked(acked=False))
    if not answer.acked:
        calls = await world.call(world.sessions(5))
        await world.check("A27-VALID-10", calls, AllServedBy(here.addresses()))


@pytest.mark.parametrize(
    ("clause", "more", "less", "within"),
    [
        case("no-endpoint", "A27-VALID-02", "", "endpoint", ENTRY),
        case("no-address", "A27-VALID-03", "", "address", ENDPOINT),
        case("no-socket-address", "A27-VALID-04", "pipe { path: '/dev/null' }", "", ADDRESS),
        case("no-port", "A27-VALID-05", "", "port_value", SOCKET),
        case("no-ip-address", "A27-VALID-06", "address: 'a.xdspec.test'", "address", SOCKET),
        case("no-locality", "A27-VALID-07", "", "locality", "endpoints"),
        case(
            "endpoint-weights",
            "A27-VALID-08",
            f"lb_endpoints {{ {OTHER} {HALF} }} lb_endpoints {{ {SECOND} {HALF} }}",
            "",
            "endpoints",
        ),
        case("port-beyond", "A27-VALID-09", "port_value: 65536", "", SOCKET),
    ],
)
async def test_unspecified_fields(
    world: World, clause: str, more: str, less: str, within: str
) -> None:
    """The text does not say whether a client rejects this endpoints resource."""
    _, there = await two(world)
    answer = await send_endpoints_and_await_answer(
        world, there, ResourceVariant(clause, more, less, within)
    )
    choices = {"refused": AckedOrNacked(acked=False), "accepted": AckedOrNacked(acked=True)}
    await world.check(clause, answer, choices)


LARGEST = 2**32 - 1


@scenario("A27-WEIGHT-01")
async def test_locality_weight_sums(world: World) -> None:
    """The client rejects locality weights of one priority whose sum exceeds a uint32.

    The sum is one above the maximum: first over two priorities, which is valid, then in one.
    """
    a, b = await world.addresses(2)

    def localities(light: int, heavy: int, later: int = 0) -> tuple[Locality, ...]:
        return (
            Locality((Endpoint(a),), name="a", weight=light),
            Locality((Endpoint(b),), name="b", weight=heavy, priority=later),
        )

    served = one_cluster(localities(1, 1), policy=RoundRobin())
    await world.serve(served)
    calls = partial(world.call, world.sessions(16))
    await world.rounds.require(EachServesSome((a, b)), calls, why="both localities serve")
    answer = await send_localities_and_await_answer(
        world, served, *localities(2, LARGEST - 1, later=1)
    )
    await world.check("A27-WEIGHT-01", answer, AckedOrNacked(acked=True))
    answer = await send_localities_and_await_answer(world, served, *localities(2, LARGEST - 1))
    await world.check("A27-WEIGHT-01", answer, AckedOrNacked(acked=False))
    if not answer.acked:
        await world.check("A27-WEIGHT-01", await calls(), AllServedBy((a, b)))


@scenario("A27-WEIGHT-01")
async def test_drawn_locality_weight_sums(world: World) -> None:
    """The client rejects a sum above a uint32 of several weights, in any priority."""
    here, _ = await two(world)
    first = here.get_cluster().localities
    count = world.rng.randint(3, 5)
    total = LARGEST + world.rng.randint(1, 1_000)
    ends = [0, *sorted(world.rng.sample(range(1, total), count - 1)), total]
    weights = [end - begin for begin, end in pairwise(ends)]
    addresses = await world.addresses(count)
    for priority, above in enumerate(((), first)):
        heavy = [
            Locality((Endpoint(address),), address, weight, priority)
            for address, weight in zip(addresses, weights, strict=True)
        ]
        answer = await send_localities_and_await_answer(world, here, *above, *heavy)
        await world.check("A27-WEIGHT-01", answer, AckedOrNacked(acked=False))
        if answer.acked:
            break
        calls = await world.call(world.sessions(5))
        await world.check("A27-WEIGHT-01", calls, AllServedBy(here.addresses()))
