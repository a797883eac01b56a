"""A42, Ring Construction and LB Policy Config: how large the ring is, and who owns which arc."""

import itertools
from collections.abc import Iterable, Iterator, Mapping

import pytest

from conformance.declare import decides, row
from conformance.expectations import MapsLike, MovesOnly
from conformance.oracles import ring as ring_oracle
from conformance.oracles.request_hash import xxh64
from conformance.oracles.ring import KEY_FORMATS, Allotment
from conformance.seen import Contrast
from conformance.serving import (
    SESSION,
    Endpoint,
    Locality,
    RingHash,
    Served,
    first_told_apart,
    plain,
    weighted,
)
from conformance.world import ENOUGH_TO_DIFFER, ENOUGH_TO_TELL, TO_CHOOSE_FROM, World

ORDERS: Mapping[Allotment, str] = {
    "list": "as listed",
    "localities": "by locality",
    "keys": "by key",
    "buckets": "by hash bucket",
}

RAISED_CAP = 16384
LOWERED_CAP = 256


@pytest.mark.parametrize(
    ("clause", "weights", "ring"),
    [
        row("at-least-minimum", "A42-RING-05", (1,) * 8, RingHash(minimum=100)),
        row("minimum-not-divisible", "A42-RING-05", (1,) * 5, RingHash(minimum=12)),
        row("lightest-whole", "A42-RING-06", (1, 3, 3, 3, 3), RingHash(minimum=20)),
        row("lightest-of-many-whole", "A42-RING-06", (1, 2, 3, 4, 5, 5), RingHash(minimum=30)),
        row("lightest-once", "A42-RING-07", (1, 3, 3, 3, 3, 3), RingHash(minimum=1)),
        row("no-larger", "A42-RING-07", (1, 1, 2) * 2, RingHash(minimum=101)),
        row("clamped", "A42-RING-08", (1, 31, 32), RingHash(minimum=1, maximum=16)),
        row("by-weight", "A42-RING-09", (1, 3, 4), RingHash(minimum=512)),
    ],
)
@decides("A42-RING-04")
async def test_size(world: World, clause: str, weights: tuple[int, ...], ring: RingHash) -> None:
    """There are calls that tell the next size, up or down, where each endpoint has an entry more.

    Should all of these lie in arcs of their own endpoints, nobody can tell the sizes apart; with
    many endpoints they never do.
    """
    addresses = await world.addresses(len(weights))
    served = weighted(dict(zip(addresses, weights, strict=True)), policy=ring)
    await world.serve(served)
    calls = await world.call(world.telling(served))
    await world.judge(clause, calls, served.mapping())
    await world.judge("A42-RING-04", calls, served.mapping())


@pytest.mark.parametrize(
    ("clause", "weights", "ring"),
    [
        row("minimum", "A42-CONF-01", (1, 1, 1, 1), RingHash(minimum=6000)),
        row("maximum", "A42-CONF-02", (1, 2500, 2500), RingHash(minimum=1, maximum=6000)),
    ],
)
async def test_default_cap(
    world: World, clause: str, weights: tuple[int, ...], ring: RingHash
) -> None:
    addresses = await world.addresses(len(weights))
    served = weighted(dict(zip(addresses, weights, strict=True)), policy=ring)
    await world.serve(served)
    calls = await world.call(world.telling(served))
    uncapped = Served(localities=served.localities, policy=ring, cap=6000)
    await world.judge(clause, calls, {"A42": served.mapping(), "envoy": uncapped.mapping()})


@pytest.mark.parametrize(
    ("clause", "weights", "ring"),
    [
        row("option", "A42-CONF-03", (1, 1, 1, 1), RingHash(minimum=8192, maximum=8192)),
        row("option-alone", "A42-CONF-04", (1, 2500, 2500), RingHash(minimum=1)),
    ],
)
@decides(knobs={"ring_size_cap": RAISED_CAP})
async def test_raised_cap(
    world: World, clause: str, weights: tuple[int, ...], ring: RingHash
) -> None:
    addresses = await world.addresses(len(weights))
    listed = weighted(dict(zip(addresses, weights, strict=True)))
    served = Served(localities=listed.localities, policy=ring, cap=RAISED_CAP)
    await world.serve(served)
    calls = await world.call(world.telling(served))
    await world.judge(clause, calls, served.mapping())


@decides("A42-CONF-05", knobs={"ring_size_cap": LOWERED_CAP})
async def test_lowered_cap(world: World) -> None:
    served = Served(
        localities=weighted(dict.fromkeys(await world.addresses(4), 1)).localities,
        cap=LOWERED_CAP,
    )
    await world.serve(served)
    calls = await world.call(world.telling(served))
    await world.judge("A42-CONF-05", calls, served.mapping())


@decides("A42-RING-03")
async def test_key_of_an_entry(world: World) -> None:
    served = await world.plain_ring()
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    choices = {
        written: served.mapping(key_format=key_format)
        for written, key_format in KEY_FORMATS.items()
    }
    await world.judge("A42-RING-03", calls, choices)
    world.verify_key_format(calls, choices)


@decides("A42-RING-10")
async def test_odd_entry(world: World) -> None:
    """Of endpoints that make the calls tell the order; the order of buckets follows from ports."""
    headers = world.sessions(200)
    sixes = itertools.combinations(sorted(await world.addresses(9)), 6)
    served = first_told_apart(map(of_odd_entries, sixes), orders_and_weights, headers)
    await world.serve(served)
    calls = await world.call(headers)
    await world.judge("A42-RING-10", calls, orders_and_weights(served))


def of_odd_entries(six: tuple[str, ...]) -> Served:
    """A ring whose entries do not divide evenly, by any order; nor do any two orders agree."""
    a, b, c, d, e, f = six
    places = (
        Locality((Endpoint(f, 2), Endpoint(d, 2)), name="z"),
        Locality((Endpoint(e, 2), Endpoint(b, 5), Endpoint(a, 2), Endpoint(c, 5)), name="a"),
    )
    return Served(localities=places, policy=RingHash(minimum=31, maximum=31))


def orders_and_weights(served: Served) -> dict[str, MapsLike]:
    return {
        f"{name}, weights {reading}": served.mapping(allotment=order, weights=reading)
        for order, name in ORDERS.items()
        for reading in ("raw", "A113")
    }


@decides("A42-RING-11")
async def test_more_endpoints_than_entries(world: World) -> None:
    """Listed so that the orders give the entries to others."""
    headers = world.sessions(100)
    small = RingHash(minimum=2, maximum=4)
    eights = itertools.combinations(sorted(await world.addresses(9), reverse=True), 8)
    listed = (weighted(dict.fromkeys(eight, 1), policy=small) for eight in eights)
    served = first_told_apart(listed, orders_of_few, headers)
    await world.serve(served)
    calls = await world.call(headers)
    await world.judge("A42-RING-11", calls, orders_of_few(served))


def orders_of_few(served: Served) -> dict[str, MapsLike]:
    larger = served.balanced_by(RingHash(minimum=8, maximum=8))
    return {
        "every other one as listed": served.mapping(allotment="list"),
        "every other one by key": served.mapping(allotment="keys"),
        "every other one by hash bucket": served.mapping(allotment="buckets"),
        "each has one, beyond the maximum": larger.mapping(),
    }


@decides("A42-RING-13", "A42-RING-14")
async def test_search(world: World) -> None:
    """On a ring of four entries, of those four of eight endpoints that leave the widest ends.

    The narrower one has a quarter of all hashes as a rule, and seldom less than a tenth. There are
    calls in both; where the key format is no known one they may lie elsewhere, but chance has some
    of so many others there.
    """
    fours = itertools.combinations(await world.addresses(8), 4)
    small = RingHash(minimum=4, maximum=4)
    served = max(
        (plain(four, policy=small) for four in fours),
        key=lambda one: min(end.stop - end.start for end in ends(one)),
    )
    await world.serve(served)
    calls = await world.call((*sessions_within(ends(served)), *world.sessions_to_map()))
    ways = {"wrap": "the first entry", "signed": "the last entry, in signed order"}
    await world.judge("A42-RING-13", calls, {"clockwise": served.mapping()})
    await world.judge(
        "A42-RING-14", calls, {name: served.mapping(search=way) for way, name in ways.items()}
    )


def ends(served: Served) -> tuple[range, range]:
    """The hashes beyond the last entry, in unsigned and in signed order."""
    hashes = ring_oracle.build_for(served.ring_localities(), served.config()).positions
    signed = max((one for one in hashes if one < 2**63), default=-1)
    return range(hashes[-1] + 1, 2**64), range(signed + 1, 2**63)


def sessions_within(ranges: Iterable[range]) -> Iterator[dict[str, str]]:
    """The headers of ten calls whose hashes lie in each of these ranges."""
    for one in ranges:
        inside = (value for value in TO_CHOOSE_FROM if xxh64(value) in one)
        yield from ({SESSION: value} for value in itertools.islice(inside, 10))


@decides("A42-RING-15")
async def test_order_of_endpoints(world: World) -> None:
    a, b, c, d = (Endpoint(address) for address in await world.addresses(4))
    served = Served(localities=(Locality((a, b), name="one"), Locality((c, d), name="two")))
    await world.serve(served)
    headers = world.sessions(ENOUGH_TO_TELL)
    before = await world.call(headers)
    await world.serve(served.placed(Locality((d, c), name="two"), Locality((b, a), name="one")))
    contrast = Contrast(before, await world.call(headers))
    await world.judge("A42-RING-15", contrast, MovesOnly(()))


@pytest.mark.parametrize(
    ("clause", "first"),
    [row("removal", "A42-RING-16", True), row("addition", "A42-RING-17", False)],
)
@decides("A42-RING-18")
async def test_change_of_the_list(world: World, clause: str, *, first: bool) -> None:
    """The first of a list goes, or comes, and all others keep their entries."""
    changed, *others = await world.addresses(4)
    full, rest = leading(changed, others)
    await world.serve(full if first else rest)
    headers = world.sessions_to_map()
    before = await world.call(headers)
    expected = (rest if first else full).mapping()
    await world.serve(rest if first else full)
    after = await world.until(expected, lambda: world.call(headers))
    await world.judge(clause, Contrast(before, after), MovesOnly((changed,)))
    await world.judge("A42-RING-18", after, expected)


def leading(changed: str, others: list[str]) -> tuple[Served, Served]:
    """A list that an endpoint leads, and the same without it; in both, one anchors the others.

    The first, because a client that numbers by the place in the list disturbs what follows.
    """
    anchor, *heavy = others
    rests: Iterator[dict[str, int | None]] = (
        {anchor: 1, **dict.fromkeys(heavy, weight)} for weight in range(8, 200)
    )
    lists = (
        (
            weighted({changed: rest[heavy[0]], **rest}, policy=RingHash(minimum=1)),
            weighted(rest, policy=RingHash(minimum=1)),
        )
        for rest in rests
    )
    return next(
        (full, rest) for full, rest in lists if full.keeps_entries_in(rest, changed=changed)
    )


@decides("A42-RING-19")
async def test_change_of_weights(world: World) -> None:
    one, two = await world.addresses(2)
    await world.serve(weighted({one: 1, two: 3}))
    headers = world.sessions_to_map()
    await world.call(headers)
    changed = weighted({one: 7, two: 1})
    await world.serve(changed)
    calls = await world.until(changed.mapping(), lambda: world.call(headers))
    await world.judge("A42-RING-19", calls, changed.mapping())
