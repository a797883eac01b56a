"""A42, Background and Child Policy Config: localities and priorities above a ring."""

import pytest

from conformance.declare import decides, row
from conformance.expectations import Answered, Avoids, MovesOnly, Reaches, Shares, Untouched
from conformance.seen import Contrast
from conformance.serving import Endpoint, Locality, RingHash, RoundRobin, Served
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
    (unused,) = await world.endpoints(1)
    a, b, c = (Endpoint(address) for address in (*await world.addresses(2), unused.address))
    served = Served(
        localities=(Locality((a, b), name="one"), Locality((c,), name="two", weight=None))
    )
    await world.serve(served)
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-10", calls, served.mapping())
    connections = await world.quiet(unused, why="calls with hundreds of hashes")
    await world.judge("A42-LOC-10", connections, Untouched())


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


@decides("A42-LOC-02", seconds=1)
async def test_keys_of_a_lost_endpoint_move_once(world: World) -> None:
    """It is unreachable first, then removed; those of the other locality keep their entries."""
    lost, *others = await world.endpoints(4)
    addresses = [other.address for other in others]
    before, removed = next(
        (full, rest)
        for weight in range(40, 80)
        for full in [lone_endpoint_beside(lost.address, addresses, weight)]
        for rest in [full.placed(*full.localities[:1])]
        if full.keeps_places_in(rest, changed=lost.address)
    )
    await world.serve(before)
    headers = world.sessions(200)
    await world.call(headers)
    await lost.set_mode(Close())
    await lost.kill()
    unreachable = await world.until(Avoids((lost.address,)), lambda: world.call(headers))
    await world.serve(removed)
    after = await world.until(removed.mapping(), lambda: world.call(headers))
    await world.judge("A42-LOC-02", Contrast(unreachable, after), MovesOnly(()))


def lone_endpoint_beside(lone: str, others: list[str], weight: int) -> Served:
    """Two localities: one of an anchor and heavier ones, one of a single endpoint."""
    anchor, *heavy = others
    one = (Endpoint(anchor, 1), *(Endpoint(address, weight) for address in heavy))
    places = (Locality(one, name="one"), Locality((Endpoint(lone, weight),), name="two"))
    return Served(localities=places, policy=RingHash(minimum=1))


@decides("A42-LOC-06")
async def test_localities_under_round_robin(world: World) -> None:
    """Localities of weight 1 and 3; the weights of endpoints do not matter, nor their number."""
    light, one, two = await world.addresses(3)
    served = Served(
        localities=(
            Locality((Endpoint(light, 9),), name="light", weight=1),
            Locality((Endpoint(one, 1), Endpoint(two, 7)), name="heavy", weight=3),
        ),
        policy=RoundRobin(),
    )
    await world.serve(served)
    await world.until(Reaches(served.addresses()), lambda: world.call(world.sessions(30)))
    calls = await world.call(world.sessions(TELLING))
    await world.judge("A42-LOC-06", calls, Shares({light: (1, 4), one: (3, 8), two: (3, 8)}))


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
