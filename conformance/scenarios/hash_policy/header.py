"""A42, Hash Policy: the value that a header policy hashes."""

from functools import partial

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    EachServesSome,
    EndsWith,
    Expectation,
    OneEndpoint,
    OnlyTheseMoved,
    SeveralEndpoints,
)
from conformance.judging.observations import Contrast
from conformance.scenarios.helpers.draws import first_with
from conformance.spec.oracles.request_hash import HeaderPolicy, SeveralValues, rewrite
from conformance.spec.oracles.ring.keys import KeyFormat
from conformance.world import (
    BY_ARCS,
    EMPTY,
    ENOUGH_TO_DIFFER,
    ENOUGH_TO_SPREAD,
    PLAIN_ENDPOINTS,
    UNARY,
    Headers,
    World,
)
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import BY_SESSION, CLUSTER_HEADER, SESSION, Route
from fake_control_plane import Kind

MANY_ENDPOINTS = 256
"""Number of endpoints; a single wrong hash reaches the right one once in 256 times."""


NAMES = ("x-user-id", "cabin", "x-bin-id", "x_1.y")
"""Names of headers, some of which resemble names of binary ones."""


def rewriting(regex: str, substitution: str) -> HeaderPolicy:
    """Return a policy that hashes the rewritten session."""
    return HeaderPolicy(name=SESSION, regex=regex, substitution=substitution)


@scenario("A42-HDR-01")
async def test_header(world: World) -> None:
    """A header policy hashes the value of the request header.

    60 random values all miss one of four endpoints once in five million runs. Other routes hash
    headers of other names.
    """
    by_name = (Route((HeaderPolicy(name=name),), when=(CLUSTER_HEADER, name)) for name in NAMES)
    plain = single_locality(await world.addresses(4))
    served = replace(plain, routes=(*by_name, *plain.routes))
    await world.serve(served)
    sessions = world.sessions(ENOUGH_TO_SPREAD)
    calls = await world.call((*sessions, *sessions[:ENOUGH_TO_DIFFER]))
    await world.check("A42-HDR-01", calls, OneEndpoint(each_value_of=SESSION))
    await world.check("A42-HDR-01", calls, EachServesSome(served.addresses()))
    for name in NAMES:
        values = world.values.some(ENOUGH_TO_DIFFER)
        calls = await world.call([{CLUSTER_HEADER: name, name: value} for value in 2 * values])
        await world.check("A42-HDR-01", calls, OneEndpoint(each_value_of=name))
        await world.check("A42-HDR-01", calls, SeveralEndpoints())


@scenario("A42-HDR-02")
async def test_hash_of_the_value(world: World) -> None:
    """The hash of a header value is its XXH64 with seed 0.

    A client with a wrong hash looks like one with unknown keys, so there are enough calls to judge
    the ring by its arcs. The ring is small: it shows far fewer changes than another hash would.
    XXH64 treats short and long values differently, so there are values of all lengths.
    """
    served = await world.plain_ring(ring=RingHash(minimum=256))
    headers = [{SESSION: value} for value in world.values.of_all_lengths(BY_ARCS)]
    calls = await world.call(headers)
    await world.check("A42-HDR-02", calls, served.matches_ring())


@scenario("A42-HDR-04")
async def test_empty_value(world: World) -> None:
    """A header with an empty value is hashed, or has no result."""
    served = await world.plain_ring()
    calls = await world.call([{SESSION: ""}] * ENOUGH_TO_SPREAD)
    await world.check(
        "A42-HDR-04",
        calls,
        {
            "the empty string is hashed": served.matches_ring(),
            "no result": served.all_endpoints_serve(),
        },
    )


@scenario("A42-HDR-05", "A42-HDR-06")
async def test_repeated_header(world: World) -> None:
    """A header with several values has the same result each time; the text leaves open which."""
    served = await world.plain_ring()
    values = world.values.pairs(ENOUGH_TO_DIFFER)
    headers = [[(SESSION, first), ("other", "x"), (SESSION, second)] for first, second in values]
    calls, again = await world.call(headers), await world.call(headers)

    def reading(way: SeveralValues) -> Expectation:
        return served.with_hash_policies(HeaderPolicy(name=SESSION, several=way)).matches_ring()

    ways: dict[str, SeveralValues] = {
        "joined by commas": "joined",
        "the first": "first",
        "the last": "last",
        "sorted, one the seed of the next": "sorted",
    }
    await world.check("A42-HDR-05", calls, {name: reading(way) for name, way in ways.items()})
    await world.check("A42-HDR-06", Contrast(calls, again), OnlyTheseMoved(()))


@scenario("A42-HDR-07", needs=("metadata",))
async def test_binary_header(world: World) -> None:
    """The client treats a header whose name ends in -bin as absent.

    On another route a second policy hashes the session, so that requests stay together.
    """
    binary = HeaderPolicy(name="session-bin")
    alone, beside = Route((binary,), path=UNARY), Route((binary, *BY_SESSION), path=EMPTY)
    served = replace(single_locality(await world.addresses(4)), routes=(alone, beside))
    await world.serve(served)
    same: Headers = {"session-bin": b"\x00same", SESSION: "same"}
    spread = await world.call([same] * ENOUGH_TO_SPREAD)
    together = await world.call([same] * ENOUGH_TO_DIFFER, path=EMPTY)
    await world.check(
        "A42-HDR-07", spread, {"A42": served.all_endpoints_serve(), "envoy": OneEndpoint()}
    )
    await world.check("A42-HDR-07", together, {"A42": OneEndpoint(), "envoy": OneEndpoint()})


SPARE_ENDPOINTS, MANY_LISTS = 64, 60
"""Further endpoints, and lists of MANY_ENDPOINTS of all. Both content types belong to one endpoint
with a chance of 1/200, and each list has that endpoint with a chance of (256 / 320)^60: together
below 1e-8."""


def content_types_differ(served: XdsConfig, *, key_format: KeyFormat) -> bool:
    """Return whether application/grpc and application/grpc+proto belong to different endpoints."""
    ring = served.matches_ring(
        allotment="list", search="wrap", weights="raw", key_format=key_format
    )
    types = [{SESSION: "application/grpc"}, {SESSION: "application/grpc+proto"}]
    return all(plainly != named for plainly, named in ring.ways(types))


@scenario("A42-HDR-08", "A42-HDR-09")
async def test_content_type(world: World) -> None:
    """A policy on content-type hashes application/grpc for every request.

    On this ring application/grpc and application/grpc+proto belong to different endpoints.
    """
    addresses = await world.addresses(MANY_ENDPOINTS + SPARE_ENDPOINTS)
    samples = (world.rng.sample(addresses, MANY_ENDPOINTS) for _ in range(MANY_LISTS))
    distinguish = partial(content_types_differ, key_format=world.values.likely_key_format)
    plain = first_with(
        distinguish, map(single_locality, samples), what="a ring that distinguishes both types"
    )
    served = plain.with_hash_policies(HeaderPolicy(name="content-type"))
    await world.serve(served)
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    await world.check("A42-HDR-08", calls, OneEndpoint())
    await world.check("A42-HDR-09", calls, served.matches_ring())


@scenario("A42-HDR-10")
async def test_content_type_of_the_application(world: World) -> None:
    """The application sets content-type: the client hashes that value or the assumed one."""
    await world.plain_ring(HeaderPolicy(name="content-type"))
    types = [{"content-type": f"application/grpc+{v}"} for v in world.values.some(ENOUGH_TO_DIFFER)]
    calls = await world.call(types)
    await world.check(
        "A42-HDR-10",
        calls,
        {"the assumed one is hashed": OneEndpoint(), "its own is hashed": SeveralEndpoints()},
    )


@scenario("A42-HDR-11")
@pytest.mark.parametrize("name", ["path", "method", "authority"])
async def test_pseudo_header(world: World, name: str) -> None:
    """A policy on a pseudo-header has no result."""
    served = await world.plain_ring(HeaderPolicy(name=f":{name}"))
    calls = await world.call([{}] * ENOUGH_TO_SPREAD)
    await world.check(
        "A42-HDR-11", calls, {"A42": served.all_endpoints_serve(), "envoy": OneEndpoint()}
    )


@pytest.mark.parametrize(
    ("clause", "policy", "sessions"),
    [
        case("part", "A42-HDR-12", rewriting("^user-", ""), "user-{}"),
        case("every-match", "A42-HDR-13", rewriting("[0-4]", "x"), "{}"),
        case("anchored-match", "A42-HDR-13", rewriting("^[0-9a-f]", "x"), "{}"),
        case("groups", "A42-HDR-14", rewriting(r"^(\w+)\.(\w+)$", r"\2/\1"), "{}.y"),
        case(
            "nine-groups",
            "A42-HDR-14",
            rewriting(9 * "([0-9a-f])", r"\9\8\7\6\5\4\3\2\1"),
            "{}",
        ),
        case("ten-groups", "A42-HDR-21", rewriting(10 * "([0-9a-f])", r"\10\2x\3_"), "{}"),
        case("whole-match", "A42-HDR-19", rewriting("[a-f]+", r"<\0>"), "{}"),
        case("backslash", "A42-HDR-20", rewriting("[a-f]+", r"\\"), "{}"),
        case("backslash-then-digit", "A42-HDR-20", rewriting("([a-f]+)", r"\\1"), "{}"),
        case("dollars", "A42-HDR-21", rewriting("([a-f]+)", "$1$0${1}$<z>$&$$"), "{}"),
        case("no-dollars", "A42-HDR-21", rewriting("([a-f]+)", "&{0}{1}%1%s@1#{1}(?1x)~*+?"), "{}"),
        case("no-match", "A42-HDR-15", rewriting("z+", "x"), "{}"),
    ],
)
async def test_rewrite(world: World, clause: str, policy: HeaderPolicy, sessions: str) -> None:
    """The client hashes the rewritten value.

    Each rewritten value also comes as a value of its own. If the rewrite does not change it again,
    both have the same hash, whatever the ring is.
    """
    served = await world.plain_ring(policy)
    values = [sessions.format(value) for value in world.values.some(ENOUGH_TO_DIFFER)]
    values += [rewrite(value, policy.regex or "", policy.substitution) for value in values]
    calls = await world.call([{SESSION: value} for value in values])
    await world.check(clause, calls, served.matches_ring())


@scenario("A42-HDR-12")
async def test_rewrite_to_one_value(world: World) -> None:
    """Values that a rewrite makes equal have the same hash.

    Another route has another rewrite, by which the client hashes first.
    """
    to_one = (rewriting("[0-9a-f]+", "same"),)
    plain = single_locality(await world.addresses(PLAIN_ENDPOINTS), policies=to_one)
    other = Route((rewriting("[0-4]", "x"),), path=EMPTY)
    served = replace(plain, routes=(other, *plain.routes))
    await world.serve(served)
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER), path=EMPTY)
    await world.check("A42-HDR-12", calls, served.matches_ring(route=0))
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    await world.check("A42-HDR-12", calls, OneEndpoint())
    await world.check("A42-HDR-12", calls, served.matches_ring())


@scenario("A42-HDR-16")
async def test_rewrite_to_nothing(world: World) -> None:
    """A value that a rewrite leaves empty is hashed, or counts as absent."""
    served = await world.plain_ring(rewriting("[0-9a-f]+", ""))
    sessions = world.sessions(12)
    calls = await world.call([*sessions] * ENOUGH_TO_DIFFER)
    await world.check(
        "A42-HDR-16",
        calls,
        {
            "the empty string is hashed": served.matches_ring(),
            "no result": SeveralEndpoints(each_value_of=SESSION),
            "not rewritten": served.with_hash_policies(*BY_SESSION).matches_ring(),
        },
    )


@scenario("A42-HDR-17")
async def test_invalid_regex(world: World) -> None:
    """A rewrite has a pattern that RE2 rejects."""
    served = await world.plain_ring()
    await world.require_served(world.sessions(1))
    invalid = served.with_hash_policies(rewriting("(", ""))
    answer = await world.control.offer(Kind.ROUTE, invalid.route_configuration())
    await world.attempts.quiet(why="the answer: the client has applied the resource by then")
    calls = await world.call([*world.sessions(12)] * ENOUGH_TO_DIFFER)
    choices: dict[str, Expectation] = {
        "the values as they are": served.matches_ring(),
        "no result": SeveralEndpoints(each_value_of=SESSION),
        "one hash for all": OneEndpoint(),
        "calls fail": EndsWith("UNAVAILABLE"),
    }
    if not answer.acked:
        choices = {"the old routes": served.matches_ring(), "calls fail": EndsWith("UNAVAILABLE")}
    said = "ACK" if answer.acked else "NACK"
    await world.check(
        "A42-HDR-17", calls, {f"{said}, and {name}": how for name, how in choices.items()}
    )


@scenario("A42-HDR-22")
async def test_empty_name(world: World) -> None:
    """A header policy has an empty header name.

    All requests are equal, so that any result keeps them at one endpoint.
    """
    served = await world.plain_ring()
    await world.require_served(world.sessions(1))
    nameless = served.with_hash_policies(HeaderPolicy(name=""))
    answer = await world.control.offer(Kind.ROUTE, nameless.route_configuration())
    if not answer.acked:
        await world.check("A42-HDR-22", answer, {"NACK": AckedOrNacked(acked=False)})
        return
    no_result = nameless.all_endpoints_serve()
    same = [{SESSION: "same"}] * ENOUGH_TO_SPREAD
    calls = await world.eventually(no_result, lambda: world.call(same))
    await world.check(
        "A42-HDR-22",
        calls,
        {"ACK, and no result": no_result, "ACK, and one result for all": OneEndpoint()},
    )


@scenario("A42-HDR-18")
async def test_capital_letters(world: World) -> None:
    """A policy has a header name with capital letters: it matches the header, or has no result."""
    served = await world.plain_ring(HeaderPolicy(name="Session"))
    calls = await world.call([{SESSION: "same"}] * ENOUGH_TO_SPREAD)
    await world.check(
        "A42-HDR-18",
        calls,
        {"capitals ignored": OneEndpoint(), "no result": served.all_endpoints_serve()},
    )
