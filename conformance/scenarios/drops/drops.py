"""A27, ClusterLoadAssignment Proto: drop_overloads of an EDS resource."""

from functools import partial
from typing import Any

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    DropProportions,
    DropRate,
    EndsWith,
    Expectation,
    Fails,
)
from conformance.judging.expectations.circuit_breaking import DRAWN
from conformance.scenarios.helpers.aggregates import aggregate_config
from conformance.scenarios.helpers.circuit_breaking import (
    below,
    dropping,
    limited,
    require_failures,
    routed,
    until_at,
)
from conformance.scenarios.helpers.load_reports import reported
from conformance.scenarios.helpers.routing import calls_to
from conformance.spec.oracles.statistics import FALSE_ALARM, draws_needed, draws_to_meet_all
from conformance.world import World
from conformance.xds_config.clusters import Cluster, Drop
from conformance.xds_config.config import XdsConfig, with_raw_clusters
from conformance.xds_config.policy_lists import pick_first, policies, round_robin
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind
from test_servers import Hold, Serve

ENOUGH = draws_needed(1 / 2, 1 / 4, FALSE_ALARM / DRAWN)
"""Number of requests that distinguishes a share of 1/2 from 1/4, and from 3/4."""


ENOUGH_DROPS = draws_needed(2 / 3, 1 / 2, FALSE_ALARM / DRAWN)
"""Number of drops that distinguishes a category with 2/3 of them from one with 1/2."""


SHARES = {
    "half-of-hundred": ("A27-DROP-05", (1, 2), [Drop("a", 50, "HUNDRED")]),
    "most-of-ten-thousand": ("A27-DROP-06", (3, 4), [Drop("a", 7_500, "TEN_THOUSAND")]),
    "most-of-million": ("A27-DROP-07", (3, 4), [Drop("a", 750_000, "MILLION")]),
    "quarter": ("A27-DROP-01", (1, 4), [Drop("a", 250_000, "MILLION")]),
}


ALL = (Drop("a", 100, "HUNDRED"), Drop("a", 10_000, "TEN_THOUSAND"), Drop("a", 1_000_000))


LAST_OF_THREE = (Drop("a", 0, "HUNDRED"), Drop("b", 0, "HUNDRED"), Drop("c", 100, "HUNDRED"))


TO_MEET_ONE_IN_A_HUNDRED = draws_to_meet_all((1 / 100, 99 / 100))
"""Number of requests of which at least one is served if only 99 percent are dropped."""


HALVES = (Drop("first", 50, "HUNDRED"), Drop("second", 500_000, "MILLION"))


@scenario("A27-DROP-01", "A27-DROP-04", "A27-DROP-05", "A27-DROP-06", "A27-DROP-07", seconds=1)
async def test_shares(world: World) -> None:
    """The client drops the share of requests that drop_overloads gives, in any denominator.

    One request is served first, so that there is a connection and each request has one pick.
    """
    members = await world.endpoints(1)
    clusters = [dropping(limited(name, members), *of) for name, (_, _, of) in SHARES.items()]
    zeros = [Drop("a", 0, drop.denominator) for drop in ALL]
    nothing = [dropping(limited(f"nothing-{zero.denominator}", members), zero) for zero in zeros]
    await world.serve(routed(*clusters, *nothing))
    for cluster in clusters:
        clause, share, _ = SHARES[cluster.name]
        await until_at(world, cluster.name, cluster, why="no category drops every request")
        calls = await calls_to(world, cluster.name, ENOUGH)
        await world.check(clause, calls, DropRate(share=share))
    for cluster in nothing:
        calls = await calls_to(world, cluster.name, 100)
        await world.check("A27-DROP-04", calls, AllServedBy(cluster.addresses()))


@scenario("A27-DROP-02", "A27-DROP-03")
async def test_all_requests(world: World) -> None:
    """At 100 percent the client drops every request, at once and with UNAVAILABLE."""
    members = await world.endpoints(1)
    clusters = [dropping(limited(drop.denominator.lower(), members), drop) for drop in ALL]
    beside = limited("beside", members)
    await world.serve(routed(*clusters, beside))
    await until_at(world, "beside", beside, why="its endpoints resource has no drops")
    for cluster in clusters:
        calls = await calls_to(world, cluster.name, TO_MEET_ONE_IN_A_HUNDRED // len(ALL) + 1)
        await world.check("A27-DROP-03", calls, Fails())
        await world.check("A27-DROP-02", calls, EndsWith("UNAVAILABLE"))


@scenario("A27-DROP-08", seconds=2, waits=True)
async def test_two_categories(world: World) -> None:
    """The client applies each category to the requests that earlier categories left.

    Another cluster has three categories, and the last one drops everything.
    """
    members = await world.endpoints(1)
    cluster = dropping(limited("c", members), *HALVES)
    await world.serve(routed(cluster, dropping(limited("last", members), *LAST_OF_THREE)))
    await until_at(world, "c", cluster, why="a quarter of the requests passes both categories")
    calls = await calls_to(world, "c", 2 * ENOUGH_DROPS)
    await world.check("A27-DROP-08", calls, DropRate(share=(3, 4)))
    shares = DropProportions(cluster="c", shares={"first": (2, 3), "second": (1, 3)})
    await world.check("A27-DROP-08", await reported(world, shares), shares)
    everything = await calls_to(world, "last", TO_MEET_ONE_IN_A_HUNDRED)
    await world.check("A27-DROP-08", everything, EndsWith("UNAVAILABLE"))


@scenario("A27-DROP-09")
async def test_changed_drops(world: World) -> None:
    """The client drops requests by the last update, also where the policy has no other change.

    An update of its endpoints with the list that it has changes nothing for pick_first.
    """
    members = await world.endpoints(1)
    clusters = [limited(name, members) for name in ("c", "pick-first")]
    there, gone = AllServedBy(clusters[0].addresses()), EndsWith("UNAVAILABLE")
    await world.serve(with_pick_first(routed(*clusters)))
    for cluster in clusters:
        await until_at(world, cluster.name, cluster, why="there are no drops")
    everything, nothing = ([Drop("a", share, "HUNDRED")] for share in (100, 0))
    for drops, wanted in ((everything, gone), (nothing, there), (everything, gone), ([], there)):
        await world.serve(with_pick_first(routed(*(dropping(each, *drops) for each in clusters))))
        for cluster in clusters:
            again = partial(calls_to, world, cluster.name, 10)
            await world.check("A27-DROP-09", await world.eventually(wanted, again), wanted)


HTTP2 = """typed_extension_protocol_options {
  key: "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
  value {
    [type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions] {
      explicit_http_config { http2_protocol_options {} }
    }
  }
}"""
"""Fields of a Cluster without which Envoy, as a proxy, does not use HTTP/2."""


BY_PICK_FIRST = ResourceVariant("A27-DROP-09", f"{policies(pick_first(), round_robin())} {HTTP2}")


def with_pick_first(served: XdsConfig) -> XdsConfig:
    """Let the last cluster have pick_first, if the client supports it in the list of policies."""
    return with_raw_clusters(served, BY_PICK_FIRST.of(served.clusters[-1].resource()))


@scenario("A27-DROP-12", needs=("metadata",))
async def test_queued_requests(world: World) -> None:
    """Requests wait for a connection; the client decides once about dropping each, or repeatedly.

    Some requests fail at once, before the others wait.
    """
    (member,) = await world.endpoints(1, mode=Hold())
    await world.serve(routed(dropping(limited("c", [member]), Drop("a", 50, "HUNDRED"))))
    waiting = await world.start(
        [{**session, CLUSTER_HEADER: "c"} for session in world.sessions(ENOUGH)]
    )
    await world.attempts.require_count(member, why="requests wait for this endpoint")
    await member.set_mode(Serve())
    choices: dict[str, Expectation] = {
        "once": DropRate(share=(1, 2)),
        "more often": DropRate(share=(1, 2), more=True),
    }
    await world.check("A27-DROP-12", await waiting.over(), choices)


@scenario("A27-DROP-13", needs=("wait_for_ready",), seconds=0.7)
async def test_wait_for_ready(world: World) -> None:
    """A wait_for_ready request meets a drop share of 100 percent."""
    clusters = [limited(name, await world.endpoints(1)) for name in ("c", "beside")]
    await world.serve(routed(dropping(clusters[0], ALL[0]), clusters[1]))
    await require_failures(world, "c", why="the drop share is 100 percent")
    waits = await world.start([{CLUSTER_HEADER: "c"}], wait_for_ready=True, deadline=timing.HELD)
    choices: dict[str, Expectation] = {
        "dropped": EndsWith("UNAVAILABLE"),
        "waits": EndsWith("DEADLINE_EXCEEDED"),
    }
    await world.check("A27-DROP-13", await waits.over(), choices)


@scenario("A27-DROP-11")
async def test_without_localities(world: World) -> None:
    """The first leaf of an aggregate drops everything and has no localities."""
    first, second = [limited(name, await world.endpoints(1)) for name in "bc"]
    empty = dropping(first.with_localities(), ALL[0])
    await world.serve(aggregate_config(("m", "c"), (below("m", "b", "c"), empty, second)))
    await until_at(world, "c", second, why="its endpoint serves")
    choices: dict[str, Expectation] = {
        "next leaf": AllServedBy(second.addresses()),
        "fails": EndsWith("UNAVAILABLE"),
    }
    await world.check("A27-DROP-11", await calls_to(world, "m"), choices)


ODD: dict[str, dict[str, dict[str, Any]]] = {
    "A27-DROP-10": {"too-much": {"category": "a", "drop_percentage": {"numerator": 150}}},
    "A27-DROP-14": {
        "no-category": {"drop_percentage": {"numerator": 100}},
        "no-share": {"category": "a"},
        "no-such-denominator": {
            "category": "a",
            "drop_percentage": {"numerator": 100, "denominator": 7},
        },
    },
}


@pytest.mark.parametrize(
    ("clause", "entry"),
    [
        pytest.param(clause, entry, id=name, marks=scenario(clause))
        for clause, entries in ODD.items()
        for name, entry in entries.items()
    ],
)
async def test_unspecified_entries(world: World, clause: str, entry: dict[str, Any]) -> None:
    """The endpoints resource has an unusual drop entry; then a valid update must take effect.

    The valid update has another endpoint.
    """
    choices: dict[str, Expectation]
    cluster, other = [limited("c", await world.endpoints(1)) for _ in range(2)]
    await world.serve(routed(cluster))
    await until_at(world, "c", cluster, why="there are no drops")
    answer = await world.control.offer(Kind.ENDPOINTS, with_drop(cluster, entry))
    if answer.acked:
        dropped = EndsWith("UNAVAILABLE")
        calls = await world.eventually(dropped, partial(calls_to, world, "c", 20))
        choices = {"everything dropped": dropped, "served": AllServedBy(cluster.addresses())}
        await world.check(clause, calls, choices)
    else:
        await world.check(clause, answer, {"refused": AckedOrNacked(acked=False)})
    await world.serve(routed(other))
    await until_at(world, "c", other, why="a valid update came after the unusual one")


def with_drop(cluster: Cluster, entry: dict[str, Any]) -> Any:
    """Return the endpoints resource of a cluster with this entry of drop_overloads."""
    resource = cluster.endpoints()
    added = resource.policy.drop_overloads.add(category=entry.get("category", ""))
    if "drop_percentage" in entry:
        added.drop_percentage.SetInParent()
        for field, value in entry["drop_percentage"].items():
            setattr(added.drop_percentage, field, value)
    return resource
