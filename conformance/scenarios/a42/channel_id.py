"""A42, Hash Policy: filter_state with the key io.grpc.channel_id."""

from conformance.declare import decides
from conformance.expectations import OneEndpoint, SeveralEndpoints, fits
from conformance.oracles.request_hash import ChannelIdPolicy
from conformance.seen import Calls
from conformance.serving import BY_SESSION, SESSION, Route, Served, plain
from conformance.world import (
    EMPTY,
    ENOUGH_TO_DIFFER,
    UNARY,
    World,
)
from fake_control_plane import Kind

CHANNELS = 40

PROCESSES = 8
"""At most: two with different values seldom meet the same one of 64 endpoints, eight never."""

MANY_ENDPOINTS = 256
"""Where one other value is judged by its endpoint, it meets the same once in so many times."""

CHANNEL_ID = ChannelIdPolicy()


@decides("A42-CHAN-01")
async def test_one_value_for_a_channel(world: World) -> None:
    await world.plain_ring(CHANNEL_ID)
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    await world.judge("A42-CHAN-01", calls, OneEndpoint())


@decides("A42-CHAN-01", "A42-CHAN-02", "A42-CHAN-03", needs=("channels",), seconds=1)
async def test_other_channels_other_values(world: World) -> None:
    served = await world.plain_ring(CHANNEL_ID)
    twice = [
        await world.call([{}, {}], channel=await world.open_channel()) for _ in range(CHANNELS)
    ]
    once = Calls(tuple(calls.calls[0] for calls in twice))
    both = Calls(tuple(call for calls in twice for call in calls))
    await world.judge("A42-CHAN-01", both, OneEndpoint(each_channel=True))
    await world.judge("A42-CHAN-02", once, SeveralEndpoints())
    await world.judge("A42-CHAN-03", once, served.spread())


@decides("A42-CHAN-02", seconds=0.6)
async def test_other_processes_other_values(world: World) -> None:
    """The first channel of each process; more of them only while they seem to be the same."""
    await world.serve(plain(await world.addresses(64), policies=(CHANNEL_ID,)))
    calls = await world.call([{}])
    while len(calls) < PROCESSES and not fits(SeveralEndpoints(), calls):
        more = await world.call([{}], channel=await world.open_channel_elsewhere())
        calls = Calls((*calls, *more))
    await world.judge("A42-CHAN-02", calls, SeveralEndpoints())


@decides("A42-CHAN-04", needs=("metadata",))
async def test_same_value_across_routes_and_updates(world: World) -> None:
    """A client that is not told call by call may have a channel for each method."""
    localities = plain(await world.addresses(MANY_ENDPOINTS)).localities
    served = Served(
        localities=localities,
        routes=(Route((CHANNEL_ID,), path=UNARY), Route((CHANNEL_ID,), path=EMPTY)),
    )
    await world.serve(served)
    calls = [await world.call([{}] * 10, path=path) for path in (UNARY, EMPTY)]
    updated = Served(localities=localities, routes=(Route((CHANNEL_ID,)),))
    await world.offer(Kind.ROUTE, updated.route_configuration())
    calls.append(await world.call([{}] * 20))
    everything = Calls(tuple(call for some in calls for call in some))
    await world.judge("A42-CHAN-04", everything, OneEndpoint())


@decides("A42-CHAN-05", needs=("channels",), seconds=1)
async def test_channel_id_beside_a_header(world: World) -> None:
    """In each channel the header counts, whatever the channel's id; across them the id counts.

    A client that loses the header under half of all ids is missed once in a million runs.
    """
    await world.plain_ring(CHANNEL_ID, *BY_SESSION)
    channels = [await world.open_channel() for _ in range(CHANNELS // 2)]
    same = [await world.call([{SESSION: "same"}], channel=channel) for channel in channels]
    varied = [
        await world.call(world.sessions(ENOUGH_TO_DIFFER), channel=channel) for channel in channels
    ]
    within = Calls(tuple(call for calls in varied for call in calls))
    across = Calls(tuple(call for calls in same for call in calls))
    await world.judge("A42-CHAN-05", within, SeveralEndpoints(each_channel=True))
    await world.judge("A42-CHAN-05", across, SeveralEndpoints())
