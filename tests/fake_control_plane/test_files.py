from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_control_plane.exceptions import BadResourceFile, NoSuchFolder
from fake_control_plane.files import load_file, load_folder
from fake_control_plane.resources import eds_cluster, endpoint, endpoints, locality

PREFIX = "type.googleapis.com/"
CLUSTER = f'{{"@type": "{PREFIX}envoy.config.cluster.v3.Cluster", "name": "c"}}'
OTHER = CLUSTER.replace('"c"', '"d"')


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


YAML = """
resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: c
  type: EDS
  eds_cluster_config: {eds_config: {ads: {}}}
- "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  clusterName: c
  endpoints:
  - locality: {region: near}
    loadBalancingWeight: 1
    lbEndpoints:
    - endpoint: {address: {socketAddress: {address: 127.0.0.1, portValue: 80}}}
"""


def test_yaml_is_protojson(tmp_path: Path) -> None:
    resources = load_file(write(tmp_path, "all.yaml", YAML))
    assert resources == (
        eds_cluster("c"),
        endpoints("c", locality("near", endpoint("127.0.0.1:80"))),
    )


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("one.json", CLUSTER, 1),
        ("list.json", f"[{CLUSTER}]", 1),
        ("resources.json", f'{{"resources": [{CLUSTER}]}}', 1),
        ("documents.yml", f"{CLUSTER}\n---\n---\n[{OTHER}]\n", 2),
        ("empty.yaml", "", 0),
    ],
)
def test_shapes_of_a_file(tmp_path: Path, name: str, text: str, count: int) -> None:
    assert len(load_file(write(tmp_path, name, text))) == count


def test_types_within_are_loaded_when_they_are_named(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "@type": PREFIX + "envoy.config.cluster.v3.Cluster",
            "name": "c",
            "load_balancing_policy": {
                "policies": [
                    {
                        "typed_extension_config": {
                            "name": "x",
                            "typed_config": {
                                "@type": PREFIX
                                + "envoy.extensions.load_balancing_policies.maglev.v3.Maglev",
                                "table_size": 7,
                            },
                        }
                    }
                ]
            },
        }
    )
    [cluster] = load_file(write(tmp_path, "c.json", text))
    assert "Maglev" in str(cluster)


def test_a_folder_and_those_within(tmp_path: Path) -> None:
    write(tmp_path, "b/cluster.json", CLUSTER)
    write(tmp_path, "a.yaml", f'"@type": {PREFIX}envoy.config.listener.v3.Listener\nname: l')
    write(tmp_path, "notes.txt", "not a resource")
    write(tmp_path, ".hidden.yaml", "not: a resource")
    write(tmp_path, ".git/a.yaml", "not: a resource")
    names = [type(resource).__name__ for resource in load_folder(tmp_path)]
    assert names == ["Listener", "Cluster"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFolder, match="no folder"):
        load_folder(tmp_path / "gone")
    with pytest.raises(NoSuchFolder, match="no folder"):
        load_folder(write(tmp_path, "file", ""))


def test_a_resource_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, "a.json", CLUSTER)
    write(tmp_path, "b.json", CLUSTER)
    with pytest.raises(BadResourceFile, match=r"b\.json: the cluster 'c' is in .*a\.json already"):
        load_folder(tmp_path)


def cluster(**fields: Any) -> str:
    return json.dumps({"@type": PREFIX + "envoy.config.cluster.v3.Cluster", "name": "c"} | fields)


BAD = [
    ("{", "is not JSON"),
    ('{"a":1}', "has no '@type'"),
    ("3", "is no mapping"),
    (f"[{CLUSTER}, {CLUSTER}]", "resource 2: a cluster 'c' is above already"),
    (cluster(name=""), "resource 1: A Cluster has no name"),
    (cluster(**{"@type": "nonsense"}), "'nonsense' is no known type"),
    (cluster(**{"@type": PREFIX + "os.path"}), "os.path' is no known type"),
    (
        cluster(cluster_type={"typed_config": {"@type": PREFIX + "envoy.no.Such"}}),
        "envoy.no.Such' is no known type",
    ),
    (f'{{"@type": "{PREFIX}google.protobuf.Empty"}}', "Empty is none of"),
    (cluster(typo=1), 'has no field named "typo"'),
    (cluster(lb_policy="NOPE"), "lb_policy: Invalid enum value NOPE"),
    (cluster(lb_policy=float("inf")), "infinity"),
    (cluster(connect_timeout="abc"), "connect_timeout: Duration must end"),
    (
        cluster(load_assignment={"endpoints": [{}, {"lb_endpoints": [{"endpoint": {"adr": 1}}]}]}),
        "load_assignment.endpoints[1].lb_endpoints[0].endpoint: ",
    ),
    (cluster(eds_cluster_config=3), "eds_cluster_config: "),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, "bad.json", text)
    with pytest.raises(BadResourceFile) as caught:
        load_file(file)
    said = str(caught.value)
    assert said.startswith(f"{file}: ")
    assert message in said
    assert "\n" not in said
    assert said.endswith(".")
    assert not said.endswith("..")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: ]", "is not YAML: line 1"),
        ("a: b: c", "is not YAML: line 1"),
        ("a: !!python/object:os.system x", "is not YAML: line 1"),
        ("\x00", "is not YAML"),
        ("a: 2020-13-45", "is not YAML"),
    ],
)
def test_bad_yaml(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadResourceFile) as caught:
        load_file(write(tmp_path, "bad.yaml", text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadResourceFile, match="No such file"):
        load_file(tmp_path / "gone.json")
    (tmp_path / "latin.json").write_bytes(b"\xff")
    with pytest.raises(BadResourceFile, match="is not UTF-8: byte 0"):
        load_file(tmp_path / "latin.json")


FIELDS = sorted(
    field.name
    for message in (
        endpoint_pb2.ClusterLoadAssignment,
        endpoint_pb2.ClusterLoadAssignment.Policy,
    )
    for field in message.DESCRIPTOR.fields
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "lb_endpoints", "locality", "x"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_whatever_is_in_a_file_is_loaded_or_named(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.json"
    fields["@type"] = PREFIX + "envoy.config.endpoint.v3.ClusterLoadAssignment"
    file.write_text(json.dumps(fields))
    with contextlib.suppress(BadResourceFile):
        load_file(file)
