"""Build aggregate trees, break a leaf at each position, and check the failing tree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import msgspec

from conformance import timing
from conformance.judging.expectations import (
    EndsInState,
    EndsWith,
    Expectation,
    Fails,
    FirstUsablePriority,
)
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.localities import endpoints, fail
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.world import World
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first
from test_servers import BackendEndpoint as Member
from test_servers import Mode, Serve

Shape = Mapping[str, str]
"""Each aggregate and its underlying clusters, separated by spaces; the first is the root."""


def aggregates(shape: Shape) -> tuple[Cluster, ...]:
    """Return the aggregates of a tree."""
    return tuple(
        Cluster(name=name, discovery=Aggregate(tuple(below.split())), policy=RoundRobin())
        for name, below in shape.items()
    )


def leaf_names(*shapes: Shape) -> tuple[str, ...]:
    """Return the names of leaves below the aggregates, each once."""
    above = {name for shape in shapes for name in shape}
    named = (name for shape in shapes for below in shape.values() for name in below.split())
    return tuple(dict.fromkeys(name for name in named if name not in above))


def leaf(name: str, *priorities: Sequence[Member], discovery: Discovery | None = None) -> Cluster:
    """Return a cluster of EDS under ROUND_ROBIN, which connects without a pick.

    Args:
        name: name of the cluster.
        priorities: the endpoints of each priority.
        discovery: discovery to use instead of these endpoints.
    """
    places = tuple(
        Locality(
            tuple(Endpoint(member.address) for member in members), f"locality-{number}", 1, number
        )
        for number, members in enumerate(priorities)
    )
    return Cluster(name=name, discovery=discovery or Eds(places), policy=RoundRobin())


def aggregate_config(roots: Sequence[str], clusters: Sequence[Cluster]) -> XdsConfig:
    """Return a config of these clusters with a route to each root; trees may share clusters."""
    return XdsConfig(clusters=tuple(clusters), routes=tuple(map(route_to, roots)))


class Deployment(msgspec.Struct, frozen=True):
    """The config of several trees, and the endpoints of their leaves."""

    served: XdsConfig
    members: Mapping[str, tuple[Member, ...]]
    """The endpoints of each leaf."""

    def of(self, *leaves: str) -> tuple[str, ...]:
        """Return the addresses of all endpoints of these leaves."""
        return tuple(member.address for name in leaves for member in self.members[name])

    async def lose(self, *leaves: str) -> tuple[str, ...]:
        """Make all endpoints of these leaves fail; return their addresses."""
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
    """Start the endpoints of trees, and return their config with a route to each root.

    Args:
        world: the scenario's world.
        shapes: the trees; the first name of each is its root. Trees may share clusters.
        direct: leaves that are also targets of routes.
        modes: modes of the endpoints of a leaf, one priority each; by default one endpoint.
        usual: mode of the endpoints of all other leaves.
        by_dns: leaves of type LOGICAL_DNS.
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
    """Return the tree with a prefix before all names, so that it shares no cluster."""
    return {
        f"{prefix}-{name}": " ".join(f"{prefix}-{child}" for child in below.split())
        for name, below in shape.items()
    }


def chain(prefix: str, names: int) -> Shape:
    """Return a chain of aggregates with one cluster each; `names` includes the leaf."""
    numbered = [f"{prefix}-{number}" for number in range(names)]
    return dict(pairwise(numbered))


async def in_use(
    world: World, served: XdsConfig, *roots: str, failed: Collection[str] = ()
) -> None:
    """Serve a config, and wait until requests to these roots reach the expected endpoints.

    Args:
        world: the scenario's world.
        served: the config.
        roots: roots of the trees.
        failed: addresses of failed endpoints.

    Raises:
        PreconditionTimeout: requests did not reach them in time.
    """
    await world.serve(served)
    for root in roots:
        expected, calls = at_the_first(served, root, failed), partial(calls_to, world, root)
        await world.rounds.require(expected, calls, why="its endpoints serve")


FAILS = Fails()
"""Requests to a tree in TRANSIENT_FAILURE fail; no text names their status (A37-TROUBLE-36)."""

STATUSES: Mapping[str, EndsWith] = {code: EndsWith(code) for code in ("UNAVAILABLE", "INTERNAL")}
"""The statuses of such requests in known clients."""


async def errors_and_waits(
    world: World,
    root: str,
    mend: Callable[[], Awaitable[None]],
    *,
    within: float = timing.CALL,
) -> Calls:
    """Check the channel's state and waiting requests while the only tree is unusable.

    Args:
        world: the world of a scenario with the capabilities `watch` and `wait_for_ready`.
        root: root of the only tree.
        mend: makes the tree usable.
        within: seconds within which the tree then serves a waiting request.

    Returns:
        The request that waited until the tree was usable.
    """
    watched = await world.states.watch()
    await world.check("A37-TROUBLE-34", await calls_to(world, root), FAILS)
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    await world.check("A37-TROUBLE-33", states, EndsInState(("TRANSIENT_FAILURE",)))
    waits = await world.start([{CLUSTER_HEADER: root}], wait_for_ready=True, deadline=timing.HELD)
    await world.check("A37-TROUBLE-34", await waits.over(), EndsWith("DEADLINE_EXCEEDED"))
    waits = await world.start([{CLUSTER_HEADER: root}], wait_for_ready=True, deadline=within)
    await mend()
    served = await waits.over()
    # The resources may come one after another, so any leaf may serve the request.
    await world.check("A37-TROUBLE-34", served, EndsWith("OK"))
    return served


POSITIONS: Final = {"first": "x b c", "middle": "b x c", "last": "b c x", "only": "x"}
"""The positions of leaf x among the leaves b and c."""

TREES: Final[tuple[Shape, ...]] = tuple(
    prefixed({"m": made}, where) for where, made in POSITIONS.items()
)
ROOTS: Final = tuple(f"{where}-m" for where in POSITIONS)

BEFORE_X: Final = ("middle-b", "last-b", "last-c")
"""The leaves before x in all trees."""

UNAFFECTED_ROOT: Final = "beside"
"""A cluster of another route, which always works."""


def each_position(name: str) -> tuple[str, ...]:
    """Return the leaf of this name in each tree that has it."""
    return tuple(f"{where}-{name}" for where, made in POSITIONS.items() if name in made.split())


async def each_position_of(
    world: World, wanted: Mapping[str, Expectation], *, lasts: bool = False
) -> dict[str, Calls]:
    """Make calls to all roots at once; return them once they fit, or time is up.

    Args:
        world: the scenario's world.
        wanted: the expectation for the calls to each root.
        lasts: True to make one more round after the first that fits.
    """
    until = world.rounds.eventually_stable if lasts else world.eventually
    looks = (
        until(expectation, partial(calls_to, world, root)) for root, expectation in wanted.items()
    )
    return dict(zip(wanted, await asyncio.gather(*looks), strict=True))


async def check_each(
    world: World,
    clause: str,
    served: XdsConfig,
    *roots: str,
    failed: Collection[str] = (),
    lasts: bool = False,
) -> None:
    """Check a clause for each of these trees (by default all), once the config is in use.

    Args:
        world: the scenario's world.
        clause: the clause to check.
        served: the config.
        roots: roots of the trees.
        failed: addresses of failed endpoints.
        lasts: True to make one more round after the first that fits.
    """
    choices = {
        root: by_health(world, clause, served, root, failed=failed) for root in roots or ROOTS
    }
    expected = {root: world.checks.own(clause, choice) for root, choice in choices.items()}
    for root, calls in (await each_position_of(world, expected, lasts=lasts)).items():
        await world.check(clause, calls, choices[root])


async def check_lists(world: World, clause: str, served: XdsConfig, *roots: str) -> None:
    """Check that each root has its own list of leaves, on which the next clause depends.

    Args:
        world: the scenario's world.
        clause: the clause that the scenario checks next.
        served: the config.
        roots: roots of the trees.
    """
    for root in roots:
        expected = at_the_first(served, root)
        calls = await world.eventually(expected, partial(calls_to, world, root))
        await world.check("A37-TREE-15", calls, expected)
    world.checks.turn_to(clause)


async def lose_before_x(world: World, planted: Deployment) -> tuple[str, ...]:
    """Make the leaves before x fail, and return their addresses.

    Envoy leaves a leaf only because of the health of its endpoints, so no leaf fails for it.
    """
    return await planted.lose(*BEFORE_X) if world.checks.has("A27-PRIO-04") else ()


def by_health(
    world: World, clause: str, served: XdsConfig, root: str, *, failed: Collection[str] = ()
) -> dict[str, FirstUsablePriority]:
    """Expect calls to a tree, by edition: Envoy uses degraded endpoints if no others are left.

    Args:
        world: the scenario's world.
        clause: the clause to check.
        served: the config.
        root: root of the tree.
        failed: addresses of failed endpoints.
    """
    first, last = (
        at_the_first(served, root, failed, degraded=degraded) for degraded in (False, True)
    )
    return world.checks.by_edition(clause, lambda edition: last if edition == "envoy" else first)


def without_one(
    served: XdsConfig, root: str, failed: Collection[str] = ()
) -> dict[str, Expectation]:
    """Expect calls to a tree with a missing cluster, by the editions that define the outcome."""
    whole = at_the_first(served, root, failed, as_a_whole=True)
    rest = at_the_first(served, root, failed)
    return {"A37": whole, "A74-2024": whole, "A74": rest, "envoy": rest}
