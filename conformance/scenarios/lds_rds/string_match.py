"""A63: matchers of headers by string_match."""

from __future__ import annotations

from functools import partial

import pytest

from conformance.judging.declaration import case
from conformance.scenarios.helpers.routing import Row, by_header, check_table
from conformance.world import World

by_string = partial(by_header, string_match=True)
ignoring_case = partial(by_string, ignore_case=True)

PATTERNS = {
    "exact": by_string(exact="gold", takes=["gold"], leaves=["Gold", "golden", "old", None]),
    "prefix": by_string(prefix="ab", takes=["ab", "abc"], leaves=["a", "Abc", "xab", None]),
    "suffix": by_string(suffix="yz", takes=["yz", "xyz"], leaves=["z", "xYz", "yzx", None]),
    "contains": by_string(contains="mn", takes=["mn", "xmny"], leaves=["m", "mxn", "MN", None]),
    "safe_regex": by_string(safe_regex="v[0-9]+", takes=["v1"], leaves=["v", "xv1", "v1x", None]),
    "exact-capitals": by_string(exact="GoLd", takes=["GoLd"], leaves=["gold", "Gold"]),
    "prefix-capitals": by_string(prefix="Ab", takes=["Abc"], leaves=["abc", "ABc"]),
    "suffix-capitals": by_string(suffix="Yz", takes=["xYz"], leaves=["xyz", "xYZ"]),
    "contains-capitals": by_string(contains="mN", takes=["xmNy"], leaves=["xmny", "xMNy"]),
    "inverted-exact": by_string(exact="a", invert=True, takes=["b", "A"], leaves=["a"]),
    "inverted-contains": by_string(contains="a", invert=True, takes=["b"], leaves=["bab"]),
}
IGNORE_CASE = {
    "exact": ignoring_case(exact="GoLd", takes=["gold", "GOLD"], leaves=["golden", None]),
    "prefix": ignoring_case(prefix="aB", takes=["ab", "ABc"], leaves=["xab", None]),
    "suffix": ignoring_case(suffix="Yz", takes=["yz", "xYZ"], leaves=["yzx", None]),
    "contains": ignoring_case(contains="mN", takes=["xMny"], leaves=["mxn", None]),
    "inverted": ignoring_case(exact="A", invert=True, takes=["b"], leaves=["a"]),
}
REGEXES = {
    "small": ignoring_case(safe_regex="v[a-c]+", takes=["va"], leaves=["Va", "vA", None]),
    "capitals": ignoring_case(safe_regex="V[A-C]+", takes=["VA"], leaves=["va", "vA"]),
}


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        case("patterns", "A63-HEADER-01", PATTERNS),
        case("ignore_case", "A63-HEADER-02", IGNORE_CASE),
        case("safe_regex", "A63-HEADER-03", REGEXES),
    ],
)
async def test_patterns(world: World, clause: str, rows: dict[str, Row]) -> None:
    """Requests take a route with string_match by the value of the header."""
    await check_table(world, clause, rows)
