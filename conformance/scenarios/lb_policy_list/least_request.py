"""A48: least_request, from lb_policy and from the list, and choice_count."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import pytest

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import EachServesSome, Proportions
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import leaf
from conformance.scenarios.helpers.circuit_breaking import Streams, routed
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.routing import calls_to
from conformance.spec.oracles.statistics import draws_that_tell
from conformance.world import Headers, World
from conformance.xds_config.config import one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import in_localities, least_request, policies
from conformance.xds_config.routes import CLUSTER, CLUSTER_HEADER
from conformance.xds_config.variants import ResourceVariant

ELEVEN, MANY, LARGEST = 11, 2**31 - 1, 2**32 - 1


USUAL, MOST = 2, 10
"""The default number of sampled endpoints, and the largest."""


WHERE_IT_SHOWS = 1.6
"""The x at which one more draw has the largest effect, if a share of e^-x of the requests samples
busy endpoints only: x / sqrt(e^x - 1) is largest at about this x."""


MISSED = 1e-3
"""The chance that a client that samples one endpoint too many or too few passes."""


AT_ONCE = 8
"""Number of concurrent requests. This many streams keep an endpoint busier than the idle one."""


FEW_AT_ONCE = 3
"""Fewer concurrent requests, because the endpoint of another locality gets most streams."""


ROUND = 500
"""Number of requests of one adapter command."""


OLD = "lb_policy: LEAST_REQUEST"


LISTED = policies(in_localities(least_request()))


Said = Callable[[int], str]
"""Returns the fields of a Cluster with this choice_count."""


def beside(choice_count: int) -> str:
    """Return the fields next to lb_policy."""
    return f"{OLD} least_request_lb_config {{ {count(choice_count)} }}"


def listed(choice_count: int) -> str:
    """Return the field load_balancing_policy."""
    return policies(least_request(count(choice_count)))


def count(choice_count: int) -> str:
    """Return the field choice_count, which both messages have."""
    return f"choice_count {{ value: {choice_count} }}"


def endpoints_for(drawn: int) -> int:
    """Return the number of endpoints (one idle) that best distinguishes this number of samples."""
    return max(2, round(1 / (1 - math.exp(-WHERE_IT_SHOWS / drawn))))


def share_of_the_idle(drawn: int, endpoints: int) -> float:
    """Return the share of requests that sample the idle endpoint at least once."""
    return 1 - (1 - 1 / endpoints) ** drawn


def enough(drawn: int, endpoints: int, others: Sequence[int]) -> int:
    """Return the number of requests that distinguishes `drawn` samples from each other number."""
    right = share_of_the_idle(drawn, endpoints)
    wrong = (share_of_the_idle(other, endpoints) for other in others)
    return max(draws_that_tell(right, share, MISSED) for share in wrong)


def by_default(said: str) -> Said:
    """Return a function whose Cluster has no choice_count."""
    return lambda _count: said


def wrong_counts(asked: int) -> tuple[int, int]:
    """Return the numbers of samples that a check distinguishes from this choice_count.

    They are off by one. For MANY the check does not distinguish 10 samples from 11, which would
    take a client that samples MANY endpoints hours.
    """
    drawn = min(asked, MOST)
    return (drawn - 1, drawn + 1) if asked < MANY else (USUAL, LARGEST)


@pytest.mark.parametrize(
    ("clause", "said", "counts"),
    [
        case("old", "A48-LEAST-01", by_default(OLD), (USUAL,)),
        case("listed", "A48-LEAST-02", by_default(LISTED), (USUAL,)),
        case("old-count", "A48-LEAST-03", beside, (3, 5)),
        case("listed-count", "A48-LEAST-03", listed, (4, 6)),
        case("old-eleven", "A48-LEAST-04", beside, (ELEVEN,)),
        case("listed-many", "A48-LEAST-04", listed, (MANY,)),
        case("old-largest", "A48-LEAST-04", beside, (LARGEST,)),
    ],
)
@scenario(needs=("kept_open",), seconds=3)
async def test_prefers_idle_endpoint(
    world: World, clause: str, said: Said, counts: tuple[int, ...]
) -> None:
    """The client samples choice_count endpoints and picks the one with fewest requests in flight.

    One endpoint is idle: it gets every request that samples it. No choice_count is used in both
    fields, so that a constant cannot pass.
    """
    asked = world.rng.choice(counts)
    drawn = min(asked, MOST)
    members = await world.endpoints(endpoints_for(drawn))
    idle, *busy = (member.address for member in members)
    served = routed(leaf("c", members))
    variant = ResourceVariant(clause, said(asked)).of(served.cluster())
    await world.serve(with_raw_clusters(served, variant))
    several = partial(calls_to, world, "c", 10 * len(members))
    await world.rounds.require(EachServesSome((idle, *busy)), several, why="all endpoints serve")
    await keep_busy(world, "c", idle, busy, streams=AT_ONCE)
    requests = enough(drawn, len(members), wrong_counts(asked))
    headers = [{**session, CLUSTER_HEADER: "c"} for session in world.sessions(requests)]
    calls = await calls_in_rounds(world, headers, concurrency=AT_ONCE)
    all_draws = len(members) ** drawn
    share = (all_draws - len(busy) ** drawn, all_draws)
    await world.check(clause, calls, Proportions({idle: share}, rest=tuple(busy)))


async def keep_busy(
    world: World, root: str, idle: str, busy: Sequence[str], *, streams: int
) -> None:
    """Open this many streams at each busy endpoint, and end those at the idle one."""
    opened = Streams(world)
    while min(map(opened.at, busy)) < streams:
        await opened.require_open(root)
    await opened.end_all_at(idle)


async def calls_in_rounds(world: World, headers: Sequence[Headers], *, concurrency: int) -> Calls:
    """Make the calls in rounds, so that the last ones do not wait too long."""
    rounds = (headers[start : start + ROUND] for start in range(0, len(headers), ROUND))
    calls = [await world.call(some, concurrency=concurrency) for some in rounds]
    return Calls(tuple(chain.from_iterable(calls)))


@scenario("A48-LEAST-06", needs=("kept_open",), seconds=2)
async def test_localities(world: World) -> None:
    """Under lb_policy LEAST_REQUEST the client chooses a locality by its weight.

    The lighter locality has more endpoints: a client that counts endpoints would send it half of
    the requests. Two of these endpoints are busy, so that the third gets each request that samples
    it, 5 of 9.
    """
    idle, *busy, b = await world.addresses(4)
    localities = (
        Locality(tuple(map(Endpoint, (idle, *busy))), name="three"),
        Locality((Endpoint(b),), name="b", weight=3),
    )
    served = one_cluster(localities, policy=RoundRobin())
    variant = ResourceVariant("A48-LEAST-06", OLD).of(served.cluster())
    await world.serve(with_raw_clusters(served, variant))
    every, make_calls = EachServesSome((idle, *busy, b)), partial(world.call, world.sessions(40))
    await world.rounds.require(every, make_calls, why="all endpoints serve")
    await keep_busy(world, CLUSTER, idle, busy, streams=FEW_AT_ONCE)
    requests = world.sessions(4 * draws_that_tell(5 / 9, 1 / 3, MISSED))
    calls = await calls_in_rounds(world, requests, concurrency=FEW_AT_ONCE)
    await world.check("A48-LEAST-06", calls, Proportions({b: (3, 4)}, rest=(idle, *busy)))
    elsewhere = Calls(tuple(call for call in calls if call.endpoint != b))
    await world.check("A48-LEAST-06", elsewhere, Proportions({idle: (5, 9)}, rest=tuple(busy)))


BELOW_TWO = tuple(
    ResourceVariant("A48-LEAST-05", said)
    for too_few in (0, 1)
    for said in (
        beside(too_few),
        listed(too_few),
        policies(in_localities(least_request(count(too_few)))),
    )
)


@scenario("A48-LEAST-04", "A37-VALID-29")
async def test_most_choices(world: World) -> None:
    """The client accepts a choice_count above ten.

    Envoy has another limit and is not judged by this clause.
    """
    world.checks.require("A48-LEAST-04")
    live = await LiveCluster.start(world, "EDS")
    await live.check_accepted(ResourceVariant("A48-LEAST-04", beside(ELEVEN)))
    await live.check_accepted(
        ResourceVariant("A48-LEAST-04", policies(least_request(count(LARGEST))))
    )


@scenario("A48-LEAST-05", "A37-VALID-29", "A46-NACK-03")
async def test_too_few_choices(world: World) -> None:
    """The client rejects a choice_count below two."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(BELOW_TWO)
