"""A27, A57: what the client sends on a stream that follows another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import grpc
import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptSpacing,
    Duration,
    EachServesSome,
    Expectation,
    Fails,
    LaterRequestsHaveNode,
    NoWildcard,
    ResubscribesTo,
    SendsAcceptedVersion,
    SendsOwnNonces,
    StreamsBeginWithNode,
    SubscribesTo,
)
from conformance.judging.observations import Attempt, Attempts, Elapsed
from conformance.scenarios.helpers.localities import fail
from conformance.scenarios.helpers.routing import (
    ANOTHER,
    MATCHED,
    OTHER,
    Clusters,
    calls_of,
    routed_to,
    to_one,
    two_clusters,
)
from conformance.world import UNARY, World, waits
from conformance.xds_config.bootstrap import NODE
from conformance.xds_config.broken import without_routes
from conformance.xds_config.config import LISTENER, XdsConfig, single_locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.subscriptions import subscriptions
from fake_control_plane import Kind, Service, StreamOpened

End = Callable[[World], Awaitable[object]]


def with_status(code: grpc.StatusCode) -> End:
    """Return an end of the stream by the control plane."""
    return lambda world: world.control.renew(Kind.LISTENER, LISTENER, code)


async def by_restart(world: World) -> None:
    """Restart the control plane, which ends the connection with its streams."""
    await world.control.stop()
    await world.control.resume()


ENDS: dict[str, End] = {
    "OK": with_status(grpc.StatusCode.OK),
    "UNAVAILABLE": with_status(grpc.StatusCode.UNAVAILABLE),
    "connection": by_restart,
}


REQUESTS: Mapping[str, Expectation | Mapping[str, Expectation]] = {
    "A27-ADS-04": StreamsBeginWithNode(NODE, least=2),
    "A27-ADS-05": {
        "first request alone": LaterRequestsHaveNode(has=False),
        "each request": LaterRequestsHaveNode(has=True),
    },
    "A27-ADS-06": SendsOwnNonces(),
    "A27-ADS-07": SendsAcceptedVersion(),
}
"""What each clause expects of the requests on a stream after another."""


@pytest.mark.parametrize("end", [pytest.param(end, id=name) for name, end in ENDS.items()])
@scenario("A57-STREAM-03", *REQUESTS, seconds=1.5, waits=True)
async def test_next_stream(world: World, end: End) -> None:
    """The next stream begins with the node, all subscriptions and the accepted versions.

    An update of all four types is ACKed before, and another one comes on the new stream.
    """
    clusters = await two_clusters(world)
    resubscribed = await end_stream(world, clusters, end)
    seen = await world.control.stream_requests_until(resubscribed, within=timing.ATTEMPT)
    await world.check("A57-STREAM-03", seen, resubscribed)
    await world.serve(to_one(clusters, MATCHED))
    expected, some = routed_to(clusters, MATCHED), partial(calls_of, world, [(UNARY, {})])
    await world.check("A57-STREAM-03", await world.eventually(expected, some), expected)
    for clause, wanted in REQUESTS.items():
        await world.check(clause, world.control.stream_requests(), wanted)


async def end_stream(world: World, clusters: Clusters, end: End) -> ResubscribesTo:
    """End the ADS stream after the client ACKed an update of all four types.

    Returns:
        The subscriptions that the next stream must have.
    """
    await world.serve(to_one(clusters, MATCHED))
    await world.require_served(world.sessions(1))
    in_use = to_one(clusters, OTHER, rds=ANOTHER)
    await world.serve(in_use)
    some = partial(calls_of, world, [(UNARY, {})])
    await world.rounds.require(routed_to(clusters, OTHER), some, why="the update was ACKed")
    await end(world)
    return ResubscribesTo(names_in(in_use))


AGE = 0.4
"""Seconds after which each connection to the control plane gets a GOAWAY: a few in a scenario."""


@scenario("A57-STREAM-03", seconds=2, waits=True)
async def test_goaway(world: World) -> None:
    """The client subscribes on the next connection when a GOAWAY and the end came on the last one.

    Requests are served meanwhile, and follow an update.
    """
    await world.control.stop()
    world.plane.connection_age = AGE
    await world.control.resume()
    clusters = await two_clusters(world)
    some = partial(calls_of, world, [(UNARY, {})])
    in_use = to_one(clusters, MATCHED)
    await world.serve(in_use)
    await world.require_served(world.sessions(1))
    await require_streams(world, 3, why="each connection ends")
    resubscribed = ResubscribesTo(names_in(in_use))
    seen = await world.control.stream_requests_until(resubscribed, within=timing.ATTEMPT)
    await world.check("A57-STREAM-03", seen, resubscribed)
    await world.check("A57-STREAM-03", await some(), routed_to(clusters, MATCHED))
    await world.serve(to_one(clusters, OTHER), unheard=True)
    expected = routed_to(clusters, OTHER)
    await world.check("A57-STREAM-03", await world.eventually(expected, some), expected)


def names_in(config: XdsConfig) -> dict[str, tuple[str, ...]]:
    """Return the resources that a client subscribes to, by kind."""
    names: dict[str, tuple[str, ...]] = {}
    for kind, name in sorted(subscriptions(config), key=str):
        names[kind.name] = (*names.get(kind.name, ()), name)
    return names


@scenario("A27-ADS-08", "A27-ADS-03", seconds=1.5, waits=True)
async def test_next_stream_without_clusters(world: World) -> None:
    """If the client needs no Cluster any more, the next stream subscribes to none of them.

    A request without names would be a wildcard there. Later the client needs a Cluster.
    """
    clusters = await two_clusters(world)
    some = partial(calls_of, world, [(UNARY, {})])
    served = to_one(clusters, MATCHED)
    await world.serve(served)
    await world.require_served(world.sessions(1))
    await world.control.offer(Kind.ROUTE, without_routes(served))
    await world.rounds.require(Fails(), some, why="no route matches")
    none = SubscribesTo(kind="CLUSTER", roots=(), clusters={})
    await world.check("A27-ADS-03", await world.control.asked_until(none), none)
    await world.control.renew(Kind.LISTENER, LISTENER)
    await world.control.offer(Kind.ROUTE, served.route_configuration())
    await world.rounds.require(routed_to(clusters, MATCHED), some, why="the routes are back")
    await world.check("A27-ADS-08", world.control.stream_requests(), NoWildcard())


FAILED = 3
"""Streams without a response, by whose times a backoff that does not grow is recognized."""


@scenario("A57-STREAM-04", "A57-STREAM-05", seconds=6.5, waits=True)
async def test_backoff(world: World) -> None:
    """The client backs off ever longer from streams without a response, until one gets a response.

    Then that stream ends, too, and the next one follows within a first backoff.
    """
    served = single_locality(await world.addresses(1), policy=RoundRobin())
    await world.serve(served)
    tried, backoff = await refused_streams(world), world.client.backoff
    spacing = AttemptSpacing(
        backoff=backoff, gaps=FAILED, needed=FAILED, allowance=timing.SEEN_LATE
    )
    await world.check("A57-STREAM-04", tried, spacing)
    some = partial(world.call, world.sessions(1))
    await world.rounds.require(AllServedBy(served.addresses()), some, why="responses came")
    took = await time_to_next_stream(world)
    first = backoff.initial * (1 + backoff.jitter) + timing.BELIEVED
    await world.check("A57-STREAM-05", took, Duration(most=first, allowance=timing.BELIEVED))


async def refused_streams(world: World) -> Attempts:
    """Refuse the first streams; return them and the first accepted one.

    A client may count the first backoff from when it began to connect, so that counts as the time
    of the first stream.
    """
    world.plane.script.refuse_streams()
    started_at = world.now
    await world.call(world.sessions(1), deadline=timing.HELD)
    await streams(world, FAILED)
    world.plane.script.accept_streams()
    tried = await streams(world, FAILED + 1)
    return replace(tried, attempts=(Attempt("streams", started_at), *tried.attempts[1:]))


async def time_to_next_stream(world: World) -> Elapsed:
    """End the stream; return the time until the next one, or until now if there is none."""
    ended_at = world.now
    world.plane.script.end_streams()
    begun = (await streams(world, FAILED + 2)).attempts
    again = begun[-1].at if len(begun) == FAILED + 2 else world.now
    return world.clock.elapsed("the end of a stream with responses", ended_at, "the next", again)


@scenario("A57-STREAM-06", seconds=1.5, waits=True)
async def test_failed_streams(world: World) -> None:
    """The client uses what it has while streams fail without a response.

    One of two endpoints fails then, which only the cached list can replace.
    """
    first, second = await world.endpoints(2)
    served = single_locality([first.address, second.address], policy=RoundRobin())
    some = partial(world.call, world.sessions(10))
    await world.serve(served)
    both = EachServesSome(served.addresses())
    await world.rounds.require(both, some, why="both endpoints serve")
    world.plane.script.refuse_streams()
    world.plane.script.end_streams()
    await require_streams(world, 2, why="the stream ended")
    await world.check("A57-STREAM-06", await some(), both)
    await fail(first)
    left = AllServedBy((second.address,))
    await world.check("A57-STREAM-06", await world.eventually(left, some), left)


async def streams(world: World, count: int) -> Attempts:
    """Return the first `count` streams of the client as attempts; fewer if time is up."""
    transcript = world.plane.transcript

    def begun() -> list[Attempt]:
        return [
            Attempt("streams", world.clock.at(event.at))
            for event in transcript.events
            if isinstance(event, StreamOpened) and event.service is Service.ADS
        ]

    enough = transcript.wait(
        lambda event: isinstance(event, StreamOpened) and len(begun()) >= count,
        deadline=timing.AFTER_OUTAGE,
    )
    await waits.watched(enough)
    return Attempts(tuple(begun()[:count]), lateness=world.clock.late)


async def require_streams(world: World, count: int, *, why: str) -> None:
    """Wait until the client has begun this many streams.

    Raises:
        PreconditionTimeout: it has not.
    """
    begun = len((await streams(world, count)).attempts)
    if begun < count:
        within = f"{timing.AFTER_OUTAGE:g} s"
        raise PreconditionTimeout(
            f"expected {count} ADS streams, saw {begun} within {within}, though {why}"
        )
