"""Several trees of clusters in one world, each behind a route of its own that a header chooses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType

import msgspec

from conformance.judging.observations import Calls
from conformance.scenarios.helpers.priorities import endpoints, fail
from conformance.world import World
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RoundRobin
from conformance.xds_config.routes import BY_SESSION, TO, Route
from conformance.xds_config.trees import at_the_first
from test_servers import BackendEndpoint as Member
from test_servers import Mode, Serve

Shape = Mapping[str, str]
"""What each aggregate is made of, names with blanks between them; the first one is the root."""


def aggregates(shape: Shape, *, policy: Policy = RoundRobin()) -> tuple[Cluster, ...]:  # noqa: B008
    """The aggregates of a tree."""
    return tuple(
        Cluster(name=name, discovery=Aggregate(tuple(below.split())), policy=policy)
        for name, below in shape.items()
    )


def leaf_names(*shapes: Shape) -> tuple[str, ...]:
    """What aggregates are made of that is no aggregate, each once."""
    above = {name for shape in shapes for name in shape}
    named = (name for shape in shapes for below in shape.values() for name in below.split())
    return tuple(dict.fromkeys(name for name in named if name not in above))


def leaf(name: str, *priorities: Sequence[Member], discovery: Discovery | None = None) -> Cluster:
    """A cluster of EDS, balanced in turn: it connects unasked, wherever and whenever it is made.

    Args:
        name: its name.
        priorities: the endpoints of each.
        discovery: another one than these.
    """
    places = tuple(
        Locality(
            tuple(Endpoint(member.address) for member in members), f"locality-{number}", 1, number
        )
        for number, members in enumerate(priorities)
    )
    return Cluster(name=name, discovery=discovery or Eds(places), policy=RoundRobin())


def route_to(name: str) -> Route:
    """The route of calls whose header names this cluster."""
    return Route(BY_SESSION, cluster=name, when=(TO, name))


def with_route(served: XdsConfig, name: str, cluster: str) -> XdsConfig:
    """One route alone, for calls that name the first of these, to the second."""
    route = msgspec.structs.replace(route_to(name), cluster=cluster)
    return msgspec.structs.replace(served, routes=(route,))


def aggregate_config(roots: Sequence[str], clusters: Sequence[Cluster]) -> XdsConfig:
    """All these clusters, and a route to each root. A cluster may stand in several trees."""
    return XdsConfig(clusters=tuple(clusters), routes=tuple(map(route_to, roots)))


class Deployment(msgspec.Struct, frozen=True):
    """A forest, and the endpoints of its leaves."""

    served: XdsConfig
    members: Mapping[str, tuple[Member, ...]]
    """By leaf."""

    def of(self, *leaves: str) -> tuple[str, ...]:
        """The addresses of all endpoints of these leaves."""
        return tuple(member.address for name in leaves for member in self.members[name])

    async def lose(self, *leaves: str) -> tuple[str, ...]:
        """Have all endpoints of these leaves fail from now on; their addresses."""
        await fail(*(each for name in leaves for each in self.members[name]))
        return self.of(*leaves)


async def deploy(
    world: World,
    *shapes: Shape,
    direct: Sequence[str] = (),
    modes: Mapping[str, Sequence[Mode]] = MappingProxyType({}),
    usual: Mode = Serve(),  # noqa: B008 - frozen
    by_dns: Sequence[str] = (),
) -> Deployment:
    """Trees of these shapes, which may share clusters, and a route to the root of each.

    Args:
        world: of the scenario.
        shapes: the root of each is its first name.
        direct: leaves to which routes lead as well.
        modes: of leaves that have other endpoints than one: a priority for each.
        usual: the mode of the others.
        by_dns: leaves that are clusters of LOGICAL_DNS.
    """
    members: dict[str, tuple[Member, ...]] = {}
    leaves: dict[str, Cluster] = {}
    for name in dict.fromkeys((*leaf_names(*shapes), *direct)):
        made = await endpoints(world, *modes.get(name, (usual,)))
        members[name] = tuple(made)
        discovery = LogicalDns(made[0].address) if name in by_dns else None
        leaves[name] = leaf(name, *((endpoint,) for endpoint in made), discovery=discovery)
    above = {aggregate.name: aggregate for shape in shapes for aggregate in aggregates(shape)}
    roots = (*(next(iter(shape)) for shape in shapes), *direct)
    return Deployment(aggregate_config(roots, (*above.values(), *leaves.values())), members)


def prefixed(shape: Shape, prefix: str) -> Shape:
    """The same tree, of clusters that are no others' by their names."""
    return {
        f"{prefix}-{name}": " ".join(f"{prefix}-{child}" for child in below.split())
        for name, below in shape.items()
    }


def chain(prefix: str, names: int) -> Shape:
    """Aggregates of one cluster each, down to a leaf: so many names, the leaf's among them."""
    numbered = [f"{prefix}-{number}" for number in range(names)]
    return dict(pairwise(numbered))


async def calls_to(
    world: World, root: str, count: int = 3, *, deadline: float | None = None
) -> Calls:
    """So many calls that the route to this cluster takes."""
    headers = [{**session, TO: root} for session in world.sessions(count)]
    return await world.call(headers, deadline=deadline)


async def in_use(
    world: World, served: XdsConfig, *roots: str, failed: Collection[str] = ()
) -> None:
    """Serve this, and go on when requests to these roots are served as they should be.

    Args:
        world: of the scenario.
        served: all that there is.
        roots: of the trees.
        failed: endpoints that have failed.

    Raises:
        ClientStuck: they are not.
    """
    await world.serve(served)
    for root in roots:
        expected, calls = at_the_first(served, root, failed), partial(calls_to, world, root)
        await world.rounds.require(expected, calls, why="its endpoints serve")
