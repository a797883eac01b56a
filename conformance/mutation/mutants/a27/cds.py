"""Mutants of the clauses in cds.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.cluster_rules import eds_source_is_accepted
from conformance.mutation.mutants.findings import refusing

ads_refused = Mutant(
    clause="A27-CDS-01",
    broken="endpoints come from `self` alone",
    xds={"eds_source_is_accepted": {"self"}.__contains__},
)

no_source_at_all = Mutant(
    clause="A27-CDS-02",
    broken="a Cluster that does not say where its endpoints come from has them from ADS",
    xds={"eds_source_is_accepted": {"ads", "self", None}.__contains__},
)

empty_source = Mutant(
    clause="A27-CDS-03",
    broken="an empty eds_config means ADS",
    xds={"eds_source_is_accepted": {"ads", "self", None}.__contains__},
)

paths = Mutant(
    clause="A27-CDS-04",
    broken="a path is taken for ADS",
    xds={
        "eds_source_is_accepted": lambda source: (
            eds_source_is_accepted(source) or "path" in (source or "")
        )
    },
)

apis = Mutant(
    clause="A27-CDS-04",
    broken="another API is taken for ADS",
    xds={"eds_source_is_accepted": {"ads", "self", "api_config_source"}.__contains__},
)

any_lrs_server = Mutant(
    clause="A27-CDS-07",
    broken="the load goes to the control plane, whoever lrs_server names",
    xds={"lrs_server_is_accepted": lambda _source: True},
)

health_checks_refused = Mutant(
    clause="A27-CDS-10",
    broken="what cannot be done, as health checks, is an error",
    xds={"wrong_with_cluster": refusing(lambda cluster: bool(cluster.health_checks))},
)

service_name_ignored = Mutant(
    clause="A27-CDS-05",
    broken="endpoints are asked for by the name of the cluster, whatever its service name",
    xds={"service_name": lambda _kind, _written: ""},
)

service_name_made_up = Mutant(
    clause="A27-CDS-06",
    broken="a Cluster without a service name has one of its own",
    xds={"service_name": lambda _kind, written: written or "default"},
)


def whatever_comes(name: str, wanted: Sequence[str]) -> str | None:
    """What nobody asked for is taken for what somebody did."""
    return name if name in wanted else next(iter(wanted), None)


strangers_taken = Mutant(
    clause="A27-CDS-08",
    broken="a resource that nobody asked for is taken for one that was asked for",
    xds={"taken_for": whatever_comes},
)


def alike(change: Callable[[str], str]) -> Callable[[str, Sequence[str]], str | None]:
    """Names count as the same that are so after a change."""
    return lambda name, wanted: next(
        (wanted_name for wanted_name in wanted if change(wanted_name) == change(name)), None
    )


names_without_case = Mutant(
    clause="A27-CDS-09",
    broken="names that differ in case are the same",
    xds={"taken_for": alike(str.casefold)},
)

names_without_blanks = Mutant(
    clause="A27-CDS-09",
    broken="blanks around a name do not count",
    xds={"taken_for": alike(str.strip)},
)

names_by_their_beginning = Mutant(
    clause="A27-CDS-09",
    broken="a name that begins with the one that was asked for is the same",
    xds={
        "taken_for": lambda name, wanted: next(
            (wanted_name for wanted_name in wanted if name.startswith(wanted_name)), None
        )
    },
)
