"""The config selector: for each request the route, the cluster, and the hash (A31, A42)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec
import re2

from client_under_test.reference.hash_policy import (
    ASSUMED_CONTENT_TYPE,
    HashPolicyRules,
    request_hash,
)
from client_under_test.reference.session_affinity import Session, SessionRules, session_of
from client_under_test.reference.values import Metadata, Status
from client_under_test.reference.xds.resources.values import (
    HeaderMatcher,
    Route,
    RouteConfiguration,
    RouteMatch,
    SessionFilter,
    VirtualHost,
    WeightedCluster,
)

_MILLION: Final = 1_000_000


class Selection(msgspec.Struct, frozen=True):
    """Where a request goes, with which hash, and in which session if it has one (A55)."""

    cluster: str
    request_hash: int | None = None
    session: Session | None = None


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
    """Return the name of one of a route's clusters, drawn by weight.

    Clauses: A28-SPLIT-01, A28-SPLIT-03, A28-SPLIT-04.
    """
    if len(clusters) == 1:
        return clusters[0].name
    (chosen,) = rng.choices(clusters, [cluster.weight for cluster in clusters])
    return chosen.name


# Matching (A27, A28).


def status_without_route(path: str) -> Status:
    """Return the status of a request that no route matches (A28-MATCH-10)."""
    return Status.unavailable(f"no route matches {path}")


def domain_rank(domain: str, name: str) -> tuple[int, int] | None:
    """Return how specifically a domain matches a name, or None if it does not.

    The name itself is best, then the longest suffix, the longest prefix, and ``*`` (A28-HOST-01,
    A28-HOST-02, A28-HOST-03).
    """
    if domain == name:
        return 3, 0
    if domain == "*":
        return 0, 0
    if domain.startswith("*") and len(name) >= len(domain) and name.endswith(domain[1:]):
        return 2, len(domain)
    if domain.endswith("*") and len(name) >= len(domain) and name.startswith(domain[:-1]):
        return 1, len(domain)
    return None


def path_matches(match: RouteMatch, path: str) -> bool:
    """Return whether the path of a request matches.

    A28-MATCH-02 is about the path, A28-MATCH-03 about the prefix, A28-MATCH-04 about the regular
    expression, and A28-MATCH-05 about upper and lower case.
    """
    if match.regex is not None:
        return re2.fullmatch(match.regex, path) is not None
    wanted = match.path if match.path is not None else match.prefix or ""
    if not match.case_sensitive:
        wanted, path = wanted.lower(), path.lower()
    return path == wanted if match.path is not None else path.startswith(wanted)


def is_drawn(per_million: int, rng: random.Random) -> bool:
    """Return whether a request is in the share of a route (A28-MATCH-07)."""
    return rng.randrange(_MILLION) < per_million


def route_matches(route: Iterable[bool]) -> bool:
    """Return whether a route is taken, by what each of its matchers says (A28-MATCH-06)."""
    return all(route)


def header_matches(matcher: HeaderMatcher, value: str | None) -> bool:
    """Return whether the value of a header matches; None: the request lacks the header.

    A28-HEADER-01, A28-HEADER-02, A28-HEADER-03, A28-HEADER-04, A28-HEADER-05 and A28-HEADER-06 are
    about the kinds of matchers, A28-HEADER-07 about inverted ones, A63-HEADER-01 and A63-HEADER-03
    about their patterns.
    """
    if matcher.present is not None:
        return ((value is not None) == matcher.present) != matcher.inverted
    if value is None:
        return False
    return _value_matches(matcher, value) != matcher.inverted


def matched_value(name: str, metadata: Metadata) -> str | None:
    """Return the value that is matched: of custom metadata alone (A28-HEADER-10).

    Binary headers count as absent (A28-HEADER-08), and content-type is what gRPC sends
    (A28-HEADER-09).
    """
    if name.endswith("-bin"):
        return None
    if name == "content-type":
        return ASSUMED_CONTENT_TYPE
    values = [value for key, value in metadata if key == name and isinstance(value, str)]
    return ",".join(values) if values else None


def _value_matches(matcher: HeaderMatcher, value: str) -> bool:
    if matcher.regex is not None:
        regex = f"(?i:{matcher.regex})" if matcher.ignore_case else matcher.regex
        return re2.fullmatch(regex, value) is not None
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


def routes_in_order(routes: Sequence[Route]) -> Sequence[Route]:
    """Return the routes in the order in which they are tried: as listed (A28-MATCH-01)."""
    return routes


def _is_within(value: str, start: int, end: int) -> bool:
    try:
        return start <= int(value) < end
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class RouteRules(HashPolicyRules, SessionRules):
    """How a request's route is found, its cluster drawn (A28) and its hash made (A42).

    Then its session is read from its cookies (A55).
    """

    choose_cluster: Callable[[Sequence[WeightedCluster], random.Random], str] = choose_cluster
    domain_rank: Callable[[str, str], tuple[int, int] | None] = domain_rank
    """Takes a domain and the target's name, in small letters; the greatest rank is used."""
    routes_in_order: Callable[[Sequence[Route]], Sequence[Route]] = routes_in_order
    path_matches: Callable[[RouteMatch, str], bool] = path_matches
    matched_value: Callable[[str, Metadata], str | None] = matched_value
    header_matches: Callable[[HeaderMatcher, str | None], bool] = header_matches
    is_drawn: Callable[[int, random.Random], bool] = is_drawn
    route_matches: Callable[[Iterable[bool]], bool] = route_matches
    status_without_route: Callable[[str], Status] = status_without_route


def find_host(routes: RouteConfiguration, name: str, rules: RouteRules) -> VirtualHost | None:
    """Return the host whose domain matches the name most specifically."""
    ranked = [
        (rank, host)
        for host in routes.virtual_hosts
        for domain in host.domains
        if (rank := rules.domain_rank(domain.lower(), name.lower())) is not None
    ]
    return max(ranked, key=lambda each: each[0])[1] if ranked else None


def matches(
    match: RouteMatch, path: str, metadata: Metadata, rng: random.Random, rules: RouteRules
) -> bool:
    """Return whether a request takes a route."""
    told = [rules.path_matches(match, path)]
    told += (
        rules.header_matches(header, rules.matched_value(header.name, metadata))
        for header in match.headers
    )
    if match.per_million is not None:
        told.append(rules.is_drawn(match.per_million, rng))
    return rules.route_matches(told)


class RouteSelector:
    """By the routes of a virtual host."""

    def __init__(
        self,
        host: VirtualHost,
        *,
        session: SessionFilter | None = None,
        channel_id: int,
        rng: random.Random,
        rules: RouteRules,
    ) -> None:
        self._host = host
        self._session = session
        self._routes = rules.routes_in_order(host.routes)
        self._policies = [route.hash_policies for route in self._routes]
        self._channel_id = channel_id
        self._rng = rng
        self._rules = rules

    def select(self, path: str, metadata: Metadata) -> Choice:
        """Choose the first route that matches, and hash by its policies (A42-HASH-01)."""
        for number, route in enumerate(self._routes):
            if matches(route.match, path, metadata, self._rng, self._rules):
                return self._follow(number, route, path, metadata)
        return self._rules.status_without_route(path)

    def _session_of(
        self, route: Route, cluster: str, path: str, metadata: Metadata
    ) -> Session | None:
        """Return the session of a request whose cluster was drawn (A55)."""
        if self._session is None:
            return None
        weighted = [each.sessions for each in route.clusters if each.name == cluster]
        overrides = (*weighted, route.sessions, self._host.sessions)
        cookie = self._rules.session_override(overrides, self._session.name, self._session.cookie)
        return session_of(cookie, path, metadata, self._rules)

    def _follow(self, number: int, route: Route, path: str, metadata: Metadata) -> Choice:
        if not route.clusters:
            return Status.unavailable("the matching route has no cluster")
        cluster = self._rules.choose_cluster(route.clusters, self._rng)
        session = self._session_of(route, cluster, path, metadata)
        if session is not None:
            names = [each.name for each in route.clusters]
            cluster = self._rules.session_cluster(session.sent, names, cluster)
        return Selection(
            cluster,
            request_hash(
                self._rules.hash_policies_over_clusters(
                    self._rules.hash_policies_of_route(self._policies, number), len(route.clusters)
                ),
                metadata,
                channel_id=self._channel_id,
                random=self._rng,
                rules=self._rules,
            ),
            session,
        )
