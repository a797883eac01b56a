"""A48: least_request, by lb_policy and by the list, and choice_count."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import pytest

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import EachServesSome, Proportions
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import calls_to, leaf
from conformance.scenarios.helpers.circuit_breaking import Streams, routed
from conformance.scenarios.helpers.live_clusters import AFTERWARDS, UNCHANGED, LiveCluster
from conformance.spec.oracles.statistics import draws_needed, draws_that_tell
from conformance.world import Headers, World
from conformance.xds_config.config import one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import in_localities, least_request, policies
from conformance.xds_config.routes import TO
from conformance.xds_config.variants import ClusterVariant

ELEVEN, MANY, LARGEST = 11, 2**31 - 1, 2**32 - 1
USUAL, MOST = 2, 10
"""Endpoints that are drawn if nothing else is said, and at most."""

WHERE_IT_SHOWS = 1.6
"""Where e^-x of the requests draw busy endpoints only, one more draw changes most: the largest
x / sqrt(e^x - 1) is that of about this x."""

MISSED = 1e-3
"""The chance that a client that draws one endpoint too many, or too few, passes once."""

AT_ONCE = 8
"""Requests at the same time: so many streams keep an endpoint busier than the idle one."""

ROUND = 500
"""Requests that are made with one command."""

OLD = "lb_policy: LEAST_REQUEST"
LISTED = policies(in_localities(least_request()))

Said = Callable[[int], str]
"""Makes what a Cluster says of a choice_count."""


def beside(choice_count: int) -> str:
    """The old fields."""
    return f"{OLD} least_request_lb_config {{ {count(choice_count)} }}"


def listed(choice_count: int) -> str:
    """The new field."""
    return policies(least_request(count(choice_count)))


def count(choice_count: int) -> str:
    """The field of either message."""
    return f"choice_count {{ value: {choice_count} }}"


def endpoints_for(drawn: int) -> int:
    """How many endpoints, of which one is idle, tell such a number of draws from the next."""
    return max(2, round(1 / (1 - math.exp(-WHERE_IT_SHOWS / drawn))))


def share_of_the_idle(drawn: int, endpoints: int) -> float:
    """Of the requests those that draw it at least once."""
    return 1 - (1 - 1 / endpoints) ** drawn


def enough(drawn: int, endpoints: int, others: Sequence[int]) -> int:
    """Requests that tell so many draws from each other number of draws."""
    right = share_of_the_idle(drawn, endpoints)
    wrong = (share_of_the_idle(other, endpoints) for other in others)
    return max(draws_that_tell(right, share, MISSED) for share in wrong)


def in_rounds(headers: Sequence[Headers]) -> list[Sequence[Headers]]:
    """So few at a time that those at the end do not wait too long."""
    return [headers[start : start + ROUND] for start in range(0, len(headers), ROUND)]


def by_default(said: str) -> Said:
    """Make a Cluster that says nothing of a choice_count."""
    return lambda _count: said


def next_to(drawn: int) -> tuple[int, int]:
    """Off by one."""
    return drawn - 1, drawn + 1


@pytest.mark.parametrize(
    ("clause", "said", "counts"),
    [
        case("old", "A48-LEAST-01", by_default(OLD), (USUAL,)),
        case("listed", "A48-LEAST-02", by_default(LISTED), (USUAL,)),
        case("old-count", "A48-LEAST-03", beside, (3, 5)),
        case("listed-count", "A48-LEAST-03", listed, (4, 6)),
        case("old-eleven", "A48-LEAST-04", beside, (ELEVEN,)),
        case("listed-many", "A48-LEAST-04", listed, (MANY,)),
    ],
)
@scenario(needs=("kept_open",), seconds=3)
async def test_one_is_idle(world: World, clause: str, said: Said, counts: tuple[int, ...]) -> None:
    """It is taken unless only busy ones are drawn. No constant is a count of both forms.

    A client that draws MANY would need hours for what tells ten from eleven.
    """
    asked = world.rng.choice(counts)
    drawn = min(asked, MOST)
    members = await world.endpoints(endpoints_for(drawn))
    idle, *busy = (member.address for member in members)
    served = routed(leaf("c", members))
    await world.serve(
        with_raw_clusters(served, ClusterVariant(clause, said(asked)).of(served.cluster()))
    )
    several = partial(calls_to, world, "c", 10 * len(members))
    await world.rounds.require(EachServesSome((idle, *busy)), several, why="they serve")
    streams = Streams(world)
    while min(map(streams.at, busy)) < AT_ONCE:
        await streams.fill("c")
    await streams.end_all_at(idle)
    others = next_to(drawn) if asked < MANY else (USUAL, LARGEST)
    requests = enough(drawn, len(members), others)
    headers = [{**session, TO: "c"} for session in world.sessions(requests)]
    rounds = [await world.call(some, concurrency=AT_ONCE) for some in in_rounds(headers)]
    calls = Calls(tuple(chain.from_iterable(rounds)))
    all_draws = len(members) ** drawn
    share = (all_draws - len(busy) ** drawn, all_draws)
    await world.check(clause, calls, Proportions({idle: share}, rest=tuple(busy)))


@scenario("A48-LEAST-06")
async def test_localities(world: World) -> None:
    """The lighter one has more endpoints: who goes by those meets it as often as the other."""
    *three, b = await world.addresses(4)
    localities = (
        Locality(tuple(map(Endpoint, three)), name="three"),
        Locality((Endpoint(b),), name="b", weight=3),
    )
    served = one_cluster(localities, policy=RoundRobin())
    await world.serve(
        with_raw_clusters(served, ClusterVariant("A48-LEAST-06", OLD).of(served.cluster()))
    )
    make_calls = partial(world.call, world.sessions(40))
    await world.rounds.require(EachServesSome((*three, b)), make_calls, why="they serve")
    calls = await world.call(world.sessions(draws_needed(1 / 4, 1 / 2)))
    shares = {**dict.fromkeys(three, (1, 12)), b: (3, 4)}
    await world.check("A48-LEAST-06", calls, Proportions(shares))


BELOW_TWO = tuple(
    ClusterVariant("A48-LEAST-05", said)
    for too_few in (0, 1)
    for said in (beside(too_few), policies(least_request(count(too_few))))
)


@scenario("A48-LEAST-04", AFTERWARDS)
async def test_most_choices(world: World) -> None:
    """Envoy, which has a limit of its own, draws them all: it is not asked."""
    world.checks.require("A48-LEAST-04")
    live = await LiveCluster.begin(world, "EDS")
    await live.taken(ClusterVariant("A48-LEAST-04", beside(ELEVEN)))
    await live.taken(ClusterVariant("A48-LEAST-04", policies(least_request(count(LARGEST)))))


@scenario("A48-LEAST-05", AFTERWARDS, UNCHANGED)
async def test_too_few_choices(world: World) -> None:
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all(BELOW_TWO)
