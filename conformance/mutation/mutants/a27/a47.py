"""Mutants of the clauses in a47.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import refusing

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
        "wrong_with_cluster": refusing(
            lambda cluster: (
                cluster.name.startswith("xdstp:") and not cluster.eds_cluster_config.service_name
            )
        )
    },
)
