"""Requests and reports as the messages of the xDS API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from envoy.config.core.v3 import base_pb2
from envoy.service.discovery.v3 import discovery_pb2
from envoy.service.load_stats.v3 import lrs_pb2
from google.protobuf.json_format import ParseDict, ParseError

from client_under_test.reference.xds.ads import Request
from client_under_test.reference.xds.lrs import ClusterReport

AGENT: Final = "xdspec-reference"
AGENT_VERSION: Final = "1"

_ADS_FEATURES: Final = (
    "envoy.lb.does_not_support_overprovisioning",
    "xds.config.resource-in-sotw",
)

_INVALID_ARGUMENT: Final = 3
_NANOS: Final = 1_000_000_000


class BadNode(Exception):
    """The bootstrap's node does not have the shape of the API."""


def node(fields: Mapping[str, Any]) -> Any:
    """Return the Node message of the bootstrap's fields, with this client's user agent.

    Raises:
        BadNode: a field has the wrong type.
    """
    try:
        message = ParseDict(dict(fields), base_pb2.Node(), ignore_unknown_fields=True)
    except ParseError as trouble:
        raise BadNode(f"the bootstrap's node is wrong: {trouble}") from trouble
    message.user_agent_name = AGENT
    message.user_agent_version = AGENT_VERSION
    return message


def discovery_request(request: Request, who: Any) -> bytes:
    """Return the bytes of a DiscoveryRequest."""
    message = discovery_pb2.DiscoveryRequest(
        version_info=request.version,
        resource_names=request.names,
        type_url=request.kind.type_url,
        response_nonce=request.nonce,
    )
    if request.has_node:
        message.node.CopyFrom(who)
        message.node.client_features.extend(_ADS_FEATURES)
    if request.error is not None:
        message.error_detail.code = _INVALID_ARGUMENT
        message.error_detail.message = request.error
    return bytes(message.SerializeToString())


def first_load_request(
    who: Any, features: Sequence[str], reports: Sequence[ClusterReport] = ()
) -> bytes:
    """Return the bytes of the first LoadStatsRequest of a stream: the node, and any load."""
    message = lrs_pb2.LoadStatsRequest.FromString(load_request(reports))
    if who is not None:
        message.node.CopyFrom(who)
        message.node.client_features.extend(features)
    return bytes(message.SerializeToString())


def load_request(reports: Sequence[ClusterReport], *, endpoints: bool = False) -> bytes:
    """Return the bytes of a LoadStatsRequest with these reports, optionally per endpoint."""
    message = lrs_pb2.LoadStatsRequest()
    for report in reports:
        load = report.load
        stats = message.cluster_stats.add(
            cluster_name=load.cluster,
            cluster_service_name=load.service_name,
            total_dropped_requests=load.dropped,
        )
        _set_duration(stats.load_report_interval, report.seconds)
        for category, count in load.dropped_by_category:
            stats.dropped_requests.add(category=category, dropped_count=count)
        for locality_load in load.localities:
            locality = stats.upstream_locality_stats.add(
                total_issued_requests=locality_load.issued,
                total_successful_requests=locality_load.succeeded,
                total_error_requests=locality_load.errors,
                total_requests_in_progress=locality_load.in_progress,
            )
            locality.locality.region = locality_load.locality.region
            locality.locality.zone = locality_load.locality.zone
            locality.locality.sub_zone = locality_load.locality.sub_zone
            for metric, told in sorted(locality_load.metrics.items()):
                if metric.is_field:
                    stats_of = getattr(locality, metric.name)
                else:
                    stats_of = locality.load_metric_stats.add(metric_name=metric.name)
                stats_of.num_requests_finished_with_metric = told.requests
                stats_of.total_metric_value = told.value
            if endpoints:
                locality.upstream_endpoint_stats.add(total_issued_requests=locality_load.issued)
    return bytes(message.SerializeToString())


def _set_duration(message: Any, seconds: float) -> None:
    message.seconds, message.nanos = divmod(round(seconds * _NANOS), _NANOS)


def seconds_of(duration: Any) -> float:
    """Convert a Duration message to seconds."""
    return float(duration.seconds + duration.nanos / _NANOS)
