"""A42, Hash Policy: filter_state with the key io.grpc.channel_id."""

from functools import partial
from itertools import product

from conformance.judging.declaration import scenario
from conformance.judging.expectations import ChannelsDiffer, OneEndpoint, SeveralEndpoints, fits
from conformance.judging.observations import Calls
from conformance.spec.oracles.request_hash import ChannelIdPolicy
from conformance.world import EMPTY, ENOUGH_OF_EIGHT, ENOUGH_TO_DIFFER, TWICE_AS_MANY, UNARY, World
from conformance.xds_config.config import one_cluster, single_locality
from conformance.xds_config.routes import BY_SESSION, SESSION, Route
from fake_control_plane import Kind

CHANNELS = 40


PROCESSES = 8
"""The most processes to start. Two with different ids seldom reach the same one of 64 endpoints,
and eight never do."""


MANY_ENDPOINTS = 256
"""Number of endpoints; two different hashes reach the same one once in 256 times."""


ALIKE_BY_CHANCE = 3
"""Number of channels that may agree by chance. If two ids share about their first 13 bits, XOR
keeps the hashes of all requests so close that 15 of them reach the same endpoints. By simulation a
pair of channels does so with a chance of 1.1e-4 on a ring of 1,024 entries. So four of twenty
channels do with a chance below 4,845 x (2.2e-4)^3 = 5e-8, and in four checks with 2.1e-7."""


CHANNEL_ID = ChannelIdPolicy()


@scenario("A42-CHAN-01")
async def test_same_within_channel(world: World) -> None:
    """The channel id gives all requests on a channel the same hash."""
    await world.plain_ring(CHANNEL_ID)
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    await world.check("A42-CHAN-01", calls, OneEndpoint())


@scenario("A42-CHAN-01", "A42-CHAN-02", "A42-CHAN-03", needs=("channels",), seconds=1)
async def test_differs_by_channel(world: World) -> None:
    """The channel id is a random number, uniform over channels."""
    served = await world.plain_ring(CHANNEL_ID)
    twice = [
        await world.call([{}, {}], channel=await world.channels.open()) for _ in range(CHANNELS)
    ]
    once = Calls(tuple(calls.calls[0] for calls in twice))
    both = Calls(tuple(call for calls in twice for call in calls))
    await world.check("A42-CHAN-01", both, OneEndpoint(each_channel=True))
    await world.check("A42-CHAN-02", once, SeveralEndpoints())
    await world.check("A42-CHAN-03", once, served.random_over_ring())


@scenario("A42-CHAN-02", seconds=0.6)
async def test_differs_by_process(world: World) -> None:
    """Channels of several processes do not share the channel id.

    The scenario uses the first channel of each process. It starts more processes only while all
    ids seem equal.
    """
    await world.serve(single_locality(await world.addresses(64), policies=(CHANNEL_ID,)))
    calls = await world.call([{}])
    while len(calls) < PROCESSES and not fits(SeveralEndpoints(), calls):
        more = await world.call([{}], channel=await world.channels.open_in_new_process())
        calls = Calls((*calls, *more))
    await world.check("A42-CHAN-02", calls, SeveralEndpoints())


@scenario("A42-CHAN-04", needs=("metadata",))
async def test_same_across_routes_and_updates(world: World) -> None:
    """The channel id stays the same on every route and after every update of the routes.

    New routes come twice. They have no hash policy for one of the methods, which shows when they
    are in use. The scenario needs the `metadata` capability, because a client without it may have a
    channel for each method.
    """
    localities = single_locality(await world.addresses(MANY_ENDPOINTS)).get_cluster().localities
    served = one_cluster(
        localities,
        routes=(Route((CHANNEL_ID,), path=UNARY), Route((CHANNEL_ID,), path=EMPTY)),
    )
    await world.serve(served)
    calls = [await world.call([{}] * 10, path=path) for path in (UNARY, EMPTY)]
    why = "the new routes have no hash policy for it"
    for unhashed, path in ((EMPTY, UNARY), (UNARY, EMPTY)):
        updated = one_cluster(localities, routes=(Route((), path=unhashed), Route((CHANNEL_ID,))))
        await world.control.offer(Kind.ROUTE, updated.route_configuration())
        spread = partial(world.call, [{}] * 10, path=unhashed)
        await world.rounds.require(SeveralEndpoints(), spread, why=why)
        calls.append(await world.call([{}] * 20, path=path))
    everything = Calls(tuple(call for some in calls for call in some))
    await world.check("A42-CHAN-04", everything, OneEndpoint())


@scenario("A42-CHAN-05", needs=("channels",), seconds=2)
async def test_combined_with_header(world: World) -> None:
    """The client combines the result of the channel id with the result of a header.

    One route has the id first, and one the header. In each channel the header affects the hash, in
    either half of its hashes, and so does the id. The scenario misses a client that ignores the
    header under half of all ids once in a million runs, and a client that ignores half of all ids
    once in 800.
    """
    localities = single_locality(await world.addresses(TWICE_AS_MANY)).get_cluster().localities
    id_first = Route((CHANNEL_ID, *BY_SESSION), path=UNARY)
    header_first = Route((*BY_SESSION, CHANNEL_ID), path=EMPTY)
    await world.serve(one_cluster(localities, routes=(id_first, header_first)))
    channels = [await world.channels.open() for _ in range(CHANNELS // 2)]
    for path, half in product((UNARY, EMPTY), world.values.halves(ENOUGH_OF_EIGHT)):
        headers = [{SESSION: value} for value in half]
        made = [await world.call(headers, channel=channel, path=path) for channel in channels]
        calls = Calls(tuple(call for some in made for call in some))
        await world.check("A42-CHAN-05", calls, SeveralEndpoints(each_channel=True))
        await world.check("A42-CHAN-05", calls, ChannelsDiffer(by=SESSION, most=ALIKE_BY_CHANCE))
