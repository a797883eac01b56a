"""A37, A74, A57: a requested resource that does not come does not exist after 15 s."""

from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, Unsupported
from conformance.judging.declaration import scenario
from conformance.judging.expectations import fits
from conformance.scenarios.helpers.aggregates import (
    ROOTS,
    TREES,
    Shape,
    aggregates,
    check_each,
    check_lists,
    deploy,
    each_position,
    in_use,
    lose_before_x,
    without_one,
)
from conformance.scenarios.helpers.resource_timeout import check_time, started, waiting_for_all
from conformance.scenarios.helpers.routing import calls_to, route_to, with_route
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.bootstrap import VARIABLE, bootstrap
from conformance.xds_config.broken import without_resources
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, subscriptions_of, with_clusters
from fake_control_plane import Kind
from test_servers import Hold, Serve, ServerProxy

DIRECT = "direct"
"""A cluster of a route that is missing, or whose endpoints are missing."""


NONE: Shape = {"none": "none-x none-y"}
"""A tree without any cluster."""


TWO: Shape = {"two": "two-x two-b two-y two-c"}
"""A tree without two of its leaves."""


SHARING: tuple[Shape, ...] = ({"one": "x b"}, {"top": "other d", "other": "x c"})
"""Two aggregates that list a missing leaf; one of them is below a third aggregate."""


BESIDE: tuple[Shape, ...] = ({"k": "y d"}, {"l": "y e"})
"""Two aggregates that list the same leaf, which is not missing."""


CLAUSES = {
    "only-m": "A37-TROUBLE-02",
    "none": "A37-TROUBLE-02",
    DIRECT: "A37-TROUBLE-03",
    "one": "A74-CONFIG-04",
    "top": "A74-CONFIG-04",
}
"""The clause of each root for which all editions say the same."""


@scenario(
    *("A37-TROUBLE-01", "A37-TROUBLE-02", "A37-TROUBLE-03", "A37-TROUBLE-10"),
    *("A57-TIMER-01", "A74-CONFIG-04"),
    seconds=16.5,
    absence=True,
)
async def test_clusters(world: World) -> None:
    """A cluster that does not come within 15 s does not exist."""
    planted = await deploy(world, *TREES, TWO, NONE, *SHARING, direct=(DIRECT,))
    missing = (*each_position("x"), "two-x", "two-y", "none-x", "none-y", "x", DIRECT)
    lacks = without_resources(planted.served, Kind.CLUSTER, *missing)
    waiting = await waiting_for_all(world, Kind.CLUSTER, lacks)
    for root, calls in waiting.items():
        clause = CLAUSES.get(root, "A37-TROUBLE-01")
        expected = at_the_first(lacks, root) if root in CLAUSES else without_one(lacks, root)
        await world.check(clause, await calls.over(), expected)
    await world.serve(planted.served, unheard=True)
    await check_each(world, "A37-TROUBLE-10", planted.served, *ROOTS, "none", DIRECT)
    world.checks.turn_to("A57-TIMER-01")
    world.checks.require("A37-TROUBLE-04")
    await check_time(world, Kind.CLUSTER, missing, waiting.values())


@scenario("A37-TROUBLE-01", "A37-TROUBLE-10", "A37-TREE-15", seconds=16.5, absence=True)
async def test_cluster_known_to_be_missing(world: World) -> None:
    """An aggregate that comes later learns at once that its first leaf does not exist.

    When the leaf comes, both aggregates use it. Two other aggregates show whether the client can
    use a leaf below both.
    """
    planted = await deploy(world, {"m": "x b"}, {"later": "x b"}, *BESIDE)
    lacks = without_resources(planted.served, Kind.CLUSTER, "x")
    first = replace(lacks, routes=lacks.routes[:1])
    waiting = await waiting_for_all(world, Kind.CLUSTER, first)
    await world.check("A37-TROUBLE-01", await waiting["m"].over(), without_one(first, "m"))
    await world.serve(lacks)
    expected = without_one(lacks, "later")
    make_calls = partial(calls_to, world, "later")
    own = world.checks.own("A37-TROUBLE-01", expected)
    calls = await world.rounds.eventually(own, make_calls, within=timing.EVENT)
    await world.check("A37-TROUBLE-01", calls, expected)
    await world.serve(planted.served, unheard=True)
    await check_lists(world, "A37-TROUBLE-10", planted.served, "k", "l")
    await check_each(world, "A37-TROUBLE-10", planted.served, "m", "later")


@scenario(
    *("A37-TROUBLE-19", "A37-TROUBLE-20", "A37-TROUBLE-30", "A57-TIMER-01"),
    seconds=16.5,
    absence=True,
)
async def test_endpoints(world: World) -> None:
    """A leaf whose endpoints do not come within 15 s has none, so the client uses the next leaf.

    Requests must wait for x only where x is the first leaf; the text leaves the rest open
    (A37-TROUBLE-06). In the other trees the client comes to x after the leaves before x failed.
    """
    planted = await deploy(world, *TREES, direct=(DIRECT,))
    missing = (*each_position("x"), DIRECT)
    lacks = without_resources(planted.served, Kind.ENDPOINTS, *missing)
    waiting = await waiting_for_all(world, Kind.ENDPOINTS, lacks)
    for root, calls in waiting.items():
        clause = "A37-TROUBLE-20" if root in {"only-m", DIRECT} else "A37-TROUBLE-19"
        await world.check(clause, await calls.over(), at_the_first(lacks, root))
    timed = [waiting[root] for root in ("first-m", "only-m", DIRECT)]
    await check_time(world, Kind.ENDPOINTS, ("first-x", "only-x", DIRECT), timed)
    failed = await lose_before_x(world, planted)
    await check_each(world, "A37-TROUBLE-19", lacks, "middle-m", failed=failed)
    await world.serve(planted.served, unheard=True)
    await check_each(world, "A37-TROUBLE-30", planted.served, *ROOTS, DIRECT, failed=failed)


@scenario("A37-TROUBLE-28", seconds=16, absence=True)
async def test_changed_service_name(world: World) -> None:
    """A leaf whose new EDS service_name has no endpoints has none.

    The leaf is in use when an update changes its service name, and stays in use until the client
    knows that the new endpoints are missing.
    """
    planted = await deploy(world, {"m": "x b"})
    await in_use(world, planted.served, "m")
    x = planted.served.get_cluster("x")
    renamed = x.known_as("never-sent")
    then = without_resources(with_clusters(planted.served, renamed), Kind.ENDPOINTS, "never-sent")
    count = round(timing.UNTIL_THEN / timing.PACE)
    meanwhile = await world.start([{CLUSTER_HEADER: "m"}] * count, pace=timing.PACE)
    await world.serve(then, unheard=True)  # Envoy does not ACK before it uses the new name.
    before = at_the_first(planted.served, "m")
    await world.check("A37-TROUBLE-28", await meanwhile.over(), before)
    await world.attempts.quiet_from_now(
        *planted.members["b"],
        why="the endpoints of the leaf before it may be missing",
        seconds=timing.NO_SUCH_RESOURCE,
    )
    expected = at_the_first(then, "m")
    calls = await world.eventually(expected, partial(calls_to, world, "m"))
    await world.check("A37-TROUBLE-28", calls, expected)


@scenario("A74-CONFIG-03", seconds=33, absence=True)
async def test_changed_routes(world: World) -> None:
    """The client uses new routes once it knows that a part of the new cluster does not exist.

    An update leads the route of b to an aggregate with a leaf that is never sent, and another
    route to a cluster that is never sent.
    """
    planted = await deploy(world, {"m": "x c"}, direct=("b", DIRECT))
    lacks = without_resources(planted.served, Kind.CLUSTER, "x", DIRECT)
    before, after = (with_route(lacks, "b", to) for to in ("b", "m"))
    after = replace(after, routes=(*after.routes, route_to(DIRECT)))
    await in_use(world, before, "b")
    count = round(timing.UNTIL_THEN / timing.PACE)
    meanwhile = await world.start([{CLUSTER_HEADER: "b"}] * count, pace=timing.PACE)
    await world.serve(after)
    await world.check("A74-CONFIG-03", await meanwhile.over(), at_the_first(before, "b"))
    await world.attempts.quiet_from_now(
        *planted.members["c"], why="x may be missing", seconds=timing.NO_SUCH_RESOURCE
    )
    expected = at_the_first(after, "m")
    calls = await world.eventually(expected, partial(calls_to, world, "b"))
    await world.check("A74-CONFIG-03", calls, expected)
    calls = await calls_to(world, DIRECT)
    await world.check("A74-CONFIG-03", calls, at_the_first(after, DIRECT))


@scenario("A57-TIMER-03", seconds=17, absence=True)
async def test_timer_of_cached_resource(world: World) -> None:
    """If a new stream does not send a resource that the client has, the client keeps using it."""
    planted = await deploy(world, {"m": "b c"})
    await in_use(world, planted.served, "m")
    world.plane.script.hold()
    await world.control.renew(Kind.ENDPOINTS, "b")
    count = round(timing.BEYOND_ABSENCE / timing.PACE)
    calls = await world.start([{CLUSTER_HEADER: "m"}] * count, pace=timing.PACE)
    await world.check("A57-TIMER-03", await calls.over(), at_the_first(planted.served, "m"))


@scenario("A57-TIMER-04", seconds=20.5, absence=True)
async def test_timer_on_new_stream(world: World) -> None:
    """On a new stream, the client restarts the timer of a resource that it does not have.

    The stream ends after a third of the timer; requests continue to wait.
    """
    planted = await deploy(world, {"m": "x b"})
    lacks = without_resources(planted.served, Kind.CLUSTER, "x")
    await world.serve(lacks)
    calls = await started(world, "m")
    await require_subscribed(world, Kind.CLUSTER, lacks, within=timing.NO_SUCH_RESOURCE)
    await world.attempts.quiet_from_now(
        *planted.members["b"], why="x is not missing yet", seconds=timing.THIRD_OF_ABSENCE
    )
    last = await world.control.renew(Kind.CLUSTER, "x")
    await calls.over()
    await check_time(world, Kind.CLUSTER, ("x",), (calls,), clause="A57-TIMER-04", beyond=last)


class SubscribedTwice(NamedTuple):
    """What there is after the second subscription to x, which does not exist.

    Attributes:
        served: the config before any Cluster was taken out of it.
        calls: requests to m, whose leaves are x and b. They began before the first subscription.
        since: the mark of the control plane before the second subscription.
    """

    served: XdsConfig
    calls: PendingCalls
    since: int


async def subscribe_twice(world: World) -> SubscribedTwice:
    """Make the client unsubscribe from x after a third of the timer, and subscribe once more.

    Raises:
        Unsupported: the client does not unsubscribe.
        PreconditionTimeout: it does not subscribe once more.
    """
    planted = await deploy(world, {"m": "x y b"})
    missing = without_resources(planted.served, Kind.CLUSTER, "x", "y")
    lacks, meanwhile = (with_clusters(missing, *aggregates({"m": f"{name} b"})) for name in "xy")
    await world.serve(lacks)
    calls = await started(world, "m")
    await require_subscribed(world, Kind.CLUSTER, lacks, within=timing.NO_SUCH_RESOURCE)
    why = "x is not missing yet"
    await world.attempts.quiet_from_now(why=why, seconds=timing.THIRD_OF_ABSENCE)
    await world.serve(meanwhile)
    if not await is_subscribed(world, meanwhile):
        raise Unsupported("it does not unsubscribe from a leaf that the list has no more")
    since = world.control.mark
    await world.serve(lacks)
    if not await is_subscribed(world, lacks):
        raise PreconditionTimeout("expected a subscription to x once more, which the list has")
    return SubscribedTwice(planted.served, calls, since)


async def is_subscribed(world: World, served: XdsConfig) -> bool:
    """Return whether the client comes to subscribe to exactly the Clusters of this config."""
    wanted = subscriptions_of(served, "CLUSTER")
    return fits(wanted, await world.control.asked_until(wanted))


@scenario("A57-TIMER-05", seconds=21, absence=True)
async def test_timer_of_next_subscription(world: World) -> None:
    """The client starts the timer of a resource again when it subscribes a second time.

    In between the list of the aggregate has another leaf instead of x, which is missing, too.
    Requests wait all the time.
    """
    _, calls, since = await subscribe_twice(world)
    await calls.over()
    await check_time(world, Kind.CLUSTER, ("x",), (calls,), clause="A57-TIMER-05", since=since)


@scenario("A57-TIMER-06", seconds=17.5, absence=True)
async def test_resource_of_next_subscription(world: World) -> None:
    """The client uses a resource that came, whatever timer an earlier subscription started.

    Requests continue beyond the end of that timer.
    """
    twice = await subscribe_twice(world)
    there = with_clusters(twice.served, *aggregates({"m": "x b"}))
    await world.serve(there)
    first = at_the_first(there, "m")
    await world.rounds.require(first, partial(calls_to, world, "m"), why="x came")
    count = round((timing.BEYOND_ABSENCE - timing.THIRD_OF_ABSENCE) / timing.PACE)
    calls = await world.start([{CLUSTER_HEADER: "m"}] * count, pace=timing.PACE)
    await world.check("A57-TIMER-06", await calls.over(), first)


@scenario("A57-TIMER-02", seconds=18.5, absence=True)
async def test_timer_starts_with_connection(world: World) -> None:
    """The timer of a resource starts when its request is sent on a connected stream.

    The connection comes late, and the Listener a while after it.
    """
    planted = await deploy(world, direct=("b",))
    world.plane.script.hold(Kind.LISTENER)
    async with ServerProxy.before(world.plane.address, Hold()) as door:
        channel = await world.channels.open_in_new_process(**{VARIABLE: bootstrap(door.address)})
        await world.serve(planted.served)
        calls = await world.start(
            [{CLUSTER_HEADER: "b"}] * 3, channel=channel, deadline=timing.AFTER_ABSENCE
        )
        await world.control.unless_refused(door.attempted(deadline=timing.ATTEMPT))
        why = "the control plane has not answered"
        await world.attempts.quiet_from_now(why=why, seconds=timing.LATE_CONNECTION)
        await door.set_mode(Serve())
        await world.control.require_asked(Kind.LISTENER, 1, within=timing.ATTEMPT)
        why = "the Listener has not come"
        await world.attempts.quiet_from_now(why=why, seconds=timing.LATE_RESOURCE)
        world.plane.script.release(Kind.LISTENER)
        await world.check("A57-TIMER-02", await calls.over(), at_the_first(planted.served, "b"))
