"""A76: the hash_key in an endpoint's metadata determines its places on the ring."""

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    MatchesRing,
    OneEndpoint,
    OnlyTheseMoved,
    SeveralEndpoints,
    fits,
)
from conformance.judging.observations import Contrast
from conformance.world import ENOUGH_TO_TELL, World
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality
from conformance.xds_config.endpoints import Endpoint, Locality

KEYS = ("tick", f"{'trick' * 9}-1", f"{'trick' * 9}-2")
"""A short key, and two long ones that differ at their end."""


GUARD = "GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT"


def keyed(*rows: tuple[str, str | None]) -> XdsConfig:
    """Return a config with one locality of endpoints with these addresses and keys."""
    return one_cluster((Locality(tuple(Endpoint(at, hash_key=key) for at, key in rows)),))


def used_or_not(served: XdsConfig) -> dict[str, MatchesRing]:
    """Return the rings by keys and by addresses."""
    return {
        "used": served.matches_ring(hash_keys=True),
        "ignored": served.matches_ring(hash_keys=False),
    }


@scenario("A76-KEY-01", "A76-KEY-07")
async def test_hash_key(world: World) -> None:
    """The hash_key of an endpoint determines its places on the ring, not its address.

    Then all addresses change; for an unknown key format only that shows whether keys are used.
    """
    addresses, others = await world.addresses(3), await world.addresses(3)
    served = keyed(*zip(addresses, KEYS, strict=True))
    await world.serve(served)
    headers = world.values.sessions_to_map()
    before = await world.call(headers)
    await world.check("A76-KEY-01", before, served.matches_ring(hash_keys=True))
    await world.check("A76-KEY-07", before, used_or_not(served))
    await world.serve(keyed(*zip(others, KEYS, strict=True)))
    after = await world.eventually(AllServedBy(others), lambda: world.call(headers))
    as_before = after.taken_for(dict(zip(others, addresses, strict=True)))
    await world.check("A76-KEY-01", Contrast(before, as_before), OnlyTheseMoved(()))


@scenario("A76-KEY-06", alone=True)
async def test_compatibility_variable(world: World) -> None:
    """An environment variable may switch hash_key off."""
    served = keyed(*zip(await world.addresses(3), KEYS, strict=True))
    await world.serve(served)
    switched_off = await world.channels.open_in_new_process(**{GUARD: "true"})
    calls = await world.call(world.values.sessions_to_map(), channel=switched_off)
    await world.check("A76-KEY-06", calls, used_or_not(served))


@scenario("A76-KEY-02")
async def test_empty_hash_key(world: World) -> None:
    """With an empty hash_key, the address determines the places of an endpoint.

    The update with empty keys reverses the list: places by the empty key would then change.
    """
    addresses = await world.addresses(3)
    await world.serve(single_locality(addresses))
    headers = world.sessions(ENOUGH_TO_TELL)
    before = await world.call(headers)
    places = [Endpoint(address, hash_key="") for address in reversed(addresses)]
    served = one_cluster((Locality(tuple(places)),))
    await world.serve(served)
    after = await world.eventually(
        served.matches_ring(hash_keys=False), lambda: world.call(headers)
    )
    await world.check("A76-KEY-02", Contrast(before, after), OnlyTheseMoved(()))
    await world.check("A76-KEY-02", after, served.matches_ring(hash_keys=False))


@scenario("A76-KEY-01", "A76-KEY-02")
async def test_some_without_hash_key(world: World) -> None:
    """Each endpoint is placed by its own key, or by its address if it has none.

    One endpoint has no key, and one in another locality has an empty key.
    """
    a, b, c, d = await world.addresses(4)
    tick, trick, _ = KEYS
    here = (Endpoint(a, hash_key=tick), Endpoint(b))
    there = (Endpoint(c, hash_key=""), Endpoint(d, hash_key=trick))
    served = one_cluster((Locality(here), Locality(there, name="there")))
    await world.serve(served)
    calls = await world.call(world.sessions(ENOUGH_TO_TELL))
    for clause in ("A76-KEY-01", "A76-KEY-02"):
        await world.check(clause, calls, served.matches_ring(hash_keys=True))


@scenario("A76-KEY-01", "A76-KEY-03", "A76-KEY-04")
async def test_changed_hash_key(world: World) -> None:
    """The places of an endpoint follow its hash_key.

    First the keys rotate over the endpoints, then one loses its key and gets another. At last
    another address gets the key of an endpoint.
    """
    a, b, c, other = await world.addresses(4)
    headers = world.sessions(ENOUGH_TO_TELL)
    tick, trick, track = KEYS
    first = keyed((a, tick), (b, trick), (c, track))
    await world.serve(first)
    calls = await world.call(headers)
    await world.check("A76-KEY-01", calls, first.matches_ring(hash_keys=True))
    if not fits(first.matches_ring(hash_keys=True), calls):
        for clause in ("A76-KEY-03", "A76-KEY-04"):  # These clauses depend on A76-KEY-01.
            await world.check(clause, calls, first.matches_ring(hash_keys=True))
        return
    for clause, served in (
        ("A76-KEY-03", keyed((a, trick), (b, track), (c, tick))),
        ("A76-KEY-03", keyed((a, None), (b, track), (c, tick))),
        ("A76-KEY-03", keyed((a, trick), (b, track), (c, tick))),
        ("A76-KEY-04", keyed((other, trick), (b, track), (c, tick))),
    ):
        await world.serve(served)
        expected = served.matches_ring(hash_keys=True)
        calls = await world.eventually(expected, lambda: world.call(headers))
        await world.check(clause, calls, expected)


@scenario("A76-KEY-05")
async def test_shared_hash_key(world: World) -> None:
    """Two endpoints have the same hash_key: requests go to one of them, to both or to neither."""
    first, last, other = await world.addresses(3)
    tick, trick, _ = KEYS
    served = keyed((first, tick), (last, tick), (other, trick))
    await world.serve(served)
    calls = await world.call(world.sessions(ENOUGH_TO_TELL))
    await world.check(
        "A76-KEY-05",
        calls,
        {
            "one of them or both": SeveralEndpoints(),
            "neither of them": OneEndpoint(),
            "the keys are ignored": served.matches_ring(hash_keys=False),
        },
    )
