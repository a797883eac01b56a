"""Resources that are good but for a change: one a row, in the words of protobuf's text format.

What the text format can say goes further than what builders say: numbers that no enum has, a
Duration out of its range, an Any whose bytes are no message.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

# Known by name where text says what an Any holds.
from envoy.extensions.clusters.aggregate.v3 import cluster_pb2 as _aggregate_pb2  # noqa: F401
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2 as _tls_pb2  # noqa: F401
from google.protobuf import text_format
from google.protobuf.message import Message

from fake_control_plane import Kind, RawResource

TYPE: Final = "type.googleapis.com"


class ClusterVariant(msgspec.Struct, frozen=True):
    """A change of a good resource, and the clause that says what becomes of it."""

    clause: str
    more: str = ""
    """In text format: set on top of what is there; what is repeated is appended."""
    less: str = ""
    """The field that is taken away before that."""
    within: str = ""
    """The message in which both are done: a path of fields, of what is repeated to the first."""
    otherwise: tuple[str, ...] = ()
    """Editions by which it is taken where others have it refused, or the other way round."""

    def __str__(self) -> str:
        """What a reader of a failure needs to know of it."""
        place = f"in {self.within} " if self.within else ""
        parts = (f"without {self.less}" * bool(self.less), f"with {self.more}" * bool(self.more))
        words = " and ".join(filter(None, parts))
        return " ".join(f"but {place}{words}".split()) if words else "as it is"

    def of(self, good: Any) -> Any:
        """The resource, changed."""
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
    """A good Cluster with bytes behind it, which may be more than text says, or no message."""

    clause: str
    told: str
    """What they are, in words."""
    body: bytes

    def __str__(self) -> str:
        """What a reader of a failure needs to know of it."""
        return f"but with {self.told}, {len(self.body)} bytes"

    def of(self, cluster: Any) -> RawResource:
        """The Cluster, with these bytes."""
        body = cluster.SerializeToString() + self.body
        return RawResource(Kind.CLUSTER, cluster.name, body)


def packed(message: str, fields: str = "") -> str:
    """An Any in text format, by the name of its message."""
    return f"typed_config {{ [{TYPE}/{message}] {{ {fields} }} }}"


def given_bytes(type_url: str, body: str = "") -> str:
    """An Any in text format, by its type_url and what it holds."""
    return f"typed_config {{ type_url: '{type_url}' value: '{body}' }}"
