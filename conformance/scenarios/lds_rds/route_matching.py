"""A28: which requests a route takes, by path, headers and share."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AckedOrNacked, EndsWith, Fails, Proportions
from conformance.scenarios.helpers.routing import (
    ANYTHING,
    MATCHED,
    OTHER,
    Row,
    by_header,
    by_path,
    calls_of,
    check_table,
    routed_to,
    to,
    two_clusters,
    with_routes,
)
from conformance.world import EMPTY, UNARY, World
from fake_control_plane import Denominator, HeaderMatch, Kind, RouteMatch, RuntimeFraction

SERVICE = UNARY.rpartition("/")[0] + "/"
BOTH = (UNARY, EMPTY)

PATHS = {
    "whole": by_path(RouteMatch(path=UNARY), takes=[UNARY], leaves=[EMPTY]),
    "shorter": by_path(RouteMatch(path=UNARY[:-1]), leaves=[UNARY]),
    "longer": by_path(RouteMatch(path=UNARY + "s"), leaves=[UNARY]),
}
PREFIXES = {
    "empty": by_path(ANYTHING, takes=BOTH),
    "part": by_path(RouteMatch(prefix=SERVICE + "U"), takes=[UNARY], leaves=[EMPTY]),
    "whole": by_path(RouteMatch(prefix=UNARY), takes=[UNARY], leaves=[EMPTY]),
    "longer": by_path(RouteMatch(prefix=UNARY + "s"), leaves=[UNARY]),
    "end": by_path(RouteMatch(prefix="/UnaryCall"), leaves=[UNARY]),
}
REGEXES = {
    "whole": by_path(RouteMatch(safe_regex=".*/Un[a-z]+Call"), takes=[UNARY], leaves=[EMPTY]),
    "beginning": by_path(RouteMatch(safe_regex=SERVICE + "Unary"), leaves=[UNARY]),
    "end": by_path(RouteMatch(safe_regex="UnaryCall"), leaves=[UNARY]),
    "either": by_path(RouteMatch(safe_regex=f"{UNARY}|/x"), takes=[UNARY], leaves=[EMPTY]),
    "either-part": by_path(RouteMatch(safe_regex=f"{SERVICE}U|EmptyCall"), leaves=BOTH),
}
CASES = {
    "path": by_path(
        RouteMatch(path=UNARY.lower(), case_sensitive=False), takes=[UNARY], leaves=[EMPTY]
    ),
    "prefix": by_path(
        RouteMatch(prefix=SERVICE.upper() + "u", case_sensitive=False),
        takes=[UNARY],
        leaves=[EMPTY],
    ),
    "true": by_path(RouteMatch(path=UNARY.lower(), case_sensitive=True), leaves=[UNARY]),
    "unset-path": by_path(RouteMatch(path=UNARY.lower()), leaves=[UNARY]),
    "unset-prefix": by_path(RouteMatch(prefix=SERVICE.lower()), leaves=BOTH),
}
TWO_HEADERS = (HeaderMatch(name="a", exact="1"), HeaderMatch(name="b", exact="2"))
ALL_OF = {
    "headers": Row(
        match=RouteMatch(path=UNARY, headers=TWO_HEADERS),
        takes=((UNARY, {"a": "1", "b": "2"}),),
        leaves=(
            (UNARY, {"a": "1"}),
            (UNARY, {"b": "2"}),
            (UNARY, {"a": "1", "b": "1"}),
            (UNARY, {"a": "2", "b": "2"}),
            (EMPTY, {"a": "1", "b": "2"}),
        ),
    ),
}
IGNORED = {
    "alone": by_path(RouteMatch(prefix="", grpc=True), takes=BOTH),
    "with-a-path": by_path(RouteMatch(path=UNARY, grpc=True), takes=[UNARY], leaves=[EMPTY]),
}
TLS_CONTEXT = {
    "presented": by_path(RouteMatch(prefix="", tls_context_presented=True), takes=BOTH),
    "not-presented": by_path(RouteMatch(prefix="", tls_context_presented=False), takes=BOTH),
    "with-a-path": by_path(
        RouteMatch(path=UNARY, tls_context_presented=True), takes=[UNARY], leaves=[EMPTY]
    ),
}
QUERIES = {"alone": by_path(RouteMatch(prefix="", query_parameter="q"), leaves=BOTH)}


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        case("path", "A28-MATCH-02", PATHS),
        case("prefix", "A28-MATCH-03", PREFIXES),
        case("safe_regex", "A28-MATCH-04", REGEXES),
        case("case_sensitive", "A28-MATCH-05", CASES),
        case("all-of-them", "A28-MATCH-06", ALL_OF),
        case("query_parameters", "A28-MATCH-08", QUERIES),
        case("grpc", "A28-MATCH-09", IGNORED),
        case("tls_context", "A28-MATCH-12", TLS_CONTEXT),
    ],
)
async def test_matchers(world: World, clause: str, rows: dict[str, Row]) -> None:
    """A route takes the requests that all of its matchers match."""
    await check_table(world, clause, rows)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(RouteMatch(prefix=SERVICE), RouteMatch(path=UNARY), id="prefix-and-path"),
        pytest.param(RouteMatch(path=UNARY), RouteMatch(prefix=SERVICE), id="path-and-prefix"),
        pytest.param(RouteMatch(path=UNARY), RouteMatch(path=UNARY), id="same-match"),
        pytest.param(ANYTHING, RouteMatch(prefix=SERVICE), id="shorter-prefix-first"),
    ],
)
@scenario("A28-MATCH-01")
async def test_first_match(world: World, first: RouteMatch, second: RouteMatch) -> None:
    """The first route that matches takes a request, however specific the others are."""
    clusters = await two_clusters(world)
    await world.serve(with_routes(clusters, to(MATCHED, first), to(OTHER, second), to(OTHER)))
    calls = await calls_of(world, [(UNARY, {})] * 3)
    await world.check("A28-MATCH-01", calls, routed_to(clusters, *[MATCHED] * 3))


ENOUGH_FOR_A_SHARE = 300
"""Requests of which a share between 0.2 and 0.8 differs from no and from all requests."""


@pytest.mark.parametrize(
    ("denominator", "scale"), [("HUNDRED", 1), ("TEN_THOUSAND", 100), ("MILLION", 10_000)]
)
@scenario("A28-MATCH-07")
async def test_fraction(world: World, denominator: Denominator, scale: int) -> None:
    """A route takes the share of requests that default_value is, whatever the runtime_key is."""
    clusters = await two_clusters(world)
    percent = world.rng.randint(20, 80)
    drawn = RuntimeFraction(percent * scale, denominator, runtime_key="routing.share")
    for share in (drawn, replace(drawn, numerator=100 * scale), replace(drawn, numerator=0)):
        served = with_routes(clusters, to(MATCHED, replace(ANYTHING, fraction=share)), to(OTHER))
        await world.serve(served)
        parts, of = share.share()
        matched, other = (cluster.addresses()[0] for cluster in clusters.values())
        expected = Proportions({matched: (parts, of), other: (of - parts, of)})
        calls = await world.eventually(
            expected, lambda: world.call(world.sessions(ENOUGH_FOR_A_SHARE))
        )
        await world.check("A28-MATCH-07", calls, expected)


@scenario("A28-MATCH-10")
async def test_no_match(world: World) -> None:
    """A request that no route matches fails with UNAVAILABLE; one that a route matches does not."""
    clusters = await two_clusters(world)
    await world.serve(with_routes(clusters, to(MATCHED, RouteMatch(path=UNARY))))
    calls = await calls_of(world, [(UNARY, {})])
    await world.check("A28-MATCH-10", calls, routed_to(clusters, MATCHED))
    nowhere = await calls_of(world, [(EMPTY, {})])
    await world.check("A28-MATCH-10", nowhere, EndsWith("UNAVAILABLE"))
    await world.check("A28-MATCH-10", nowhere, Fails())


@scenario("A28-MATCH-11")
async def test_no_path_specifier(world: World) -> None:
    """The client rejects a route without a path_specifier."""
    clusters = await two_clusters(world)
    served = with_routes(clusters, to(MATCHED))
    await world.serve(served)
    await world.require_served(world.sessions(1))
    offered = with_routes(clusters, to(OTHER, RouteMatch()), to(OTHER))
    answer = await world.control.offer(Kind.ROUTE, offered.route_configuration())
    await world.check("A28-MATCH-11", answer, AckedOrNacked(acked=False))


EXACT = {
    "value": by_header(exact="gold", takes=["gold"], leaves=["Gold", "golden", "old", None]),
    "capitals": by_header(exact="GoLd", takes=["GoLd"], leaves=["gold", "Gold"]),
}
HEADER_REGEXES = {
    "whole": by_header(safe_regex="v[0-9]+", takes=["v1", "v12"], leaves=["v", "xv1", "v1x"]),
    "either": by_header(safe_regex="a|bc", takes=["a", "bc"], leaves=["ac", "b", None]),
    "capitals": by_header(safe_regex="V[A-C]+", takes=["VA"], leaves=["va", "vA"]),
}
RANGES = {
    "positive": by_header(
        range=(10, 20), takes=["10", "19"], leaves=["9", "20", "-10", "1e1", "ten", None]
    ),
    "negative": by_header(range=(-5, 0), takes=["-5", "-1"], leaves=["-6", "0", "5"]),
    "large": by_header(
        range=(2**40, 2**41), takes=[str(2**40), str(2**41 - 1)], leaves=["0", str(2**41)]
    ),
}
PRESENT = {
    "present": by_header(present=True, takes=["x"], leaves=[None]),
    "absent": by_header(present=False, takes=[None], leaves=["x"]),
}
HEADER_PREFIXES = {
    "prefix": by_header(prefix="ab", takes=["ab", "abc"], leaves=["a", "Abc", "xab", None]),
    "capitals": by_header(prefix="Ab", takes=["Abc"], leaves=["abc", "ABc"]),
}
SUFFIXES = {
    "suffix": by_header(suffix="yz", takes=["yz", "xyz"], leaves=["z", "xYz", "yzx", None]),
    "capitals": by_header(suffix="Yz", takes=["xYz"], leaves=["xyz", "xYZ"]),
}
INVERTED = {
    "exact": by_header(exact="a", invert=True, takes=["b"], leaves=["a"]),
    "safe_regex": by_header(safe_regex="a+", invert=True, takes=["ab"], leaves=["aa"]),
    "range": by_header(range=(1, 3), invert=True, takes=["5", "x"], leaves=["1", "2"]),
    "present": by_header(present=True, invert=True, takes=[None], leaves=["x"]),
    "prefix": by_header(prefix="a", invert=True, takes=["ba"], leaves=["ab"]),
    "suffix": by_header(suffix="a", invert=True, takes=["ab"], leaves=["ba"]),
}
BINARY, VALUE = "tier-bin", b"\x00\xff"
BINARIES = {
    "present": Row(
        match=RouteMatch(prefix="", headers=(HeaderMatch(name=BINARY, present=True),)),
        leaves=((UNARY, {BINARY: VALUE}), (UNARY, {})),
    ),
    "absent": Row(
        match=RouteMatch(prefix="", headers=(HeaderMatch(name=BINARY, present=True, invert=True),)),
        takes=((UNARY, {BINARY: VALUE}), (UNARY, {})),
    ),
}
CONTENT_TYPES = {
    "grpc": by_header(name="content-type", exact="application/grpc", takes=[None]),
    "json": by_header(name="content-type", exact="application/json", leaves=[None]),
    "present": by_header(name="content-type", present=True, takes=[None]),
}
OF_TRANSPORT = {
    name: by_header(name=name, present=True, leaves=[None, "x"])
    for name in (":path", ":method", ":authority")
}


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        case("exact", "A28-HEADER-01", EXACT),
        case("safe_regex", "A28-HEADER-02", HEADER_REGEXES),
        case("range", "A28-HEADER-03", RANGES),
        case("present", "A28-HEADER-04", PRESENT),
        case("prefix", "A28-HEADER-05", HEADER_PREFIXES),
        case("suffix", "A28-HEADER-06", SUFFIXES),
        case("invert_match", "A28-HEADER-07", INVERTED),
        case("binary", "A28-HEADER-08", BINARIES),
        case("content-type", "A28-HEADER-09", CONTENT_TYPES),
        case("pseudo-headers", "A28-HEADER-10", OF_TRANSPORT),
    ],
)
async def test_headers(world: World, clause: str, rows: dict[str, Row]) -> None:
    """A route with a matcher of a header takes the requests whose value it matches."""
    await check_table(world, clause, rows)
