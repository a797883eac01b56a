"""The bootstrap configuration that a client under test is given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
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


MOST = 300
"""Characters of an addition that are described."""


def additions(text: str) -> str:
    """Describe what the JSON text of a bootstrap adds to the default one; empty if nothing."""
    try:
        made = json.loads(text)
        features = made["xds_servers"][0].get("server_features", [])
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"{text[:MOST]} (invalid)"
    added = {"server_features": features} if len(features) > 1 else {}
    added |= {name: made[name] for name in made if name not in {"xds_servers", "node"}}
    words = ", ".join(f"{name} {json.dumps(value)}" for name, value in added.items())
    return words if len(words) <= MOST else f"{words[:MOST]}…"


def with_bootstraps(
    served: Sequence[str], bootstrap: str, of_others: Iterable[str]
) -> tuple[str, ...]:
    """Return what was served; the first text begins with additions to the client's bootstrap.

    Args:
        served: descriptions of the served configurations.
        bootstrap: that of the first process.
        of_others: those of processes that the scenario started with another one.
    """
    words = [f"bootstrap with {added}"] if (added := additions(bootstrap)) else []
    several = dict.fromkeys(filter(None, map(additions, of_others)))
    words += [f"another process with bootstrap {added}" for added in several]
    if not words:
        return tuple(served)
    return ("; ".join([*words, *served[:1]]), *served[1:])


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
