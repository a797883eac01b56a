from __future__ import annotations

import contextlib
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from fake_control_plane import files
from fake_control_plane.exceptions import BadResourceFile, NoSuchFolder
from fake_control_plane.files import load_file, load_folder
from fake_control_plane.kinds import Kind
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
    resources = load_file(write(tmp_path, "all.yaml", YAML)).resources
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
    assert len(load_file(write(tmp_path, name, text)).resources) == count


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
    [cluster] = load_file(write(tmp_path, "c.json", text)).resources
    assert "Maglev" in str(cluster)


def test_a_folder_and_those_within(tmp_path: Path) -> None:
    write(tmp_path, "b/cluster.json", CLUSTER)
    write(tmp_path, "a.yaml", f'"@type": {PREFIX}envoy.config.listener.v3.Listener\nname: l')
    write(tmp_path, "notes.txt", "not a resource")
    write(tmp_path, ".hidden.yaml", "not: a resource")
    write(tmp_path, ".git/a.yaml", "not: a resource")
    names = [type(resource).__name__ for resource in load_folder(tmp_path).resources]
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


# Seconds: what is refused is refused before it costs anything.
SOON = 5.0


def bomb(lines: int) -> str:
    """YAML whose last line stands for 2 to the power of its lines values."""
    doubled = (f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, lines))
    return "\n".join(["a0: &a0 x", *doubled])


def chain(links: int, levels: int) -> str:
    """YAML that is nested deeply by its aliases only."""
    deeper = (f"a{n}: &a{n} {'[' * levels}*a{n - 1}{']' * levels}" for n in range(1, links))
    return "\n".join(["a0: &a0 x", *deeper])


def nested(levels: int) -> Any:
    inner: Any = {}
    for _ in range(levels):
        inner = {"x": inner}
    return inner


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


HARMFUL = [
    ("itself.yaml", "a: &a [*a]", "line 1: an alias within its own anchor"),
    ("itself.yaml", "&a {x: 1, y: {b: *a}}", "an alias within its own anchor"),
    ("merged.yaml", "&a {<<: *a}", "an alias within its own anchor"),
    ("bomb.yaml", bomb(40), "repeats more than 100,000 values by its aliases"),
    ("bomb.yaml", bomb(190), "repeats more than 100,000 values by its aliases"),
    ("deep.yaml", "[" * 100_000, "line 1: more than 200 levels within one another"),
    ("deep.yaml", chain(5, 100), "line 3: by its aliases more than 200 levels within one another"),
    ("deep.json", "[" * 100_000, "is not JSON: it is nested too deeply"),
    ("deep.json", cluster(metadata={"filter_metadata": {"x": nested(400)}}), "resource 1: "),
    ("long.yaml", f"a:\n  b: {'9' * 5000}", "line 2: an integer of 5000 digits"),
    ("long.yaml", f"a: -0x{'f' * 5000}", "line 1: an integer of"),
    ("long.json", f'{{"a": {"9" * 5000}}}', "an integer of 5000 digits"),
    ("doubled.json", '{"a": 1, "b": [{"c": 1, "c": 2}]}', "the key 'c' twice"),
    ("doubled.yaml", "a: 1\nb:\n  c: 1\n  'c': 2", "line 4: the key 'c' is in line 3 already"),
    ("tag.yaml", "a: !!bool x", "is not YAML"),
    ("tag.yaml", "a: !!timestamp x", "is not YAML"),
    (
        "names.json",
        cluster(lbPolicy="RING_HASH", lb_policy="ROUND_ROBIN"),
        "resource 1: lb_policy: is lbPolicy already, by its other name",
    ),
    (
        "names.json",
        cluster(load_assignment={"endpoints": [{}, {"lbEndpoints": [], "lb_endpoints": []}]}),
        "resource 1: load_assignment.endpoints[1].lb_endpoints: is ",
    ),
    (
        "names.json",
        cluster(metadata={"filterMetadata": {}, "filter_metadata": {}}),
        "metadata.filter_metadata: is metadata.filterMetadata already",
    ),
    (
        "names.json",
        cluster(
            typed_extension_protocol_options={
                "x": {
                    "@type": PREFIX + "envoy.config.cluster.v3.Cluster",
                    "altStatName": "a",
                    "alt_stat_name": "b",
                }
            }
        ),
        "typed_extension_protocol_options['x'].alt_stat_name: is ",
    ),
    ("half.json", cluster(**{"\ud800": 1}), "is half of a surrogate pair"),
    ("half.json", cluster(**{"[\ud800]": 1}), "is half of a surrogate pair"),
    ("half.json", cluster(lb_policy="\ud800"), "is half of a surrogate pair"),
    ("half.json", cluster(connect_timeout="\udfff"), "is half of a surrogate pair"),
]


@pytest.mark.parametrize(("name", "text", "message"), HARMFUL)
def test_what_would_do_harm_is_one_sentence(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = write(tmp_path, name, text)
    began = time.monotonic()
    with pytest.raises(BadResourceFile) as caught:
        load_file(file)
    assert time.monotonic() - began < SOON
    said = str(caught.value)
    assert said.startswith(f"{file}: ")
    assert message in said
    assert "\n" not in said
    assert len(said) < 1000


def test_aliases_and_merges_that_do_no_harm(tmp_path: Path) -> None:
    """A key beside `<<` may stand in what is merged, and a Struct has keys of its own."""
    text = f"""
    - &one {{"@type": {PREFIX}envoy.config.cluster.v3.Cluster, name: a, metadata: &same {{
        filter_metadata: {{x: {{fooBar: 1, foo_bar: 2}}}} }} }}
    - {{<<: *one, name: b, metadata: *same}}
    """
    first, second = load_file(write(tmp_path, "shared.yaml", text)).resources
    assert (str(first).replace('"a"', '"b"')) == str(second)


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    with pytest.raises(BadResourceFile, match=r"fifo\.yaml: cannot be read: it is no regular file"):
        load_folder(tmp_path)
    (tmp_path / "fifo.yaml").unlink()
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    with pytest.raises(BadResourceFile, match=r"zero\.json: cannot be read: it is no regular file"):
        load_folder(tmp_path)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadResourceFile, match=r"is larger than 67,108,864 bytes"):
        load_folder(tmp_path)


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    """A mounted ConfigMap: each of its first names is a link through `..data`."""
    write(tmp_path, "..2026_01/a/cluster.json", CLUSTER)
    (tmp_path / "..data").symlink_to("..2026_01")
    (tmp_path / "a").symlink_to("..data/a")
    (tmp_path / "round").symlink_to(".")
    assert len(load_folder(tmp_path).resources) == 1


def test_a_folder_is_read_once_however_many_links_lead_to_it(tmp_path: Path) -> None:
    """Two links a level are 2^26 ways to the last folder."""
    for level in range(26):
        within = tmp_path / f"level{level}"
        within.mkdir()
        for link in ("a", "b"):
            (within / link).symlink_to(f"../level{level + 1}")
    write(tmp_path, "level26/cluster.json", CLUSTER)
    began = time.monotonic()
    assert len(load_folder(tmp_path / "level0").resources) == 1
    assert time.monotonic() - began < SOON


def test_a_folder_of_more_than_can_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_ENTRIES", 20)
    for number in range(20):
        (tmp_path / f"{number}.txt").touch()
    assert not load_folder(tmp_path).resources
    (tmp_path / ".hidden").touch()
    with pytest.raises(BadResourceFile, match="more than 20 files and folders"):
        load_folder(tmp_path)


MUTATIONS = 300


def test_a_mutated_file_is_loaded_or_named(tmp_path: Path) -> None:
    """Bytes that are changed, doubled, moved or left out of files that are good."""
    chosen = random.Random(20261122)
    for _ in range(MUTATIONS):
        name = chosen.choice(["m.yaml", "m.json"])
        content = bytearray((YAML if name == "m.yaml" else cluster(lb_policy=3)).encode())
        for __ in range(chosen.randint(1, 4)):
            at, to = sorted(chosen.randrange(len(content) + 1) for _ in range(2))
            piece = content[at : min(to, at + 40)]
            match chosen.randrange(4):
                case 0:
                    content[at:to] = b""
                case 1:
                    content[to:to] = piece * chosen.randint(1, 9)
                case 2:
                    content[at:at] = chosen.choice(
                        [
                            b"&a ",
                            b"*a",
                            b"<<: *a",
                            b"!!int ",
                            b"\xff",
                            b"\0",
                            b"? ",
                            b"- ",
                            b"{",
                            b"9" * 5000,
                        ]
                    )
                case _:
                    content[at : at + 1] = chosen.randbytes(1)
        (tmp_path / name).write_bytes(content)
        with contextlib.suppress(BadResourceFile):
            load_file(tmp_path / name)


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


def test_a_folder_says_its_versions(tmp_path: Path) -> None:
    write(tmp_path, "a.json", f'{{"version_info": "7", "resources": [{CLUSTER}]}}')
    write(tmp_path, "b.json", OTHER)
    assert load_folder(tmp_path).versions == {Kind.CLUSTER: "7"}
    write(tmp_path, "version.yaml", 'versionInfo: "all"')
    assert load_folder(tmp_path).versions == dict.fromkeys(Kind, "all") | {Kind.CLUSTER: "7"}
    write(tmp_path, "b.json", f'{{"version_info": "8", "resources": [{OTHER}]}}')
    with pytest.raises(
        BadResourceFile, match=r"b\.json: version_info '8' of type cluster is '7' in"
    ):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version_info: 1", "is no text: write it in quotes"),
        ("version_info: '1'\nversionInfo: '2'", "has more than one version_info"),
        ("version_info: '1'\nnonce: x", "resource 1: has no '@type'"),
    ],
)
def test_versions_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadResourceFile, match=message):
        load_file(write(tmp_path, "v.yaml", text))
