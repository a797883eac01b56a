"""Valid resources with a single change each, in protobuf's text format.

The text format can express more than message builders: unknown enum values, a Duration out of
range, an Any whose bytes are not a message.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

# Known by name where text says what an Any holds.
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as _aggregate_pb2  # noqa: F401
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2 as _tls_pb2  # noqa: F401
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2 as _options_pb2  # noqa: F401
from google.protobuf import struct_pb2 as _struct_pb2  # noqa: F401
from google.protobuf import text_format
from google.protobuf.message import Message

from fake_control_plane import Kind, RawResource

TYPE: Final = "type.googleapis.com"


class ResourceVariant(msgspec.Struct, frozen=True):
    """A change to a valid resource, and the clause that specifies the result."""

    clause: str
    more: str = ""
    """Fields to merge, in text format; repeated fields are appended."""
    less: str = ""
    """The field to clear before the merge."""
    within: str = ""
    """The path of fields to the message to change; a repeated field means its first element."""
    otherwise: tuple[str, ...] = ()
    """Editions whose verdict (accept or reject) differs from that of the others."""

    def __str__(self) -> str:
        """Return a description of the change for a failure message."""
        place = f"in {self.within} " if self.within else ""
        parts = (f"without {self.less}" * bool(self.less), f"with {self.more}" * bool(self.more))
        words = " and ".join(filter(None, parts))
        return " ".join(f"but {place}{words}".split()) if words else "as it is"

    def of(self, good: Any) -> Any:
        """Return a changed copy of the resource."""
        changed = type(good)()
        changed.CopyFrom(good)
        place: Any = changed
        for field in filter(None, self.within.split(".")):
            found = getattr(place, field)
            place = found if isinstance(found, Message) else found[0]
        if self.less:
            place.ClearField(self.less)
        text_format.Merge(self.more, place)
        return changed


class RawClusterVariant(msgspec.Struct, frozen=True):
    """A valid Cluster followed by raw bytes, which need not be a valid message."""

    clause: str
    description: str
    """A description of the bytes."""
    body: bytes

    def __str__(self) -> str:
        """Return a description of the change for a failure message."""
        return f"but with {self.description}, {len(self.body)} bytes"

    def of(self, cluster: Any) -> RawResource:
        """Return the Cluster with these bytes appended."""
        body = cluster.SerializeToString() + self.body
        return RawResource(Kind.CLUSTER, cluster.name, body)


def packed(message: str, fields: str = "") -> str:
    """Return an Any in text format, by the name of its message."""
    return f"typed_config {{ [{TYPE}/{message}] {{ {fields} }} }}"


def given_bytes(type_url: str, body: str = "") -> str:
    """Return an Any in text format, by its type_url and value bytes."""
    return f"typed_config {{ type_url: '{type_url}' value: '{body}' }}"
