"""Validation of EDS resources (A27, with A61's additional addresses and A76's hash keys)."""

from __future__ import annotations

import ipaddress
import itertools
from typing import Any, Final

from envoy.type.v3 import percent_pb2

from client_under_test.reference.clusters.aggregates import LeafEndpoints, LocalityEndpoints
from client_under_test.reference.policies.rules.admission import DropCategory
from client_under_test.reference.values import UNKNOWN, Endpoint, Locality
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.rules import XdsRules

_UINT32: Final = 2**32 - 1
_LARGEST_PORT: Final = 65535
_MILLION: Final = 1_000_000

_DENOMINATORS: Final = {
    percent_pb2.FractionalPercent.HUNDRED: 100,
    percent_pb2.FractionalPercent.TEN_THOUSAND: 10_000,
    percent_pb2.FractionalPercent.MILLION: _MILLION,
}


def read_endpoints(message: Any, rules: XdsRules) -> LeafEndpoints:
    """Read a ClusterLoadAssignment message.

    Clauses: A27-VALID-01, A27-VALID-10, A46-NACK-06, and, as our choice, A27-VALID-07 and
    A27-VALID-08.

    Raises:
        BadResource: it is not one that a gRPC client can use.
    """
    findings = Findings(lambda found: rules.endpoint_errors(message, found))
    places: dict[int, list[LocalityEndpoints]] = {}
    addresses: set[str] = set()
    for number, locality in enumerate(message.endpoints):
        with findings.at(f"endpoints[{number}]"):
            place = _place(locality, addresses, rules, findings)
            at_priority = places.setdefault(locality.priority, [])
            if any(other.locality == place.locality for other in at_priority):
                findings.add(f"is twice in priority {locality.priority}", "locality")
            at_priority.append(place)
    weights = {
        priority: sum(entry.weight for entry in listed) for priority, listed in places.items()
    }
    for priority in sorted(rules.overweight_priorities(weights)):
        findings.add(f"weights of the localities of priority {priority} add up beyond 32 bits")
    missing = next((number for number in range(len(places)) if number not in places), None)
    if missing is not None:
        findings.add(f"priority {missing} has no localities, but a later one has", "endpoints")
    drops = []
    for number, overload in enumerate(message.policy.drop_overloads):
        with findings.at(f"policy.drop_overloads[{number}]"):
            drops.append(_drop(overload, rules, findings))
    findings.check()
    if not places:
        return LeafEndpoints(drops=tuple(drops), note="its endpoints resource has no localities")
    return LeafEndpoints(
        priorities=tuple(tuple(places[priority]) for priority in sorted(places)),
        drops=tuple(drops),
    )


def _place(
    message: Any, addresses: set[str], rules: XdsRules, findings: Findings
) -> LocalityEndpoints:
    if not message.HasField("locality"):
        findings.add("is missing", "locality")
    weight = rules.locality_weight(_written(message))
    if weight is None:
        findings.add("must be at least 1", "load_balancing_weight")
    locality = Locality(message.locality.region, message.locality.zone, message.locality.sub_zone)
    endpoints: list[Endpoint] = []
    good: list[bool] = []
    total = 0
    for number, each in enumerate(message.lb_endpoints):
        with findings.at(f"lb_endpoints[{number}]"):
            endpoint = _endpoint(each, addresses, rules, findings)
        total += endpoint.weight
        endpoints.append(endpoint)
        good.append(any(endpoint.addresses) and rules.endpoint_is_used(each.health_status))
    if total > _UINT32:
        findings.add("weights of the endpoints add up beyond 32 bits", "lb_endpoints")
    used = tuple(itertools.compress(endpoints, rules.usable_in_locality(good)))
    return LocalityEndpoints(locality=locality, weight=weight or 0, endpoints=used)


def _written(message: Any) -> int | None:
    if not message.HasField("load_balancing_weight"):
        return None
    return int(message.load_balancing_weight.value)


def _endpoint(message: Any, addresses: set[str], rules: XdsRules, findings: Findings) -> Endpoint:
    """Read an entry of lb_endpoints; reject one without an endpoint (our choice: A27-VALID-02)."""
    weight = rules.endpoint_weight(_written(message))
    if weight is None:
        findings.add("must be at least 1", "load_balancing_weight")
    found = []
    with findings.at("endpoint"):
        if not message.HasField("endpoint"):
            findings.add("is missing")
            return Endpoint(addresses=("",))
        found.append(_address(message.endpoint, addresses, rules, findings))
        for number, additional in enumerate(message.endpoint.additional_addresses):
            with findings.at(f"additional_addresses[{number}]"):
                found.append(_address(additional, addresses, rules, findings))
    return Endpoint(
        addresses=tuple(found),
        weight=1 if weight is None else weight,
        hash_key=_hash_key(message.metadata),
        health=message.health_status if rules.has_session_affinity else UNKNOWN,
    )


def _address(message: Any, known: set[str], rules: XdsRules, findings: Findings) -> str:
    """Return the `address` of an endpoint as "ip:port"; reject a repeated address.

    Clauses (our choice: errors): A27-VALID-03, A27-VALID-04, A27-VALID-05, A27-VALID-06,
    A27-VALID-09.
    """
    if not message.HasField("address"):
        findings.add("is missing", "address")
        return ""
    socket_address = message.address.socket_address
    with findings.at("address.socket_address"):
        if not message.address.HasField("socket_address"):
            findings.add("is missing")
            return ""
        port = socket_address.port_value
        if not 0 < port <= _LARGEST_PORT:
            findings.add(f"{port} is no port", "port_value")
        try:
            ip = ipaddress.ip_address(socket_address.address)
        except ValueError:
            findings.add(f"{socket_address.address!r} is no IP address", "address")
            return ""
        text = f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"  # noqa: PLR2004
        if text in known and not rules.address_may_repeat:
            findings.add(f"{text} is there twice")
        known.add(text)
        return text


def _hash_key(metadata: Any) -> str:
    """A76: `hash_key` in the metadata for envoy.lb, if it is a string."""
    if "envoy.lb" not in metadata.filter_metadata:
        return ""
    fields = metadata.filter_metadata["envoy.lb"].fields
    return str(fields["hash_key"].string_value) if "hash_key" in fields else ""


def _drop(message: Any, rules: XdsRules, findings: Findings) -> DropCategory:
    if not message.category and not rules.drop_field_may_be_missing("category"):
        findings.add("must not be empty", "category")
    if not message.HasField("drop_percentage") and not rules.drop_field_may_be_missing(
        "drop_percentage"
    ):
        findings.add("is missing", "drop_percentage")
    of = _DENOMINATORS.get(message.drop_percentage.denominator)
    if of is None and not rules.drop_field_may_be_missing("denominator"):
        findings.add(f"{message.drop_percentage.denominator} is unknown", "denominator")
    share = rules.drop_share(message.drop_percentage.numerator, of or _MILLION)
    if share is None:
        findings.add("is more than all", "drop_percentage")
    return DropCategory(message.category, share or 0)
