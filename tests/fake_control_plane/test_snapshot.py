from __future__ import annotations

from typing import Any

import pytest
from envoy.extensions.filters.http.router.v3 import router_pb2
from google.protobuf import any_pb2

from fake_control_plane.exceptions import BadResource
from fake_control_plane.kinds import Kind
from fake_control_plane.resources import eds_cluster, endpoints, listener
from fake_control_plane.snapshot import Packed, RawResource, Snapshots, pack

CDS, EDS = Kind.CLUSTER, Kind.ENDPOINTS


def wrapped(message: Any) -> any_pb2.Any:
    result = any_pb2.Any()
    result.Pack(message)
    return result


def test_versions_count_the_changes_of_a_type() -> None:
    snapshots = Snapshots()
    assert snapshots.set([eds_cluster("a"), eds_cluster("b"), endpoints("a")]) == {CDS: 1, EDS: 1}
    assert snapshots.set([eds_cluster("a")]) == {CDS: 2}
    seen = snapshots.seen_by(None)
    assert (seen.version(CDS), seen.version(EDS), seen.version(Kind.ROUTE)) == (2, 1, 0)
    assert {name: r.version for name, r in seen.of(CDS).items()} == {"a": 2, "b": 1}


def test_replace_takes_away_what_is_not_given() -> None:
    snapshots = Snapshots()
    snapshots.set([eds_cluster("a"), eds_cluster("b"), endpoints("a")])
    assert snapshots.replace([eds_cluster("b")]) == {CDS: 2, EDS: 2}
    assert list(snapshots.seen_by(None).of(CDS)) == ["b"]
    assert not snapshots.seen_by(None).of(EDS)


def test_replace_of_some_types_leaves_the_others() -> None:
    snapshots = Snapshots()
    snapshots.set([eds_cluster("a"), endpoints("a")])
    assert snapshots.replace([eds_cluster("b")], kinds=[CDS]) == {CDS: 2}
    assert list(snapshots.seen_by(None).of(EDS)) == ["a"]
    with pytest.raises(BadResource, match="endpoints was given to replace only cluster"):
        snapshots.replace([endpoints("a")], kinds=[CDS])


def test_a_nodes_own_snapshot_starts_from_the_default_and_shares_no_version() -> None:
    snapshots = Snapshots()
    snapshots.set([eds_cluster("a")])
    assert snapshots.seen_by("n") is snapshots.seen_by(None)
    assert snapshots.set([eds_cluster("b")], "n") == {CDS: 2}
    assert snapshots.set([eds_cluster("c")]) == {CDS: 3}
    assert list(snapshots.seen_by("n").of(CDS)) == ["a", "b"]
    assert list(snapshots.seen_by("other").of(CDS)) == ["a", "c"]


def test_without_leaves_out_what_is_withheld() -> None:
    snapshots = Snapshots()
    snapshots.set([eds_cluster("a"), eds_cluster("b"), endpoints("a")])
    seen = snapshots.seen_by(None).without({(CDS, "a")})
    assert (list(seen.of(CDS)), list(seen.of(EDS)), seen.version(CDS)) == (["b"], ["a"], 1)


def test_what_is_deleted_must_be_there() -> None:
    snapshots = Snapshots()
    snapshots.set([eds_cluster("a")])
    with pytest.raises(BadResource, match="no cluster called 'b'"):
        snapshots.delete(CDS, ["a", "b"])
    assert list(snapshots.seen_by(None).of(CDS)) == ["a"]


def test_a_refused_change_changes_nothing() -> None:
    snapshots = Snapshots()
    with pytest.raises(BadResource, match="called 'a'"):
        snapshots.set([endpoints("x"), eds_cluster("a"), eds_cluster("a")])
    assert snapshots.set([endpoints("x")]) == {EDS: 1}


def test_an_any_is_unpacked() -> None:
    cluster = eds_cluster("a")
    assert pack(wrapped(cluster)) == pack(cluster)


def test_given_bytes_are_not_looked_into() -> None:
    raw = RawResource(CDS, "a", b"\x0f")
    assert pack(raw) == (CDS, Packed("a", CDS.type_url, b"\x0f"))
    stray = RawResource(CDS, "a", b"", "type.googleapis.com/no.such.Type")
    assert pack(stray) == (CDS, Packed("a", stray.type_url, b""))


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (RawResource(CDS, "", b"\x0f"), "has no name"),
        ("a", "no protobuf message"),
        (router_pb2.Router(), "Router is none of listener, route, cluster, endpoints"),
        (wrapped(router_pb2.Router()), "holds none of"),
        (any_pb2.Any(type_url=CDS.type_url, value=b"\x0f"), "no such message"),
        (eds_cluster(""), "Cluster has no name"),
        (endpoints(""), "ClusterLoadAssignment has no cluster_name"),
        (listener("", route_config="r"), "Listener has no name"),
    ],
)
def test_what_is_no_resource(resource: Any, message: str) -> None:
    with pytest.raises(BadResource, match=message):
        pack(resource)
