"""The bootstrap configuration of a client under test."""

from __future__ import annotations

import json

from conformance.xds_config.bootstrap import WITH_CERTIFICATES, bootstrap, with_features


def test_fields_stand_beside_what_is_always_there() -> None:
    always = json.loads(bootstrap("127.0.0.1:1"))
    written = json.loads(bootstrap("127.0.0.1:1", WITH_CERTIFICATES))
    assert "roots.pem" in str(written.pop("certificate_providers"))
    assert written == always


def test_features_are_those_of_the_server() -> None:
    (server,) = json.loads(bootstrap("127.0.0.1:1", with_features("a", "b")))["xds_servers"]
    assert server["server_features"] == ["xds_v3", "a", "b"]
    assert server["server_uri"] == "127.0.0.1:1"
