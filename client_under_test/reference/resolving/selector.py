"""The config selector: for each request the route, the cluster, and the hash (A31, A42)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import re2

from client_under_test.reference.hash_policy import (
    ASSUMED_CONTENT_TYPE,
    HashPolicyRules,
    request_hash,
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

_MILLION: Final = 1_000_000


class Selection(msgspec.Struct, frozen=True):
    """Where a request goes, and with which hash."""

    cluster: str
    request_hash: int | None = None


class NotNow(msgspec.Struct, frozen=True):
    """Nothing can be selected at present: a request fails unless it waits for readiness."""

    status: Status


Choice = Selection | NotNow | Status
"""A status is final: so the request fails."""


class Selector(Protocol):
    """Decides on each request of a channel, once."""

    def select(self, path: str, metadata: Metadata) -> Choice:
        """Choose the route of a request."""


class PlainSelector:
    """For targets without xDS: all requests go one way."""

    def select(self, path: str, metadata: Metadata) -> Choice:
        """Choose the only route."""
        del path, metadata
        return Selection("")


class FailingSelector:
    """For targets that cannot be used at present."""

    def __init__(self, status: Status) -> None:
        self._choice = NotNow(status)

    def select(self, path: str, metadata: Metadata) -> Choice:
        """Nothing."""
        del path, metadata
        return self._choice


def choose_cluster(clusters: Sequence[WeightedCluster], rng: random.Random) -> str:
    """Return the name of one of a route's clusters, drawn by weight (A28-SPLIT-01)."""
    if len(clusters) == 1:
        return clusters[0].name
    (chosen,) = rng.choices(clusters, [cluster.weight for cluster in clusters])
    return chosen.name


@dataclass(frozen=True, kw_only=True)
class RouteRules(HashPolicyRules):
    """How a request's cluster is drawn (A28) and its hash is made (A42, Hash Policy)."""

    choose_cluster: Callable[[Sequence[WeightedCluster], random.Random], str] = choose_cluster


class RouteSelector:
    """By the routes of a virtual host."""

    def __init__(
        self, host: VirtualHost, *, channel_id: int, rng: random.Random, rules: RouteRules
    ) -> None:
        self._routes = host.routes
        self._policies = [route.hash_policies for route in host.routes]
        self._channel_id = channel_id
        self._rng = rng
        self._rules = rules

    def select(self, path: str, metadata: Metadata) -> Choice:
        """Choose the first route that matches, and hash by its policies (A42-HASH-01)."""
        for number, route in enumerate(self._routes):
            if matches(route.match, path, metadata, self._rng):
                return self._follow(number, route, metadata)
        return Status.unavailable(f"no route matches {path}")

    def _follow(self, number: int, route: Route, metadata: Metadata) -> Choice:
        if not route.clusters:
            return Status.unavailable("the matching route has no cluster")
        return Selection(
            self._rules.choose_cluster(route.clusters, self._rng),
            request_hash(
                self._rules.over_clusters(
                    self._rules.route_policies(self._policies, number), len(route.clusters)
                ),
                metadata,
                channel_id=self._channel_id,
                random=self._rng,
                rules=self._rules,
            ),
        )


# Matching (A27, A28).


def find_host(routes: RouteConfiguration, name: str) -> VirtualHost | None:
    """Return the host with the best domain: exact, then the longest *.suffix, prefix.*, then *."""
    best: tuple[tuple[int, int], VirtualHost] | None = None
    for host in routes.virtual_hosts:
        for domain in host.domains:
            rank = _rank(domain.lower(), name.lower())
            if rank is not None and (best is None or rank > best[0]):
                best = rank, host
    return None if best is None else best[1]


def _rank(domain: str, name: str) -> tuple[int, int] | None:
    if domain == name:
        return 3, 0
    if domain == "*":
        return 0, 0
    if domain.startswith("*") and len(name) >= len(domain) and name.endswith(domain[1:]):
        return 2, len(domain)
    if domain.endswith("*") and len(name) >= len(domain) and name.startswith(domain[:-1]):
        return 1, len(domain)
    return None


def matches(match: RouteMatch, path: str, metadata: Metadata, rng: random.Random) -> bool:
    """Return whether a route matches a request."""
    if not _path_matches(match, path):
        return False
    if not all(_header_matches(header, metadata) for header in match.headers):
        return False
    return match.per_million is None or rng.randrange(_MILLION) < match.per_million


def _path_matches(match: RouteMatch, path: str) -> bool:
    if match.regex is not None:
        return re2.fullmatch(match.regex, path) is not None
    wanted = match.path if match.path is not None else match.prefix or ""
    if not match.case_sensitive:
        wanted, path = wanted.lower(), path.lower()
    return path == wanted if match.path is not None else path.startswith(wanted)


def _header_matches(matcher: HeaderMatcher, metadata: Metadata) -> bool:
    value = _value(matcher.name, metadata)
    if matcher.present is not None:
        return ((value is not None) == matcher.present) != matcher.inverted
    if value is None:
        return False
    return _value_matches(matcher, value) != matcher.inverted


def _value(name: str, metadata: Metadata) -> str | None:
    """A28: binary headers do not exist here, and content-type is what gRPC sends."""
    if name.endswith("-bin"):
        return None
    if name == "content-type":
        return ASSUMED_CONTENT_TYPE
    values = [value for key, value in metadata if key == name and isinstance(value, str)]
    return ",".join(values) if values else None


def _value_matches(matcher: HeaderMatcher, value: str) -> bool:
    if matcher.regex is not None:
        return re2.fullmatch(matcher.regex, value) is not None
    if matcher.within is not None:
        return _is_within(value, *matcher.within)
    if matcher.ignore_case:
        value = value.lower()

    def wanted(text: str) -> str:
        return text.lower() if matcher.ignore_case else text

    if matcher.exact is not None:
        return value == wanted(matcher.exact)
    if matcher.prefix is not None:
        return value.startswith(wanted(matcher.prefix))
    if matcher.suffix is not None:
        return value.endswith(wanted(matcher.suffix))
    return wanted(matcher.contains or "") in value


def _is_within(value: str, start: int, end: int) -> bool:
    try:
        return start <= int(value) < end
    except ValueError:
        return False
