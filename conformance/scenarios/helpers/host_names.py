"""Leaves that are found by DNS, each by a name of its own."""

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
    """The host name of a leaf."""
    return f"{leaf}.xdspec.test"


def by_name(name: str, member: BackendEndpoint, *, told: str | None = None) -> LogicalDns:
    """What the host name of a leaf, or `told` another, is to resolve to."""
    return LogicalDns(f"{told or host(name)}:{member.port}", (member.address,))


def named(planted: Deployment, *leaves: str) -> Deployment:
    """The same trees, with these leaves as clusters of LOGICAL_DNS, each by its host name."""
    changed = [_by_name(planted, name) for name in leaves]
    return msgspec.structs.replace(planted, served=with_clusters(planted.served, *changed))


def _by_name(planted: Deployment, name: str) -> Cluster:
    (member,) = planted.members[name]
    return msgspec.structs.replace(
        planted.served.get_cluster(name), discovery=by_name(name, member)
    )


def known(planted: Deployment, *leaves: str) -> dict[str, NameRecords]:
    """What a name server says of the host names of these leaves when all is well."""
    return {
        host(name): NameRecords(tuple(member.host for member in planted.members[name]))
        for name in leaves
    }


def kept_long(names: Mapping[str, NameRecords]) -> Mapping[str, Answer]:
    """The same, to be kept so long that nobody has to ask again for its age."""
    return {
        name: msgspec.structs.replace(record, ttl=timing.AGE_OF_NAMES)
        for name, record in names.items()
    }


async def served_again(
    world: World, name: str, wanted: Expectation, calls: Round, *, beyond: int
) -> Calls:
    """A round of calls once it fits, after the name server has begun to know the name.

    Until the client asks again nothing can change, so no call is made. It may have asked for a
    half, one of the two kinds of addresses, just before: so what it asks for next counts as well.

    Args:
        world: of the scenario.
        name: which.
        wanted: what the calls are to be.
        calls: makes a round.
        beyond: how many look-ups there had been when the name server began to know it.
    """
    for _ in range(2):
        if not await world.names.asked_again(name, beyond=beyond, within=world.resolutions.retried):
            break
        beyond = world.names.mark
        seen = await world.eventually(wanted, calls)
        if not seen.overdue:
            return seen
    return await calls()
