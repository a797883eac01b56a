"""A76: the hash_key of an endpoint's metadata places it on the ring."""

from conformance.declare import decides
from conformance.expectations import MovesOnly
from conformance.seen import Contrast
from conformance.serving import Endpoint, Locality, Served, plain
from conformance.world import World

KEYS = ("tick", "trick", "track")


@decides("A76-KEY-01", "A76-KEY-07")
async def test_hash_key(world: World) -> None:
    places = [Endpoint(a, hash_key=k) for a, k in zip(await world.addresses(3), KEYS, strict=True)]
    served = Served(localities=(Locality(tuple(places)),))
    await world.serve(served)
    calls = await world.call(world.sessions(200))
    await world.judge("A76-KEY-01", calls, served.mapping(hash_keys=True))
    await world.judge(
        "A76-KEY-07",
        calls,
        {"used": served.mapping(hash_keys=True), "ignored": served.mapping(hash_keys=False)},
    )


@decides("A76-KEY-02")
async def test_empty_hash_key(world: World) -> None:
    """Listed the other way round when the keys come: places by the empty key would be others."""
    addresses = await world.addresses(3)
    await world.serve(plain(addresses))
    headers = world.sessions(200)
    before = await world.call(headers)
    places = [Endpoint(address, hash_key="") for address in reversed(addresses)]
    served = Served(localities=(Locality(tuple(places)),))
    await world.serve(served)
    after = await world.until(served.mapping(hash_keys=False), lambda: world.call(headers))
    await world.judge("A76-KEY-02", Contrast(before, after), MovesOnly(()))
    await world.judge("A76-KEY-02", after, served.mapping(hash_keys=False))


@decides("A76-KEY-03", "A76-KEY-04")
async def test_change_of_hash_keys(world: World) -> None:
    """Keys go round the endpoints; then an endpoint comes back under its key elsewhere."""
    a, b, c, other = await world.addresses(4)

    def placed(*rows: tuple[str, str]) -> Served:
        return Served(localities=(Locality(tuple(Endpoint(at, hash_key=k) for at, k in rows)),))

    headers = world.sessions(200)
    tick, trick, track = KEYS
    first = placed((a, tick), (b, trick), (c, track))
    await world.serve(first)
    calls = await world.call(headers)
    if not first.mapping(hash_keys=True).finding(calls).holds:
        for clause in ("A76-KEY-03", "A76-KEY-04"):
            await world.judge(clause, calls, first.mapping(hash_keys=True))
        return
    for clause, served in (
        ("A76-KEY-03", placed((a, trick), (b, track), (c, tick))),
        ("A76-KEY-04", placed((other, trick), (b, track), (c, tick))),
    ):
        await world.serve(served)
        expected = served.mapping(hash_keys=True)
        calls = await world.until(expected, lambda: world.call(headers))
        await world.judge(clause, calls, expected)
