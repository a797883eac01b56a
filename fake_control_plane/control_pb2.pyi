import datetime

from google.protobuf import any_pb2 as _any_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    LISTENER: _ClassVar[Kind]
    ROUTE: _ClassVar[Kind]
    CLUSTER: _ClassVar[Kind]
    ENDPOINTS: _ClassVar[Kind]

class Service(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADS: _ClassVar[Service]
    LRS: _ClassVar[Service]
KIND_UNSPECIFIED: Kind
LISTENER: Kind
ROUTE: Kind
CLUSTER: Kind
ENDPOINTS: Kind
ADS: Service
LRS: Service

class SetRequest(_message.Message):
    __slots__ = ("resources", "node", "version")
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    node: str
    version: str
    def __init__(self, resources: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ..., node: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("kind", "names", "node", "version")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    kind: Kind
    names: _containers.RepeatedScalarFieldContainer[str]
    node: str
    version: str
    def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., names: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., version: _Optional[str] = ...) -> None: ...

class Push(_message.Message):
    __slots__ = ("versions", "since")
    class Version(_message.Message):
        __slots__ = ("kind", "version")
        KIND_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        version: str
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., version: _Optional[str] = ...) -> None: ...
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[Push.Version]
    since: int
    def __init__(self, versions: _Optional[_Iterable[_Union[Push.Version, _Mapping]]] = ..., since: _Optional[int] = ...) -> None: ...

class HoldRequest(_message.Message):
    __slots__ = ("kinds",)
    KINDS_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[Kind]
    def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ...) -> None: ...

class HoldResponse(_message.Message):
    __slots__ = ("held",)
    HELD_FIELD_NUMBER: _ClassVar[int]
    held: _containers.RepeatedScalarFieldContainer[Kind]
    def __init__(self, held: _Optional[_Iterable[_Union[Kind, str]]] = ...) -> None: ...

class Fault(_message.Message):
    __slots__ = ("node", "withhold", "permit", "order", "resend", "malformed", "wrong_type", "delay", "end_streams", "refuse_streams", "accept_streams", "load_reporting", "load_silence", "stop", "resume", "send_unsolicited", "wrap_in_resource", "all_clusters")
    class Withhold(_message.Message):
        __slots__ = ("kind", "name")
        KIND_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        name: str
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., name: _Optional[str] = ...) -> None: ...
    class Order(_message.Message):
        __slots__ = ("kinds",)
        KINDS_FIELD_NUMBER: _ClassVar[int]
        kinds: _containers.RepeatedScalarFieldContainer[Kind]
        def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ...) -> None: ...
    class Resend(_message.Message):
        __slots__ = ("kind", "version", "literal_nonce", "old_nonce")
        KIND_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        LITERAL_NONCE_FIELD_NUMBER: _ClassVar[int]
        OLD_NONCE_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        version: str
        literal_nonce: str
        old_nonce: bool
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., version: _Optional[str] = ..., literal_nonce: _Optional[str] = ..., old_nonce: _Optional[bool] = ...) -> None: ...
    class Malformed(_message.Message):
        __slots__ = ("kind", "alone")
        KIND_FIELD_NUMBER: _ClassVar[int]
        ALONE_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        alone: bool
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., alone: _Optional[bool] = ...) -> None: ...
    class WrongType(_message.Message):
        __slots__ = ("kind", "type_url", "alone")
        KIND_FIELD_NUMBER: _ClassVar[int]
        TYPE_URL_FIELD_NUMBER: _ClassVar[int]
        ALONE_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        type_url: str
        alone: bool
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., type_url: _Optional[str] = ..., alone: _Optional[bool] = ...) -> None: ...
    class Delay(_message.Message):
        __slots__ = ("kind", "by")
        KIND_FIELD_NUMBER: _ClassVar[int]
        BY_FIELD_NUMBER: _ClassVar[int]
        kind: Kind
        by: _duration_pb2.Duration
        def __init__(self, kind: _Optional[_Union[Kind, str]] = ..., by: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
    class EndStreams(_message.Message):
        __slots__ = ("service", "code", "details")
        SERVICE_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        DETAILS_FIELD_NUMBER: _ClassVar[int]
        service: Service
        code: int
        details: str
        def __init__(self, service: _Optional[_Union[Service, str]] = ..., code: _Optional[int] = ..., details: _Optional[str] = ...) -> None: ...
    class RefuseStreams(_message.Message):
        __slots__ = ("service", "code", "details")
        SERVICE_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        DETAILS_FIELD_NUMBER: _ClassVar[int]
        service: Service
        code: int
        details: str
        def __init__(self, service: _Optional[_Union[Service, str]] = ..., code: _Optional[int] = ..., details: _Optional[str] = ...) -> None: ...
    class AcceptStreams(_message.Message):
        __slots__ = ("service",)
        SERVICE_FIELD_NUMBER: _ClassVar[int]
        service: Service
        def __init__(self, service: _Optional[_Union[Service, str]] = ...) -> None: ...
    class LoadReporting(_message.Message):
        __slots__ = ("interval", "clusters", "endpoint_granularity")
        INTERVAL_FIELD_NUMBER: _ClassVar[int]
        CLUSTERS_FIELD_NUMBER: _ClassVar[int]
        ENDPOINT_GRANULARITY_FIELD_NUMBER: _ClassVar[int]
        interval: _duration_pb2.Duration
        clusters: _containers.RepeatedScalarFieldContainer[str]
        endpoint_granularity: bool
        def __init__(self, interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., clusters: _Optional[_Iterable[str]] = ..., endpoint_granularity: _Optional[bool] = ...) -> None: ...
    class AllClusters(_message.Message):
        __slots__ = ("clusters",)
        CLUSTERS_FIELD_NUMBER: _ClassVar[int]
        clusters: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, clusters: _Optional[_Iterable[str]] = ...) -> None: ...
    class SendUnsolicited(_message.Message):
        __slots__ = ("kinds",)
        KINDS_FIELD_NUMBER: _ClassVar[int]
        kinds: _containers.RepeatedScalarFieldContainer[Kind]
        def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ...) -> None: ...
    class WrapInResource(_message.Message):
        __slots__ = ("kinds",)
        KINDS_FIELD_NUMBER: _ClassVar[int]
        kinds: _containers.RepeatedScalarFieldContainer[Kind]
        def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ...) -> None: ...
    class LoadSilence(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Stop(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Resume(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    NODE_FIELD_NUMBER: _ClassVar[int]
    WITHHOLD_FIELD_NUMBER: _ClassVar[int]
    PERMIT_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    RESEND_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_FIELD_NUMBER: _ClassVar[int]
    WRONG_TYPE_FIELD_NUMBER: _ClassVar[int]
    DELAY_FIELD_NUMBER: _ClassVar[int]
    END_STREAMS_FIELD_NUMBER: _ClassVar[int]
    REFUSE_STREAMS_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_STREAMS_FIELD_NUMBER: _ClassVar[int]
    LOAD_REPORTING_FIELD_NUMBER: _ClassVar[int]
    LOAD_SILENCE_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    SEND_UNSOLICITED_FIELD_NUMBER: _ClassVar[int]
    WRAP_IN_RESOURCE_FIELD_NUMBER: _ClassVar[int]
    ALL_CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    node: str
    withhold: Fault.Withhold
    permit: Fault.Withhold
    order: Fault.Order
    resend: Fault.Resend
    malformed: Fault.Malformed
    wrong_type: Fault.WrongType
    delay: Fault.Delay
    end_streams: Fault.EndStreams
    refuse_streams: Fault.RefuseStreams
    accept_streams: Fault.AcceptStreams
    load_reporting: Fault.LoadReporting
    load_silence: Fault.LoadSilence
    stop: Fault.Stop
    resume: Fault.Resume
    send_unsolicited: Fault.SendUnsolicited
    wrap_in_resource: Fault.WrapInResource
    all_clusters: Fault.AllClusters
    def __init__(self, node: _Optional[str] = ..., withhold: _Optional[_Union[Fault.Withhold, _Mapping]] = ..., permit: _Optional[_Union[Fault.Withhold, _Mapping]] = ..., order: _Optional[_Union[Fault.Order, _Mapping]] = ..., resend: _Optional[_Union[Fault.Resend, _Mapping]] = ..., malformed: _Optional[_Union[Fault.Malformed, _Mapping]] = ..., wrong_type: _Optional[_Union[Fault.WrongType, _Mapping]] = ..., delay: _Optional[_Union[Fault.Delay, _Mapping]] = ..., end_streams: _Optional[_Union[Fault.EndStreams, _Mapping]] = ..., refuse_streams: _Optional[_Union[Fault.RefuseStreams, _Mapping]] = ..., accept_streams: _Optional[_Union[Fault.AcceptStreams, _Mapping]] = ..., load_reporting: _Optional[_Union[Fault.LoadReporting, _Mapping]] = ..., load_silence: _Optional[_Union[Fault.LoadSilence, _Mapping]] = ..., stop: _Optional[_Union[Fault.Stop, _Mapping]] = ..., resume: _Optional[_Union[Fault.Resume, _Mapping]] = ..., send_unsolicited: _Optional[_Union[Fault.SendUnsolicited, _Mapping]] = ..., wrap_in_resource: _Optional[_Union[Fault.WrapInResource, _Mapping]] = ..., all_clusters: _Optional[_Union[Fault.AllClusters, _Mapping]] = ...) -> None: ...

class TranscriptRequest(_message.Message):
    __slots__ = ("since",)
    SINCE_FIELD_NUMBER: _ClassVar[int]
    since: int
    def __init__(self, since: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("index", "at", "stream", "node", "stream_opened", "stream_closed", "request", "response", "load_request", "load_response", "dropped", "note")
    class Side(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CLIENT: _ClassVar[Event.Side]
        SCRIPT: _ClassVar[Event.Side]
        STOP: _ClassVar[Event.Side]
    CLIENT: Event.Side
    SCRIPT: Event.Side
    STOP: Event.Side
    class Answer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NO_ANSWER: _ClassVar[Event.Answer]
        ACK: _ClassVar[Event.Answer]
        NACK: _ClassVar[Event.Answer]
    NO_ANSWER: Event.Answer
    ACK: Event.Answer
    NACK: Event.Answer
    class StreamOpened(_message.Message):
        __slots__ = ("service", "peer")
        SERVICE_FIELD_NUMBER: _ClassVar[int]
        PEER_FIELD_NUMBER: _ClassVar[int]
        service: Service
        peer: str
        def __init__(self, service: _Optional[_Union[Service, str]] = ..., peer: _Optional[str] = ...) -> None: ...
    class StreamClosed(_message.Message):
        __slots__ = ("service", "by", "code", "details")
        SERVICE_FIELD_NUMBER: _ClassVar[int]
        BY_FIELD_NUMBER: _ClassVar[int]
        CODE_FIELD_NUMBER: _ClassVar[int]
        DETAILS_FIELD_NUMBER: _ClassVar[int]
        service: Service
        by: Event.Side
        code: str
        details: str
        def __init__(self, service: _Optional[_Union[Service, str]] = ..., by: _Optional[_Union[Event.Side, str]] = ..., code: _Optional[str] = ..., details: _Optional[str] = ...) -> None: ...
    class Request(_message.Message):
        __slots__ = ("type_url", "names", "version", "nonce", "answer", "answered_version", "stale", "subscribed", "unsubscribed", "error_code", "error_detail", "identity")
        TYPE_URL_FIELD_NUMBER: _ClassVar[int]
        NAMES_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        NONCE_FIELD_NUMBER: _ClassVar[int]
        ANSWER_FIELD_NUMBER: _ClassVar[int]
        ANSWERED_VERSION_FIELD_NUMBER: _ClassVar[int]
        STALE_FIELD_NUMBER: _ClassVar[int]
        SUBSCRIBED_FIELD_NUMBER: _ClassVar[int]
        UNSUBSCRIBED_FIELD_NUMBER: _ClassVar[int]
        ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
        ERROR_DETAIL_FIELD_NUMBER: _ClassVar[int]
        IDENTITY_FIELD_NUMBER: _ClassVar[int]
        type_url: str
        names: _containers.RepeatedScalarFieldContainer[str]
        version: str
        nonce: str
        answer: Event.Answer
        answered_version: str
        stale: bool
        subscribed: _containers.RepeatedScalarFieldContainer[str]
        unsubscribed: _containers.RepeatedScalarFieldContainer[str]
        error_code: int
        error_detail: str
        identity: Event.Identity
        def __init__(self, type_url: _Optional[str] = ..., names: _Optional[_Iterable[str]] = ..., version: _Optional[str] = ..., nonce: _Optional[str] = ..., answer: _Optional[_Union[Event.Answer, str]] = ..., answered_version: _Optional[str] = ..., stale: _Optional[bool] = ..., subscribed: _Optional[_Iterable[str]] = ..., unsubscribed: _Optional[_Iterable[str]] = ..., error_code: _Optional[int] = ..., error_detail: _Optional[str] = ..., identity: _Optional[_Union[Event.Identity, _Mapping]] = ...) -> None: ...
    class Response(_message.Message):
        __slots__ = ("type_url", "version", "nonce", "resources", "names", "fault")
        TYPE_URL_FIELD_NUMBER: _ClassVar[int]
        VERSION_FIELD_NUMBER: _ClassVar[int]
        NONCE_FIELD_NUMBER: _ClassVar[int]
        RESOURCES_FIELD_NUMBER: _ClassVar[int]
        NAMES_FIELD_NUMBER: _ClassVar[int]
        FAULT_FIELD_NUMBER: _ClassVar[int]
        type_url: str
        version: str
        nonce: str
        resources: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
        names: _containers.RepeatedScalarFieldContainer[str]
        fault: str
        def __init__(self, type_url: _Optional[str] = ..., version: _Optional[str] = ..., nonce: _Optional[str] = ..., resources: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ..., names: _Optional[_Iterable[str]] = ..., fault: _Optional[str] = ...) -> None: ...
    class LoadReport(_message.Message):
        __slots__ = ("clusters", "identity")
        CLUSTERS_FIELD_NUMBER: _ClassVar[int]
        IDENTITY_FIELD_NUMBER: _ClassVar[int]
        clusters: _containers.RepeatedCompositeFieldContainer[ClusterLoad]
        identity: Event.Identity
        def __init__(self, clusters: _Optional[_Iterable[_Union[ClusterLoad, _Mapping]]] = ..., identity: _Optional[_Union[Event.Identity, _Mapping]] = ...) -> None: ...
    class LoadResponse(_message.Message):
        __slots__ = ("interval", "clusters", "send_all_clusters", "endpoint_granularity")
        INTERVAL_FIELD_NUMBER: _ClassVar[int]
        CLUSTERS_FIELD_NUMBER: _ClassVar[int]
        SEND_ALL_CLUSTERS_FIELD_NUMBER: _ClassVar[int]
        ENDPOINT_GRANULARITY_FIELD_NUMBER: _ClassVar[int]
        interval: _duration_pb2.Duration
        clusters: _containers.RepeatedScalarFieldContainer[str]
        send_all_clusters: bool
        endpoint_granularity: bool
        def __init__(self, interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., clusters: _Optional[_Iterable[str]] = ..., send_all_clusters: _Optional[bool] = ..., endpoint_granularity: _Optional[bool] = ...) -> None: ...
    class Dropped(_message.Message):
        __slots__ = ("count",)
        COUNT_FIELD_NUMBER: _ClassVar[int]
        count: int
        def __init__(self, count: _Optional[int] = ...) -> None: ...
    class Note(_message.Message):
        __slots__ = ("text",)
        TEXT_FIELD_NUMBER: _ClassVar[int]
        text: str
        def __init__(self, text: _Optional[str] = ...) -> None: ...
    class Identity(_message.Message):
        __slots__ = ("id", "cluster", "locality", "user_agent_name", "user_agent_version", "client_features")
        ID_FIELD_NUMBER: _ClassVar[int]
        CLUSTER_FIELD_NUMBER: _ClassVar[int]
        LOCALITY_FIELD_NUMBER: _ClassVar[int]
        USER_AGENT_NAME_FIELD_NUMBER: _ClassVar[int]
        USER_AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
        CLIENT_FEATURES_FIELD_NUMBER: _ClassVar[int]
        id: str
        cluster: str
        locality: Locality
        user_agent_name: str
        user_agent_version: str
        client_features: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, id: _Optional[str] = ..., cluster: _Optional[str] = ..., locality: _Optional[_Union[Locality, _Mapping]] = ..., user_agent_name: _Optional[str] = ..., user_agent_version: _Optional[str] = ..., client_features: _Optional[_Iterable[str]] = ...) -> None: ...
    INDEX_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    STREAM_OPENED_FIELD_NUMBER: _ClassVar[int]
    STREAM_CLOSED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    LOAD_REQUEST_FIELD_NUMBER: _ClassVar[int]
    LOAD_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    index: int
    at: float
    stream: int
    node: str
    stream_opened: Event.StreamOpened
    stream_closed: Event.StreamClosed
    request: Event.Request
    response: Event.Response
    load_request: Event.LoadReport
    load_response: Event.LoadResponse
    dropped: Event.Dropped
    note: Event.Note
    def __init__(self, index: _Optional[int] = ..., at: _Optional[float] = ..., stream: _Optional[int] = ..., node: _Optional[str] = ..., stream_opened: _Optional[_Union[Event.StreamOpened, _Mapping]] = ..., stream_closed: _Optional[_Union[Event.StreamClosed, _Mapping]] = ..., request: _Optional[_Union[Event.Request, _Mapping]] = ..., response: _Optional[_Union[Event.Response, _Mapping]] = ..., load_request: _Optional[_Union[Event.LoadReport, _Mapping]] = ..., load_response: _Optional[_Union[Event.LoadResponse, _Mapping]] = ..., dropped: _Optional[_Union[Event.Dropped, _Mapping]] = ..., note: _Optional[_Union[Event.Note, _Mapping]] = ...) -> None: ...

class LoadRequest(_message.Message):
    __slots__ = ("cluster",)
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    def __init__(self, cluster: _Optional[str] = ...) -> None: ...

class LoadLedger(_message.Message):
    __slots__ = ("clusters",)
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    clusters: _containers.RepeatedCompositeFieldContainer[ClusterLoad]
    def __init__(self, clusters: _Optional[_Iterable[_Union[ClusterLoad, _Mapping]]] = ...) -> None: ...

class ClusterLoad(_message.Message):
    __slots__ = ("cluster", "service", "interval", "localities", "dropped", "dropped_by_category")
    class DroppedByCategoryEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LOCALITIES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BY_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    service: str
    interval: _duration_pb2.Duration
    localities: _containers.RepeatedCompositeFieldContainer[LocalityLoad]
    dropped: int
    dropped_by_category: _containers.ScalarMap[str, int]
    def __init__(self, cluster: _Optional[str] = ..., service: _Optional[str] = ..., interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., localities: _Optional[_Iterable[_Union[LocalityLoad, _Mapping]]] = ..., dropped: _Optional[int] = ..., dropped_by_category: _Optional[_Mapping[str, int]] = ...) -> None: ...

class LocalityLoad(_message.Message):
    __slots__ = ("locality", "successful", "errors", "issued", "in_progress", "priority", "metrics", "endpoints", "utilizations")
    LOCALITY_FIELD_NUMBER: _ClassVar[int]
    SUCCESSFUL_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    UTILIZATIONS_FIELD_NUMBER: _ClassVar[int]
    locality: Locality
    successful: int
    errors: int
    issued: int
    in_progress: int
    priority: int
    metrics: _containers.RepeatedCompositeFieldContainer[MetricLoad]
    endpoints: _containers.RepeatedCompositeFieldContainer[EndpointLoad]
    utilizations: _containers.RepeatedCompositeFieldContainer[MetricLoad]
    def __init__(self, locality: _Optional[_Union[Locality, _Mapping]] = ..., successful: _Optional[int] = ..., errors: _Optional[int] = ..., issued: _Optional[int] = ..., in_progress: _Optional[int] = ..., priority: _Optional[int] = ..., metrics: _Optional[_Iterable[_Union[MetricLoad, _Mapping]]] = ..., endpoints: _Optional[_Iterable[_Union[EndpointLoad, _Mapping]]] = ..., utilizations: _Optional[_Iterable[_Union[MetricLoad, _Mapping]]] = ...) -> None: ...

class EndpointLoad(_message.Message):
    __slots__ = ("address", "successful", "errors", "issued", "in_progress", "metrics")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SUCCESSFUL_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    IN_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    address: str
    successful: int
    errors: int
    issued: int
    in_progress: int
    metrics: _containers.RepeatedCompositeFieldContainer[MetricLoad]
    def __init__(self, address: _Optional[str] = ..., successful: _Optional[int] = ..., errors: _Optional[int] = ..., issued: _Optional[int] = ..., in_progress: _Optional[int] = ..., metrics: _Optional[_Iterable[_Union[MetricLoad, _Mapping]]] = ...) -> None: ...

class MetricLoad(_message.Message):
    __slots__ = ("name", "finished", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    finished: int
    value: float
    def __init__(self, name: _Optional[str] = ..., finished: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...

class Locality(_message.Message):
    __slots__ = ("region", "zone", "sub_zone")
    REGION_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    SUB_ZONE_FIELD_NUMBER: _ClassVar[int]
    region: str
    zone: str
    sub_zone: str
    def __init__(self, region: _Optional[str] = ..., zone: _Optional[str] = ..., sub_zone: _Optional[str] = ...) -> None: ...
