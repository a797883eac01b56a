"""A37, Validation; A27, A47: which Clusters a client rejects, and which it accepts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AllServedBy
from conformance.scenarios.helpers.aggregates import aggregate_config, leaf
from conformance.scenarios.helpers.live_clusters import (
    Form,
    LiveCluster,
    clauses_of,
)
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.bootstrap import AUTHORITY, WITH_AUTHORITY
from conformance.xds_config.trees import subscriptions_of
from conformance.xds_config.variants import TYPE, ResourceVariant, given_bytes, packed

AGGREGATE = "envoy.extensions.clusters.aggregate.v3.ClusterConfig"


OTHER_CLUSTERS = "envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig"
"""Another message that is called ClusterConfig."""


LOCALITY = "load_assignment.endpoints"


ENTRY = f"{LOCALITY}.lb_endpoints"


ENDPOINT = f"{ENTRY}.endpoint"


SOCKET = f"{ENDPOINT}.address.socket_address"


ADDRESS = "endpoint { address { socket_address { address: '127.0.0.1' port_value: 1 } } }"


ANOTHER = f"lb_endpoints {{ {ADDRESS} }} "


MORE_ENDPOINTS = f"endpoints {{ {ANOTHER} }} "


ASSIGNED = f"load_assignment {{ {MORE_ENDPOINTS} }}"


EDS = "eds_cluster_config"


NO_MESSAGE = r"\377\377"
"""Bytes that are no valid start of a message."""


def api(kind: str) -> str:
    """Return a source of this api_type, in text format."""
    service = "grpc_services { envoy_grpc { cluster_name: 'beside' } }"
    return f"api_config_source {{ api_type: {kind} {service} }}"


TYPES = (
    ResourceVariant("A37-VALID-04", f"type: STATIC {ASSIGNED}", less=EDS),
    ResourceVariant("A37-VALID-04", f"type: STRICT_DNS {ASSIGNED}", less=EDS),
    ResourceVariant("A37-VALID-04", "type: ORIGINAL_DST", less=EDS),
    *(
        ResourceVariant("A37-VALID-04", f"type: {kind}")
        for kind in ("STATIC", "STRICT_DNS", "ORIGINAL_DST")
    ),
    ResourceVariant("A37-VALID-05", less="type"),
    ResourceVariant("A37-VALID-05", ASSIGNED, less="type"),
    ResourceVariant("A37-VALID-06", "type: 17"),
    ResourceVariant("A27-CDS-02", less=EDS),
    ResourceVariant("A27-CDS-03", less="eds_config", within=EDS),
    ResourceVariant("A27-CDS-03", "eds_config {}", less="eds_config", within=EDS),
    ResourceVariant("A27-CDS-04", "eds_config { path: '/dev/null' }", within=EDS),
    ResourceVariant(
        "A27-CDS-04", "eds_config { path_config_source { path: '/dev/null' } }", within=EDS
    ),
    *(
        ResourceVariant("A27-CDS-04", f"eds_config {{ {api(kind)} }}", within=EDS)
        for kind in ("GRPC", "AGGREGATED_GRPC")
    ),
    *(
        ResourceVariant("A27-CDS-07", f"lrs_server {{ {source} }}")
        for source in ("", "ads {}", api("GRPC"))
    ),
)


AGGREGATES = tuple(
    ResourceVariant(clause, more, less, within="cluster_type")
    for clause, more, less in (
        ("A37-VALID-07", "", "typed_config"),
        ("A37-VALID-08", f"typed_config {{ type_url: '{TYPE}/a.B' }}", ""),
        ("A37-VALID-08", given_bytes(f"{TYPE}/xds.type.v3.TypedStruct"), ""),
        ("A37-VALID-08", given_bytes(""), ""),
        ("A37-VALID-08", "typed_config { type_url: '' }", ""),
        ("A37-VALID-08", f"typed_config {{ type_url: '{TYPE}/{OTHER_CLUSTERS}' }}", ""),
        ("A37-VALID-10", given_bytes(f"{TYPE}/{AGGREGATE}"), ""),
        ("A37-VALID-09", given_bytes(f"{TYPE}/{AGGREGATE}", NO_MESSAGE), ""),
        ("A37-VALID-09", given_bytes(f"{TYPE}/{AGGREGATE}", rf"\n\007place-1{NO_MESSAGE}"), ""),
    )
)


LOGICAL_DNS = (
    ResourceVariant("A27-CDS-07", "lrs_server { ads {} }"),
    ResourceVariant("A37-VALID-13", less="load_assignment"),
    ResourceVariant("A37-VALID-14", less="endpoints", within="load_assignment"),
    ResourceVariant("A37-VALID-15", MORE_ENDPOINTS, within="load_assignment"),
    ResourceVariant("A37-VALID-15", MORE_ENDPOINTS * 2, within="load_assignment"),
    ResourceVariant("A37-VALID-15", "endpoints {}", within="load_assignment"),
    ResourceVariant("A37-VALID-16", less="lb_endpoints", within=LOCALITY),
    *(
        ResourceVariant("A37-VALID-17", more, within=LOCALITY)
        for more in (ANOTHER, ANOTHER * 2, "lb_endpoints {}")
    ),
    ResourceVariant("A37-VALID-18", less="endpoint", within=ENTRY),
    ResourceVariant("A37-VALID-18", "endpoint_name: 'a-name'", within=ENTRY),
    ResourceVariant("A37-VALID-19", less="address", within=ENDPOINT),
    ResourceVariant("A37-VALID-20", less="socket_address", within=f"{ENDPOINT}.address"),
    ResourceVariant("A37-VALID-20", "pipe { path: '/dev/null' }", within=f"{ENDPOINT}.address"),
    ResourceVariant("A37-VALID-22", less="port_value", within=SOCKET),
    ResourceVariant("A37-VALID-22", "named_port: 'http'", within=SOCKET),
    ResourceVariant("A37-VALID-21", "address: ''", within=SOCKET),
)


def table(name: str, form: Form, odds: Sequence[ResourceVariant], *more: str) -> Any:
    """Return a row for one world that checks a table of variants; `more` are further clauses."""
    mark = scenario(*clauses_of(odds), *more, seconds=1)
    return pytest.param(form, odds, id=name, marks=mark)


@scenario("A37-VALID-29", "A46-NACK-03")
@pytest.mark.parametrize(
    ("form", "odds"),
    [
        table("types", "EDS", TYPES),
        table("aggregates", "aggregate", AGGREGATES, "A37-VALID-28"),
        table("logical-dns", "LOGICAL_DNS", LOGICAL_DNS),
    ],
)
async def test_rejected(world: World, form: Form, odds: Sequence[ResourceVariant]) -> None:
    """The client rejects each of these Clusters, and continues to use the last valid one."""
    live = await LiveCluster.start(world, form)
    await live.check_all_rejected(odds, *(("A37-VALID-28",) if form == "aggregate" else ()))


IGNORED = """
connect_timeout { seconds: 1 } per_connection_buffer_limit_bytes { value: 1 }
health_checks {
  timeout { seconds: 1 } interval { seconds: 1 } unhealthy_threshold { value: 1 }
  healthy_threshold { value: 1 } http_health_check { path: '/health' }
}
max_requests_per_connection { value: 1 } dns_refresh_rate { seconds: 1 } respect_dns_ttl: true
dns_lookup_family: V6_ONLY common_http_protocol_options { idle_timeout { seconds: 1 } }
http2_protocol_options { max_concurrent_streams { value: 1 } } alt_stat_name: 'other'
ignore_health_on_host_removal: true close_connections_on_host_health_failure: true
metadata { filter_metadata { key: 'a.filter' value {} } }
"""


IGNORED_AS_WELL = """
lb_subset_config { fallback_policy: NO_FALLBACK subset_selectors { keys: 'a-key' } }
upstream_bind_config { source_address { address: '127.0.0.1' port_value: 0 } }
common_lb_config { healthy_panic_threshold { value: 100 } } use_tcp_for_dns_lookups: true
cleanup_interval { seconds: 1 } upstream_connection_options { tcp_keepalive {} }
preconnect_policy { per_upstream_preconnect_ratio { value: 3 } } track_timeout_budgets: true
"""


WITH_IGNORED = (
    ResourceVariant("A27-CDS-10", IGNORED),
    ResourceVariant("A27-CDS-10", IGNORED_AS_WELL),
)


OF_EDS = (
    ResourceVariant("A37-VALID-02"),
    ResourceVariant("A37-VALID-27", "load_assignment {}"),
    *WITH_IGNORED,
)


OF_AGGREGATES = (
    ResourceVariant("A37-VALID-01"),
    ResourceVariant(
        "A37-VALID-26",
        "eds_cluster_config { eds_config { path: '/dev/null' } }",
        otherwise=("envoy",),
    ),
    ResourceVariant("A37-VALID-27", "load_assignment {}"),
    *WITH_IGNORED,
)


OF_LOGICAL_DNS = (
    ResourceVariant("A37-VALID-03"),
    ResourceVariant("A37-VALID-25", "cluster_name: 'other'", within="load_assignment"),
    ResourceVariant("A37-VALID-25", less="cluster_name", within="load_assignment"),
    *WITH_IGNORED,
)


@scenario("A37-VALID-29")
@pytest.mark.parametrize(
    ("form", "odds"),
    [
        table("eds", "EDS", OF_EDS),
        table("aggregate", "aggregate", OF_AGGREGATES),
        table("logical-dns", "LOGICAL_DNS", OF_LOGICAL_DNS),
    ],
)
async def test_accepted(world: World, form: Form, odds: Sequence[ResourceVariant]) -> None:
    """The client accepts each of these Clusters and uses it."""
    live = await LiveCluster.start(world, form)
    for variant in odds:
        await live.check_accepted(variant)


@scenario("A37-VALID-29")
@pytest.mark.parametrize(
    ("clause", "source"), [case("ads", "A27-CDS-01", "ads"), case("self", "A47-CDS-03", "self")]
)
async def test_source_of_endpoints(world: World, clause: str, source: str) -> None:
    """The client accepts an eds_config of ads or self, and requests endpoints on the ADS stream."""
    world.checks.require(clause)
    live = await LiveCluster.start(world, "EDS", about="A27-CDS-01" if source == "ads" else "")
    await live.check_accepted(
        ResourceVariant(clause, f"eds_config {{ {source} {{}} }}", within=EDS)
    )
    await live.check_streams_of_endpoints(clause)


XDSTP = f"xdstp://{AUTHORITY}/envoy.config.cluster.v3.Cluster/"


ENDPOINTS_XDSTP = f"xdstp://{AUTHORITY}/envoy.config.endpoint.v3.ClusterLoadAssignment/"


@scenario("A47-CDS-02", "A37-VALID-29", bootstrap=WITH_AUTHORITY)
async def test_xdstp_name(world: World) -> None:
    """The client accepts a Cluster with an xdstp name and a service_name."""
    live = await LiveCluster.start(world, "EDS", name=f"{XDSTP}used")
    await live.check_accepted(ResourceVariant("A47-CDS-02"))


@scenario("A47-CDS-01", "A37-VALID-29", "A46-NACK-03", bootstrap=WITH_AUTHORITY)
async def test_xdstp_name_without_service_name(world: World) -> None:
    """The client rejects a Cluster with an xdstp name and without a service_name."""
    world.checks.require("A47-CDS-01")
    live = await LiveCluster.start(world, "EDS", name=f"{XDSTP}used")
    await live.check_all_rejected([ResourceVariant("A47-CDS-01", less="service_name", within=EDS)])


@scenario("A47-CDS-04", "A37-VALID-29", bootstrap=WITH_AUTHORITY)
async def test_xdstp_name_of_an_aggregate(world: World) -> None:
    """The client accepts an aggregate with an xdstp name."""
    name = f"{XDSTP}used"
    live = await LiveCluster.start(world, "aggregate", about="A47-CDS-04", name=name)
    await live.check_accepted(ResourceVariant("A47-CDS-04"))


@scenario("A47-CDS-02", "A37-VALID-29", bootstrap=WITH_AUTHORITY)
async def test_xdstp_names_everywhere(world: World) -> None:
    """The client accepts xdstp names of an aggregate, its leaves and their service names."""
    names = {"name": f"{XDSTP}used", "leaves": XDSTP, "services": ENDPOINTS_XDSTP}
    live = await LiveCluster.start(world, "aggregate", **names)
    await live.check_accepted(ResourceVariant("A47-CDS-02"))


# Behaviors that the texts leave open.


@scenario("A37-VALID-12", "A37-VALID-29")
@pytest.mark.parametrize("name", [pytest.param("other", id="other"), pytest.param("", id="none")])
async def test_extension_name(world: World, name: str) -> None:
    """The client accepts or rejects another name of the extension in cluster_type."""
    live = await LiveCluster.start(world, "aggregate")
    variant = ResourceVariant("A37-VALID-12", f"name: '{name}'", within="cluster_type")
    await live.report_choice(variant, "served", used=True)


@scenario("A37-VALID-11", "A37-VALID-29")
async def test_empty_name_in_aggregate(world: World) -> None:
    """The client accepts or rejects an empty name in the list of an aggregate."""
    live = await LiveCluster.start(world, "aggregate")
    both = packed(AGGREGATE, "clusters: '' clusters: 'place-1'")
    variant = ResourceVariant("A37-VALID-11", both, within="cluster_type")
    await live.report_choice(variant, used=False, within=timing.NO_SUCH_RESOURCE)


@scenario("A37-VALID-23", "A37-VALID-24", "A37-VALID-29")
async def test_unspecified_logical_dns_fields(world: World) -> None:
    """The client accepts or rejects port 0 and a resolver_name in a LOGICAL_DNS cluster."""
    live = await LiveCluster.start(world, "LOGICAL_DNS")
    await live.report_choice(
        ResourceVariant("A37-VALID-23", "port_value: 0", within=SOCKET), used=False
    )
    await live.report_choice(
        ResourceVariant("A37-VALID-24", "resolver_name: 'other'", within=SOCKET), used=True
    )


@scenario("A27-CDS-05", "A27-CDS-06")
async def test_changed_service_name(world: World) -> None:
    """After an update, the client uses the new service_name, or the cluster name if it has none."""
    services = ("a-service", None, "other-service", None)
    for member, service in zip(await world.endpoints(len(services)), services, strict=True):
        served = aggregate_config(["c"], [leaf("c", (member,)).known_as(service)])
        await world.serve(served, unheard=True)  # Envoy does not ACK before it uses the name.
        clause = "A27-CDS-05" if service else "A27-CDS-06"
        there = AllServedBy((member.address,))
        calls = await world.eventually(there, partial(calls_to, world, "c"))
        await world.check(clause, calls, world.checks.alike(clause, there))


@pytest.mark.parametrize(
    ("clause", "services"),
    [
        case("of-its-own", "A27-CDS-05", ("a-service", "other-service")),
        case("of-the-cluster", "A27-CDS-06", (None, None)),
    ],
)
async def test_service_name(world: World, clause: str, services: tuple[str | None, ...]) -> None:
    """The client subscribes to endpoints by the service_name, or else by the cluster name."""
    members = await world.endpoints(len(services))
    leaves = [leaf(f"cluster-{number}", (member,)) for number, member in enumerate(members)]
    named = [cluster.known_as(service) for cluster, service in zip(leaves, services, strict=True)]
    served = aggregate_config([cluster.name for cluster in named], named)
    await world.serve(served)
    for cluster in named:
        calls = await calls_to(world, cluster.name)
        await world.check(
            clause, calls, world.checks.alike(clause, AllServedBy(cluster.addresses()))
        )
    expected = subscriptions_of(served, "ENDPOINTS", ever=True)
    asked = await world.control.asked_until(expected)
    await world.check(clause, asked, world.checks.alike(clause, expected))
