"""A75: which upstream_config and idle_timeout a client accepts in a Cluster."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import (
    AFTERWARDS,
    UNCHANGED,
    LiveCluster,
    clauses_of,
)
from conformance.world import World
from conformance.xds_config.variants import ClusterVariant, given_bytes, packed

OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"


def configured(clause: str, said: str = "") -> ClusterVariant:
    """Return a Cluster with this upstream_config."""
    return ClusterVariant(clause, f"upstream_config {{ name: 'options' {said} }}")


def idle(timeout: str) -> ClusterVariant:
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


@scenario(*clauses_of(BAD), AFTERWARDS, UNCHANGED, seconds=1)
async def test_rejected(world: World) -> None:
    """The client rejects another upstream_config, and an idle_timeout out of range."""
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all(BAD)
