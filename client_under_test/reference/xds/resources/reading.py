"""Reads the resources of a response one by one: a bad one does not spoil the others (A46)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.xds.resources.cluster import read_cluster
from client_under_test.reference.xds.resources.endpoints import read_endpoints
from client_under_test.reference.xds.resources.findings import BadResource
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.listener import read_listener
from client_under_test.reference.xds.resources.route import read_route_configuration
from client_under_test.reference.xds.resources.values import Resource
from client_under_test.reference.xds.rules import XdsRules

_MESSAGES: Final[dict[Kind, Any]] = {
    Kind.LISTENER: listener_pb2.Listener,
    Kind.ROUTE: route_pb2.RouteConfiguration,
    Kind.CLUSTER: cluster_pb2.Cluster,
    Kind.ENDPOINTS: endpoint_pb2.ClusterLoadAssignment,
}

_READERS: Final[dict[Kind, Callable[[Any, XdsRules], Resource]]] = {
    Kind.LISTENER: read_listener,
    Kind.ROUTE: read_route_configuration,
    Kind.CLUSTER: read_cluster,
    Kind.ENDPOINTS: read_endpoints,
}


@dataclass(frozen=True)
class Good:
    """A resource that can be used."""

    name: str
    value: Resource


@dataclass(frozen=True)
class Bad:
    """One that cannot: `words` name it, the field and the reason. No name: not even that is known.

    What is asked for under that name gets the words as its error, unless there is a `value`: what
    is used all the same.
    """

    name: str | None
    words: str
    value: Resource | None = None


def read_resources(kind: Kind, packed: Sequence[Any], rules: XdsRules) -> list[Good | Bad]:
    """Each resource of a response, in order; the second of a name is bad."""
    found: list[Good | Bad] = []
    names: set[str] = set()
    for number, each in enumerate(packed):
        resource = _read(kind, each, f"resource {number}", rules)
        if resource.name in names and not rules.name_may_repeat:
            resource = Bad(resource.name, f"{kind.noun} {resource.name}: is there twice")
        elif resource.name is not None:
            names.add(resource.name)
        found.append(resource)
    return found


def _read(kind: Kind, packed: Any, place: str, rules: XdsRules) -> Good | Bad:
    name: str | None = None
    if rules.is_wrapper(packed.type_url):
        try:
            wrapper = discovery_pb2.Resource.FromString(packed.value)
        except DecodeError:
            return Bad(None, f"{place}: cannot be decoded as a Resource")
        name, packed = wrapper.name or None, wrapper.resource
    if packed.type_url != kind.type_url:
        return Bad(name, f"{name or place}: is {packed.type_url or 'untyped'}, not a {kind.noun}")
    try:
        message = rules.decode(_MESSAGES[kind], packed.value)
    except DecodeError:
        return Bad(name, f"{name or place}: cannot be decoded as a {kind.noun}")
    name = _name(kind, message)
    if not name:
        return Bad(None, f"{place}: the {kind.noun} has no name")
    try:
        return Good(name, _READERS[kind](message, rules))
    except BadResource as bad:
        rest = rules.usable_part_of_rejected(message)
        value = None if rest is None else _READERS[kind](rest, rules)
        return Bad(name, f"{kind.noun} {name}: {bad}", value)


def _name(kind: Kind, message: Any) -> str:
    return str(message.cluster_name if kind is Kind.ENDPOINTS else message.name)
