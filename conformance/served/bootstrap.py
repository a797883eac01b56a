"""The bootstrap configuration that a client under test is given."""

from __future__ import annotations

import json

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
) -> str:
    """The JSON text of a bootstrap configuration with one server, at ``ip:port``."""
    server = {
        "server_uri": address,
        "channel_creds": list(channel_creds),
        "server_features": list(server_features),
    }
    return json.dumps({"xds_servers": [server], "node": {"id": node, "locality": LOCALITY}})
