"""A27, EDS LB Policy: the priority in use, and the shares of its localities under ROUND_ROBIN."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AllServedBy, AttemptCount
from conformance.scenarios.helpers.localities import LocalityUpdates, check_below, check_lines
from conformance.world import World
from conformance.xds_config.config import aggregate, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from test_servers import Close, Hold, Serve

BACKGROUND_REQUESTS, AFTERWARDS = 200, 40
"""Requests during an update, for 1 s at SOAK_PACE, and requests after it."""


FAILED_PRIORITIES = (3, 7)
"""The least and the most priorities of which each is unreachable."""


FIFTY = " ".join(f"a{number}" for number in range(50))


@pytest.mark.parametrize(
    ("clause", "lines"),
    [
        case("fifty-and-one", "A27-WEIGHT-02", (FIFTY, "a0")),
        case("all-replaced", "A27-WEIGHT-03", ("a b:3", "c:3 d")),
        case("gone-and-back", "A27-WEIGHT-04", ("a b", "a", "a b:3")),
        case("joins-another-priority", "A27-WEIGHT-05", ("a | b:3", "a b:3", "a | b:3")),
        case("health", "A27-HEALTH-01", ("a b+ c! d! e! f! k?", "g!,h i,j!")),
        case("failed-and-mended", "A27-PRIO-05", ("A | B", "A | B c")),
        case("ill-one-by-one", "A27-PRIO-06", ("a b | c", "a! b | c", "a! b! | c", "a b | c")),
        case(
            "ill-in-one-locality", "A27-PRIO-06", ("a!,b | c", "a,b! | c", "a!,b! | c", "a,b | c")
        ),
        case("most-are-ill", "A27-PRIO-06", ("a!,b!,c!,d!,e | f", "a! b! c! d! e | f")),
        case("empty-meanwhile", "A27-PRIO-07", ("a | b", "a! | b", "a- | b", "a | b")),
        case("removed", "A27-PRIO-08", ("a | b", "b")),
        case("removed-above-two", "A27-PRIO-08", ("a | b | c", "b | c")),
        case("joins-a-failed-one", "A27-PRIO-09", ("A | b", "A b", "A b c")),
        case("joins-the-first-of-three", "A27-PRIO-09", ("A | b | d", "b A | d")),
        case("joins-the-second-of-four", "A27-PRIO-09", ("A | B | c | d", "A | B c | d")),
    ],
)
async def test_updates(world: World, clause: str, lines: tuple[str, ...]) -> None:
    """After each update, requests follow the priorities, weights and health of the new list."""
    await check_lines(world, clause, lines)


@pytest.mark.parametrize(
    ("clause", "line"),
    [
        case("all-serve", "A27-PRIO-01", "a | b | c | d"),
        case("empty-one", "A27-PRIO-02", "a- | b | c"),
        case("empty-two", "A27-PRIO-02", "a- b- | c- d- | e | f"),
        case("empty-one-beside-another", "A27-PRIO-03", "a- b | c"),
        case("empty-ones-around-another", "A27-PRIO-03", "a- b c- | d"),
        case("two-failed", "A27-PRIO-04", "A | B | c | d"),
    ],
)
@scenario("A42-FAIL-03")
async def test_priorities(world: World, clause: str, line: str) -> None:
    """All requests go to the highest reachable priority; lower ones get no connection."""
    made = await check_lines(world, clause, (line,))
    await check_below(world, "A42-FAIL-03", made, line)


@scenario("A27-PRIO-04", "A42-FAIL-03")
async def test_several_failed_priorities(world: World) -> None:
    """Requests go to the first priority that is reachable, however many before it are not."""
    failed = [f"A{number}" for number in range(world.rng.randint(*FAILED_PRIORITIES))]
    line = " | ".join((*failed, "b", "c"))
    made = await check_lines(world, "A27-PRIO-04", (line,))
    await check_below(world, "A42-FAIL-03", made, line)


@pytest.mark.parametrize("is_leaf", [False, True], ids=["cluster", "leaf"])
@scenario("A27-PRIO-12", seconds=0.5)
async def test_locality_in_two_priorities(world: World, *, is_leaf: bool) -> None:
    """If two priorities list a locality, each has the endpoints listed there.

    An update replaces the endpoint of the first priority, which then serves until it fails.
    """
    first, update, second = await world.endpoints(3)
    make_calls = partial(world.call, world.sessions(AFTERWARDS))
    for used in (first, update):
        localities = [
            Locality((Endpoint(endpoint.address),), "zone", priority=priority)
            for priority, endpoint in enumerate((used, second))
        ]
        served = one_cluster(localities, name="eds", policy=RoundRobin())
        await world.serve(aggregate(served, policy=RoundRobin()) if is_leaf else served)
        at_it = AllServedBy((used.address,))
        calls = await (make_calls() if used is first else world.eventually(at_it, make_calls))
        await world.check("A27-PRIO-12", calls, at_it)
    await update.set_mode(Close())
    await update.kill()
    at_second = AllServedBy((second.address,))
    calls = await world.eventually(at_second, make_calls)
    await world.check("A27-PRIO-12", calls, at_second)


@scenario("A27-PRIO-10", "A27-PRIO-11", seconds=1.5)
async def test_locality_joins_failed_priority(world: World) -> None:
    """If the locality in use moves into a failed priority, requests go on or wait, without failing.

    Requests run all the time. The backend holds new connections for a while, so that a client that
    reconnects must let requests wait.
    """
    made = await LocalityUpdates.begin(world, "A | b")
    used, make_calls = made.member("b"), partial(world.call, world.sessions(5))
    at_it = AllServedBy((used.address,))
    await world.serve(made.served("A | b"))
    await world.rounds.require(at_it, make_calls, why="the priority above has failed")
    await used.set_mode(Hold())
    running = await world.start(world.sessions(BACKGROUND_REQUESTS), pace=timing.SOAK_PACE)
    await world.serve(made.served("A b"))
    await world.attempts.quiet_from_now(used, count=2, why="requests may need a new connection")
    await used.set_mode(Serve())
    await world.check("A27-PRIO-10", await running.over(), at_it)
    await world.check("A27-PRIO-10", await world.call(world.sessions(AFTERWARDS)), at_it)
    choices = {
        "kept": AttemptCount(most={used.address: 1}),
        "made anew": AttemptCount(least={used.address: 2}),
    }
    await world.check("A27-PRIO-11", world.attempts.seen(used), choices)
