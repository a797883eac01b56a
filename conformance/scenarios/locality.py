"""A42, Background and Child Policy Config: localities and priorities above a ring."""

import pytest

from conformance.declare import decides, row
from conformance.expectations import Answered
from conformance.serving import Endpoint, Locality, RingHash, Served
from conformance.world import World
from fake_control_plane import Kind
from test_servers import Close

TELLING = 400
EITHER = {"ACK": Answered(acked=True), "NACK": Answered(acked=False)}


@decides("A42-LOC-01")
async def test_one_ring_over_all_localities(world: World) -> None:
    a, b, c, d = (Endpoint(address) for address in await world.addresses(4))
    served = Served(localities=(Locality((a, b), name="one"), Locality((c, d), name="two")))
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-01", calls, served.mapping())


@decides("A42-LOC-07")
async def test_weight_of_locality_and_endpoint(world: World) -> None:
    """The text's own figures: 6, 3, 6 and 2 as products, 40, 20, 30 and 10 per cent as shares."""
    a, b, c, d = await world.addresses(4)
    served = Served(
        localities=(
            Locality((Endpoint(a, 2), Endpoint(b, 1)), name="one", weight=3),
            Locality((Endpoint(c, 3), Endpoint(d, 1)), name="two", weight=2),
        )
    )
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    shares = served.mapping(weights="A113")
    await world.judge(
        "A42-LOC-07", calls, {"A42": served.mapping(weights="raw"), "A113": shares, "envoy": shares}
    )


@decides("A42-LOC-08")
async def test_endpoint_without_a_weight(world: World) -> None:
    a, b, c = await world.addresses(3)
    served = Served(localities=(Locality((Endpoint(a), Endpoint(b, 1), Endpoint(c, 2))),))
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-08", calls, served.mapping())


@decides("A42-LOC-10")
async def test_locality_without_a_weight(world: World) -> None:
    a, b, c = (Endpoint(address) for address in await world.addresses(3))
    served = Served(
        localities=(Locality((a, b), name="one"), Locality((c,), name="two", weight=None))
    )
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-10", calls, served.mapping())


@pytest.mark.parametrize(
    ("clause", "weights", "weight"),
    [
        row("endpoint-zero", "A42-LOC-09", (1, 0), 1),
        row("locality-zero", "A42-LOC-11", (1, 1), 0),
        row("product-beyond-32-bits", "A42-LOC-12", (2**31, 1), 2**31),
    ],
)
async def test_left_open(world: World, clause: str, weights: tuple[int, int], weight: int) -> None:
    served = await world.plain_ring()
    await world.call(world.sessions(1))
    a, b, c = await world.addresses(3)
    places = (
        Locality((Endpoint(a, weights[0]), Endpoint(b, weights[1])), name="one", weight=weight),
        Locality((Endpoint(c),), name="two", weight=1),
    )
    answer = await world.offer(Kind.ENDPOINTS, served.placed(*places).endpoints())
    await world.judge(clause, answer, EITHER)
    await world.call(world.sessions(10))


@decides("A42-LOC-03", "A42-LOC-05")
async def test_ring_of_the_first_priority(world: World) -> None:
    served = two_priorities(await world.addresses(2), await world.addresses(2))
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-03", calls, served.mapping(priority=0))
    await world.judge("A42-LOC-05", calls, served.mapping(priority=0))


@decides("A42-LOC-03", "A42-LOC-04", "A42-LOC-05", seconds=0.6)
async def test_ring_of_the_second_priority(world: World) -> None:
    dead = [endpoint.address for endpoint in await world.endpoints(2, mode=Close())]
    served = two_priorities(dead, await world.addresses(2))
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    for clause in ("A42-LOC-03", "A42-LOC-04", "A42-LOC-05"):
        await world.judge(clause, calls, served.mapping(priority=1))


def two_priorities(first: tuple[str, ...] | list[str], second: tuple[str, ...]) -> Served:
    """Two endpoints in each of two priorities, and a ring size that is no default."""
    return Served(
        localities=(
            Locality(tuple(map(Endpoint, first)), name="one", priority=0),
            Locality(tuple(map(Endpoint, second)), name="two", priority=1),
        ),
        policy=RingHash(minimum=300),
    )
