"""Between the values of this package and the messages of the control service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from google.protobuf import any_pb2, duration_pb2

from fake_control_plane import control_pb2 as pb
from fake_control_plane.events import (
    Dropped,
    Event,
    Identity,
    LoadRequest,
    LoadResponse,
    Note,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.exceptions import BadFault
from fake_control_plane.kinds import Kind
from fake_control_plane.loads import (
    LONGEST_DURATION,
    ClusterLoad,
    EndpointLoad,
    Load,
    Loads,
    Locality,
    LocalityLoad,
    MetricLoad,
)
from fake_control_plane.stream import AckOrNack
from fake_control_plane.transcript import Push

_KINDS: dict[Kind, pb.Kind] = {
    Kind.LISTENER: pb.LISTENER,
    Kind.ROUTE: pb.ROUTE,
    Kind.CLUSTER: pb.CLUSTER,
    Kind.ENDPOINTS: pb.ENDPOINTS,
}
_KINDS_BACK: dict[int, Kind] = {number: kind for kind, number in _KINDS.items()}
_SERVICES: dict[Service, pb.Service] = {Service.ADS: pb.ADS, Service.LRS: pb.LRS}
_SERVICES_BACK: dict[int, Service] = {number: service for service, number in _SERVICES.items()}
_SIDES = {
    Side.CLIENT: pb.Event.CLIENT,
    Side.SCRIPT: pb.Event.SCRIPT,
    Side.STOP: pb.Event.STOP,
}
# The largest uint64: a larger sum of the ledger is sent as this value.
_HIGHEST_COUNT: Final = (1 << 64) - 1

_ANSWERS = {None: pb.Event.NO_ANSWER, AckOrNack.ACK: pb.Event.ACK, AckOrNack.NACK: pb.Event.NACK}


def kind_from(number: int) -> Kind:
    """Return the kind of a number of the enum.

    Raises:
        BadFault: it means none.
    """
    if number not in _KINDS_BACK:
        known = ", ".join(kind.name for kind in Kind)
        raise BadFault(f"Kind {number} is none of {known}: set the kind.")
    return _KINDS_BACK[number]


def service_from(number: int) -> Service:
    """Return the service of a number of the enum.

    Raises:
        BadFault: it means none.
    """
    if number not in _SERVICES_BACK:
        raise BadFault(f"Service {number} is neither ADS nor LRS.")
    return _SERVICES_BACK[number]


def kinds_message(kinds: Iterable[Kind]) -> list[pb.Kind]:
    """Kinds as numbers, in the order of the enum."""
    return sorted(_KINDS[kind] for kind in kinds)


def push_message(push: Push) -> pb.Push:
    """Convert a push to a message."""
    versions = (
        pb.Push.Version(kind=_KINDS[kind], version=version)
        for kind, version in push.versions.items()
    )
    return pb.Push(versions=versions, since=push.since)


def event_message(index: int, event: Event) -> pb.Event:
    """Convert an event and its index to a message."""
    message = pb.Event(index=index, at=event.at, stream=event.stream, node=event.node)
    match event:
        case StreamOpened():
            message.stream_opened.service = _SERVICES[event.service]
            message.stream_opened.peer = event.peer
        case StreamClosed():
            message.stream_closed.service = _SERVICES[event.service]
            message.stream_closed.by = _SIDES[event.by]
            message.stream_closed.code = event.code
            message.stream_closed.details = event.details
        case Request():
            message.request.CopyFrom(_request(event))
        case Response():
            message.response.CopyFrom(_response(event))
        case LoadRequest():
            message.load_request.clusters.extend(
                _cluster_load(cluster) for cluster in event.clusters
            )
            if event.identity is not None:
                message.load_request.identity.CopyFrom(_identity(event.identity))
            message.load_request.SetInParent()
        case LoadResponse():
            message.load_response.interval.CopyFrom(_duration(event.interval))
            message.load_response.clusters.extend(event.clusters)
            message.load_response.send_all_clusters = event.send_all_clusters
            message.load_response.endpoint_granularity = event.endpoint_granularity
        case Dropped():
            message.dropped.count = event.count
        case Note():
            message.note.text = event.text
    return message


def ledger_message(loads: Loads, cluster: str) -> pb.LoadLedger:
    """Convert the sums of one cluster, or of all (empty), to a message."""
    ledger = pb.LoadLedger()
    for name, service in loads.clusters():
        if cluster in ("", name):
            drops = loads.drops(name, service=service)
            ledger.clusters.add(
                cluster=name,
                service=service,
                localities=(
                    _sum(locality, load)
                    for locality, load in loads.by_locality(name, service=service).items()
                ),
                dropped=_count(drops.total),
                dropped_by_category={
                    category: _count(dropped) for category, dropped in drops.by_category.items()
                },
            )
    return ledger


def _request(event: Request) -> pb.Event.Request:
    return pb.Event.Request(
        type_url=event.type_url,
        names=event.names,
        version=event.version,
        nonce=event.nonce,
        answer=_ANSWERS[event.answer],
        answered_version=event.answered_version,
        stale=event.stale,
        subscribed=event.subscribed,
        unsubscribed=event.unsubscribed,
        error_code=event.error_code,
        error_detail=event.error_detail,
        identity=None if event.identity is None else _identity(event.identity),
    )


def _response(event: Response) -> pb.Event.Response:
    return pb.Event.Response(
        type_url=event.type_url,
        version=event.version,
        nonce=event.nonce,
        resources=(
            any_pb2.Any(type_url=packed.type_url, value=packed.body) for packed in event.resources
        ),
        names=event.names,
        fault=event.fault,
    )


def _identity(identity: Identity) -> pb.Event.Identity:
    return pb.Event.Identity(
        id=identity.id,
        cluster=identity.cluster,
        locality=_locality(identity.locality),
        user_agent_name=identity.user_agent_name,
        user_agent_version=identity.user_agent_version,
        client_features=identity.client_features,
    )


def _locality(locality: Locality) -> pb.Locality:
    return pb.Locality(region=locality.region, zone=locality.zone, sub_zone=locality.sub_zone)


def _sum(locality: Locality, load: Load) -> pb.LocalityLoad:
    return pb.LocalityLoad(
        locality=_locality(locality),
        successful=_count(load.successful),
        errors=_count(load.errors),
        issued=_count(load.issued),
        in_progress=_count(load.in_progress),
    )


def _count(total: int) -> int:
    return min(total, _HIGHEST_COUNT)


def _cluster_load(load: ClusterLoad) -> pb.ClusterLoad:
    return pb.ClusterLoad(
        cluster=load.cluster,
        service=load.service,
        interval=_duration(load.interval),
        localities=(_locality_load(locality) for locality in load.localities),
        dropped=load.dropped,
        dropped_by_category=load.dropped_by_category,
    )


def _locality_load(load: LocalityLoad) -> pb.LocalityLoad:
    return pb.LocalityLoad(
        locality=_locality(load.locality),
        successful=load.successful,
        errors=load.errors,
        issued=load.issued,
        in_progress=load.in_progress,
        priority=load.priority,
        metrics=_metrics(load.metrics),
        utilizations=_metrics(load.utilizations),
        endpoints=(_endpoint_load(endpoint) for endpoint in load.endpoints),
    )


def _endpoint_load(load: EndpointLoad) -> pb.EndpointLoad:
    return pb.EndpointLoad(
        address=load.address,
        successful=load.successful,
        errors=load.errors,
        issued=load.issued,
        in_progress=load.in_progress,
        metrics=_metrics(load.metrics),
    )


def _metrics(metrics: Iterable[MetricLoad]) -> list[pb.MetricLoad]:
    return [pb.MetricLoad(name=m.name, finished=m.finished, value=m.value) for m in metrics]


def _duration(seconds: float) -> duration_pb2.Duration:
    duration = duration_pb2.Duration()
    within = max(-LONGEST_DURATION, min(seconds, LONGEST_DURATION))
    duration.FromNanoseconds(round(within * 1e9))
    return duration
