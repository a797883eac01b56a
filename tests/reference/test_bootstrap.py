"""Bootstrap configurations, good and bad."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from client_under_test.reference.xds.bootstrap import BadBootstrap, from_environment, parse
from client_under_test.reference.xds.data_rules import read_server_features
from client_under_test.reference.xds.messages import BadNode, node

INSECURE = {"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}


def text(*servers: Any, **fields: Any) -> str:
    return json.dumps({"xds_servers": list(servers), **fields})


def test_from_text_and_from_file(tmp_path: Path) -> None:
    found = from_environment({"GRPC_XDS_BOOTSTRAP_CONFIG": text(INSECURE, node={"id": "me"})})
    assert (found.server, found.node) == ("127.0.0.1:1", {"id": "me"})
    assert found.certificate_providers == frozenset()
    file = tmp_path / "bootstrap.json"
    file.write_text(text(dict(INSECURE, server_uri="dns:///host:2")))
    both = {"GRPC_XDS_BOOTSTRAP": str(file), "GRPC_XDS_BOOTSTRAP_CONFIG": text(INSECURE)}
    assert from_environment(both).server == "host:2"
    features = ["xds_v3", "fail_on_data_errors", 7, {"name": "of another time"}]
    server = dict(INSECURE, server_features=features)
    found = parse(text(server).encode())
    assert found.server_features == (*features,)
    assert read_server_features(found.server_features) == {"xds_v3", "fail_on_data_errors"}
    providers = {"one": {"plugin_name": "file_watcher"}, "two": {}}
    assert parse(
        text(INSECURE, certificate_providers=providers).encode()
    ).certificate_providers == {"one", "two"}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "{",
        "[]",
        "{}",
        text(),
        text({"server_uri": "x"}),
        text({"server_uri": 5, "channel_creds": [{"type": "insecure"}]}),
        text({"server_uri": "x", "channel_creds": [{"type": "tls"}]}),
        text(INSECURE, node=5),
    ],
)
def test_bad(bad: str) -> None:
    with pytest.raises(BadBootstrap):
        parse(bad.encode())


def test_none_and_unreadable() -> None:
    with pytest.raises(BadBootstrap, match="neither"):
        from_environment({})
    with pytest.raises(BadBootstrap, match="cannot be read"):
        from_environment({"GRPC_XDS_BOOTSTRAP": "/nowhere/at/all"})


def test_node() -> None:
    message = node({"id": "me", "locality": {"region": "r"}, "unknown": 1})
    assert (message.id, message.locality.region) == ("me", "r")
    with pytest.raises(BadNode):
        node({"id": 5})
