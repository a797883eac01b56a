"""A52, xDS LB Policy Registry: policies that a TypedStruct names in the client's registry."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AckedOrNacked, AllServedBy, Expectation
from conformance.scenarios.helpers.live_policies import (
    Config,
    CustomCluster,
    LivePolicy,
    custom,
    hands_on,
)
from conformance.scenarios.helpers.localities import fail, tier
from conformance.scenarios.helpers.updates import send_and_await_answer
from conformance.world import ENOUGH_TO_DIFFER, World
from conformance.world.policies import TEST_POLICY
from conformance.xds_config.endpoints import Endpoint
from conformance.xds_config.policies import RingHash, RoundRobin
from conformance.xds_config.policy_lists import (
    UDPA_STRUCT,
    XDS_STRUCT,
    in_localities,
    policies,
    ring_hash,
    round_robin,
    typed_struct,
    unknown,
)
from conformance.xds_config.variants import TYPE, ResourceVariant

NEEDS = ("custom_policy",)


def nested(levels: int) -> Any:
    """Return lists and objects that are nested `levels` deep."""
    return {"in": [nested(levels - 1), {}]} if levels else "innermost"


# No config contains all of the one before it; A52-CUSTOM-10 covers such updates.
CONFIGS: tuple[Config, ...] = (
    {"endpoint": 1},
    {"nothing": None, "yes": True, "no": False, "one": 1, "zero": 0, "text": "1"},
    {"": {"": [""]}, "empty": [{}, [], [[]], ""]},
    {"numbers": [0.1, -1.5, 1e300, -1e-300, 5e-324, 2**53, 2**53 + 2, 2**32, 2**31, 1e21]},
    {"snake_case": 1, "snakeCase": 2, "SNAKE_CASE": 3, "Endpoint": "any", "a.b": [], "a b": {}},
    {"words": 'a "quote", a \\ and a /, two\nlines, a \ttab', "ключ": "ценность", "🙂": "\u0001"},
    {"nested": nested(12)},
    {"long": [{"number": number, "text": "x" * number} for number in range(200)]},
)


OF_A_LANGUAGE: tuple[Config, ...] = (
    {"constructor": 1, "toString": "text", "hasOwnProperty": None, "class": [], "$type": "t"},
    {"__proto__": {"endpoint": 1, "more": [True]}},
    {"within": [{"__proto__": 1, "more": {"constructor": None, "__proto__": {}}}]},
)


@scenario("A52-CUSTOM-01", "A52-CUSTOM-02", needs=NEEDS)
async def test_config_unchanged(world: World) -> None:
    """The client passes the Struct to the custom policy as JSON, unchanged."""
    live = await CustomCluster.start(world, 2)
    for config in CONFIGS:
        await live.check_config_received(
            ResourceVariant("A52-CUSTOM-01", policies(custom(config))), config
        )
    for config in OF_A_LANGUAGE:
        await live.check_config_received(
            ResourceVariant("A52-CUSTOM-02", policies(custom(config))), config
        )
    await live.check_config_received(ResourceVariant("A52-CUSTOM-01", policies(custom({}))), {})


PREFIXES = ("example.com/", "a/b/c/", "/", "https://example.com/types/", f"{TYPE}/x.Y/")


OTHERS = (
    f"{TYPE}/xdspec.NobodyHasThisPolicy",
    f"{TYPE}/TestPolicy",
    f"{TYPE}/{TEST_POLICY}2",
    f"{TYPE}/{TEST_POLICY}/",
    f"{TYPE}/constructor",
)


@scenario("A52-CUSTOM-03", "A52-CUSTOM-04", "A52-CUSTOM-06", needs=NEEDS)
async def test_policy_name(world: World) -> None:
    """The part of type_url after its last slash names the policy; others are skipped."""
    live = await CustomCluster.start(world, 2)
    entries = [
        *(("A52-CUSTOM-03", TYPE + "/", message, ()) for message in (UDPA_STRUCT, XDS_STRUCT)),
        *(("A52-CUSTOM-04", prefix, XDS_STRUCT, ()) for prefix in PREFIXES),
        *(("A52-CUSTOM-06", TYPE + "/", XDS_STRUCT, (other,)) for other in OTHERS),
        ("A52-CUSTOM-06", TYPE + "/", UDPA_STRUCT, OTHERS),
    ]
    for number, (clause, prefix, message, passed_over) in enumerate(entries):
        config = {"row": number}
        its_own = typed_struct(prefix + TEST_POLICY, config, message=message)
        before = (typed_struct(url, {"endpoint": "of another"}) for url in passed_over)
        await live.check_config_received(
            ResourceVariant(clause, policies(*before, its_own)), config
        )


@pytest.mark.parametrize(
    ("clause", "first", "used"),
    [
        case(
            "no-slash",
            "A52-CUSTOM-05",
            typed_struct(TEST_POLICY, {"row": 1}),
            (("used", {"row": 1}),),
        ),
        case("no-value", "A52-CUSTOM-07", custom(None), (("used", {}), ("used, with null", None))),
    ],
)
@scenario(needs=NEEDS)
async def test_unspecified_typed_struct(
    world: World, clause: str, first: str, used: Sequence[tuple[str, Config | None]]
) -> None:
    """A TypedStruct has a type_url without a slash, or has no Struct."""
    live = await CustomCluster.start(world, 2)
    following = {"row": "the next one"}
    variant = ResourceVariant(clause, policies(first, custom(following)))
    answer = await send_and_await_answer(world, live.served, variant)
    if not answer.acked:
        await world.check(clause, answer, {"refused": AckedOrNacked(acked=False)})
        return
    arrives = (*used, ("passed over", following))
    choices = {name: hands_on(config, live.all_of_them) for name, config in arrives}
    await world.check(clause, await world.policies.until(*choices.values()), choices)


BAD: tuple[Config, ...] = (
    {"endpoint": -1},
    {"endpoint": 0.5, "more": {"endpoint": 1}},
    {"endpoint": "1"},
    {"endpoint": [1]},
)


@scenario("A52-CUSTOM-08", "A52-CUSTOM-09", needs=NEEDS)
async def test_rejected_config(world: World) -> None:
    """If the registry cannot parse an update, the client rejects the Cluster and keeps the old."""
    await refuse(
        world,
        *(policies(custom(bad)) for bad in BAD),
        policies(unknown(), custom(BAD[0]), custom({"endpoint": 2})),
        policies(custom(BAD[1]), round_robin()),
    )


@scenario("A52-CUSTOM-08", "A52-CUSTOM-09", needs=NEEDS)
async def test_rejected_config_below_wrr_locality(world: World) -> None:
    """If the registry cannot parse a config below WrrLocality, the client rejects the Cluster."""
    await refuse(
        world,
        policies(in_localities(custom(BAD[0]))),
        policies(in_localities(custom(BAD[2]), round_robin()), custom({"endpoint": 2})),
    )


async def refuse(world: World, *lists: str) -> None:
    """Check that the client rejects each of these lists while a valid config is in use."""
    live = await CustomCluster.start(world, 3)
    good = {"endpoint": 1, "row": "in use"}
    await live.offer(ResourceVariant("A52-CUSTOM-08", policies(custom(good))))
    where = await live.require_picked(good)
    for each in lists:
        await live.check_rejected(ResourceVariant("A52-CUSTOM-08", each))
        calls = await world.call(world.sessions(len(where) * 4))
        await world.check("A52-CUSTOM-09", calls, AllServedBy(where))


@scenario("A52-CUSTOM-10", needs=NEEDS)
async def test_later_updates(world: World) -> None:
    """The client passes each later config and list of endpoints to a custom policy.

    The policy takes a number beyond the list of endpoints modulo its length.
    """
    clause = "A52-CUSTOM-10"
    live = await CustomCluster.start(world, 3)
    for config in ({"endpoint": 0}, {"endpoint": 1}, {"endpoint": 2}, {"endpoint": 2**40 + 1}):
        await live.check_config_received(ResourceVariant(clause, policies(custom(config))), config)
        await live.picks(clause, config, live.all_of_them)
    (place,) = live.served.get_cluster().localities
    added = tuple(map(Endpoint, await world.addresses(2)))
    for endpoints in ((*place.endpoints, *added), added):
        await live.place(replace(place, endpoints=endpoints))
        await live.picks(clause, config, live.all_of_them)


@scenario("A52-CUSTOM-10", needs=NEEDS)
async def test_config_that_grows(world: World) -> None:
    """The client passes an update that only adds to the config."""
    live = await CustomCluster.start(world, 2)
    for config in ({"row": 0}, {"row": 0, "more": {}}, {"row": 0, "more": {"endpoint": 1}}):
        await live.check_config_received(
            ResourceVariant("A52-CUSTOM-10", policies(custom(config))), config
        )


@scenario("A52-CUSTOM-11", "A52-CUSTOM-12", needs=NEEDS)
async def test_per_locality_and_at_top(world: World) -> None:
    """Below WrrLocality each locality has its own policy; without it one policy has all.

    The names of the localities differ in zone or sub-zone alone.
    """
    live = await CustomCluster.start(world, 2, 3)
    first, second = live.served.get_cluster().localities
    await live.place(replace(first, name="one"), replace(second, name="one/a"))
    for config in ({"row": "each its own"}, {"endpoint": 1, "row": "and later"}):
        variant = ResourceVariant("A52-CUSTOM-11", policies(in_localities(custom(config))))
        await live.check_config_received(variant, config, live.by_locality)
    (added,) = await world.addresses(1)
    places = live.served.get_cluster().localities
    await live.place(*places, replace(places[0], endpoints=(Endpoint(added),), name="one/a/i"))
    config = {"row": "with another locality"}
    variant = ResourceVariant("A52-CUSTOM-11", policies(in_localities(custom(config))))
    await live.check_config_received(variant, config, live.by_locality)
    for config in ({"row": "one for all"}, {"endpoint": 1, "row": "and later"}):
        await live.check_config_received(
            ResourceVariant("A52-CUSTOM-12", policies(custom(config))), config
        )


@scenario("A52-CUSTOM-15", needs=NEEDS)
async def test_in_each_priority(world: World) -> None:
    """Each priority has its own instance of the policy, with its own endpoints only.

    The first priority fails, so that the second gets a policy; then the config changes.
    """
    clause = "A52-CUSTOM-15"
    live = await CustomCluster.start(world, 2)
    first, second = await world.endpoints(2), await world.endpoints(3)
    await live.place(tier(0, first), tier(1, second))
    config = {"endpoint": 1, "row": "in use"}
    await live.check_config_received(
        ResourceVariant(clause, policies(custom(config))), config, live.by_locality[:1]
    )
    await fail(*first)
    below = AllServedBy(tuple(endpoint.address for endpoint in second))
    calls = partial(world.call, world.sessions(len(second)))
    await world.rounds.require(below, calls, why="the priority above has failed")
    await live.picks(clause, config, live.by_locality)
    config = {"endpoint": 2, "row": "and later"}
    await live.check_config_received(
        ResourceVariant(clause, policies(custom(config))), config, live.by_locality
    )
    await live.picks(clause, config, live.by_locality)


AS_TURNS = typed_struct(f"{TYPE}/round_robin", {"a field": "of nobody"})


BY_THE_OTHER_PACKAGE = typed_struct(f"{TYPE}/round_robin", {}, message=UDPA_STRUCT)


AS_A_RING = typed_struct(f"{TYPE}/ring_hash_experimental", {"minRingSize": 300, "maxRingSize": 300})


@scenario("A52-CUSTOM-03", "A52-CUSTOM-13", seconds=0.5)
async def test_grpc_policies_by_name(world: World) -> None:
    """A TypedStruct can name round_robin and ring_hash_experimental."""
    live = await LivePolicy.start(world)
    ring = RingHash(minimum=300, maximum=300)
    await live.check_accepted(
        ResourceVariant("A52-CUSTOM-13", policies(AS_A_RING, round_robin())), ring
    )
    await live.check_accepted(
        ResourceVariant("A52-CUSTOM-13", policies(AS_TURNS, ring_hash())), RoundRobin()
    )
    below = policies(in_localities(AS_TURNS, ring_hash()))
    await live.check_accepted(ResourceVariant("A52-CUSTOM-13", below), RoundRobin())
    other = ResourceVariant("A52-CUSTOM-03", policies(BY_THE_OTHER_PACKAGE, ring_hash()))
    await live.check_accepted(other, RoundRobin())


def by_name(**config: str | int) -> str:
    """Format an entry of ring_hash_experimental with this config."""
    return typed_struct(f"{TYPE}/ring_hash_experimental", config)


LIMIT = 8_388_608
"""The largest maxRingSize of the config."""


BAD_RINGS = (
    ("A52-CUSTOM-14", by_name(minRingSize="many")),
    ("A52-CUSTOM-16", by_name(minRingSize=300, maxRingSize=LIMIT + 1)),
)


@scenario("A52-CUSTOM-13", "A52-CUSTOM-14", "A52-CUSTOM-16")
async def test_bad_config_of_grpc_policy(world: World) -> None:
    """If ring_hash_experimental rejects the Struct, the client rejects the Cluster.

    A client that does not support the policy by name does not read its config either. A maximum of
    8M is valid.
    """
    valid = by_name(minRingSize=300, maxRingSize=LIMIT)
    served = await world.plain_ring(ring=RoundRobin())
    await world.require_served(world.sessions(1))
    known = await send_and_await_answer(
        world, served, ResourceVariant("A52-CUSTOM-13", policies(valid))
    )
    await world.check("A52-CUSTOM-13", known, AckedOrNacked(acked=True))
    as_before: Expectation = AllServedBy(served.addresses())
    calls = partial(world.call, 2 * world.sessions(ENOUGH_TO_DIFFER))
    if known.acked:
        as_before = served.with_policy(RingHash(minimum=300, maximum=LIMIT)).matches_ring()
        await world.rounds.require(as_before, calls, why="the Cluster with a ring was accepted")
    for (clause, bad), others in product(BAD_RINGS, ((), (round_robin(),))):
        each = policies(bad, *others)
        answer = await send_and_await_answer(world, served, ResourceVariant(clause, each))
        await world.check(clause, answer, AckedOrNacked(acked=False))
        await world.check(clause, await calls(), as_before)
