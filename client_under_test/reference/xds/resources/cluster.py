"""Validation of CDS resources (A27, A32, A37, A42, A50, A52)."""

from __future__ import annotations

from typing import Any, Final

from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.policies import registry
from client_under_test.reference.policies.configs import RoundRobinConfig
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.xds.cluster_rules import AGGREGATE, LOGICAL_DNS
from client_under_test.reference.xds.resources.balancing import balancing
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.security import check_transport_socket
from client_under_test.reference.xds.rules import XdsRules
from client_under_test.reference.xds.session_rules import HTTP_OPTIONS

_DURATIONS: Final = ("interval", "base_ejection_time", "max_ejection_time")
_PERCENTAGES: Final = (
    "max_ejection_percent",
    "enforcing_success_rate",
    "failure_percentage_threshold",
    "enforcing_failure_percentage",
)


def read_cluster(message: Any, rules: XdsRules) -> Leaf | Aggregate:
    """Read a Cluster message; ignore fields that gRPC does not support.

    Clauses: A27-CDS-07, A27-CDS-10, A29-CDS-10, A37-DNS-17, A37-VALID-26, A37-VALID-27,
    A37-VALID-29, A46-NACK-06, A52-INPUT-07.

    Raises:
        BadResource: it is not one that a gRPC client can use.
    """
    findings = Findings(lambda found: rules.cluster_errors(message, found))
    found = _discovery(message, rules, findings)
    policy = _policy(message, rules, findings, is_ignored=_ignores_policy(found, rules))
    if message.HasField("lrs_server"):
        source = message.lrs_server.WhichOneof("config_source_specifier")
        if not rules.lrs_server_is_accepted(source):
            findings.add("must be self", "lrs_server")
    if message.HasField("transport_socket"):
        with findings.at("transport_socket"):
            check_transport_socket(message.transport_socket, rules, findings)
    if message.transport_socket_matches:
        findings.add("is not supported", "transport_socket_matches")
    if message.HasField("outlier_detection"):
        with findings.at("outlier_detection"):
            _check_outlier_detection(message.outlier_detection, rules, findings)
    if rules.has_session_affinity and message.HasField("upstream_config"):
        with findings.at("upstream_config.typed_config"):
            _check_upstream_config(message.upstream_config.typed_config, rules, findings)
    findings.check()
    read = Aggregate if "clusters" in found else Leaf
    if read is Leaf:
        found["metrics"] = tuple(message.lrs_report_endpoint_metrics)
        has_outliers = message.HasField("outlier_detection")
        found["outlier_detection"] = rules.outlier_settings(
            message.outlier_detection if has_outliers else None
        )
        if rules.has_session_affinity:
            found["override_host_status"] = rules.override_host_status(_override_status(message))
    return read(
        name=message.name,
        policy=policy or RoundRobinConfig(),
        reported=message.HasField("lrs_server"),
        max_requests=rules.max_requests(message.circuit_breakers.thresholds),
        **found,
    )


def _ignores_policy(found: dict[str, Any], rules: XdsRules) -> bool:
    """A75: ignore the policy of an aggregate, even an unsupported one.

    Clauses: A52-CHANGE-05, A75-LEAF-02.
    """
    return "clusters" in found and not rules.policy_of_aggregate_counts


def _policy(
    message: Any, rules: XdsRules, findings: Findings, *, is_ignored: bool
) -> PolicyConfig | None:
    """A52: convert the policy, then let the registry of gRPC policies parse it.

    Clauses: A48-LEAST-04, A48-LEAST-05, A52-LIST-13.
    """
    told = Findings() if is_ignored else findings
    before = told.count
    configs = balancing(message, rules, told)
    if told.count > before:
        return None
    try:
        return registry.parse(
            configs,
            ring_size_is_accepted=rules.ring_size_is_accepted,
            ring_sizes_fit=rules.ring_sizes_fit,
            request_hash_header=rules.request_hash_header,
            ring_defaults=rules.ring_defaults,
            registered=rules.registered_policies,
            choice_count=rules.choice_count,
        )
    except registry.BadConfig as bad:
        instead = rules.policy_after_registry_error(str(bad))
        if instead is None:
            told.add(str(bad), "load_balancing_policy")
        return instead


# A37, Validation: how the endpoints are found.


def _discovery(message: Any, rules: XdsRules, findings: Findings) -> dict[str, Any]:
    """Return the fields that depend on the type of cluster: `clusters`, or names of endpoints.

    Clauses: A27-CDS-04, A37-VALID-02, A37-VALID-05.
    """
    written = message.WhichOneof("cluster_discovery_type")
    kind = rules.kind_of_cluster(written, message.type)
    if kind == AGGREGATE:
        return {"clusters": _children(message.cluster_type, rules, findings)}
    if kind is None:
        findings.add("must be EDS or LOGICAL_DNS, or cluster_type be set", "type")
        return {}
    found = {"service_name": rules.service_name(kind, message.eds_cluster_config.service_name)}
    if kind == LOGICAL_DNS:
        return {**found, "dns_name": _dns_name(message, rules, findings)}
    config = message.eds_cluster_config
    if not rules.eds_source_is_accepted(config.eds_config.WhichOneof("config_source_specifier")):
        findings.add("must be ads or self", "eds_cluster_config.eds_config")
    if not rules.service_name_is_accepted(message.name, config.service_name):
        findings.add("must be set for an xdstp name", "eds_cluster_config.service_name")
    return found


def _dns_name(message: Any, rules: XdsRules, findings: Findings) -> str:
    """Return the host and port of a LOGICAL_DNS cluster.

    Clauses: A37-VALID-13, A37-VALID-15, A37-VALID-17, A37-VALID-25.
    """
    with findings.at("load_assignment"):
        if not message.HasField("load_assignment"):
            findings.add("is missing")
            return ""
        localities = message.load_assignment.endpoints
        if not rules.has_one_entry("endpoints", len(localities)):
            findings.add(f"must have one entry, not {len(localities)}", "endpoints")
            return ""
        endpoints = localities[0].lb_endpoints if localities else ()
        if not rules.has_one_entry("lb_endpoints", len(endpoints)):
            findings.add(f"must have one entry, not {len(endpoints)}", "endpoints[0].lb_endpoints")
            return ""
        if not endpoints:
            return ""
        with findings.at("endpoints[0].lb_endpoints[0]"):
            return _host_and_port(endpoints[0], rules, findings)


def _host_and_port(message: Any, rules: XdsRules, findings: Findings) -> str:
    """Return the host and port of the only endpoint.

    Clauses: A37-VALID-18, A37-VALID-19, A37-VALID-20, A37-VALID-21, A37-VALID-22.
    """
    for field, there in (
        ("endpoint", message.HasField("endpoint")),
        ("endpoint.address", message.endpoint.HasField("address")),
        ("endpoint.address.socket_address", message.endpoint.address.HasField("socket_address")),
    ):
        if not there:
            findings.add("is missing", field)
            return ""
    with findings.at("endpoint.address.socket_address"):
        found = rules.host_and_port(message.endpoint.address.socket_address)
        match found:
            case (str(host), int(port)):
                return f"{host}:{port}"
        for field, words in found:
            findings.add(words, field)
        return ""


def _children(message: Any, rules: XdsRules, findings: Findings) -> tuple[str, ...]:
    """Return the underlying clusters of an aggregate, whatever the name of the extension.

    Clauses: A37-VALID-07, A37-VALID-09, A37-VALID-12, A47-CDS-04.
    """
    with findings.at("cluster_type.typed_config"):
        if not message.HasField("typed_config"):
            findings.add("is missing")
            return ()
        if not rules.aggregate_type_is_accepted(message.typed_config.type_url):
            findings.add(f"{message.typed_config.type_url or 'nothing'} is not supported")
            return ()
        try:
            config = aggregate_pb2.ClusterConfig.FromString(message.typed_config.value)
        except DecodeError:
            findings.add("is no ClusterConfig")
            return ()
        clusters = rules.underlying_clusters(config.clusters)
        if clusters is None:
            findings.add("must not be empty", "clusters")
        return clusters or ()


# The rest.


def _check_upstream_config(packed: Any, rules: XdsRules, findings: Findings) -> None:
    """A75: it has the idle_timeout of connections that sessions have used."""
    if not rules.upstream_config_is_accepted(packed.type_url):
        findings.add(f"{packed.type_url or 'nothing'} is not supported")
    if packed.type_url != HTTP_OPTIONS:
        return
    try:
        options = http_protocol_options_pb2.HttpProtocolOptions.FromString(packed.value)
    except DecodeError:
        findings.add("is no HttpProtocolOptions")
        return
    idle = options.common_http_protocol_options.idle_timeout
    if not rules.idle_timeout_is_accepted(idle.seconds, idle.nanos):
        findings.add("is out of range", "common_http_protocol_options.idle_timeout")


def _override_status(message: Any) -> tuple[int, ...] | None:
    """Return the statuses of override_host_status (A55); None: it is unset."""
    if not message.common_lb_config.HasField("override_host_status"):
        return None
    return tuple(message.common_lb_config.override_host_status.statuses)


def _check_outlier_detection(message: Any, rules: XdsRules, findings: Findings) -> None:
    """A50: check the durations and percentages.

    Clauses: A50-CDS-03, A50-CDS-04, A50-CDS-05, A50-CDS-06, A50-CDS-08, A50-CDS-09.
    """
    for field in _DURATIONS:
        duration = getattr(message, field)
        if not rules.duration_is_accepted(field, duration.seconds, duration.nanos):
            findings.add("is no positive duration", field)
    for field in _PERCENTAGES:
        if not rules.percentage_is_accepted(field, getattr(message, field).value):
            findings.add("is more than 100", field)
