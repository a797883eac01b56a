"""A42, Hash Policy: which policies contribute to the hash, and how several combine."""

import itertools
from functools import partial

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    Expectation,
    OneEndpoint,
    OnlyTheseMoved,
    SeveralEndpoints,
)
from conformance.judging.observations import Calls, Contrast
from conformance.spec.oracles.request_hash import (
    ChannelIdPolicy,
    HeaderPolicy,
    UnsupportedKind,
    UnsupportedPolicy,
)
from conformance.world import (
    EMPTY,
    ENOUGH_OF_EIGHT,
    ENOUGH_TO_DIFFER,
    ENOUGH_TO_SPREAD,
    ENOUGH_TO_WEIGH,
    TURNS,
    TWICE_AS_MANY,
    UNARY,
    World,
)
from conformance.xds_config.config import XdsConfig, merge, one_cluster, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import BY_SESSION, CLUSTER_HEADER, SESSION, Route
from fake_control_plane import Kind

A, B, C = HeaderPolicy(name="a"), HeaderPolicy(name="b"), HeaderPolicy(name="c")


TERMINAL_A = HeaderPolicy(name="a", terminal=True)


TERMINAL_B = HeaderPolicy(name="b", terminal=True)


TERMINAL_CHANNEL = ChannelIdPolicy(terminal=True)


OTHERS = ("other", f"{SESSION}-id", f"x-{SESSION}", f"{SESSION}s")
"""Headers that are not the session, though some names resemble it."""


def b_rewritten_to(substitution: str) -> HeaderPolicy:
    """Return a policy that hashes the header b, in which this replaces some digits."""
    return HeaderPolicy(name="b", regex="[0-7]", substitution=substitution)


CHANGES = (
    *((B,), (b_rewritten_to("x"),), (b_rewritten_to("y"),)),
    *((A, B), (TERMINAL_A, B), (B, TERMINAL_A), ()),
)
"""Lists of policies, each of which an update brings. Some differ only in a substitution, in a
terminal flag, or in their order."""


async def varying(world: World, header: str, *, path: str = UNARY, **still: str) -> Calls:
    """Make calls that differ in this header only."""
    values = world.values.some(ENOUGH_TO_DIFFER)
    return await world.call([still | {header: value} for value in values], path=path)


@scenario("A42-HASH-01")
async def test_policies_of_the_route(world: World) -> None:
    """The client computes the hash from the policies of the matched route.

    Each value of a header comes twice, next to different values of the other header. A third route
    has no policies, so that its requests are spread although they are equal.
    """
    served = one_cluster(
        single_locality(await world.addresses(4)).get_cluster().localities,
        routes=(
            Route((), when=(CLUSTER_HEADER, "none")),
            Route((A,), path=UNARY),
            Route((B,), path=EMPTY),
        ),
    )
    await world.serve(served)
    first, second = world.values.some(ENOUGH_TO_DIFFER), world.values.some(ENOUGH_TO_DIFFER)
    headers = [
        {"a": a, "b": b}
        for others in (second, second[1:] + second[:1])
        for a, b in zip(first, others, strict=True)
    ]
    unary = await world.call(headers, path=UNARY)
    empty = await world.call(headers, path=EMPTY)
    await world.check("A42-HASH-01", unary, served.matches_ring(route=1))
    await world.check("A42-HASH-01", empty, served.matches_ring(route=2))
    equal = {CLUSTER_HEADER: "none", "a": "same", "b": "same"}
    spread = await world.call([equal] * ENOUGH_TO_SPREAD)
    await world.check("A42-HASH-01", spread, served.all_endpoints_serve())


@scenario("A42-HASH-21")
async def test_weighted_clusters(world: World) -> None:
    """A request to one of several weighted clusters has the hash of its route.

    The chance that one of the two clusters gets no request is below 1e-11. The weights add up to
    100, the default of total_weight, because some clients require that.
    """
    here = single_locality(await world.addresses(4))
    other = single_locality(await world.addresses(4), name="other", path=EMPTY)
    both = Route(
        BY_SESSION, weighted_clusters={config.get_cluster().name: 50 for config in (here, other)}
    )
    await world.serve(merge(replace(here, routes=(both,)), other))
    calls = await world.call(world.values.sessions_to_map())
    await world.check("A42-HASH-21", calls, AllServedBy((*here.addresses(), *other.addresses())))
    for config in (here, other):
        drawn = Calls(tuple(call for call in calls if call.endpoint in config.addresses()))
        await world.check("A42-HASH-21", drawn, config.matches_ring())


@scenario("A42-HASH-03")
async def test_same_results_same_hash(world: World) -> None:
    """Requests with the same results of the policies have the same hash."""
    await world.plain_ring(A, B)
    values = world.values.pairs(ENOUGH_TO_DIFFER)
    first = await world.call([{"a": a, "b": b} for a, b in values])
    again = await world.call([{"other": "x", "b": b, "a": a} for a, b in values])
    await world.check("A42-HASH-03", Contrast(first, again), OnlyTheseMoved(()))


@scenario("A42-HASH-04", needs=("channels",))
async def test_same_hash_in_every_channel_and_process(world: World) -> None:
    """The hash of headers, of one or of two, does not depend on the channel or the process."""
    await world.plain_ring(A, B)
    both = [{"a": a, "b": b} for a, b in world.values.pairs(ENOUGH_TO_DIFFER)]
    headers = (*both, *({"a": a} for a in world.values.some(ENOUGH_TO_DIFFER)))
    first = await world.call(headers)
    in_channel = await world.call(headers, channel=await world.channels.open())
    in_process = await world.call(headers, channel=await world.channels.open_in_new_process())
    await world.check("A42-HASH-04", Contrast(first, in_channel), OnlyTheseMoved(()))
    await world.check("A42-HASH-04", Contrast(first, in_process), OnlyTheseMoved(()))


@scenario("A42-HASH-05", "A42-HASH-06")
async def test_combined_results(world: World) -> None:
    """Each policy with a result affects the hash, whatever the top bits of both results.

    One header varies in each half of the hash space, while the others are constant. The third
    policy has no result before its own turn.
    """
    served = single_locality(await world.addresses(TWICE_AS_MANY), policies=(A, B, C))
    await world.serve(served)
    for still, moving in (("a", "b"), ("b", "a"), ("ab", "c")):
        held = [dict.fromkeys(still, v) for v in itertools.chain(*world.values.halves(3))]
        for half in world.values.halves(ENOUGH_OF_EIGHT):
            headers = [{**constant, moving: value} for constant in held for value in half]
            calls = await world.call(headers)
            await world.check("A42-HASH-05", calls, SeveralEndpoints(each_value_of=still[0]))
    pairs = world.values.pairs(ENOUGH_TO_DIFFER)
    calls = await world.call([{"a": a, "b": b, "c": a} for a, b in pairs])
    await world.check("A42-HASH-06", calls, {"Envoy's formula": served.matches_ring()})


@pytest.mark.parametrize("sent", ["a", "b"])
@scenario("A42-HASH-07", "A42-HASH-08")
async def test_one_header_of_two(world: World, sent: str) -> None:
    """If one of two policies has a result, the hash is not random."""
    served = await world.plain_ring(A, B)
    same = await world.call([{sent: "same"}] * ENOUGH_TO_DIFFER)
    varied = await world.call([{sent: value} for value in world.values.some(ENOUGH_TO_DIFFER)])
    await world.check("A42-HASH-07", same, OneEndpoint())
    await world.check("A42-HASH-07", varied, SeveralEndpoints())
    await world.check("A42-HASH-08", varied, {"leaves no trace": served.matches_ring()})


@pytest.mark.parametrize(
    ("clause", "policies", "headers"),
    [
        case("no-policies", "A42-HASH-11", (), {SESSION: "same"}),
        case("no-result-of-several", "A42-HASH-09", (A, TERMINAL_B, C), {"other": "same"}),
        case("header-not-sent", "A42-HDR-03", BY_SESSION, dict.fromkeys(OTHERS, "same")),
    ],
)
@scenario("A42-HASH-10", "A42-HASH-12")
async def test_random_hash(
    world: World, clause: str, policies: tuple[HeaderPolicy, ...], headers: dict[str, str]
) -> None:
    """If no policy has a result, the client uses a random hash for each request."""
    served = single_locality(await world.addresses(4), policies=policies)
    await world.serve(served)
    calls = await world.call([headers] * ENOUGH_TO_WEIGH)
    await world.check(clause, calls, served.all_endpoints_serve())
    await world.check("A42-HASH-10", calls, SeveralEndpoints())
    await world.check("A42-HASH-12", calls, {"even": served.random_over_ring()})


@scenario("A42-HASH-13")
async def test_terminal_with_result(world: World) -> None:
    """A terminal policy with a result ends the list, also if it rewrites its header."""
    rewritten = HeaderPolicy(name="a", regex="[0-7]", substitution="x", terminal=True)
    served = one_cluster(
        single_locality(await world.addresses(4)).get_cluster().localities,
        routes=(Route((TERMINAL_A, B), path=UNARY), Route((rewritten, B), path=EMPTY)),
    )
    await world.serve(served)
    for path in (UNARY, EMPTY):
        moving = await varying(world, "a", path=path, b="same")
        still = await varying(world, "b", path=path, a="same")
        await world.check("A42-HASH-13", moving, SeveralEndpoints())
        await world.check("A42-HASH-13", still, OneEndpoint())


@scenario("A42-HASH-02", "A42-HASH-14")
async def test_terminal_with_result_after_others(world: World) -> None:
    """The client combines the result of a terminal policy with the results before it."""
    await world.plain_ring(A, TERMINAL_B, C)
    first = await varying(world, "a", b="same", c="same")
    second = await varying(world, "b", a="same", c="same")
    third = await varying(world, "c", a="same", b="same")
    for clause in ("A42-HASH-02", "A42-HASH-14"):
        await world.check(clause, first, SeveralEndpoints())
        await world.check(clause, second, SeveralEndpoints())
        await world.check(clause, third, OneEndpoint())


@scenario("A42-HASH-13")
async def test_terminal_on_the_channel_id(world: World) -> None:
    """A terminal channel id policy ends the list."""
    world.checks.require("A42-CHAN-01")
    await world.plain_ring(TERMINAL_CHANNEL, A)
    await world.check("A42-HASH-13", await varying(world, "a"), OneEndpoint())


@scenario("A42-HASH-14")
async def test_terminal_on_the_channel_id_after_others(world: World) -> None:
    """The client combines a terminal channel id with the results before it."""
    await world.plain_ring(A, TERMINAL_CHANNEL, C)
    await world.check("A42-HASH-14", await varying(world, "a", c="same"), SeveralEndpoints())
    await world.check("A42-HASH-14", await varying(world, "c", a="same"), OneEndpoint())


@scenario("A42-HASH-13", "A42-HASH-15")
async def test_terminal_without_result(world: World) -> None:
    """A terminal policy without a result does not end the list if there is no hash yet.

    The second policy is terminal as well, and ends the list.
    """
    await world.plain_ring(TERMINAL_A, TERMINAL_B, C)
    same = await world.call([{"b": "same"}] * ENOUGH_TO_DIFFER)
    await world.check("A42-HASH-15", same, OneEndpoint())
    await world.check("A42-HASH-15", await varying(world, "b"), SeveralEndpoints())
    await world.check("A42-HASH-13", await varying(world, "c", b="same"), OneEndpoint())


@scenario("A42-HASH-16")
async def test_terminal_without_result_after_others(world: World) -> None:
    """A terminal policy without a result ends the list if there is a hash (A42; not A42-2021)."""
    await world.plain_ring(A, TERMINAL_B, C)
    calls = await varying(world, "c", a="same")
    await world.check("A42-HASH-16", calls, {"A42-2021": SeveralEndpoints(), "A42": OneEndpoint()})


@scenario("A42-HASH-17")
async def test_terminal_on_unsupported_type(world: World) -> None:
    """A terminal policy of an unsupported type ends the list or not."""
    await world.plain_ring(A, UnsupportedPolicy("cookie", terminal=True), C)
    calls = await varying(world, "c", a="same")
    await world.check(
        "A42-HASH-17", calls, {"ends the list": OneEndpoint(), "is ignored": SeveralEndpoints()}
    )


@scenario("A42-HASH-18")
async def test_route_update(world: World) -> None:
    """After each update of the routes, the client hashes by the new policies of each."""
    served = await world.plain_ring(A)
    headers = [{"a": "same", "b": value} for value in world.values.some(ENOUGH_TO_DIFFER)]
    await world.require_served(headers)
    for policies in ((A,), *CHANGES, (A,), ()):
        routes = (Route(policies, path=EMPTY), Route(policies))
        changed = replace(served, routes=routes)
        await world.serve(changed)
        is_exact = policies[:1] == (TERMINAL_A,) or len(policies) == 1
        expected = changed.matches_ring() if is_exact else SeveralEndpoints()
        for path in (EMPTY, UNARY):
            calls = await world.eventually(expected, partial(world.call, headers, path=path))
            await world.check("A42-HASH-18", calls, expected)


@scenario("A42-HASH-19")
async def test_round_robin_does_not_hash(world: World) -> None:
    """ROUND_ROBIN ignores hash policies."""
    served = single_locality(await world.addresses(TURNS), policy=RoundRobin())
    await world.serve(served)
    await world.check_rotation("A42-HASH-19", served)


UNSUPPORTED_TYPES = pytest.mark.parametrize(
    ("clause", "kind"),
    [
        case("unknown", "A42-KIND-01", "unset"),
        case("cookie", "A42-KIND-02", "cookie"),
        case("connection-properties", "A42-KIND-03", "connection_properties"),
        case("query-parameter", "A42-KIND-04", "query_parameter"),
        case("filter-state", "A42-KIND-05", "filter_state"),
    ],
)


COUNTS_IN_ENVOY = {"cookie", "connection_properties"}
"""Types that Envoy supports: such a policy alone determines the hash there."""


COOKIE = {"cookie": f"{SESSION}=same"}


async def accepts_policy(
    world: World, clause: str, served: XdsConfig, kind: UnsupportedKind
) -> bool:
    """Offer a policy of this type; check the client's answer, and return whether it is an ACK."""
    await world.require_served(world.sessions(1))
    alone = served.with_hash_policies(UnsupportedPolicy(kind))
    answer = await world.control.offer(Kind.ROUTE, alone.route_configuration())
    taken = {"A42": AckedOrNacked(acked=True), "envoy": AckedOrNacked(acked=kind != "unset")}
    await world.check(clause, answer, taken)
    return answer.acked


@UNSUPPORTED_TYPES
async def test_unsupported_types(world: World, clause: str, kind: UnsupportedKind) -> None:
    """The client accepts a policy of an unsupported type, and treats it as without a result.

    Equal requests are spread.
    """
    served = await world.plain_ring()
    if not await accepts_policy(world, clause, served, kind):
        return
    spread = served.with_hash_policies(UnsupportedPolicy(kind)).all_endpoints_serve()
    rounds = [[{SESSION: "same", **COOKIE}] * ENOUGH_TO_SPREAD]
    by: dict[str, Expectation] = {"A42": spread, "envoy": spread}
    if kind in COUNTS_IN_ENVOY:
        values = world.values.some(ENOUGH_TO_SPREAD)
        rounds.append([{SESSION: value, **COOKIE} for value in values])
        by = {"A42": spread, "envoy": OneEndpoint()}
    for headers in rounds:
        calls = await world.eventually(world.checks.own(clause, by), partial(world.call, headers))
        await world.check(clause, calls, by)


@UNSUPPORTED_TYPES
async def test_unsupported_type_and_header(
    world: World, clause: str, kind: UnsupportedKind
) -> None:
    """A policy of an unsupported type does not affect a header policy before or after it."""
    served = await world.plain_ring()
    if not await accepts_policy(world, clause, served, kind):
        return
    stay = {"A42": OneEndpoint(), "envoy": OneEndpoint()}
    several = {"A42": SeveralEndpoints(), "envoy": SeveralEndpoints()}
    before, after = (A, UnsupportedPolicy(kind)), (UnsupportedPolicy(kind), B)
    for policies, header, other in ((after, "b", "a"), (before, "a", "b")):
        await world.serve(served.with_hash_policies(*policies))
        make_calls = partial(varying, world, other, **COOKIE, **{header: "same"})
        await world.check(clause, await world.eventually(OneEndpoint(), make_calls), stay)
        await world.check(clause, await varying(world, header, **{other: "same"}), several)
