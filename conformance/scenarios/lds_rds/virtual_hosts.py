"""A28: the virtual host whose domain matches the target most specifically."""

from __future__ import annotations

import pytest

from conformance.judging.declaration import scenario
from conformance.judging.expectations import Fails
from conformance.scenarios.helpers.routing import (
    MATCHED,
    OTHER,
    calls_of,
    routed_to,
    to,
    two_clusters,
    with_routes,
)
from conformance.world import UNARY, World
from conformance.xds_config.config import LISTENER

HOST, _, ENDING = LISTENER.partition(".")

NOT_THE_SUFFIX, NOT_THE_PREFIX = f"*{LISTENER[1:-1]}x", f"z{HOST[1:]}.*"
"""Domains as long as a suffix or prefix of the target, which match another one."""

Domains = tuple[str, ...]

HOSTS: dict[str, tuple[Domains, list[Domains]]] = {
    "exact": ((LISTENER,), [(f"*.{ENDING}",), (f"{HOST}.*",), ("*",)]),
    "longest-suffix": ((f"*{LISTENER[1:]}",), [(f"*.{ENDING}",), (NOT_THE_SUFFIX,), ("*",)]),
    "longest-prefix": ((f"{HOST}.*",), [(f"{HOST[:-1]}*",), (NOT_THE_PREFIX,), ("*",)]),
    "last-of-several": (("one.example", LISTENER), [("two.example", f"*.{ENDING}"), ("*",)]),
    "everything": (("*",), [(f"{LISTENER}.*",), (f"*.{LISTENER}",), (f"x{LISTENER}",)]),
    "everything-else": (("*",), [(NOT_THE_SUFFIX,), (NOT_THE_PREFIX,)]),
}
"""The domains of the host that must be used, and those of other hosts."""

is_first = pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])


@is_first
@pytest.mark.parametrize(("best", "others"), HOSTS.values(), ids=HOSTS)
@scenario("A28-HOST-01")
async def test_most_specific(
    world: World,
    best: Domains,
    others: list[Domains],
    is_first: bool,  # noqa: FBT001
) -> None:
    """The client uses the most specific virtual host, wherever it is in the list."""
    await check_host(world, "A28-HOST-01", best, others, is_first=is_first)


@is_first
@scenario("A28-HOST-02")
async def test_suffix_and_longer_prefix(world: World, is_first: bool) -> None:  # noqa: FBT001
    """The client prefers a domain that begins with an asterisk to a longer one that ends so."""
    suffix, prefix = (f"*.{ENDING}",), (f"{LISTENER[:-1]}*",)
    await check_host(world, "A28-HOST-02", suffix, [prefix, ("*",)], is_first=is_first)


async def check_host(
    world: World, clause: str, best: Domains, others: list[Domains], *, is_first: bool
) -> None:
    """Check that requests are routed by the best virtual host."""
    clusters = await two_clusters(world)
    routes = [to(OTHER, domains=domains) for domains in others]
    routes.insert(0 if is_first else len(routes), to(MATCHED, domains=best))
    await world.serve(with_routes(clusters, *routes))
    calls = await calls_of(world, [(UNARY, {})])
    await world.check(clause, calls, routed_to(clusters, MATCHED))


@scenario("A28-HOST-03")
async def test_no_host(world: World) -> None:
    """Requests fail while no virtual host has a domain that matches the target.

    The next update has one, so the route configuration before it was read.
    """
    clusters = await two_clusters(world)
    await world.serve(with_routes(clusters, to(OTHER, domains=("other.example", f"x{LISTENER}"))))
    calls = await calls_of(world, [(UNARY, {})])
    await world.check("A28-HOST-03", calls, Fails())
    await world.serve(with_routes(clusters, to(MATCHED, domains=(LISTENER,))))
    expected = routed_to(clusters, MATCHED)
    served = await world.eventually(expected, lambda: calls_of(world, [(UNARY, {})]))
    await world.check("A28-HOST-03", served, expected)
