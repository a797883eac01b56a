"""A32, circuit breaking: the limit of requests in flight to a cluster, and which requests count."""

from collections.abc import Mapping

import grpc
import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AllServedBy,
    DropProportions,
    DropsReported,
    EachServesSome,
    EndsWith,
    Expectation,
    Fails,
    fits,
)
from conformance.judging.expectations.circuit_breaking import DRAWN
from conformance.judging.observations import OPEN, Calls
from conformance.scenarios.helpers.circuit_breaking import (
    Streams,
    check_changed_limit,
    connected,
    dropping,
    failed,
    limited,
    require_failures,
    routed,
    until_at,
    within_limit,
)
from conformance.scenarios.helpers.load_reports import BEHAVIOR, reported
from conformance.scenarios.helpers.routing import calls_to
from conformance.spec.oracles.circuit_breaking import UNLIMITED
from conformance.spec.oracles.statistics import FALSE_ALARM, draws_needed
from conformance.world import World
from conformance.xds_config.clusters import Drop, Threshold
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import with_clusters
from test_servers import Hold, Serve

LIMITS: Mapping[str, tuple[str, tuple[Threshold | int, ...]]] = {
    "one": ("A32-CB-01", (1,)),
    "five": ("A32-CB-01", (5,)),
    "high-before": ("A32-CB-05", (Threshold(0, "HIGH"), 5)),
    "high-behind": ("A32-CB-05", (5, Threshold(0, "HIGH"))),
    "higher-before": ("A32-CB-05", (Threshold(9, "HIGH"), 5)),
    "higher-behind": ("A32-CB-05", (5, Threshold(9, "HIGH"))),
    "several": ("A32-CB-06", (5, 2, 9)),
    "zero": ("A32-CB-07", (0,)),
}


MORE_THAN_THOSE = 12
"""More streams than any of these limits admits."""


ALL, NOTHING = (Drop("a-category", share, "HUNDRED") for share in (100, 0))


HALF = Drop("a-category", 50, "HUNDRED")


ENOUGH_DROPS = draws_needed(1 / 2, 7 / 8, FALSE_ALARM / DRAWN)
"""Number of failed requests that distinguishes half of them in a category from most of them."""


EACH_ERROR = tuple({BEHAVIOR: f"error-code-{code}"} for code in range(1, 17))
"""Headers that make a backend end a request with each status code but OK."""


HIGH_LIMIT = 10_000
"""A limit of connections, pending requests and retries that no scenario reaches."""


@scenario("A32-CB-01", "A32-CB-02", "A32-CB-05", "A32-CB-06", "A32-CB-07", needs=("kept_open",))
async def test_limits(world: World) -> None:
    """The client fails requests beyond max_requests of the first threshold for DEFAULT at once.

    Each endpoint is in its own locality, because one count covers all localities.
    """
    members = await world.endpoints(3)
    places = [
        Locality((Endpoint(member.address),), f"locality-{member.port}") for member in members
    ]
    clusters = [limited(name, members, *of) for name, (_, of) in LIMITS.items()]
    served = routed(*(cluster.with_localities(*places) for cluster in clusters))
    await world.serve(served)
    await connected(world, *(name for name in LIMITS if name != "zero"))
    streams = Streams(world)
    begun = {name: await streams.start(name, MORE_THAN_THOSE) for name in LIMITS}
    short = await calls_to(world, "zero")
    for name, (clause, _) in LIMITS.items():
        await world.check(clause, begun[name], within_limit(served, name))
        beyond = Calls(tuple(call for call in begun[name] if call.status != OPEN))
        for refused in (EndsWith("UNAVAILABLE"), Fails()):
            await world.check("A32-CB-02", beyond, refused)
    for refused in (EndsWith("UNAVAILABLE"), Fails()):
        await world.check("A32-CB-07", Calls((*begun["zero"], *short)), refused)


@scenario(needs=("kept_open",), seconds=2)
@pytest.mark.parametrize(
    ("clause", "limits"),
    [
        case("default", "A32-CB-03", ()),
        case("high-alone", "A32-CB-03", (Threshold(7, "HIGH"),)),
        case("unset", "A32-CB-04", (Threshold(None, others=HIGH_LIMIT), 7)),
        case("largest", "A32-CB-08", (UNLIMITED,)),
    ],
)
async def test_default_limit(
    world: World, clause: str, limits: tuple[Threshold | int, ...]
) -> None:
    """The limit is 1,024 by default, and the maximum of a uint32 turns it off.

    The first 1,000 streams are within the limit, so they start together; so do the last.
    """
    served = routed(limited("c", await world.endpoints(4), *limits))
    await world.serve(served)
    await connected(world, "c")
    streams = Streams(world)
    together = await streams.start_together("c", 1000)
    one_by_one = await streams.start("c", 30)
    last = await streams.start_together("c", 70)
    await world.check(clause, Calls((*together, *one_by_one, *last)), within_limit(served, "c"))


@scenario("A32-CB-09")
async def test_ignored_limits(world: World) -> None:
    """The client ignores the limits of connections, pools, pending requests and retries."""
    members = await world.endpoints(3)
    served = routed(limited("c", members, Threshold(None, others=0)))
    await world.serve(served)
    expected = EachServesSome(served.addresses())
    calls = await world.eventually(expected, lambda: calls_to(world, "c", 12))
    await world.check("A32-CB-09", calls, expected)


@scenario("A32-CB-22", needs=("kept_open",))
async def test_without_load_reports(world: World) -> None:
    """The client enforces the limit with and without lrs_server."""
    members = await world.endpoints(1)
    silent = replace(limited("silent", members, 3), is_reported=False)
    served = routed(silent, limited("reported", members, 3))
    await world.serve(served)
    await connected(world, "silent", "reported")
    streams = Streams(world)
    for name in ("reported", "silent"):
        await world.check("A32-CB-22", await streams.start(name, 5), within_limit(served, name))


ENDED = {
    "succeeded": "A32-CB-10",
    "failed": "A32-CB-11",
    "cancelled": "A32-CB-12",
    "expired": "A32-CB-12",
    "refused": "A32-CB-15",
}
"""How the third request to a cluster ends, and the clause about that."""


@scenario(
    "A32-CB-10", "A32-CB-11", "A32-CB-12", "A32-CB-15", needs=("kept_open", "cancel"), seconds=1
)
async def test_ended_requests(world: World) -> None:
    """A request that succeeded, failed, expired or was cancelled no longer counts.

    Requests fail after the response headers, and without them with each status code.
    """
    members = await world.endpoints(2)
    served = routed(*(limited(name, members, 3) for name in ENDED))
    await world.serve(served)
    await connected(world, *ENDED)
    streams = Streams(world)
    for name in ENDED:
        await streams.require_open(name, 2)
        await streams.require_open(name, deadline=timing.HELD if name == "expired" else None)
    await calls_to(world, "refused", 50)
    await streams.end("refused")
    await streams.end("succeeded")
    await streams.end("failed", grpc.StatusCode.INTERNAL)
    await streams.cancel("cancelled")
    await streams.wait_for_deadline("expired")
    errors = [{CLUSTER_HEADER: "failed", **failing} for failing in EACH_ERROR]
    await world.call(errors, concurrency=1)
    for name, clause in ENDED.items():
        expected = within_limit(served, name, in_flight=2)
        await world.check(clause, await streams.open_to_limit(name, expected), expected)


@scenario("A32-CB-13", needs=("kept_open",))
async def test_lost_connection(world: World) -> None:
    """Requests whose connection was lost no longer count."""
    members = await world.endpoints(2)
    served = routed(limited("c", members, 6))
    await world.serve(served)
    why = "both endpoints serve"
    reached = EachServesSome(served.addresses())
    await world.rounds.require(reached, lambda: calls_to(world, "c", 6), why=why)
    streams = Streams(world)
    await streams.require_open("c", 6)
    lost = await streams.drop_connections(members[0])
    expected = within_limit(served, "c", in_flight=6 - lost)
    await world.check("A32-CB-13", await streams.open_to_limit("c", expected), expected)


@scenario("A32-CB-14", needs=("cancel",), seconds=1)
async def test_queued_requests(world: World) -> None:
    """A request does not count while it waits for a subchannel.

    The limit is 1. A client that counts queued requests would reject the second and the third.
    """
    (member,) = await world.endpoints(1, mode=Hold())
    served = routed(limited("c", [member], 1))
    await world.serve(served)
    (first, second, third) = [{**session, CLUSTER_HEADER: "c"} for session in world.sessions(3)]
    waits = await world.start([first])
    await world.attempts.require_count(member, why="a request waits for this endpoint")
    beside = await world.start([second], deadline=timing.HELD)
    await world.check("A32-CB-14", await beside.over(), EndsWith("DEADLINE_EXCEEDED"))
    await waits.cancel()
    await world.check("A32-CB-14", await waits.over(), EndsWith("CANCELLED"))
    after = await world.start([third])
    await member.set_mode(Serve())
    await world.check("A32-CB-14", await after.over(), AllServedBy((member.address,)))


@scenario("A32-CB-26", needs=("kept_open", "wait_for_ready"), seconds=0.7)
async def test_wait_for_ready_at_limit(world: World) -> None:
    """At the limit, a wait_for_ready request fails or waits."""
    served = routed(limited("c", await world.endpoints(1), 1))
    await world.serve(served)
    await connected(world, "c")
    await Streams(world).require_open("c")
    waits = await world.start([{CLUSTER_HEADER: "c"}], wait_for_ready=True, deadline=timing.HELD)
    choices: dict[str, Expectation] = {
        "fails": EndsWith("UNAVAILABLE"),
        "waits": EndsWith("DEADLINE_EXCEEDED"),
    }
    await world.check("A32-CB-26", await waits.over(), choices)


@scenario("A32-CB-17", "A32-CB-08", needs=("kept_open",))
async def test_changed_limit(world: World) -> None:
    """After an update raises or removes the limit, requests in flight from before still count."""
    members = await world.endpoints(2)
    before, after = (
        routed(*(limited(name, members, *limit) for name, limit in limits.items()))
        for limits in (
            {"raised": (3,), "freed": (3,), "off": (3,)},
            {"raised": (5,), "freed": (), "off": (UNLIMITED,)},
        )
    )
    await world.serve(before)
    await connected(world, "raised", "freed", "off")
    streams = Streams(world)
    for name in ("raised", "freed", "off"):
        await streams.require_open(name, 3)
    await world.serve(after)
    for name, clause in (("freed", "A32-CB-17"), ("off", "A32-CB-08")):
        expected = within_limit(after, name, in_flight=3)
        await world.check(clause, await streams.open_to_limit(name, expected, most=9), expected)
    await check_changed_limit("A32-CB-17", streams, after, "raised", in_flight=3)


@scenario("A32-CB-16", needs=("kept_open", "cancel"))
async def test_lowered_limit(world: World) -> None:
    """After an update lowers the limit, requests open only when enough of those before ended."""
    members = await world.endpoints(2)
    before, after = (routed(limited("lowered", members, limit)) for limit in (6, 3))
    await world.serve(before)
    await connected(world, "lowered")
    streams = Streams(world)
    await streams.require_open("lowered", 5)
    await world.serve(after)
    if await check_changed_limit("A32-CB-16", streams, after, "lowered", in_flight=5):
        return
    for in_flight in (4, 3):
        await streams.end("lowered")
        full = within_limit(after, "lowered", in_flight=in_flight)
        await world.check("A32-CB-16", await streams.start("lowered"), full)
    await streams.end("lowered")
    expected = within_limit(after, "lowered", in_flight=2)
    await world.check("A32-CB-16", await streams.open_to_limit("lowered", expected), expected)


@scenario("A32-CB-16", "A32-CB-17", needs=("kept_open", "cancel"))
async def test_later_limits(world: World) -> None:
    """A second update of the limit takes effect too, and so does an update from a limit of zero."""
    members = await world.endpoints(2)
    limits = {"raised": (0, 3, 5), "lowered": (9, 7, 5)}
    first, *later = (
        routed(*(limited(name, members, of[step]) for name, of in limits.items()))
        for step in range(3)
    )
    await world.serve(first)
    await connected(world, "lowered")
    streams = Streams(world)
    await streams.require_open("lowered", 5)
    for in_flight, after in zip(limits["raised"], later, strict=False):
        await world.serve(after)
        await check_changed_limit("A32-CB-17", streams, after, "raised", in_flight=in_flight)
    await check_changed_limit("A32-CB-16", streams, after, "lowered", in_flight=5)


@scenario("A32-CB-18", needs=("kept_open",))
async def test_updates_of_endpoints_and_policy(world: World) -> None:
    """Updates of the endpoints and of the policy do not change the count.

    The first adds an endpoint, and a drop category of zero percent. The update of the policy raises
    the limit by one, which shows when it is in use.
    """
    members = await world.endpoints(2)
    served = routed(limited("c", members[:1], 3))
    await world.serve(served)
    await connected(world, "c")
    streams = Streams(world)
    await streams.require_open("c", 3)
    served = routed(dropping(limited("c", members, 3), NOTHING))
    await world.serve(served)
    await world.attempts.require_count(members[1], why="an update lists it")
    expected = within_limit(served, "c", in_flight=3)
    await world.check("A32-CB-18", await streams.open_to_limit("c", expected), expected)
    served = routed(replace(limited("c", members, 4), policy=RingHash()))
    await world.serve(served)
    await check_changed_limit("A32-CB-18", streams, served, "c", in_flight=3)


@scenario("A32-CB-19", "A32-CB-20", needs=("kept_open",))
async def test_service_names(world: World) -> None:
    """The client counts by cluster and EDS service name."""
    members = await world.endpoints(1)
    shared = [
        limited(name, members, limit, service_name="shared") for name, limit in (("b", 2), ("c", 4))
    ]
    served = routed(*shared, limited("renamed", members, 3, service_name="old"))
    await world.serve(served)
    await connected(world, "b", "c", "renamed")
    streams = Streams(world)
    for name in ("b", "c"):
        expected = within_limit(served, name)
        await world.check("A32-CB-20", await streams.open_to_limit(name, expected), expected)
    await streams.require_open("renamed", 3)
    served = routed(*shared, limited("renamed", members, 3, service_name="new"))
    await world.serve(served)
    expected = within_limit(served, "renamed")
    await world.check("A32-CB-19", await streams.open_to_limit("renamed", expected), expected)


@scenario("A32-CB-21", needs=("kept_open", "channels"))
async def test_shared_by_channels(world: World) -> None:
    """The client counts the requests of all channels together.

    The third channel opens while requests of the first are in flight.
    """
    served = routed(limited("c", await world.endpoints(1), 3))
    await world.serve(served)
    first, second = [await world.channels.open() for _ in range(2)]
    for channel in (first, second):
        await connected(world, "c", channel=channel)
    streams = Streams(world)
    await streams.require_open("c", 2, channel=first)
    third = await world.channels.open()
    await connected(world, "c", channel=third)
    expected = within_limit(served, "c", in_flight=2)
    await world.check(
        "A32-CB-21", await streams.open_to_limit("c", expected, channel=third), expected
    )
    full = within_limit(served, "c", in_flight=3)
    await world.check("A32-CB-21", await streams.start("c", channel=first), full)
    await streams.end("c")
    await world.check(
        "A32-CB-21", await streams.open_to_limit("c", expected, channel=second), expected
    )


@scenario("A32-CB-23", "A32-CB-24", needs=("kept_open",), seconds=1.5, waits=True)
async def test_load_report(world: World) -> None:
    """The client reports requests beyond the limit as drops without a category.

    First a category drops everything, then it drops nothing and the limit is reached. No request
    gets through a limit of zero.
    """
    members = await world.endpoints(1)
    plain, both, zero = (
        limited(name, members, limit) for name, limit in (("plain", 2), ("both", 2), ("zero", 0))
    )
    served = routed(plain, dropping(both, ALL), zero)
    await world.serve(served)
    await connected(world, "plain")
    await require_failures(world, "both", why="the drop share is 100 percent")
    await world.serve(with_clusters(served, dropping(both, NOTHING)))
    await until_at(world, "both", both, why="the update drops nothing")
    by_category = failed(world, "both")
    for name in ("plain", "both"):
        await Streams(world).require_open(name, 2)
        await require_failures(world, name, why="its limit is reached")
    await require_failures(world, "zero", why="its limit is zero")
    drops = {name: {"": failed(world, name)} for name in ("plain", "zero")}
    drops["both"] = {"a-category": by_category, "": failed(world, "both") - by_category}
    totals, each = DropsReported(drops=drops, totals=True), DropsReported(drops=drops)
    await world.check("A32-CB-23", await reported(world, totals), totals)
    await world.check("A32-CB-24", await reported(world, each), each)


@scenario("A32-CB-23", "A32-CB-24", needs=("kept_open",), seconds=1.5, waits=True)
async def test_load_report_beside_drops(world: World) -> None:
    """The client also does so while a category drops half of the requests.

    The limit is reached before an update brings the category, and a second endpoint, which shows
    when it is in use. The text does not say whether a client checks the category or the limit
    first. If it checks the limit first, the category drops nothing.
    """
    members = await world.endpoints(2)
    await world.serve(routed(limited("c", members[:1], 2)))
    await connected(world, "c")
    streams = Streams(world)
    await streams.require_open("c", 2)
    await world.serve(routed(dropping(limited("c", members, 2), HALF)))
    await world.attempts.require_count(members[1], why="an update lists it")
    await calls_to(world, "c", ENOUGH_DROPS)
    totals = DropsReported(drops={"c": {"": failed(world, "c")}}, totals=True)
    await world.check("A32-CB-23", await reported(world, totals), totals)
    halves = DropProportions(cluster="c", shares={HALF.category: (1, 2), "": (1, 2)})
    limit_first = replace(totals, totals=False)
    seen = await reported(world, halves, limit_first)
    await world.check("A32-CB-24", seen, limit_first if fits(limit_first, seen) else halves)
