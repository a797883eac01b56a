"""Mutants of the clauses in validation.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from envoy.config.cluster.v3.cluster_pb2 import Cluster

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.cluster_rules import (
    EDS,
    aggregate_type_is_accepted,
    eds_source_is_accepted,
    host_and_port,
    kind_of_cluster,
    underlying_clusters,
)
from conformance.mutation.mutants.findings import not_forgiving, overlooking, refusing

service_name_may_be_missing = Mutant(
    clause="A47-CDS-01",
    broken="a Cluster with an xdstp name needs no service name",
    xds={"service_name_is_accepted": lambda _cluster, _written: True},
)


xdstp_refused = Mutant(
    clause="A47-CDS-02",
    broken="a Cluster with an xdstp name is rejected",
    xds={"service_name_is_accepted": lambda cluster, _written: not cluster.startswith("xdstp:")},
)


self_refused = Mutant(
    clause="A47-CDS-03",
    broken="only `ads` is accepted as eds_config",
    xds={"eds_source_is_accepted": {"ads"}.__contains__},
)


aggregate_needs_a_service_name = Mutant(
    clause="A47-CDS-04",
    broken="an aggregate with an xdstp name needs a service name",
    xds={
        "cluster_errors": refusing(
            lambda cluster: (
                cluster.name.startswith("xdstp:") and not cluster.eds_cluster_config.service_name
            )
        )
    },
)


ads_refused = Mutant(
    clause="A27-CDS-01",
    broken="only `self` is accepted as eds_config",
    xds={"eds_source_is_accepted": {"self"}.__contains__},
)


no_source_at_all = Mutant(
    clause="A27-CDS-02",
    broken="a missing eds_cluster_config means ADS",
    xds={"eds_source_is_accepted": {"ads", "self", None}.__contains__},
)


empty_source = Mutant(
    clause="A27-CDS-03",
    broken="an empty eds_config means ADS",
    xds={"eds_source_is_accepted": {"ads", "self", None}.__contains__},
)


paths = Mutant(
    clause="A27-CDS-04",
    broken="a path is treated as ADS",
    xds={
        "eds_source_is_accepted": lambda source: (
            eds_source_is_accepted(source) or "path" in (source or "")
        )
    },
)


apis = Mutant(
    clause="A27-CDS-04",
    broken="another API is treated as ADS",
    xds={"eds_source_is_accepted": {"ads", "self", "api_config_source"}.__contains__},
)


any_lrs_server = Mutant(
    clause="A27-CDS-07",
    broken="load is reported to the control plane, whatever lrs_server names",
    xds={"lrs_server_is_accepted": lambda _source: True},
)


def aggregated_apis(
    cluster: Cluster, found: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Accept an api_config_source whose API is an aggregated one."""
    source = cluster.eds_cluster_config.eds_config.api_config_source
    is_aggregated = source.api_type in {source.AGGREGATED_GRPC, source.AGGREGATED_DELTA_GRPC}
    return () if is_aggregated else found


apis_of_ads = Mutant(
    clause="A27-CDS-04",
    broken="an api_config_source of an aggregated API is treated as ADS",
    xds={"cluster_errors": aggregated_apis},
)


lrs_server_by_api = Mutant(
    clause="A27-CDS-07",
    broken="an lrs_server with an api_config_source is treated as self",
    xds={"lrs_server_is_accepted": {"self", "api_config_source"}.__contains__},
)


def any_lrs_server_of_dns(
    cluster: Cluster, found: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Accept any lrs_server of a LOGICAL_DNS cluster."""
    is_dns = cluster.type == Cluster.LOGICAL_DNS
    return overlooking("lrs_server")(cluster, found) if is_dns else found


lrs_server_of_dns = Mutant(
    clause="A27-CDS-07",
    broken="lrs_server is not validated in a LOGICAL_DNS cluster",
    xds={"cluster_errors": any_lrs_server_of_dns},
)


health_checks_refused = Mutant(
    clause="A27-CDS-10",
    broken="an unsupported field, such as health_checks, is an error",
    xds={"cluster_errors": refusing(lambda cluster: bool(cluster.health_checks))},
)


dns_family_refused = Mutant(
    clause="A27-CDS-10",
    broken="a LOGICAL_DNS cluster with a dns_lookup_family is rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: cluster.type == Cluster.LOGICAL_DNS and cluster.dns_lookup_family
        )
    },
)


subsets_refused = Mutant(
    clause="A27-CDS-10",
    broken="an lb_subset_config is an error",
    xds={"cluster_errors": refusing(lambda cluster: cluster.HasField("lb_subset_config"))},
)


service_name_ignored = Mutant(
    clause="A27-CDS-05",
    broken="endpoints are requested by the name of the cluster, whatever its service name",
    xds={"service_name": lambda _kind, _written: ""},
)


service_name_made_up = Mutant(
    clause="A27-CDS-06",
    broken="a Cluster without a service name gets another service name",
    xds={"service_name": lambda _kind, written: written or "default"},
)


def last_service_name() -> Callable[[str, str], str]:
    """Use the last service name if an update of a Cluster has none."""
    last = ""

    def service_name(kind: str, written: str) -> str:
        nonlocal last
        if kind != EDS:
            return ""
        last = written or last
        return last

    return service_name


removed_service_name_kept = Mutant(
    clause="A27-CDS-06",
    broken="an update that removes the service name leaves it as it was",
    xds={"service_name": last_service_name()},
)


KNOWN_TYPES = range(5)


ENTRY = "lb_endpoints[0]"


# Accepted Clusters.

aggregate_refused = Mutant(
    clause="A37-VALID-01",
    broken="aggregates are not supported",
    xds={"underlying_clusters": lambda _listed: None},
)


eds_refused = Mutant(
    clause="A37-VALID-02",
    broken="type EDS is rejected",
    xds={"cluster_errors": refusing(lambda cluster: cluster.type == Cluster.EDS)},
)


logical_dns_refused = Mutant(
    clause="A37-VALID-03",
    broken="type LOGICAL_DNS is rejected",
    xds={
        "kind_of_cluster": lambda written, number: (
            None if number == Cluster.LOGICAL_DNS else kind_of_cluster(written, number)
        )
    },
)


# Types.

every_type_is_eds = Mutant(
    clause="A37-VALID-04",
    broken="an unknown type means EDS, whose config may be missing",
    xds={
        "kind_of_cluster": lambda written, number: kind_of_cluster(written, number) or EDS,
        "eds_source_is_accepted": lambda _source: True,
    },
)


eds_config_is_eds = Mutant(
    clause="A37-VALID-04",
    broken="a Cluster of another type with an eds_cluster_config means EDS",
    xds={
        "kind_of_cluster": lambda written, number: (
            kind_of_cluster(written, number) or (EDS if written and number in KNOWN_TYPES else None)
        )
    },
)


no_type_is_eds = Mutant(
    clause="A37-VALID-05",
    broken="a Cluster without a type means EDS",
    xds={
        "kind_of_cluster": lambda written, number: (
            kind_of_cluster(written, number) if written else EDS
        )
    },
)


def without_type(cluster: Cluster, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Accept a Cluster that has a load_assignment and neither type nor cluster_type."""
    has_type = cluster.WhichOneof("cluster_discovery_type") is not None
    is_dns = cluster.HasField("load_assignment") and not has_type
    return overlooking("type", "must be EDS")(cluster, found) if is_dns else found


no_type_with_load_assignment = Mutant(
    clause="A37-VALID-05",
    broken="a Cluster with a load_assignment needs no type",
    xds={"cluster_errors": without_type},
)


unknown_type_is_eds = Mutant(
    clause="A37-VALID-06",
    broken="an undefined type number means EDS",
    xds={
        "kind_of_cluster": lambda written, number: (
            kind_of_cluster(written, number) if number in KNOWN_TYPES else EDS
        )
    },
)


# Aggregates.

typed_config_may_be_missing = Mutant(
    clause="A37-VALID-07",
    broken="an aggregate without typed_config has no clusters",
    xds={"cluster_errors": overlooking("cluster_type.typed_config", "is missing")},
)


type_url_ignored = Mutant(
    clause="A37-VALID-08",
    broken="any typed_config is read as a ClusterConfig",
    xds={"aggregate_type_is_accepted": lambda _type_url: True},
)


type_by_the_end_of_its_name = Mutant(
    clause="A37-VALID-08",
    broken="any typed_config that is called ClusterConfig is read as that of an aggregate",
    xds={"aggregate_type_is_accepted": lambda type_url: type_url.endswith(".ClusterConfig")},
)


no_type_url = Mutant(
    clause="A37-VALID-08",
    broken="a typed_config without a type_url is read as a ClusterConfig",
    xds={
        "aggregate_type_is_accepted": lambda type_url: (
            not type_url or aggregate_type_is_accepted(type_url)
        )
    },
)


bytes_that_are_none = Mutant(
    clause="A37-VALID-09",
    broken="a ClusterConfig that cannot be parsed is ignored",
    xds={"cluster_errors": overlooking("typed_config", "is no ClusterConfig")},
)


def begins_as_one(cluster: Cluster, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Accept a ClusterConfig whose first field is valid."""
    begins = cluster.cluster_type.typed_config.value.startswith(b"\n")
    return overlooking("typed_config", "is no ClusterConfig")(cluster, found) if begins else found


bytes_that_begin_as_one = Mutant(
    clause="A37-VALID-09",
    broken="of a ClusterConfig that cannot be parsed, the valid start is used",
    xds={"cluster_errors": begins_as_one},
)


aggregate_may_be_empty = Mutant(
    clause="A37-VALID-10",
    broken="an aggregate may name no cluster",
    xds={"underlying_clusters": tuple},
)


empty_names_refused = Mutant(
    clause="A37-VALID-11",
    broken="an empty name below an aggregate is an error",
    xds={
        "underlying_clusters": lambda listed: underlying_clusters(listed) if all(listed) else None
    },
    reports="refused",
)


name_of_the_extension_counts = Mutant(
    clause="A37-VALID-12",
    broken="the name next to typed_config must be Envoy's",
    xds={
        "cluster_errors": refusing(
            lambda cluster: cluster.cluster_type.name not in {"", "envoy.clusters.aggregate"}
        )
    },
    reports="refused",
)


name_of_the_extension_wanted = Mutant(
    clause="A37-VALID-12",
    broken="there must be a name next to typed_config",
    xds={
        "cluster_errors": refusing(
            lambda cluster: cluster.HasField("cluster_type") and not cluster.cluster_type.name
        )
    },
    reports="refused",
)


# LOGICAL_DNS.

load_assignment_may_be_missing = Mutant(
    clause="A37-VALID-13",
    broken="a LOGICAL_DNS cluster may have no load_assignment",
    xds={"cluster_errors": overlooking("load_assignment", "is missing")},
)


no_locality = Mutant(
    clause="A37-VALID-14",
    broken="load_assignment may have no locality",
    xds={"has_one_entry": lambda _field, entries: entries <= 1},
)


def without_empty_localities(
    cluster: Cluster, found: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Overlook the findings if one locality of load_assignment has endpoints."""
    filled = [entry for entry in cluster.load_assignment.endpoints if entry.lb_endpoints]
    return () if len(filled) == 1 < len(cluster.load_assignment.endpoints) else found


more_localities = Mutant(
    clause="A37-VALID-15",
    broken="the first locality of load_assignment is used",
    xds={
        "has_one_entry": lambda field, entries: (
            entries == 1 or (field == "endpoints" and entries > 1)
        )
    },
)


empty_locality_not_counted = Mutant(
    clause="A37-VALID-15",
    broken="an entry of endpoints without lb_endpoints does not count",
    xds={"cluster_errors": without_empty_localities},
)


two_localities_alone = Mutant(
    clause="A37-VALID-15",
    broken="two entries of endpoints are rejected, but not three",
    xds={
        "has_one_entry": lambda field, entries: (
            entries == 1 or (field == "endpoints" and entries not in {0, 2})
        )
    },
)


no_endpoint = Mutant(
    clause="A37-VALID-16",
    broken="the locality may have no endpoint",
    xds={
        "has_one_entry": lambda field, entries: (
            entries == 1 or (field == "lb_endpoints" and not entries)
        )
    },
)


more_endpoints = Mutant(
    clause="A37-VALID-17",
    broken="the first endpoint of the locality is used",
    xds={
        "has_one_entry": lambda field, entries: (
            entries == 1 or (field == "lb_endpoints" and entries > 1)
        )
    },
)


two_endpoints_alone = Mutant(
    clause="A37-VALID-17",
    broken="two entries of lb_endpoints are rejected, but not three",
    xds={
        "has_one_entry": lambda field, entries: (
            entries == 1 or (field == "lb_endpoints" and entries not in {0, 2})
        )
    },
)


def without_empty_endpoints(
    cluster: Cluster, found: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Overlook the findings if one entry of several in lb_endpoints has an endpoint."""
    entries = [entry for place in cluster.load_assignment.endpoints for entry in place.lb_endpoints]
    filled = [entry for entry in entries if entry.HasField("endpoint")]
    return () if len(filled) == 1 < len(entries) else found


empty_endpoint_not_counted = Mutant(
    clause="A37-VALID-17",
    broken="an entry of lb_endpoints without an endpoint does not count",
    xds={"cluster_errors": without_empty_endpoints},
)


endpoint_may_be_missing = Mutant(
    clause="A37-VALID-18",
    broken="an entry without an endpoint is accepted",
    xds={"cluster_errors": overlooking(f"{ENTRY}.endpoint")},
)


address_may_be_missing = Mutant(
    clause="A37-VALID-19",
    broken="an endpoint without an address is accepted",
    xds={"cluster_errors": overlooking("endpoint.address")},
)


address_of_any_kind = Mutant(
    clause="A37-VALID-20",
    broken="an address that is not a socket_address is accepted",
    xds={"cluster_errors": overlooking("address.socket_address")},
)


host_may_be_empty = Mutant(
    clause="A37-VALID-21",
    broken="the name to resolve may be empty",
    xds={"cluster_errors": overlooking("socket_address.address")},
)


port_may_be_missing = Mutant(
    clause="A37-VALID-22",
    broken="a missing port means zero",
    xds={"cluster_errors": overlooking("socket_address.port_value")},
)


port_zero_refused = Mutant(
    clause="A37-VALID-23",
    broken="a port of zero means unset",
    xds={
        "host_and_port": lambda address: (
            host_and_port(address) if address.port_value else [("port_value", "must be set")]
        )
    },
    reports="refused",
)


resolver_name_ignored = Mutant(
    clause="A37-VALID-24",
    broken="a resolver_name is ignored",
    xds={"host_and_port": lambda address: (address.address, address.port_value)},
    reports="accepted",
)


name_in_load_assignment_counts = Mutant(
    clause="A37-VALID-25",
    broken="load_assignment must have the name of the Cluster",
    xds={
        "cluster_errors": refusing(
            lambda cluster: (
                cluster.type == Cluster.LOGICAL_DNS
                and cluster.load_assignment.cluster_name != cluster.name
            )
        )
    },
)


# Fields of another type.

eds_config_checked_anyway = Mutant(
    clause="A37-VALID-26",
    broken="eds_config must be ADS, whatever the type of the Cluster",
    xds={
        "cluster_errors": refusing(lambda cluster: bool(cluster.eds_cluster_config.eds_config.path))
    },
)


load_assignment_checked_anyway = Mutant(
    clause="A37-VALID-27",
    broken="a load_assignment must have an endpoint, whatever the type of the Cluster",
    xds={
        "cluster_errors": refusing(
            lambda cluster: (
                cluster.HasField("load_assignment") and not cluster.load_assignment.endpoints
            )
        )
    },
)


load_assignment_makes_dns = Mutant(
    clause="A37-VALID-27",
    broken="an aggregate may have no load_assignment",
    xds={
        "cluster_errors": refusing(
            lambda cluster: cluster.HasField("load_assignment") and cluster.HasField("cluster_type")
        )
    },
)


# The next update.

refused_aggregate_is_gone = Mutant(
    clause="A37-VALID-28",
    broken="after a bad update of an aggregate there is none",
    xds={"rejection_removes": lambda _noun, _features: True},
)


bad_for_good = Mutant(
    clause="A37-VALID-29",
    broken="after the first bad Cluster every Cluster is rejected",
    xds={"cluster_errors": not_forgiving()},
)
