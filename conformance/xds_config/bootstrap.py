"""The bootstrap configuration that a client under test is given."""

from __future__ import annotations

import json
from importlib.resources import files

from conformance.judging.declaration import AS_ALWAYS, Bootstrap

VARIABLE = "GRPC_XDS_BOOTSTRAP_CONFIG"
"""The environment variable that carries the bootstrap configuration."""

VARIABLES = frozenset({VARIABLE, "GRPC_XDS_BOOTSTRAP"})
"""The variables by which a client can get a bootstrap."""

NODE = "xdspec-client"
LOCALITY = {"region": "xdspec", "zone": "test", "sub_zone": "client"}
"""Some clients need a locality although A27 does not ask for one."""


def bootstrap(address: str, wanted: Bootstrap = AS_ALWAYS) -> str:
    """Return the JSON text of a bootstrap configuration with one server, at ``ip:port``."""
    server = {
        "server_uri": address,
        "channel_creds": [{"type": "insecure"}],
        "server_features": ["xds_v3", *wanted.server_features],
    }
    node = {"id": NODE, "locality": LOCALITY}
    return json.dumps({"xds_servers": [server], "node": node, **wanted.fields})


AUTHORITY = "xdspec.test"
WITH_AUTHORITY = Bootstrap(fields={"authorities": {AUTHORITY: {}}})
"""An authority of xdstp names, whose resources come from the same server (A47)."""

PROVIDER = "provider"
WITH_CERTIFICATES = Bootstrap(
    fields={
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
)
"""A certificate provider instance that no channel uses: channels have no TLS (A29)."""

KEEPS_DELETED = "ignore_resource_deletion"
"""The server feature of A53."""
FAILS_ON_DATA = "fail_on_data_errors"
WAITS_LONGER = "resource_timer_is_transient_error"
"""The server features of A88."""


def with_features(*features: object) -> Bootstrap:
    """Return a bootstrap configuration whose server has these features."""
    return Bootstrap(server_features=features)
