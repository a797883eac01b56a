"""The bootstrap configuration that a client under test is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

VARIABLE = "GRPC_XDS_BOOTSTRAP_CONFIG"
"""The variable of the environment that carries it."""

NODE = "xdspec-client"
LOCALITY = {"region": "xdspec", "zone": "test", "sub_zone": "client"}
"""Some clients need a locality although A27 does not ask for one."""

INSECURE = ({"type": "insecure"},)


def bootstrap(
    address: str,
    *,
    node: str = NODE,
    channel_creds: tuple[dict[str, str], ...] = INSECURE,
    server_features: tuple[str, ...] = ("xds_v3",),
    besides: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The JSON text of a bootstrap configuration with one server, at ``ip:port``."""
    server = {
        "server_uri": address,
        "channel_creds": list(channel_creds),
        "server_features": list(server_features),
    }
    always = {"xds_servers": [server], "node": {"id": node, "locality": LOCALITY}}
    return json.dumps(always | dict(besides))


AUTHORITY = "xdspec.test"
WITH_AUTHORITY: Mapping[str, Any] = {"authorities": {AUTHORITY: {}}}
"""An authority of xdstp names, whose resources come from the same server (A47)."""

PROVIDER = "provider"
WITH_CERTIFICATES: Mapping[str, Any] = {
    "certificate_providers": {
        PROVIDER: {
            "plugin_name": "file_watcher",
            "config": {
                "ca_certificate_file": str(files("grpc") / "_cython/_credentials/roots.pem"),
                "refresh_interval": "600s",  # some clients want it written
            },
        }
    }
}
"""An instance for certificates, by which nobody is looked at: channels have no TLS (A29)."""
