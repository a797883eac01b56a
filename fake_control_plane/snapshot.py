"""What is served at one moment: frozen snapshots, one for each node that has its own and a default.

Resources are serialised when they enter a snapshot, once a version, however many streams they go
to. A version is the number of a push of its type: counted for the whole control plane, so that no
two pushes share one even where nodes have snapshots of their own. On the wire a push may be called
otherwise, as its user chooses; what is due is decided by the number in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from google.protobuf import any_pb2, message

from fake_control_plane.descriptors import empty_message
from fake_control_plane.exceptions import BadResource
from fake_control_plane.kinds import Kind

_NOTHING: Mapping[str, Resource] = MappingProxyType({})


Version = str | Mapping[Kind, str] | None
"""What a push is called on the wire, or each type of it; where nothing is said, its number."""


class Packed(msgspec.Struct, frozen=True):
    """A serialised resource as it travels in a response: the content of one Any."""

    name: str
    type_url: str
    body: bytes


class RawResource(msgspec.Struct, frozen=True):
    """A resource as bytes, right or wrong, sent as they are to who subscribes to its name."""

    kind: Kind
    name: str
    body: bytes
    type_url: str = ""
    """What its Any says that it holds; empty: its kind."""


class Resource(msgspec.Struct, frozen=True):
    """A resource in a snapshot, with the version of its type that brought it."""

    kind: Kind
    version: int
    packed: Packed

    @property
    def name(self) -> str:
        """The name that clients subscribe to."""
        return self.packed.name


class Snapshot(msgspec.Struct, frozen=True):
    """The resources of one moment, and the newest version of each type (absent: never set)."""

    resources: Mapping[Kind, Mapping[str, Resource]] = MappingProxyType({})
    versions: Mapping[Kind, int] = MappingProxyType({})
    chosen: Mapping[Kind, str] = MappingProxyType({})
    """What the newest version of a type is called on the wire, if not by its number."""

    def of(self, kind: Kind) -> Mapping[str, Resource]:
        """Return the resources of one type by name, in the order in which they were set."""
        return self.resources.get(kind, _NOTHING)

    def version(self, kind: Kind) -> int:
        """Return the newest version of a type; 0 if it was never set."""
        return self.versions.get(kind, 0)

    def version_info(self, kind: Kind) -> str:
        """Return the newest version of a type as responses name it."""
        return self.chosen.get(kind) or str(self.version(kind))

    def without(self, withheld: Collection[tuple[Kind, str]]) -> Snapshot:
        """Return the snapshot without some resources."""
        if not withheld:
            return self
        kept = {
            kind: {name: resource for name, resource in of.items() if (kind, name) not in withheld}
            for kind, of in self.resources.items()
        }
        return Snapshot(kept, self.versions, self.chosen)


class Snapshots:
    """The default snapshot and those of nodes that have their own.

    A node's own snapshot starts from the default one at its first change; from then on that node
    sees no change of the default.
    """

    def __init__(self) -> None:
        self._default = Snapshot()
        self._of_node: dict[str, Snapshot] = {}
        self._counters = dict.fromkeys(Kind, 0)

    def seen_by(self, node: str | None) -> Snapshot:
        """Return the snapshot for streams of this node id."""
        return self._default if node is None else self._of_node.get(node, self._default)

    def set(
        self, messages: Iterable[Any], node: str | None = None, version: Version = None
    ) -> Mapping[Kind, int]:
        """Add resources, or replace those of the same type and name.

        Args:
            messages: The resources.
            node: Whose snapshot it is; None: the default one.
            version: What the types that are given are called on the wire; None: their numbers.

        Returns:
            The new version of each type that was given.

        Raises:
            BadResource: something given is no resource, or two are called the same.
        """
        packed = pack_all(messages)
        old = self.seen_by(node)
        versions = self._next_versions(packed)
        changed = {kind: {**old.of(kind), **_at(version, kind, packed[kind])}
                   for kind, version in versions.items()}  # fmt: skip
        return self._store(old, changed, versions, node, version)

    def replace(
        self,
        messages: Iterable[Any],
        node: str | None = None,
        kinds: Collection[Kind] = tuple(Kind),
        version: Version = None,
    ) -> Mapping[Kind, int]:
        """Let these be all resources of the given kinds.

        Returns:
            The new version of each type that was given, or that lost resources.

        Raises:
            BadResource: as for set; or a resource is of none of the given kinds.
        """
        packed = pack_all(messages)
        for stray in packed.keys() - set(kinds):
            raise BadResource(f"A {stray.value} was given to replace only {_listed(kinds)}.")
        old = self.seen_by(node)
        versions = self._next_versions([kind for kind in kinds if packed.get(kind) or old.of(kind)])
        changed = {
            kind: _at(version, kind, packed.get(kind, {})) for kind, version in versions.items()
        }
        return self._store(old, changed, versions, node, version)

    def delete(
        self,
        kind: Kind,
        names: Collection[str],
        node: str | None = None,
        version: Version = None,
    ) -> Mapping[Kind, int]:
        """Take resources away.

        Returns:
            The new version of the type.

        Raises:
            BadResource: one of them is not there.
        """
        old = self.seen_by(node)
        for name in names:
            if name not in old.of(kind):
                raise BadResource(f"There is no {kind.value} called {name!r} to delete.")
        versions = self._next_versions([kind])
        kept = {name: resource for name, resource in old.of(kind).items() if name not in names}
        return self._store(old, {kind: kept}, versions, node, version)

    def _next_versions(self, kinds: Iterable[Kind]) -> dict[Kind, int]:
        versions = {}
        for kind in kinds:
            self._counters[kind] += 1
            versions[kind] = self._counters[kind]
        return versions

    def _store(
        self,
        old: Snapshot,
        changed: Mapping[Kind, Mapping[str, Resource]],
        versions: Mapping[Kind, int],
        node: str | None,
        version: Version,
    ) -> Mapping[Kind, int]:
        new = Snapshot(
            {**old.resources, **changed},
            {**old.versions, **versions},
            {**old.chosen, **{kind: _chosen(version, kind) for kind in versions}},
        )
        if node is None:
            self._default = new
        else:
            self._of_node[node] = new
        return versions


def _chosen(version: Version, kind: Kind) -> str:
    return (version if isinstance(version, str) else (version or {}).get(kind)) or ""


def pack(resource: Any) -> tuple[Kind, Packed]:
    """Serialise one resource.

    Args:
        resource: A Listener, RouteConfiguration, Cluster or ClusterLoadAssignment, or an Any that
            holds one; or a RawResource, which is sent unread.

    Raises:
        BadResource: it is something else, or has no name.
    """
    if isinstance(resource, RawResource):
        if not resource.name:
            raise BadResource(f"A {resource.kind.value} of given bytes has no name: set it.")
        type_url = resource.type_url or resource.kind.type_url
        return resource.kind, Packed(resource.name, type_url, resource.body)
    if isinstance(resource, any_pb2.Any):
        resource = _unpack(resource)
    if not isinstance(resource, message.Message):
        raise BadResource(f"A {type(resource).__name__} is no resource: it is no protobuf message.")
    kind = Kind.of_full_name(resource.DESCRIPTOR.full_name)
    if kind is None:
        raise BadResource(f"A {resource.DESCRIPTOR.full_name} is none of {_listed(Kind)}.")
    field = "cluster_name" if kind is Kind.ENDPOINTS else "name"
    name: str = getattr(resource, field)
    if not name:
        raise BadResource(f"A {resource.DESCRIPTOR.name} has no {field}: set it.")
    return kind, Packed(name, kind.type_url, resource.SerializeToString(deterministic=True))


def pack_all(messages: Iterable[Any]) -> dict[Kind, dict[str, Packed]]:
    """Serialise resources, by type and name in the order given.

    Raises:
        BadResource: as for pack; or two resources of one type have the same name.
    """
    packed: dict[Kind, dict[str, Packed]] = {}
    for resource in messages:
        kind, body = pack(resource)
        of = packed.setdefault(kind, {})
        if body.name in of:
            raise BadResource(f"Two resources of type {kind.value} are called {body.name!r}.")
        of[body.name] = body
    return packed


def _unpack(wrapped: any_pb2.Any) -> message.Message:
    kind = Kind.of_type_url(wrapped.type_url)
    if kind is None:
        raise BadResource(f"An Any of type {wrapped.type_url!r} holds none of {_listed(Kind)}.")
    unpacked = empty_message(kind.type_url)
    try:
        unpacked.ParseFromString(wrapped.value)
    except message.DecodeError:
        raise BadResource(
            f"An Any of type {wrapped.type_url!r} holds bytes that are no such message."
        ) from None
    return unpacked


def _at(version: int, kind: Kind, packed: Mapping[str, Packed]) -> dict[str, Resource]:
    return {name: Resource(kind, version, resource) for name, resource in packed.items()}


def _listed(kinds: Iterable[Kind]) -> str:
    return ", ".join(kind.value for kind in kinds)
