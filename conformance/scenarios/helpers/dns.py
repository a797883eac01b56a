"""Clusters of type LOGICAL_DNS: their host names, records and calls after new records."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from conformance import timing
from conformance.judging.expectations import Expectation
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import Deployment
from conformance.world import World
from conformance.world.rounds import Round
from conformance.xds_config.clusters import Cluster, LogicalDns
from conformance.xds_config.trees import with_clusters
from test_servers import Answer, BackendEndpoint, NameRecords


def host(leaf: str) -> str:
    """Return the host name of a leaf."""
    return f"{leaf}.xdspec.test"


def by_host_name(name: str, member: BackendEndpoint, *, hostname: str | None = None) -> LogicalDns:
    """Return the discovery by host name: the leaf's, or `hostname`, which resolves to `member`."""
    return LogicalDns(f"{hostname or host(name)}:{member.port}", (member.address,))


def with_host_names(planted: Deployment, *leaves: str) -> Deployment:
    """Return the trees with these leaves of type LOGICAL_DNS, each with its host name."""
    changed = [_by_host_name(planted, name) for name in leaves]
    return msgspec.structs.replace(planted, served=with_clusters(planted.served, *changed))


def _by_host_name(planted: Deployment, name: str) -> Cluster:
    (member,) = planted.members[name]
    return msgspec.structs.replace(
        planted.served.get_cluster(name), discovery=by_host_name(name, member)
    )


def dns_records(planted: Deployment, *leaves: str) -> dict[str, NameRecords]:
    """Return the correct DNS records of these leaves."""
    return {
        host(name): NameRecords(tuple(member.host for member in planted.members[name]))
        for name in leaves
    }


def with_long_ttl(names: Mapping[str, NameRecords]) -> Mapping[str, Answer]:
    """Return the records with a TTL so long that no client resolves them again because of it."""
    return {
        name: msgspec.structs.replace(record, ttl=timing.AGE_OF_NAMES)
        for name, record in names.items()
    }


async def calls_after_new_records(
    world: World, name: str, wanted: Expectation, calls: Round, *, beyond: int
) -> Calls:
    """Return a round of calls once it fits, after the name server has got records of a name.

    No call is made until the client resolves the name again, because nothing changes before. The
    client may have just sent one of its two queries (A or AAAA), so its next query counts as well.

    Args:
        world: the scenario's world.
        name: the host name.
        wanted: the expectation for the calls.
        calls: makes a round of calls.
        beyond: number of queries before the name server got the records.
    """
    for _ in range(2):
        if not await world.names.asked_again(name, beyond=beyond, within=world.resolutions.retried):
            break
        beyond = world.names.mark
        seen = await world.eventually(wanted, calls)
        if not seen.overdue:
            return seen
    return await calls()
