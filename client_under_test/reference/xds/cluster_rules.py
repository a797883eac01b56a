"""What is read of a Cluster and what makes it a bad one, but for its policy (A27, A32, A37)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as aggregate_pb2

from client_under_test.reference.policies.rules.admission import MAX_REQUESTS
from client_under_test.reference.policies.rules.outlier_detection import (
    FailurePercentage,
    OutlierSettings,
    SuccessRate,
)

EDS: Final = "EDS"
LOGICAL_DNS: Final = "LOGICAL_DNS"
AGGREGATE: Final = "aggregate"

_TYPES: Final = {
    cluster_pb2.Cluster.EDS: EDS,
    cluster_pb2.Cluster.LOGICAL_DNS: LOGICAL_DNS,
}
_AGGREGATE_NAME: Final = aggregate_pb2.ClusterConfig.DESCRIPTOR.full_name
_LONGEST_DURATION: Final = 315_576_000_000  # seconds, as protobuf limits it
_NANOS: Final = 1_000_000_000
_PERCENT: Final = 100


def kind_of_cluster(written: str | None, type_number: int) -> str | None:
    """A37, Validation: EDS or LOGICAL_DNS as `type`, or `cluster_type`; None for any other.

    Clauses: A37-VALID-03, A37-VALID-04, A37-VALID-05, A37-VALID-06.
    """
    if written == "cluster_type":
        return AGGREGATE
    return _TYPES.get(type_number) if written == "type" else None


def eds_source_is_accepted(source: str | None) -> bool:
    """A27: endpoints come by the stream of the Cluster, which is ads, or by A47 self.

    Clauses: A27-CDS-01, A27-CDS-02, A27-CDS-03, A27-CDS-04, A47-CDS-03.
    """
    return source in {"ads", "self"}


def service_name(kind: str, written: str) -> str:
    """A37: the EDS service name is used for the type EDS only.

    Clauses: A27-CDS-05, A27-CDS-06, A37-DNS-02, A37-TREE-09.
    """
    return written if kind == EDS else ""


def service_name_is_accepted(cluster: str, written: str) -> bool:
    """A47: a Cluster with an xdstp name must have a service name.

    Clauses: A47-CDS-01, A47-CDS-02.
    """
    return bool(written) or not cluster.startswith("xdstp:")


def lrs_server_is_accepted(source: str | None) -> bool:
    """A27: load goes to the control plane that the Cluster came from.

    Clauses: A27-CDS-07.
    """
    return source == "self"


def aggregate_type_is_accepted(type_url: str) -> bool:
    """A37, Validation: the only cluster_type there is.

    Clauses: A37-VALID-08.
    """
    return type_url == f"type.googleapis.com/{_AGGREGATE_NAME}"


def underlying_clusters(listed: Sequence[str]) -> tuple[str, ...] | None:
    """A37: the clusters in the order of the list; None, that is an error, if it is empty.

    Clauses: A37-VALID-01, A37-VALID-10, A37-VALID-11.
    """
    return tuple(listed) or None


def has_one_entry(_field: str, entries: int) -> bool:
    """A37, Validation: `endpoints` has one entry, and that one of `lb_endpoints`.

    Clauses: A37-VALID-14, A37-VALID-15, A37-VALID-16, A37-VALID-17.
    """
    return entries == 1


def host_and_port(address: Any) -> tuple[str, int] | Sequence[tuple[str, str]]:
    """A37: the name to resolve, of a socket_address; or fields and what is wrong with them.

    Clauses: A37-DNS-01, A37-DNS-16, A37-DNS-20, A37-DNS-21 (our choice: any name is one, if it is
    not empty), A37-VALID-23 (our choice: a written zero is a port), A37-VALID-24 (our choice: an
    error).
    """
    wrong = []
    if not address.address:
        wrong.append(("address", "must not be empty"))
    if address.resolver_name:
        wrong.append(("resolver_name", "must not be set"))
    if address.WhichOneof("port_specifier") != "port_value":
        wrong.append(("port_value", "must be set"))
    return wrong or (address.address, address.port_value)


def max_requests(thresholds: Sequence[Any]) -> int:
    """A32: the first threshold for default priority counts; without it or its number, 1,024.

    Clauses: A32-CB-03, A32-CB-04, A32-CB-05, A32-CB-06, A32-CB-07, A32-CB-09.
    """
    for threshold in thresholds:
        if threshold.priority == base_pb2.RoutingPriority.DEFAULT:
            has_limit = threshold.HasField("max_requests")
            return int(threshold.max_requests.value) if has_limit else MAX_REQUESTS
    return MAX_REQUESTS


def duration_is_accepted(_field: str, seconds: int, nanos: int) -> bool:
    """A50: durations of outlier_detection are none below zero, and such as protobuf allows.

    Clauses: A50-CDS-01, A50-CDS-02, A50-CDS-07, A50-CDS-10 (our choice).
    """
    return 0 <= seconds <= _LONGEST_DURATION and 0 <= nanos < _NANOS


def percentage_is_accepted(_field: str, percent: int) -> bool:
    """A50: percentages of outlier_detection are at most 100.

    Clauses: A50-CDS-07.
    """
    return percent <= _PERCENT


def outlier_settings(message: Any | None) -> OutlierSettings:
    """A50: return the config of outlier_detection for a Cluster; None: the field is unset.

    Clauses: A50-XDS-01, A50-XDS-02, A50-XDS-03, A50-XDS-04, A50-XDS-05,
    A50-XDS-06, A50-XDS-07, A50-TIME-06, A50-TIME-07.
    """
    if message is None:
        return OutlierSettings()
    success = _written(
        message,
        stdev_factor="success_rate_stdev_factor",
        enforcement_percentage="enforcing_success_rate",
        minimum_hosts="success_rate_minimum_hosts",
        request_volume="success_rate_request_volume",
    )
    failure = _written(
        message,
        threshold="failure_percentage_threshold",
        enforcement_percentage="enforcing_failure_percentage",
        minimum_hosts="failure_percentage_minimum_hosts",
        request_volume="failure_percentage_request_volume",
    )
    times = {
        name: getattr(message, name).seconds + getattr(message, name).nanos / _NANOS
        for name in ("interval", "base_ejection_time", "max_ejection_time")
        if message.HasField(name)
    }
    has_success = success.get("enforcement_percentage") != 0
    has_failure = bool(failure.get("enforcement_percentage"))
    return OutlierSettings(
        success_rate=SuccessRate(**success) if has_success else None,
        failure_percentage=FailurePercentage(**failure) if has_failure else None,
        **times,
        **_written(message, max_ejection_percent="max_ejection_percent"),
    )


def _written(message: Any, **fields: str) -> dict[str, int]:
    return {name: getattr(message, f).value for name, f in fields.items() if message.HasField(f)}


def provider_is_accepted(instance: str, configured: Collection[str]) -> bool:
    """A29: certificates come from a provider that the bootstrap configuration has.

    Clauses: A29-CDS-03.
    """
    return instance in configured


def cluster_errors(_message: Any, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Reject a Cluster for every error that was found, and for nothing else.

    The functions that find the errors name the clauses, in `resources/cluster.py`,
    `resources/balancing.py` and `resources/security.py`.
    """
    return found


@dataclass(frozen=True, kw_only=True)
class ClusterReadingRules:
    """How Clusters are read."""

    kind_of_cluster: Callable[[str | None, int], str | None] = kind_of_cluster
    """Takes the field of cluster_discovery_type that is set, and the number of `type`."""
    eds_source_is_accepted: Callable[[str | None], bool] = eds_source_is_accepted
    service_name: Callable[[str, str], str] = service_name
    service_name_is_accepted: Callable[[str, str], bool] = service_name_is_accepted
    lrs_server_is_accepted: Callable[[str | None], bool] = lrs_server_is_accepted
    aggregate_type_is_accepted: Callable[[str], bool] = aggregate_type_is_accepted
    underlying_clusters: Callable[[Sequence[str]], tuple[str, ...] | None] = underlying_clusters
    has_one_entry: Callable[[str, int], bool] = has_one_entry
    """Takes the field, `endpoints` or `lb_endpoints`, and its number of entries."""
    host_and_port: Callable[[Any], tuple[str, int] | Sequence[tuple[str, str]]] = host_and_port
    max_requests: Callable[[Sequence[Any]], int] = max_requests
    duration_is_accepted: Callable[[str, int, int], bool] = duration_is_accepted
    percentage_is_accepted: Callable[[str, int], bool] = percentage_is_accepted
    outlier_settings: Callable[[Any | None], OutlierSettings] = outlier_settings
    """Takes the outlier_detection of a Cluster, None if it is unset."""
    provider_is_accepted: Callable[[str, Collection[str]], bool] = provider_is_accepted
    policy_of_aggregate_counts: bool = True
    """Set if the policy of an aggregate must be supported (A52-CHANGE-05). A75 ignores the policy;
    our choice is not to check it either (A75-LEAF-03)."""
    cluster_errors: Callable[[Any, Sequence[tuple[str, str]]], Sequence[tuple[str, str]]] = (
        cluster_errors
    )
    """Takes the message and its errors, as pairs of field and problem. Returns the errors that
    count: a rule may drop some, or add more."""
