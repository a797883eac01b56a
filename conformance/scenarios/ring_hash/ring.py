"""A42, Ring Construction and LB Policy Config: the size of the ring, and the owners of its arcs."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EachServesSome,
    FailuresExplained,
    MatchesRing,
    NoneServedBy,
    OneEndpoint,
    OnlyListedServe,
    OnlyTheseMoved,
)
from conformance.judging.observations import Contrast
from conformance.scenarios.helpers.draws import FOR_FEW_ENTRIES, of_few_entries
from conformance.scenarios.helpers.ring_order import RAISED_CAP, ring_of_5001
from conformance.scenarios.helpers.soak import Soak, plan
from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.building import build_for
from conformance.spec.oracles.ring.keys import KEY_FORMATS, KeyFormat
from conformance.spec.oracles.ring.search import Search
from conformance.spec.oracles.ring.sizes import DEFAULT_CAP, Allotment
from conformance.spec.oracles.ring.variants import Candidate, RingVariant
from conformance.world import BY_ARCS, ENOUGH_TO_DIFFER, ENOUGH_TO_TELL, World
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality, weighted_locality
from conformance.xds_config.distinguishing import TO_CHOOSE_FROM, first_distinguished
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash, TypedRingHash
from conformance.xds_config.routes import SESSION
from fake_control_plane import Kind


@scenario("A42-RING-20")
async def test_repeated_address(world: World) -> None:
    """An address that is listed twice counts with the sum of its weights.

    A client may also reject the list, as A27 requires today.
    """
    served = await world.plain_ring()
    a, b = await world.addresses(2)
    twice = served.with_localities(Locality((Endpoint(a, 1), Endpoint(b, 1), Endpoint(a, 2))))
    headers = (*world.values.telling(twice), *world.sessions(ENOUGH_TO_TELL))
    await world.require_served(headers)
    answer = await world.control.offer(Kind.ENDPOINTS, twice.endpoints())
    if not answer.acked:
        await world.check("A42-RING-20", answer, AckedOrNacked(acked=False))
        await world.check("A42-RING-20", await world.call(headers), served.matches_ring())
        return
    once = served.with_localities(Locality((Endpoint(a, 1), Endpoint(b, 1))))
    calls = await world.eventually(NoneServedBy(served.addresses()), lambda: world.call(headers))
    await world.check(
        "A42-RING-20", calls, {"A42": twice.matches_ring(), "envoy": once.matches_ring()}
    )


ORDERS: Mapping[Allotment, str] = {
    "list": "as listed",
    "localities": "by locality",
    "keys": "by key",
    "buckets": "by hash bucket",
}


ENDS: Mapping[Search, str] = {
    "wrap": "the first entry",
    "signed": "the last entry, in signed order",
    "clamp": "the last entry",
}


LOWERED_CAP = 256


@pytest.mark.parametrize(
    ("clause", "weights", "ring"),
    [
        case("at-least-minimum", "A42-RING-05", (1,) * 8, RingHash(minimum=100)),
        case("minimum-not-divisible", "A42-RING-05", (1,) * 5, RingHash(minimum=12)),
        case("lightest-whole", "A42-RING-06", (1, 3, 3, 3, 3), RingHash(minimum=20)),
        case("lightest-of-many-whole", "A42-RING-06", (1, 2, 3, 4, 5, 5), RingHash(minimum=30)),
        case("lightest-once", "A42-RING-07", (1, 3, 3, 3, 3, 3), RingHash(minimum=1)),
        case("no-larger", "A42-RING-07", (1, 1, 2) * 2, RingHash(minimum=101)),
        case("clamped", "A42-RING-08", (1, 31, 32), RingHash(minimum=1, maximum=13)),
        case("by-weight", "A42-RING-09", (1, 3, 4), RingHash(minimum=512)),
        case("heavy", "A42-RING-09", (5 * 10**8, 15 * 10**8, 20 * 10**8), RingHash(minimum=512)),
    ],
)
@scenario("A42-RING-04")
async def test_size(world: World, clause: str, weights: tuple[int, ...], ring: RingHash) -> None:
    """The ring has the smallest size that fits the minimum, the maximum and the weights.

    Some calls expose a ring of the next larger or smaller size, if its additional entries change
    the owner of an arc. With many endpoints they always do.
    """
    addresses = await world.addresses(len(weights))
    served = weighted_locality(dict(zip(addresses, weights, strict=True)), policy=ring)
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check(clause, calls, served.matches_ring())
    await world.check("A42-RING-04", calls, served.matches_ring())


@pytest.mark.parametrize(
    ("clause", "weights", "ring"),
    [
        case("minimum", "A42-CONF-01", (1, 1, 1, 1), RingHash(minimum=6000)),
        case("maximum", "A42-CONF-02", (1, 2500, 2500), RingHash(minimum=1, maximum=6000)),
    ],
)
async def test_default_cap(
    world: World, clause: str, weights: tuple[int, ...], ring: RingHash
) -> None:
    """The client treats a size above the local cap (by default 4,096) as the cap."""
    addresses = await world.addresses(len(weights))
    served = weighted_locality(dict(zip(addresses, weights, strict=True)), policy=ring)
    await world.serve(served)
    uncapped = one_cluster(served.get_cluster().localities, policy=ring, cap=6000)
    calls = await world.call(world.values.telling(served, apart_from=uncapped))
    await world.check(
        clause, calls, {"A42": served.matches_ring(), "envoy": uncapped.matches_ring()}
    )


@scenario("A42-CONF-03", knobs={"ring_size_cap": RAISED_CAP})
async def test_ring_above_raised_cap(world: World) -> None:
    """A local option sets the cap to its value; a larger ring is cut down to that."""
    size = 2 * RAISED_CAP
    served = await world.plain_ring(ring=RingHash(minimum=size, maximum=size))
    raised = served.with_ring_cap(RAISED_CAP)
    headers = world.values.telling(raised, apart_from=served.with_ring_cap(size))
    await world.check("A42-CONF-03", await world.call(headers), raised.matches_ring())


@scenario("A42-CONF-03", knobs={"ring_size_cap": RAISED_CAP})
async def test_raised_cap(world: World) -> None:
    """A local option sets the cap."""
    served = await world.plain_ring(ring=RingHash(minimum=8192, maximum=8192))
    raised = served.with_ring_cap(RAISED_CAP)
    calls = await world.call(world.values.telling(raised))
    await world.check("A42-CONF-03", calls, raised.matches_ring())


@scenario("A42-CONF-04", knobs={"ring_size_cap": RAISED_CAP}, seconds=0.6)
async def test_raised_cap_alone(world: World) -> None:
    """If the Cluster sets no maximum, raising the local cap alone allows a larger ring.

    A process with the default cap gets the same Cluster.
    """
    raised = ring_of_5001(await world.addresses(3), RingHash(minimum=1))
    shipped = raised.with_ring_cap(DEFAULT_CAP)
    headers = world.values.telling(raised, apart_from=shipped)
    await world.serve(raised)
    await world.check("A42-CONF-04", await world.call(headers), raised.matches_ring())
    elsewhere = await world.channels.open_in_new_process()
    calls = await world.call(headers, channel=elsewhere)
    await world.check("A42-CONF-04", calls, shipped.matches_ring())


@scenario("A42-CONF-06", "A52-CUSTOM-13")
async def test_no_minimum_in_the_config(world: World) -> None:
    """If a ring_hash_experimental config sets no minRingSize, the policy uses 1,024.

    The config is empty, and then it has a maxRingSize alone. A client that does not support the
    policy by name is not judged by its defaults.
    """
    world.preconditions.policies_by_list()
    for ring in (TypedRingHash(), TypedRingHash(maximum=2048)):
        served = await world.plain_ring(ring=ring)
        headers = world.values.telling(served)
        several = (*headers, *headers[:ENOUGH_TO_DIFFER])
        calls = await world.eventually(
            AllServedBy(served.addresses()), partial(world.call, several)
        )
        await world.check("A52-CUSTOM-13", calls, OneEndpoint(each_value_of=SESSION))
        await world.check("A42-CONF-06", calls, served.matches_ring())


@scenario("A42-CONF-07", "A52-CUSTOM-13", knobs={"ring_size_cap": RAISED_CAP})
async def test_no_maximum_in_the_config(world: World) -> None:
    """If a ring_hash_experimental config sets no maxRingSize, the policy uses 4,096.

    The cap would allow more.
    """
    world.preconditions.policies_by_list()
    served = ring_of_5001(await world.addresses(3), TypedRingHash(minimum=1))
    await world.serve(served)
    as_large = served.with_policy(TypedRingHash(minimum=1, maximum=RAISED_CAP))
    headers = world.values.telling(served, apart_from=as_large)
    calls = await world.call((*headers, *headers[:ENOUGH_TO_DIFFER]))
    await world.check("A52-CUSTOM-13", calls, OneEndpoint(each_value_of=SESSION))
    await world.check("A42-CONF-07", calls, served.matches_ring())


@scenario("A42-CONF-05", knobs={"ring_size_cap": LOWERED_CAP})
async def test_lowered_cap(world: World) -> None:
    """A cap below both sizes replaces both: the weights ask for 601 entries."""
    light, *heavy = await world.addresses(4)
    weights: dict[str, int | None] = {light: 1, **dict.fromkeys(heavy, 200)}
    served = weighted_locality(weights).with_ring_cap(LOWERED_CAP)
    await world.serve(served)
    calls = await world.call(world.values.telling(served))
    await world.check("A42-CONF-05", calls, served.matches_ring())


@scenario("A42-RING-01", "A42-RING-02", "A42-RING-04", "A42-RING-12")
async def test_hashes_of_entries(world: World) -> None:
    """The client sorts entries by their XXH64 with seed 0; a request goes to the closest entry."""
    served = await world.plain_ring(ring=RingHash(minimum=256))
    calls = await world.call(world.sessions(BY_ARCS))
    for clause in ("A42-RING-01", "A42-RING-02", "A42-RING-04", "A42-RING-12"):
        await world.check(clause, calls, served.matches_ring())


@scenario("A42-RING-03")
async def test_key_of_an_entry(world: World) -> None:
    """The text does not fix the key of a ring entry.

    With four entries for each endpoint, one key in four differs if they are numbered from 1. Then
    a quarter of all hashes goes elsewhere, and sixty calls miss it once in 1e7 times.
    """
    served = await world.plain_ring(ring=RingHash(minimum=16, maximum=16))
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    choices = {
        written: served.matches_ring(key_format=key_format)
        for written, key_format in KEY_FORMATS.items()
    }
    await world.check("A42-RING-03", calls, choices)


@scenario("A42-RING-10")
async def test_odd_entry(world: World) -> None:
    """If entries do not divide evenly, the client chooses the endpoints that get one more.

    The scenario chooses endpoints for which calls distinguish the known orders, and from them one
    that is not known. The order of hash buckets depends on the port numbers.
    """
    nines = itertools.islice(itertools.permutations(await world.addresses(9)), 0, None, 5039)
    served, telling = first_distinguished(map(of_odd_entries, nines), orders_and_another)
    await world.serve(served)
    calls = await world.call((*telling, *world.values.sessions_to_map()))
    await world.check("A42-RING-10", calls, orders(served))


def of_odd_entries(nine: tuple[str, ...]) -> XdsConfig:
    """Return a config whose entries do not divide evenly; for most of these all orders differ."""
    listed = tuple(Endpoint(address, 2 if at % 2 else 5) for at, address in enumerate(nine))
    places = (Locality(listed[:4], name="z"), Locality(listed[4:], name="a"))
    return one_cluster(places, policy=RingHash(minimum=47, maximum=47))


def orders(served: XdsConfig) -> dict[str, MatchesRing]:
    """Return the rings by each known order of allotment."""
    return {name: served.matches_ring(allotment=order) for order, name in ORDERS.items()}


def orders_and_another(served: XdsConfig) -> dict[str, MatchesRing]:
    """Return the rings by each known order, and by one from the heaviest endpoint to the lightest.

    With some ports the order of hash buckets gives the same entries as that one.
    """
    by_weight = served.with_localities(*map(heaviest_first, served.get_cluster().localities))
    return {**orders(served), "by weight": by_weight.matches_ring(allotment="list")}


def heaviest_first(place: Locality) -> Locality:
    """Return the locality with its endpoints listed from the heaviest to the lightest."""
    listed = sorted(place.endpoints, key=lambda each: (each.weight, each.address), reverse=True)
    return replace(place, endpoints=tuple(listed))


@scenario("A42-RING-11")
async def test_more_endpoints_than_entries(world: World) -> None:
    """If the maximum is below the number of endpoints, the client chooses those without an entry.

    The endpoints are listed such that the known orders give the entries to different ones.
    """
    served, telling = first_distinguished(
        of_few_entries(world.rng, await world.addresses(FOR_FEW_ENTRIES)), orders_of_few
    )
    await world.serve(served)
    calls = await world.call((*telling, *world.values.sessions_to_map()))
    await world.check("A42-RING-11", calls, orders_of_few(served))


def orders_of_few(served: XdsConfig) -> dict[str, MatchesRing]:
    """Return the rings by each known order, and one with an entry for each endpoint."""
    larger = served.with_policy(RingHash(minimum=8, maximum=8))
    return {
        "every other one as listed": served.matches_ring(allotment="list"),
        "every other one by key": served.matches_ring(allotment="keys"),
        "every other one by hash bucket": served.matches_ring(allotment="buckets"),
        "each has one, beyond the maximum": larger.matches_ring(),
    }


@scenario("A42-RING-12")
async def test_hash_of_an_entry(world: World) -> None:
    """The picker chooses the entry nearest to the hash: here the hash equals that of an entry."""
    served = await world.plain_ring()
    calls = await world.call(world.values.at_entries(served))
    await world.check("A42-RING-12", calls, served.matches_ring())


@scenario("A42-RING-13", "A42-RING-14")
async def test_search(world: World) -> None:
    """A hash belongs to the first entry at or after it; the text leaves open the last entry's end.

    The ring has four entries, one for each of four endpoints. The scenario chooses them such that
    many hashes lie beyond the last entry, in unsigned and in signed order: usually a quarter of all
    in the smaller range, and seldom less than a tenth. Calls lie in both ranges. For an unknown key
    format the ranges are elsewhere, and some of the other calls lie there by chance.
    """
    fours = itertools.combinations(await world.addresses(8), 4)
    small = RingHash(minimum=4, maximum=4)
    rings = [single_locality(four, policy=small) for four in fours]
    beyond = [ends(ring, world.values.likely_key_format) for ring in rings]
    served, within = max(
        zip(rings, beyond, strict=True),
        key=lambda candidate: min(end.stop - end.start for end in candidate[1]),
    )
    await world.serve(served)
    calls = await world.call((*sessions_within(within), *world.values.sessions_to_map()))
    await world.check("A42-RING-13", calls, served.matches_ring())
    await world.check(
        "A42-RING-14", calls, {name: served.matches_ring(search=way) for way, name in ENDS.items()}
    )


def ends(served: XdsConfig, key_format: KeyFormat) -> tuple[range, range]:
    """Return the hashes beyond the last entry, in unsigned and in signed order."""
    way = Candidate(RingVariant(key_format))
    hashes = build_for(served.ring_localities(), served.config(), way).positions
    signed = max((hash_ for hash_ in hashes if hash_ < 2**63), default=-1)
    return range(hashes[-1] + 1, 2**64), range(signed + 1, 2**63)


def sessions_within(ranges: Iterable[range]) -> Iterator[dict[str, str]]:
    """Yield the headers of ten calls for each range, whose hashes lie in it."""
    for range_ in ranges:
        inside = (value for value in TO_CHOOSE_FROM if xxh64(value) in range_)
        yield from ({SESSION: value} for value in itertools.islice(inside, 10))


@scenario("A42-RING-15")
async def test_order_of_endpoints(world: World) -> None:
    """Endpoints keep their places on the ring whatever their order in the list.

    They keep their weights, too: the shares are 1, 3, 2 and 2 of 8.
    """
    a, b, c, d = map(Endpoint, await world.addresses(4), (1, 3, 2, 2))
    served = one_cluster((Locality((a, b), name="one"), Locality((c, d), name="two")))
    await world.serve(served)
    headers = world.sessions(ENOUGH_TO_TELL)
    before = await world.call(headers)
    await world.serve(
        served.with_localities(Locality((d, c), name="two"), Locality((b, a), name="one"))
    )
    await world.attempts.quiet(why="the ACK: the client has applied the list by then")
    contrast = Contrast(before, await world.call(headers))
    await world.check("A42-RING-15", contrast, OnlyTheseMoved(()))


@pytest.mark.parametrize(
    ("clause", "first"),
    [case("removal", "A42-RING-16", True), case("addition", "A42-RING-17", False)],
)
@scenario("A42-RING-18")
async def test_changed_list(world: World, clause: str, *, first: bool) -> None:
    """If an endpoint is removed or added, only the keys of that endpoint move.

    The other endpoints keep their entries. The endpoint has half of all entries, so the chance that
    no call reaches it is below 1e-16.
    """
    changed, full, rest = amid_others(await world.addresses(5))
    await world.serve(full if first else rest)
    headers = (*world.values.sessions_to_map(), *world.sessions(ENOUGH_TO_TELL))
    before = await world.call(headers)
    expected = (rest if first else full).matches_ring()
    await world.serve(rest if first else full)
    after = await world.eventually(expected, lambda: world.call(headers))
    await world.check(clause, Contrast(before, after), OnlyTheseMoved((changed,)))
    await world.check(
        clause, after, NoneServedBy((changed,)) if first else EachServesSome((changed,))
    )
    await world.check("A42-RING-18", after, expected)


def amid_others(addresses: Sequence[str]) -> tuple[str, XdsConfig, XdsConfig]:
    """Return an endpoint, a config with it, and a config without it; both have an anchor.

    In the list and in sorted order, the endpoint is between heavy endpoints: a client that derives
    keys from such positions moves keys of the others. The weights of both lists add up to a power
    of two, so that every count is whole in each reading of the weights and each order of allotment.
    """
    anchor, first, changed, two, three = sorted(addresses)
    weighed: dict[str, int | None] = {two: 10, changed: 32, anchor: 1, first: 10, three: 11}
    full, rest = (
        weighted_locality(listed, policy=RingHash(minimum=1))
        for listed in (weighed, {each: weighed[each] for each in weighed if each != changed})
    )
    return changed, full, rest


@scenario("A42-RING-19")
async def test_changed_weights(world: World) -> None:
    """When only the weights change, the client builds a new ring as well.

    First two endpoints exchange their weights. Then only the weight of a locality changes, by so
    much that no reading of the weights has a ring like one before it.
    """
    a, b, c = await world.addresses(3)

    def weighed(of_a: int, of_b: int, of_two: int) -> XdsConfig:
        both = Locality((Endpoint(a, of_a), Endpoint(b, of_b)), name="one")
        return one_cluster((both, Locality((Endpoint(c),), name="two", weight=of_two)))

    await world.serve(weighed(1, 7, 1))
    headers = (*world.values.sessions_to_map(), *world.sessions(ENOUGH_TO_TELL))
    await world.require_served(headers)
    for changed in (weighed(7, 1, 1), weighed(7, 1, 100)):
        await world.serve(changed)
        calls = await world.eventually(changed.matches_ring(), partial(world.call, headers))
        await world.check("A42-RING-19", calls, changed.matches_ring())


MEMBERS = 8


@scenario("A42-RING-18", "A42-PICK-23", needs=("metadata",), alone=True, seconds=timing.SOAK + 2)
async def test_random_faults_and_updates(world: World) -> None:
    """Only listed endpoints serve, and each failed request has a fault or update as a reason."""
    requests = round(world.soak / timing.SOAK_PACE)
    actions = plan(world.rng, members=MEMBERS, requests=requests)
    soak = Soak(world, await world.endpoints(MEMBERS))
    course = await soak.run(actions, requests=requests)
    await world.check(
        "A42-RING-18", course, OnlyListedServe(moments=timing.MOMENTS, allowance=timing.BELIEVED)
    )
    await world.check(
        "A42-PICK-23", course, FailuresExplained(moments=timing.MOMENTS, allowance=timing.BELIEVED)
    )
