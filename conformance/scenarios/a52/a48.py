"""A48: least_request, by lb_policy and by the list, and choice_count."""

from functools import partial

import pytest

from conformance.arranging.breaking import Streams, routed
from conformance.arranging.forests import calls_to, leaf
from conformance.arranging.live_clusters import AFTERWARDS, UNCHANGED, LiveCluster
from conformance.judging.claims import decides, row
from conformance.judging.expectations import Reaches, Shares
from conformance.oracles.statistics import draws_needed
from conformance.served.endpoints import Endpoint, Locality
from conformance.served.oddities import Odd
from conformance.served.policies import RoundRobin
from conformance.served.policy_lists import in_localities, least_request, policies
from conformance.served.routes import TO
from conformance.served.serving import given_as, one_cluster
from conformance.world import World

ELEVEN, MANY, LARGEST = 11, 2**31 - 1, 2**32 - 1
USUAL = 2
"""Endpoints that are drawn if nothing else is said."""

OLD = "lb_policy: LEAST_REQUEST"


def beside(choice_count: int) -> str:
    """The old fields."""
    return f"{OLD} least_request_lb_config {{ {count(choice_count)} }}"


def count(choice_count: int) -> str:
    """The field of either message."""
    return f"choice_count {{ value: {choice_count} }}"


def to_tell(drawn: int) -> int:
    """Calls that tell so many draws from the usual two, and two from one."""
    return draws_needed(2**-drawn, 1 / 4 if drawn > USUAL else 1 / 2)


@pytest.mark.parametrize(
    ("clause", "said", "drawn"),
    [
        row("old", "A48-LEAST-01", OLD, 2),
        row("listed", "A48-LEAST-02", policies(in_localities(least_request())), 2),
        row("old-five", "A48-LEAST-03", beside(5), 5),
        row("listed-five", "A48-LEAST-03", policies(least_request(count(5))), 5),
        row("many", "A48-LEAST-04", beside(MANY), 10),
    ],
)
@decides(needs=("kept_open",))
async def test_one_with_an_open_stream(world: World, clause: str, said: str, drawn: int) -> None:
    """It is taken if nothing else is drawn."""
    a, b = members = await world.endpoints(2)
    served = routed(leaf("c", members))
    await world.serve(given_as(served, Odd(clause, said).of(served.cluster())))
    both = Reaches((a.address, b.address))
    await world.rounds.demand(both, partial(calls_to, world, "c"), why="they serve")
    streams = Streams(world)
    await streams.fill("c")
    busy, idle = (a, b) if streams.at(a.address) else (b, a)
    headers = [{**one, TO: "c"} for one in world.sessions(to_tell(drawn))]
    calls = await world.call(headers, concurrency=1)
    all_draws = 2**drawn
    shares = {busy.address: (1, all_draws), idle.address: (all_draws - 1, all_draws)}
    await world.judge(clause, calls, Shares(shares))


@decides("A48-LEAST-06")
async def test_localities(world: World) -> None:
    """The lighter one has more endpoints: who goes by those meets it as often as the other."""
    *three, b = await world.addresses(4)
    localities = (
        Locality(tuple(map(Endpoint, three)), name="three"),
        Locality((Endpoint(b),), name="b", weight=3),
    )
    served = one_cluster(localities, policy=RoundRobin())
    await world.serve(given_as(served, Odd("A48-LEAST-06", OLD).of(served.cluster())))
    some = partial(world.call, world.sessions(40))
    await world.rounds.demand(Reaches((*three, b)), some, why="they serve")
    calls = await world.call(world.sessions(draws_needed(1 / 4, 1 / 2)))
    shares = {**dict.fromkeys(three, (1, 12)), b: (3, 4)}
    await world.judge("A48-LEAST-06", calls, Shares(shares))


BELOW_TWO = tuple(
    Odd("A48-LEAST-05", said)
    for too_few in (0, 1)
    for said in (beside(too_few), policies(least_request(count(too_few))))
)


@decides("A48-LEAST-04", AFTERWARDS)
async def test_most_choices(world: World) -> None:
    """Envoy, which has a limit of its own, draws them all: it is not asked."""
    world.bench.demand("A48-LEAST-04")
    live = await LiveCluster.begin(world, "EDS")
    await live.taken(Odd("A48-LEAST-04", beside(ELEVEN)))
    await live.taken(Odd("A48-LEAST-04", policies(least_request(count(LARGEST)))))


@decides("A48-LEAST-05", AFTERWARDS, UNCHANGED)
async def test_too_few_choices(world: World) -> None:
    live = await LiveCluster.begin(world, "EDS")
    await live.refused_all(BELOW_TWO)
