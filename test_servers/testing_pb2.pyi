from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PayloadType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPRESSABLE: _ClassVar[PayloadType]

class GrpclbRouteType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRPCLB_ROUTE_TYPE_UNKNOWN: _ClassVar[GrpclbRouteType]
    GRPCLB_ROUTE_TYPE_FALLBACK: _ClassVar[GrpclbRouteType]
    GRPCLB_ROUTE_TYPE_BACKEND: _ClassVar[GrpclbRouteType]
COMPRESSABLE: PayloadType
GRPCLB_ROUTE_TYPE_UNKNOWN: GrpclbRouteType
GRPCLB_ROUTE_TYPE_FALLBACK: GrpclbRouteType
GRPCLB_ROUTE_TYPE_BACKEND: GrpclbRouteType

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Payload(_message.Message):
    __slots__ = ("type", "body")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    type: PayloadType
    body: bytes
    def __init__(self, type: _Optional[_Union[PayloadType, str]] = ..., body: _Optional[bytes] = ...) -> None: ...

class EchoStatus(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class SimpleRequest(_message.Message):
    __slots__ = ("response_type", "response_size", "payload", "fill_username", "fill_oauth_scope", "response_status", "fill_server_id", "fill_grpclb_route_type")
    RESPONSE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    FILL_USERNAME_FIELD_NUMBER: _ClassVar[int]
    FILL_OAUTH_SCOPE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_STATUS_FIELD_NUMBER: _ClassVar[int]
    FILL_SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    FILL_GRPCLB_ROUTE_TYPE_FIELD_NUMBER: _ClassVar[int]
    response_type: PayloadType
    response_size: int
    payload: Payload
    fill_username: bool
    fill_oauth_scope: bool
    response_status: EchoStatus
    fill_server_id: bool
    fill_grpclb_route_type: bool
    def __init__(self, response_type: _Optional[_Union[PayloadType, str]] = ..., response_size: _Optional[int] = ..., payload: _Optional[_Union[Payload, _Mapping]] = ..., fill_username: _Optional[bool] = ..., fill_oauth_scope: _Optional[bool] = ..., response_status: _Optional[_Union[EchoStatus, _Mapping]] = ..., fill_server_id: _Optional[bool] = ..., fill_grpclb_route_type: _Optional[bool] = ...) -> None: ...

class SimpleResponse(_message.Message):
    __slots__ = ("payload", "username", "oauth_scope", "server_id", "grpclb_route_type", "hostname")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    OAUTH_SCOPE_FIELD_NUMBER: _ClassVar[int]
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    GRPCLB_ROUTE_TYPE_FIELD_NUMBER: _ClassVar[int]
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    payload: Payload
    username: str
    oauth_scope: str
    server_id: str
    grpclb_route_type: GrpclbRouteType
    hostname: str
    def __init__(self, payload: _Optional[_Union[Payload, _Mapping]] = ..., username: _Optional[str] = ..., oauth_scope: _Optional[str] = ..., server_id: _Optional[str] = ..., grpclb_route_type: _Optional[_Union[GrpclbRouteType, str]] = ..., hostname: _Optional[str] = ...) -> None: ...

class ResponseParameters(_message.Message):
    __slots__ = ("size", "interval_us")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_US_FIELD_NUMBER: _ClassVar[int]
    size: int
    interval_us: int
    def __init__(self, size: _Optional[int] = ..., interval_us: _Optional[int] = ...) -> None: ...

class StreamingOutputCallRequest(_message.Message):
    __slots__ = ("response_type", "response_parameters", "payload", "response_status")
    RESPONSE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_STATUS_FIELD_NUMBER: _ClassVar[int]
    response_type: PayloadType
    response_parameters: _containers.RepeatedCompositeFieldContainer[ResponseParameters]
    payload: Payload
    response_status: EchoStatus
    def __init__(self, response_type: _Optional[_Union[PayloadType, str]] = ..., response_parameters: _Optional[_Iterable[_Union[ResponseParameters, _Mapping]]] = ..., payload: _Optional[_Union[Payload, _Mapping]] = ..., response_status: _Optional[_Union[EchoStatus, _Mapping]] = ...) -> None: ...

class StreamingOutputCallResponse(_message.Message):
    __slots__ = ("payload",)
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    payload: Payload
    def __init__(self, payload: _Optional[_Union[Payload, _Mapping]] = ...) -> None: ...
