"""Virtual hosts, routes and headers, as tables."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from client_under_test.reference.editions.editions import MODERN
from client_under_test.reference.resolving.selector import (
    RouteSelector,
    Selection,
    choose_cluster,
    find_host,
    matches,
)
from client_under_test.reference.values import Metadata, Status
from client_under_test.reference.xds.resources.values import (
    HeaderMatcher,
    Route,
    RouteConfiguration,
    RouteMatch,
    VirtualHost,
    WeightedCluster,
)

DOMAINS = ("foo.bar.com", "*.bar.com", "*-bar.com", "foo.*", "foo.bar.*", "*")


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("foo.bar.com", "foo.bar.com"),
        ("FOO.bar.com", "foo.bar.com"),
        ("x.bar.com", "*.bar.com"),
        ("x-bar.com", "*-bar.com"),
        ("foo.bar.net", "foo.bar.*"),
        ("foo.net", "foo.*"),
        ("other", "*"),
    ],
)
def test_hosts(name: str, domain: str) -> None:
    hosts = tuple(VirtualHost((pattern,), ()) for pattern in DOMAINS)
    found = find_host(RouteConfiguration(hosts), name, MODERN.rules)
    assert found is not None
    assert found.domains == (domain,)


def test_no_host() -> None:
    configuration = RouteConfiguration((VirtualHost(("other",), ()),))
    assert find_host(configuration, "name", MODERN.rules) is None


@pytest.mark.parametrize(
    ("match", "taken"),
    [
        (RouteMatch(prefix=""), True),
        (RouteMatch(prefix="/pkg."), True),
        (RouteMatch(prefix="/PKG."), False),
        (RouteMatch(prefix="/PKG.", case_sensitive=False), True),
        (RouteMatch(path="/pkg.Service/Method"), True),
        (RouteMatch(path="/pkg.Service"), False),
        (RouteMatch(path="/PKG.service/method", case_sensitive=False), True),
        (RouteMatch(regex="/pkg.*Method"), True),
        (RouteMatch(regex="/pkg"), False),
        (RouteMatch(prefix="", per_million=0), False),
        (RouteMatch(prefix="", per_million=1_000_000), True),
    ],
)
def test_paths(match: RouteMatch, *, taken: bool) -> None:
    assert matches(match, "/pkg.Service/Method", (), random.Random(1), MODERN.rules) is taken


METADATA: Metadata = (("h", "value"), ("n", "5"), ("h", "again"), ("data-bin", b"x"))


@pytest.mark.parametrize(
    ("matcher", "taken"),
    [
        (HeaderMatcher(name="h", exact="value,again"), True),
        (HeaderMatcher(name="h", exact="VALUE,AGAIN"), False),
        (HeaderMatcher(name="h", exact="VALUE,AGAIN", ignore_case=True), True),
        (HeaderMatcher(name="h", prefix="val"), True),
        (HeaderMatcher(name="h", suffix="gain"), True),
        (HeaderMatcher(name="h", contains="e,a"), True),
        (HeaderMatcher(name="h", contains="x"), False),
        (HeaderMatcher(name="h", regex="value,.*"), True),
        (HeaderMatcher(name="h", regex="value"), False),
        (HeaderMatcher(name="n", within=(5, 6)), True),
        (HeaderMatcher(name="n", within=(0, 5)), False),
        (HeaderMatcher(name="h", within=(0, 5)), False),
        (HeaderMatcher(name="h", present=True), True),
        (HeaderMatcher(name="h", present=False), False),
        (HeaderMatcher(name="missing", present=False), True),
        (HeaderMatcher(name="missing", present=True, inverted=True), True),
        (HeaderMatcher(name="missing", exact="x", inverted=True), False),
        (HeaderMatcher(name="h", exact="x", inverted=True), True),
        (HeaderMatcher(name="data-bin", present=True), False),
        (HeaderMatcher(name="content-type", exact="application/grpc"), True),
    ],
)
def test_headers(matcher: HeaderMatcher, *, taken: bool) -> None:
    match = RouteMatch(prefix="", headers=(matcher,))
    assert matches(match, "/", METADATA, random.Random(1), MODERN.rules) is taken


def test_clusters_by_weight() -> None:
    clusters = (WeightedCluster("a", 1), WeightedCluster("b", 3))
    rng = random.Random(1)
    counts = Counter(choose_cluster(clusters, rng) for _ in range(4000))
    assert 800 < counts["a"] < 1200


def selector(*routes: Route) -> RouteSelector:
    host = VirtualHost(("*",), routes)
    return RouteSelector(host, channel_id=1, rng=random.Random(1), rules=MODERN.rules)


def test_the_first_route_that_matches_is_taken() -> None:
    only_x = Route(match=RouteMatch(path="/x"), clusters=(WeightedCluster("x", 1),))
    rest = Route(match=RouteMatch(prefix=""), clusters=(WeightedCluster("rest", 1),))
    chosen = selector(only_x, rest)
    for path, cluster in (("/x", "x"), ("/y", "rest")):
        selection = chosen.select(path, ())
        assert isinstance(selection, Selection)
        assert selection.cluster == cluster
        assert selection.request_hash is not None


def test_no_route_and_a_route_that_leads_nowhere() -> None:
    nowhere = Route(match=RouteMatch(path="/x"), clusters=())
    for path in ("/x", "/y"):
        status = selector(nowhere).select(path, ())
        assert isinstance(status, Status)
        assert status.code == "UNAVAILABLE"
