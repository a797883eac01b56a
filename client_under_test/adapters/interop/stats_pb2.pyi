from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClientConfigureRequest(_message.Message):
    __slots__ = ("types", "metadata", "timeout_sec")
    class RpcType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        EMPTY_CALL: _ClassVar[ClientConfigureRequest.RpcType]
        UNARY_CALL: _ClassVar[ClientConfigureRequest.RpcType]
    EMPTY_CALL: ClientConfigureRequest.RpcType
    UNARY_CALL: ClientConfigureRequest.RpcType
    class Metadata(_message.Message):
        __slots__ = ("type", "key", "value")
        TYPE_FIELD_NUMBER: _ClassVar[int]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        type: ClientConfigureRequest.RpcType
        key: str
        value: str
        def __init__(self, type: _Optional[_Union[ClientConfigureRequest.RpcType, str]] = ..., key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TYPES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SEC_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedScalarFieldContainer[ClientConfigureRequest.RpcType]
    metadata: _containers.RepeatedCompositeFieldContainer[ClientConfigureRequest.Metadata]
    timeout_sec: int
    def __init__(self, types: _Optional[_Iterable[_Union[ClientConfigureRequest.RpcType, str]]] = ..., metadata: _Optional[_Iterable[_Union[ClientConfigureRequest.Metadata, _Mapping]]] = ..., timeout_sec: _Optional[int] = ...) -> None: ...

class LoadBalancerStatsRequest(_message.Message):
    __slots__ = ("num_rpcs", "timeout_sec")
    NUM_RPCS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SEC_FIELD_NUMBER: _ClassVar[int]
    num_rpcs: int
    timeout_sec: int
    def __init__(self, num_rpcs: _Optional[int] = ..., timeout_sec: _Optional[int] = ...) -> None: ...

class LoadBalancerStatsResponse(_message.Message):
    __slots__ = ("rpcs_by_peer", "num_failures")
    class RpcsByPeerEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RPCS_BY_PEER_FIELD_NUMBER: _ClassVar[int]
    NUM_FAILURES_FIELD_NUMBER: _ClassVar[int]
    rpcs_by_peer: _containers.ScalarMap[str, int]
    num_failures: int
    def __init__(self, rpcs_by_peer: _Optional[_Mapping[str, int]] = ..., num_failures: _Optional[int] = ...) -> None: ...

class LoadBalancerAccumulatedStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LoadBalancerAccumulatedStatsResponse(_message.Message):
    __slots__ = ("stats_per_method",)
    class MethodStats(_message.Message):
        __slots__ = ("rpcs_started", "result")
        class ResultEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: int
            value: int
            def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
        RPCS_STARTED_FIELD_NUMBER: _ClassVar[int]
        RESULT_FIELD_NUMBER: _ClassVar[int]
        rpcs_started: int
        result: _containers.ScalarMap[int, int]
        def __init__(self, rpcs_started: _Optional[int] = ..., result: _Optional[_Mapping[int, int]] = ...) -> None: ...
    class StatsPerMethodEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: LoadBalancerAccumulatedStatsResponse.MethodStats
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[LoadBalancerAccumulatedStatsResponse.MethodStats, _Mapping]] = ...) -> None: ...
    STATS_PER_METHOD_FIELD_NUMBER: _ClassVar[int]
    stats_per_method: _containers.MessageMap[str, LoadBalancerAccumulatedStatsResponse.MethodStats]
    def __init__(self, stats_per_method: _Optional[_Mapping[str, LoadBalancerAccumulatedStatsResponse.MethodStats]] = ...) -> None: ...
