"""The bootstrap configuration of a client under test."""

from __future__ import annotations

import json

from conformance.xds_config.bootstrap import (
    WITH_AUTHORITY,
    WITH_CERTIFICATES,
    bootstrap,
    with_bootstraps,
    with_features,
)


def test_fields_stand_beside_what_is_always_there() -> None:
    always = json.loads(bootstrap("127.0.0.1:1"))
    written = json.loads(bootstrap("127.0.0.1:1", WITH_CERTIFICATES))
    assert "roots.pem" in str(written.pop("certificate_providers"))
    assert written == always


def test_features_are_those_of_the_server() -> None:
    (server,) = json.loads(bootstrap("127.0.0.1:1", with_features("a", "b")))["xds_servers"]
    assert server["server_features"] == ["xds_v3", "a", "b"]
    assert server["server_uri"] == "127.0.0.1:1"


def test_additions_to_the_bootstrap_are_described_with_what_was_served() -> None:
    plain, served = bootstrap("127.0.0.1:1"), ("a cluster", "another cluster")
    assert with_bootstraps(served, plain, (plain,)) == served
    features = bootstrap("127.0.0.1:1", with_features("a"))
    assert with_bootstraps(served, features, ()) == (
        'bootstrap with server_features ["xds_v3", "a"]; a cluster',
        "another cluster",
    )
    authority = bootstrap("127.0.0.1:1", WITH_AUTHORITY)
    (text,) = with_bootstraps((), plain, (authority, authority))
    assert text == 'another process with bootstrap authorities {"xdspec.test": {}}'
    (text,) = with_bootstraps((), plain, ("{",))
    assert text == "another process with bootstrap { (invalid)"
    (text,) = with_bootstraps((), bootstrap("127.0.0.1:1", WITH_CERTIFICATES), ())
    assert text.startswith("bootstrap with certificate_providers ")
