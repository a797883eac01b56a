"""Resources as the client uses them, after validation."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from client_under_test.reference.clusters.aggregates import LeafEndpoints
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.hash_policy import HashPolicy
from client_under_test.reference.session_affinity import Override


class HeaderMatcher(msgspec.Struct, frozen=True, kw_only=True):
    """A28's match of one header; which field is set says how."""

    name: str
    exact: str | None = None
    prefix: str | None = None
    suffix: str | None = None
    contains: str | None = None
    regex: str | None = None
    within: tuple[int, int] | None = None
    present: bool | None = None
    ignore_case: bool = False
    inverted: bool = False


class RouteMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests take a route: one of the three for the path, all of the headers."""

    prefix: str | None = None
    path: str | None = None
    regex: str | None = None
    case_sensitive: bool = True
    headers: tuple[HeaderMatcher, ...] = ()
    per_million: int | None = None


class WeightedCluster(msgspec.Struct, frozen=True):
    """One of the clusters of a route. `sessions`: overrides of filters, by name (A55)."""

    name: str
    weight: int
    sessions: Mapping[str, Override] = {}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A match and where it leads; no clusters: requests that take it fail."""

    match: RouteMatch
    clusters: tuple[WeightedCluster, ...]
    hash_policies: tuple[HashPolicy, ...] = ()
    sessions: Mapping[str, Override] = {}


class VirtualHost(msgspec.Struct, frozen=True):
    """Routes for some domains, first match first."""

    domains: tuple[str, ...]
    routes: tuple[Route, ...]
    sessions: Mapping[str, Override] = {}


class SessionFilter(msgspec.Struct, frozen=True):
    """A StatefulSession filter of a Listener: its name, and its cookie unless it is disabled."""

    name: str
    cookie: Override


class RouteConfiguration(msgspec.Struct, frozen=True):
    """The RDS resource."""

    virtual_hosts: tuple[VirtualHost, ...]


class Listener(msgspec.Struct, frozen=True):
    """The LDS resource: the name of a RouteConfiguration, or one inline; and its session filter."""

    routes: str | RouteConfiguration
    session: SessionFilter | None = None


Resource = Listener | RouteConfiguration | Leaf | Aggregate | LeafEndpoints
"""Clusters and endpoints have the types that the policies use."""
