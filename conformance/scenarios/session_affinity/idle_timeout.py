"""A75: which upstream_config and idle_timeout a client accepts in a Cluster."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import (
    LiveCluster,
    clauses_of,
)
from conformance.world import World
from conformance.xds_config.variants import ResourceVariant, given_bytes, packed

OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


def configured(clause: str, said: str = "") -> ResourceVariant:
    """Return a Cluster with this upstream_config."""
    return ResourceVariant(clause, f"upstream_config {{ name: 'options' {said} }}")


def idle(timeout: str) -> ResourceVariant:
    """Return a Cluster with this idle_timeout."""
    fields = f"common_http_protocol_options {{ idle_timeout {{ {timeout} }} }}"
    return configured("A75-SESSION-03", packed(OPTIONS, fields))


BAD = (
    configured("A75-SESSION-02", packed("google.protobuf.Struct")),
    configured("A75-SESSION-02", given_bytes("type.googleapis.com/xdspec.Unknown")),
    configured("A75-SESSION-02"),
    idle("seconds: -1"),
    idle("nanos: -1"),
    idle("seconds: 315576000001"),
    idle("nanos: 1000000000"),
)


@scenario(*clauses_of(BAD), "A37-VALID-29", "A46-NACK-03", seconds=1)
async def test_rejected(world: World) -> None:
    """The client rejects another upstream_config, and an idle_timeout out of range."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(BAD)
