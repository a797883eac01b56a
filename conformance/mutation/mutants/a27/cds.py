"""Mutants of the clauses in cds.toml."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.cluster_rules import eds_source_is_accepted
from conformance.mutation.mutants.findings import refusing

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

health_checks_refused = Mutant(
    clause="A27-CDS-10",
    broken="an unsupported field, such as health_checks, is an error",
    xds={"wrong_with_cluster": refusing(lambda cluster: bool(cluster.health_checks))},
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


def whatever_comes(name: str, wanted: Sequence[str]) -> str | None:
    """Treat an unsolicited resource as the first requested one."""
    return name if name in wanted else next(iter(wanted), None)


strangers_taken = Mutant(
    clause="A27-CDS-08",
    broken="an unsolicited resource is treated as a requested one",
    xds={"taken_for": whatever_comes},
)


def alike(change: Callable[[str], str]) -> Callable[[str, Sequence[str]], str | None]:
    """Treat names as equal if `change` makes them equal."""
    return lambda name, wanted: next(
        (wanted_name for wanted_name in wanted if change(wanted_name) == change(name)), None
    )


names_without_case = Mutant(
    clause="A27-CDS-09",
    broken="names that differ only in case are equal",
    xds={"taken_for": alike(str.casefold)},
)

names_without_blanks = Mutant(
    clause="A27-CDS-09",
    broken="spaces around a name are ignored",
    xds={"taken_for": alike(str.strip)},
)

names_by_their_beginning = Mutant(
    clause="A27-CDS-09",
    broken="a name that starts with the requested name is equal to it",
    xds={
        "taken_for": lambda name, wanted: next(
            (wanted_name for wanted_name in wanted if name.startswith(wanted_name)), None
        )
    },
)
