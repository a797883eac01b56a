"""Validation of CDS resources (A27, A32, A37, A42, A50, A52)."""

from __future__ import annotations

from typing import Any, Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.policies import registry
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.rules.gatekeeping import MAX_REQUESTS
from client_under_test.reference.xds.resources.balancing import balancing
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.kinds import PREFIX
from client_under_test.reference.xds.rules import XdsRules

_AGGREGATE_URL: Final = PREFIX + aggregate_pb2.ClusterConfig.DESCRIPTOR.full_name
_LONGEST_DURATION: Final = 315_576_000_000  # seconds, as protobuf limits it
_NANOS: Final = 1_000_000_000
_PERCENT: Final = 100

_DURATIONS: Final = ("interval", "base_ejection_time", "max_ejection_time")
_PERCENTAGES: Final = (
    "max_ejection_percent",
    "enforcing_success_rate",
    "failure_percentage_threshold",
    "enforcing_failure_percentage",
)


def read_cluster(message: Any, rules: XdsRules) -> Leaf | Aggregate:
    """The values of a Cluster message.

    Raises:
        BadResource: it is not one that a gRPC client can use.
    """
    findings = Findings()
    found = _discovery(message, findings)
    policy = _policy(message, rules, findings)
    if message.HasField("lrs_server") and not message.lrs_server.HasField("self"):
        findings.add("must be self", "lrs_server")
    if message.HasField("transport_socket") or message.transport_socket_matches:
        # This client has plain connections only: security asked for must not be passed over.
        findings.add("is not supported", "transport_socket")
    if message.HasField("outlier_detection"):
        with findings.at("outlier_detection"):
            _check_outlier_detection(message.outlier_detection, findings)
    findings.check()
    assert policy is not None, "else something was found"
    if "clusters" in found:
        return Aggregate(name=message.name, policy=policy, **found)
    return Leaf(
        name=message.name,
        policy=policy,
        reported=message.HasField("lrs_server"),
        max_requests=_max_requests(message.circuit_breakers),
        **found,
    )


def _policy(message: Any, rules: XdsRules, findings: Findings) -> PolicyConfig | None:
    """A52: first converted, then parsed by the registry of gRPC's own policies."""
    before = findings.count
    configs = balancing(message, rules, findings)
    if findings.count > before:
        return None
    try:
        return registry.parse(
            configs,
            ring_size_is_valid=rules.size_is_accepted,
            sizes_fit=rules.sizes_fit,
            request_hash_header=rules.request_hash_header,
            ring_defaults=rules.ring_defaults,
        )
    except registry.BadConfig as bad:
        findings.add(str(bad), "load_balancing_policy")
        return None


# A37, Validation: how the endpoints are found.


def _discovery(message: Any, findings: Findings) -> dict[str, Any]:
    """What tells a kind of cluster from the others: `clusters`, `service_name` or `dns_name`."""
    if message.WhichOneof("cluster_discovery_type") == "cluster_type":
        return {"clusters": _children(message.cluster_type, findings)}
    if message.WhichOneof("cluster_discovery_type") == "type":
        if message.type == cluster_pb2.Cluster.EDS:
            return {"service_name": _service_name(message, findings)}
        if message.type == cluster_pb2.Cluster.LOGICAL_DNS:
            return {"dns_name": _dns_name(message, findings)}
    findings.add("must be EDS or LOGICAL_DNS, or cluster_type be set", "type")
    return {}


def _service_name(message: Any, findings: Findings) -> str:
    config = message.eds_cluster_config
    if config.eds_config.WhichOneof("config_source_specifier") not in {"ads", "self"}:
        findings.add("must be ads or self", "eds_cluster_config.eds_config")
    if message.name.startswith("xdstp:") and not config.service_name:
        findings.add("must be set for an xdstp name", "eds_cluster_config.service_name")
    return str(config.service_name)


def _dns_name(message: Any, findings: Findings) -> str:
    with findings.at("load_assignment"):
        if not message.HasField("load_assignment"):
            findings.add("is missing")
            return ""
        localities = message.load_assignment.endpoints
        if len(localities) != 1:
            findings.add(f"must have one entry, not {len(localities)}", "endpoints")
            return ""
        endpoints = localities[0].lb_endpoints
        if len(endpoints) != 1:
            findings.add(f"must have one entry, not {len(endpoints)}", "endpoints[0].lb_endpoints")
            return ""
        with findings.at("endpoints[0].lb_endpoints[0]"):
            return _host_and_port(endpoints[0], findings)


def _host_and_port(message: Any, findings: Findings) -> str:
    for field, there in (
        ("endpoint", message.HasField("endpoint")),
        ("endpoint.address", message.endpoint.HasField("address")),
        ("endpoint.address.socket_address", message.endpoint.address.HasField("socket_address")),
    ):
        if not there:
            findings.add("is missing", field)
            return ""
    with findings.at("endpoint.address.socket_address"):
        address = message.endpoint.address.socket_address
        if not address.address:
            findings.add("must not be empty", "address")
        if address.resolver_name:
            findings.add("must not be set", "resolver_name")
        if address.WhichOneof("port_specifier") != "port_value":
            findings.add("must be set", "port_value")
        return f"{address.address}:{address.port_value}"


def _children(message: Any, findings: Findings) -> tuple[str, ...]:
    with findings.at("cluster_type.typed_config"):
        if not message.HasField("typed_config"):
            findings.add("is missing")
            return ()
        if message.typed_config.type_url != _AGGREGATE_URL:
            findings.add(f"{message.typed_config.type_url or 'nothing'} is not supported")
            return ()
        try:
            config = aggregate_pb2.ClusterConfig.FromString(message.typed_config.value)
        except DecodeError:
            findings.add("is no ClusterConfig")
            return ()
        if not config.clusters:
            findings.add("must not be empty", "clusters")
        return tuple(config.clusters)


# The rest.


def _max_requests(breakers: Any) -> int:
    """A32: the first threshold for default priority counts."""
    for threshold in breakers.thresholds:
        if threshold.priority == base_pb2.RoutingPriority.DEFAULT:
            has_limit = threshold.HasField("max_requests")
            return int(threshold.max_requests.value) if has_limit else MAX_REQUESTS
    return MAX_REQUESTS


def _check_outlier_detection(message: Any, findings: Findings) -> None:
    """A50: what it says must make sense, though this client ejects nothing."""
    for field in _DURATIONS:
        duration = getattr(message, field)
        if not 0 <= duration.seconds <= _LONGEST_DURATION or not 0 <= duration.nanos < _NANOS:
            findings.add("is no positive duration", field)
    for field in _PERCENTAGES:
        if getattr(message, field).value > _PERCENT:
            findings.add("is more than 100", field)
