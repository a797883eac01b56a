"""Build aggregate trees, break a leaf at each position, and check the failing tree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

import msgspec

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.expectations import (
    EndsInState,
    EndsWith,
    Expectation,
    Fails,
    FirstUsablePriority,
)
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.localities import endpoints, fail
from conformance.world import World
from conformance.world.rounds import Round
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RoundRobin
from conformance.xds_config.routes import BY_SESSION, TO, Route
from conformance.xds_config.subscriptions import subscriptions
from conformance.xds_config.trees import at_the_first, with_clusters
from fake_control_plane import Kind
from test_servers import Answer, BackendEndpoint, Mode, NameRecords, Serve
from test_servers import BackendEndpoint as Member

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


FAILS = Fails()
"""Requests to what is in TRANSIENT_FAILURE: no text names their status (A37-TROUBLE-36)."""

STATUSES: Mapping[str, EndsWith] = {code: EndsWith(code) for code in ("UNAVAILABLE", "INTERNAL")}
"""The statuses with which clients have been seen to fail them."""


async def errors_and_waits(
    world: World,
    root: str,
    mend: Callable[[], Awaitable[None]],
    *,
    within: float = timing.CALL,
) -> Calls:
    """Judge the channel's state, and requests that wait, while its only tree is in trouble.

    Args:
        world: of a scenario that needs the capabilities `watch` and `wait_for_ready`.
        root: of the tree that all routes lead to.
        mend: ends the trouble.
        within: seconds after which a request that has waited is served then.

    Returns:
        The one that was still waiting when the trouble ended.
    """
    watched = await world.states.watch()
    await world.check("A37-TROUBLE-34", await calls_to(world, root), FAILS)
    states = await world.states.until(watched, "TRANSIENT_FAILURE")
    await world.check("A37-TROUBLE-33", states, EndsInState(("TRANSIENT_FAILURE",)))
    waits = await world.start([{TO: root}], wait_for_ready=True, deadline=timing.HELD)
    await world.check("A37-TROUBLE-34", await waits.over(), EndsWith("DEADLINE_EXCEEDED"))
    waits = await world.start([{TO: root}], wait_for_ready=True, deadline=within)
    await mend()
    served = await waits.over()
    # Not all that mends it need come at once: any leaf may serve it.
    await world.check("A37-TROUBLE-34", served, EndsWith("OK"))
    return served


POSITIONS: Final = {"first": "x b c", "middle": "b x c", "last": "b c x", "only": "x"}
"""Where the leaf x stands; b and c are the others."""

TREES: Final[tuple[Shape, ...]] = tuple(
    prefixed({"m": made}, where) for where, made in POSITIONS.items()
)
ROOTS: Final = tuple(f"{where}-m" for where in POSITIONS)

BEFORE_X: Final = ("middle-b", "last-b", "last-c")
"""The leaves of all trees that stand before x."""

BESIDE: Final = "beside"
"""A cluster that no trouble touches, behind a route of its own."""


def each_position(name: str) -> tuple[str, ...]:
    """The leaf of this name in each of the trees that have it."""
    return tuple(f"{where}-{name}" for where, made in POSITIONS.items() if name in made.split())


async def each_position_of(
    world: World, wanted: Mapping[str, Expectation], *, lasts: bool = False
) -> dict[str, Calls]:
    """Calls to each of these roots once they go as wanted, or time is up; all are asked at once.

    Args:
        world: of the scenario.
        wanted: of the calls to each root.
        lasts: whether one round more is made after the first that fits.
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
    """The clause for each of these trees, or all, once what is served is taken up.

    Args:
        world: of the scenario.
        clause: that is judged.
        served: all that there is.
        roots: of the trees.
        failed: endpoints that have failed.
        lasts: whether one round more is made after the first that fits.
    """
    choices = {
        root: by_health(world, clause, served, root, failed=failed) for root in roots or ROOTS
    }
    expected = {root: world.checks.own(clause, choice) for root, choice in choices.items()}
    for root, calls in (await each_position_of(world, expected, lasts=lasts)).items():
        await world.check(clause, calls, choices[root])


async def check_lists(world: World, clause: str, served: XdsConfig, *roots: str) -> None:
    """Judge that each root has its own list of leaves, on which the next clause rests.

    Args:
        world: of the scenario.
        clause: that the scenario continues with.
        served: all that there is.
        roots: of the trees.
    """
    for root in roots:
        expected = at_the_first(served, root)
        calls = await world.eventually(expected, partial(calls_to, world, root))
        await world.check("A37-TREE-15", calls, expected)
    world.checks.turn_to(clause)


async def lose_before_x(world: World, planted: Deployment) -> tuple[str, ...]:
    """Have the leaves before x fail, and return their addresses.

    Envoy leaves a leaf by the health of its endpoints only, so none of its leaves fails.
    """
    return await planted.lose(*BEFORE_X) if world.checks.has("A27-PRIO-04") else ()


def by_health(
    world: World, clause: str, served: XdsConfig, root: str, *, failed: Collection[str] = ()
) -> dict[str, FirstUsablePriority]:
    """Calls to a tree by each wording: Envoy has degraded endpoints, too, where no other is left.

    Args:
        world: of the scenario.
        clause: that is judged.
        served: all that there is.
        root: of the tree.
        failed: endpoints that have failed.
    """
    first, last = (
        at_the_first(served, root, failed, degraded=degraded) for degraded in (False, True)
    )
    return world.checks.by_edition(clause, lambda edition: last if edition == "envoy" else first)


def without_one(
    served: XdsConfig, root: str, failed: Collection[str] = ()
) -> dict[str, Expectation]:
    """Calls to a tree of which a cluster is missing, by the editions that tell what follows."""
    whole = at_the_first(served, root, failed, as_a_whole=True)
    rest = at_the_first(served, root, failed)
    return {"A37": whole, "A74-2024": whole, "A74": rest, "envoy": rest}


async def require_subscribed(
    world: World, kind: Kind, served: XdsConfig, *, within: float = timing.ANSWER
) -> None:
    """Go on when the client has asked for all resources of this kind that it is led to.

    Raises:
        ClientStuck: it did not in time.
    """
    count = sum(subscribed is kind for subscribed, _ in subscriptions(served))
    await world.control.require_asked(kind, count, within=within)


async def require_rejected(world: World, kind: Kind, *bad: Any) -> None:
    """Send resources that are to be refused, and go on when they are.

    Raises:
        ClientUnable: they were not, so nothing of what follows from it can be seen.
    """
    answer = await world.control.offer(kind, *bad)
    if answer.acked:
        raise Unsupported(f"it takes a resource of {kind.name} that A27 has refused")


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
