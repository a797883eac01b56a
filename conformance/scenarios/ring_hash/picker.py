"""A42, Picker Behavior: picks on a ring of endpoints in given states."""

import itertools

import pytest

from conformance import timing
from conformance.judging.aborts import SuiteTimeout, Unsupported
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    Duration,
    EndsWith,
    ErrorNamesFirst,
    fits,
)
from conformance.scenarios.helpers.draws import first_with
from conformance.scenarios.helpers.localities import AT_LEAST, ranked
from conformance.scenarios.helpers.ring_order import LARGE, RingOrder, ring_order
from conformance.spec.oracles.picker import State
from conformance.world import EMPTY, ENOUGH_TO_TELL, World
from conformance.xds_config.config import single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import BY_SESSION, Route
from test_servers import Close, Hold, Serve, Stall

FAILED: State = "TRANSIENT_FAILURE"

MANY = 100
"""Number of requests of which some must meet a condition that one in four meets."""


# The first endpoint of a pick, and the effect of an endpoint's state.


@scenario("A42-PICK-01")
async def test_first_endpoint(world: World) -> None:
    """The picker first looks at the endpoint whose entry is closest to the hash.

    Every known wrong search takes the first request to another endpoint first. A search that finds
    the entry of an equal hash only takes another request elsewhere with a chance of 1/2.
    """
    order = await ring_order(world, 4)
    await order.set_modes(*[Stall()] * 4)
    between = [order.beginning_with(order[1]) for _ in range(AT_LEAST)]
    await world.start([order.at_an_entry_of(order[0]), *between])
    firsts = AttemptCount(least={order[0].address: 1, order[1].address: 1})
    await world.check("A42-PICK-01", await world.attempts.until(firsts), firsts)
    quiet = await world.attempts.quiet_from_now(*[*order][2:], why="no request picked these")
    await world.check("A42-PICK-01", quiet, AttemptCount())


@pytest.mark.parametrize(
    ("clause", "states"),
    [
        case("first-ready", "A42-PICK-02", ("READY", "READY")),
        case("first-idle", "A42-PICK-04", ("IDLE", "READY")),
        case("first-connecting", "A42-PICK-05", ("CONNECTING", "READY")),
        case("first-alone-connecting", "A42-PICK-05", ("CONNECTING", FAILED, FAILED)),
        case("second-ready", "A42-PICK-10", (FAILED, "READY", "READY")),
        case("second-idle", "A42-PICK-12", (FAILED, "IDLE", "READY")),
        case("second-connecting", "A42-PICK-13", (FAILED, "CONNECTING", "READY")),
        case("second-alone-connecting", "A42-PICK-13", (FAILED, "CONNECTING")),
        case("third-connecting", "A42-PICK-15", (FAILED, FAILED, "CONNECTING", "READY")),
        case("third-idle", "A42-PICK-15", (FAILED, FAILED, "IDLE", "READY")),
        case("two-ready", "A42-PICK-15", (FAILED, FAILED, "READY", "READY")),
        case("fourth-connecting", "A42-PICK-15", (FAILED, FAILED, FAILED, "CONNECTING", "READY")),
        case("none-ready", "A42-PICK-16", (FAILED, FAILED, "CONNECTING")),
        case("three-failed", "A42-PICK-16", (FAILED, FAILED, FAILED, "CONNECTING")),
        case("all-failed", "A42-PICK-20", (FAILED, FAILED, FAILED)),
    ],
)
async def test_states(world: World, clause: str, states: tuple[State, ...]) -> None:
    """A request is sent, waits or fails, by the states of the endpoints in ring order."""
    order = await ring_order(world, len(states))
    await order.arrange(*states)
    await order.check(clause, *states)


@scenario("A42-PICK-20")
@pytest.mark.parametrize("count", [1, 2])
async def test_few_failed(world: World, count: int) -> None:
    """A request fails if all endpoints have failed, and does not wait for the next attempt."""
    order = await ring_order(world, count)
    states: list[State] = [FAILED] * count
    await order.arrange(*states)
    await order.check("A42-PICK-20", *states)
    await order.set_modes(*[Hold()] * count)
    await order.check("A42-PICK-20", *states)


@pytest.mark.parametrize(
    ("clause", "states"),
    [
        case("first-idle", "A42-PICK-04", ("IDLE", "READY")),
        case("first-connecting", "A42-PICK-05", ("CONNECTING", "READY")),
        case("first-alone-connecting", "A42-PICK-05", ("CONNECTING", FAILED, FAILED)),
        case("second-idle", "A42-PICK-12", (FAILED, "IDLE", "READY")),
        case("second-connecting", "A42-PICK-13", (FAILED, "CONNECTING", "READY")),
        case("second-alone-connecting", "A42-PICK-13", (FAILED, "CONNECTING")),
    ],
)
async def test_queued_until_ready(world: World, clause: str, states: tuple[State, ...]) -> None:
    """The request waits for the first endpoint that has not failed, and is served there."""
    order = await ring_order(world, len(states))
    await order.arrange(*states)
    held = next(endpoint for endpoint, state in zip(order, states, strict=True) if state != FAILED)
    waiting = await world.start([order.request] * 5)
    await world.attempts.require_count(held, why="a request picked it")
    await world.attempts.quiet_from_now(held, why="requests wait")
    await held.set_mode(Serve())
    await world.check(clause, await waiting.over(), AllServedBy((held.address,)))


@pytest.mark.parametrize(
    ("clause", "states"),
    [
        case("first", "A42-PICK-03", ("IDLE", "READY")),
        case("second", "A42-PICK-11", (FAILED, "IDLE", "READY")),
        case("third", "A42-PICK-17", (FAILED, FAILED, "IDLE", "READY")),
        case("fourth", "A42-PICK-17", (FAILED, FAILED, FAILED, "IDLE", "READY")),
        case("none-behind", "A42-PICK-18", (FAILED, FAILED, "IDLE", "IDLE", "READY")),
    ],
)
async def test_connects(world: World, clause: str, states: tuple[State, ...]) -> None:
    """The picker triggers a connection attempt at the IDLE endpoint that decides the pick."""
    order = await ring_order(world, len(states))
    await order.arrange(*states)
    await order.check_connecting(clause, *states)


@scenario(seconds=3, waits=True)
@pytest.mark.parametrize(
    ("clause", "places", "failed"),
    [
        case("first", "A42-PICK-07", slice(1), 1),
        case("first-of-two", "A42-PICK-07", slice(1), 2),
        case("second", "A42-PICK-14", slice(1, 2), 2),
        case("third", "A42-PICK-19", slice(2, 4), 4),
    ],
)
async def test_retries(world: World, clause: str, places: slice, failed: int) -> None:
    """A failed endpoint is tried again after its backoff.

    The check needs three attempts: a client that retries only once stops after the second failure.
    """
    order = await ring_order(world, failed + 1)
    await order.set_modes(*[Close()] * failed, Serve())
    await order.make_ready(order[failed])
    retried = [*order][places]
    again = AttemptCount(least={endpoint.address: 3 for endpoint in retried})
    seen = await world.attempts.until(again, *retried, meanwhile=[order.request])
    await world.check(clause, seen, again)
    await world.check(
        clause, await world.call([order.request] * 5), AllServedBy((order[failed].address,))
    )


# Along the ring.


@scenario("A42-PICK-08")
async def test_second_endpoint_in_ring_order(world: World) -> None:
    """If the first endpoint has failed, the picker looks at the next endpoint on the ring."""
    order = await ring_order(world, 4)
    await order.arrange(FAILED, "READY", "READY", "READY")
    expected = order.served.matches_ring(failed=[order[0].address])
    headers = world.sessions(ENOUGH_TO_TELL)
    calls = await world.eventually(expected, lambda: world.call(headers))
    await world.check("A42-PICK-08", calls, expected)


@scenario("A42-PICK-09")
async def test_skips_entries_of_first(world: World) -> None:
    """Further entries of the first endpoint are not a second endpoint."""
    states: tuple[State, ...] = (FAILED, "CONNECTING", "READY")
    order = await ring_order(world, len(states), weights=(8, 1, 1))
    await order.arrange(*states)
    request = order.beginning_with(*order, entries=3)
    await order.check("A42-PICK-09", *states, request=request)


@scenario("A42-PICK-21")
async def test_past_the_end_of_the_ring(world: World) -> None:
    """The search for further endpoints continues from the last ring entry to the first.

    A search that turned back at the last entry would find another endpoint. A dozen endpoints have
    no four of that kind once in 10,000 times, so four dozen have none once in 1e16.
    """
    dozens = [await world.endpoints(12) for _ in range(4)]
    fours = [four for dozen in dozens for four in itertools.combinations(dozen, 4)]
    rings = (
        RingOrder(world, four, ranked(four).with_policy(LARGE), world.checks.key_format)
        for four in world.rng.sample(fours, len(fours))
    )
    order = first_with(RingOrder.goes_on_at_the_start, rings, what="a ring of that kind")
    await world.serve(order.served)
    failed, headers = zip(*order.at_the_end(), strict=True)
    await order.arrange(*(FAILED if endpoint.address in failed else "READY" for endpoint in order))
    expected = order.served.matches_ring(failed=set(failed))
    calls = await world.eventually(expected, lambda: world.call(headers))
    await world.check("A42-PICK-21", calls, expected)


# A request that waits.


@scenario("A42-PICK-05", needs=("cancel",))
async def test_cancelled_while_queued(world: World) -> None:
    """A waiting request still waits after another request for the endpoint was cancelled."""
    order = await ring_order(world, 2)
    await order.arrange("IDLE", "READY")
    await order[0].set_mode(Hold())
    cancelled = await world.start([order.request])
    await world.attempts.require_count(order[0], why="a request picked it")
    waiting = await world.start([order.request])
    await cancelled.cancel()
    await world.check("A42-PICK-05", await cancelled.over(), EndsWith("CANCELLED"))
    await order[0].set_mode(Serve())
    await world.check("A42-PICK-05", await waiting.over(), AllServedBy((order[0].address,)))
    await world.check(
        "A42-PICK-05", world.attempts.seen(order[0]), AttemptCount(most={order[0].address: 1})
    )


@scenario("A42-PICK-06")
async def test_random_hash_while_queued(world: World) -> None:
    """A waiting request keeps its random hash.

    If the client drew a new hash at each of nine picks, the request would still reach the first
    endpoint with a chance of 1/600.
    """
    order = await ring_order(world, 5, routes=(Route((), path=EMPTY), Route(BY_SESSION)))
    await order.set_modes(*[Hold()] * 5)
    waiting = await world.start([{}], path=EMPTY)
    first = await world.attempts.require_one(*order, why="a request picked one of them")
    for endpoint in order:
        if endpoint.address != first.address:
            await endpoint.set_mode(Serve())
            await order.make_ready(endpoint)
    await order.set_modes(*[Serve()] * 5)
    await world.check("A42-PICK-06", await waiting.over(), AllServedBy((first.address,)))


@scenario("A42-PICK-22", seconds=4, waits=True)
async def test_at_most_two_attempts(world: World) -> None:
    """A request waits for two attempts at most (A42), or until all endpoints have failed (A61)."""
    order = await ring_order(world, 3)
    slow = (timing.SLOW, timing.SLOW, timing.SLOWER)
    await order.set_modes(*(Close(after=seconds) for seconds in slow))
    request = await world.start([order.request])
    began = await world.attempts.require_one(order[0], why="a request picked it")
    await request.over()
    took = world.clock.elapsed("the first attempt", began.at, "the end of the request", world.now)
    waits_for = {"A42": slow[:2], "A61": slow}
    bounds = {
        edition: Duration(
            most=sum(some) + timing.AFTER_ATTEMPTS,
            allowance=min(timing.BELIEVED, timing.AFTER_ATTEMPTS),
        )
        for edition, some in waits_for.items()
    }
    await world.check("A42-PICK-22", took, bounds)


@scenario("A42-PICK-23")
async def test_new_ring_while_queued(world: World) -> None:
    """When there is a new ring, the client picks again for each waiting request."""
    order = await ring_order(world, 4)
    await order.set_modes(Stall(), Serve(), Serve(), Serve())
    waiting = await world.start([order.beginning_with(order[0]) for _ in range(20)])
    await world.attempts.require_count(order[0], why="requests picked it")
    others = Locality(
        tuple(Endpoint(endpoint.address) for endpoint in order if endpoint is not order[0])
    )
    without = order.served.with_localities(others)
    await world.serve(without)
    await world.check("A42-PICK-23", await waiting.over(), without.matches_ring())


@scenario("A42-PICK-23")
async def test_endpoint_added_while_queued(world: World) -> None:
    """Waiting requests go to a new endpoint, although the one that they wait for stays listed.

    About a quarter of the requests that pick one of three endpoints pick the fourth when it comes.
    """
    order = await ring_order(world, 3)
    await order.set_modes(Stall(), Serve(), Serve())
    (added,) = await world.endpoints(1)
    four = (added, *order)
    wide = order.served.with_localities(Locality(tuple(Endpoint(each.address) for each in four)))
    wider = RingOrder(world, four, wide, order.key_format)
    stalled = [order.beginning_with(order[0]) for _ in range(MANY)]
    waiting = await world.start([each for each in stalled if wider.is_first(added, each)])
    await world.attempts.require_count(order[0], why="requests picked it")
    await world.serve(wide)
    await world.check("A42-PICK-23", await waiting.over(), AllServedBy((added.address,)))


@scenario("A42-PICK-24", needs=("wait_for_ready",), seconds=1.5, waits=True)
async def test_wait_for_ready(world: World) -> None:
    """The picker does not fail a wait_for_ready request."""
    order = await ring_order(world, 2)
    await order.arrange(FAILED, FAILED)
    fails = EndsWith("UNAVAILABLE")
    why = "both endpoints have failed"
    await world.rounds.require(fails, lambda: world.call([order.request]), why=why)
    waiting = await world.start([order.request], wait_for_ready=True)
    await world.call([order.request])
    await order.set_modes(Serve(), Serve())
    await world.check("A42-PICK-24", await waiting.over(), EndsWith("OK"))


# A request that fails.


@scenario("A42-PICK-25")
async def test_error_of_failed_request(world: World) -> None:
    """A request that fails gets the failure of its first endpoint (A61)."""
    order = await ring_order(world, 3)
    await order.set_modes(*[Close(after=timing.BRIEF)] * 3)
    for endpoint in order:
        await order.make_failed(endpoint)
    headers = [order.beginning_with(endpoint) for endpoint in order]
    calls = await world.eventually(EndsWith("UNAVAILABLE"), lambda: world.call(headers))
    firsts = tuple(endpoint.address for endpoint in order)
    if fits(ErrorNamesFirst(firsts=firsts, whom="no endpoint"), calls):
        raise Unsupported("its error details name no endpoint, so the failing one is unknown")
    await world.check(
        "A42-PICK-25", calls, ErrorNamesFirst(firsts=firsts, whom="its first endpoint")
    )


MANY_ENDPOINTS = 200
"""Number of endpoints; nearly each new request picks one that no request has picked before."""


CALLS = 60
"""Requests of a turn; the last ones run while the update that removes endpoints arrives."""


TURNS = 16
"""A client in which a pending connection attempt outlived its endpoint crashed after one to three
turns. A client that crashes in half of the turns survives all of them once in 65,000 runs."""


@scenario("A42-PICK-23", needs=("metadata",), seconds=2)
async def test_many_endpoints_added_and_removed(world: World) -> None:
    """Requests pick again when an update removes the endpoints that they wait for.

    Requests trigger connection attempts at endpoints at the moment when an update removes them.
    """
    (kept,) = await world.addresses(1)
    going = await world.endpoints(MANY_ENDPOINTS, mode=Stall())
    config = single_locality((kept,), policy=RingHash(minimum=4096))
    many = single_locality((kept, *(each.address for each in going)), policy=RingHash(minimum=4096))
    await world.serve(config)
    await world.require_served(world.sessions(1))
    picked, served = AttemptCount(total=20, others=True), AllServedBy((kept,))
    wished = 0
    for _turn in range(TURNS):
        since = world.now
        await world.serve(many)
        waiting = await world.start(world.sessions(CALLS), pace=timing.THICK_PACE)
        tried = await world.attempts.until(picked, *going, since=since, within=timing.WISHES)
        wished += fits(picked, tried)
        await world.serve(config)
        calls = await waiting.over()
        if not fits(served, calls):
            break
    else:
        if not wished:
            raise SuiteTimeout("in each turn the requests ended before the list was in use")
    await world.check("A42-PICK-23", calls, served)
