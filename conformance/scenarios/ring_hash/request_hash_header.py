"""A76: request_hash_header in the config of ring_hash determines the hash of a request."""

from functools import partial

import pytest

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    AttemptCount,
    EachServesSome,
    EndpointsTried,
    EndsWith,
)
from conformance.scenarios.helpers.ring_order import LARGE, RingOrder, ring_order
from conformance.spec.oracles.picker import State
from conformance.world import (
    ENOUGH_TO_DIFFER,
    ENOUGH_TO_SPREAD,
    ENOUGH_TO_WEIGH,
    PLAIN_ENDPOINTS,
    World,
)
from conformance.xds_config.config import one_cluster, weighted_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import TypedRingHash
from conformance.xds_config.routes import SESSION
from fake_control_plane import Kind
from test_servers import Close, Stall

HEADER, OTHER = "tenant", "x-user"


GUARD = "GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY"


FAILED: State = "TRANSIENT_FAILURE"


BY_HEADER = TypedRingHash(HEADER, minimum=LARGE.minimum)


WITHOUT: list[dict[str, str]] = [{}]
"""A request without the header."""


CONCURRENT_REQUESTS = 20
"""Number of concurrent requests."""


ENOUGH_TO_MEET = 100
"""Number of calls with different hashes that reach each of four equal endpoints. An endpoint with
750 of 3,000 entries has less than 0.15 of the ring with a chance below 1e-20 (Beta(750, 2250)), and
4 x 0.85^100 is below 1e-6."""


# The hash. The route hashes the session, which each request has as well.


@pytest.mark.parametrize(
    ("clause", "named", "values"),
    [
        case("one-value", "A76-REQ-01", HEADER, 1),
        case("several-values", "A76-REQ-02", HEADER, 3),
        case("left-out", "A76-REQ-09", None, 1),
        case("empty", "A76-REQ-09", "", 1),
    ],
)
async def test_hashed_value(world: World, clause: str, named: str | None, values: int) -> None:
    """The picker hashes the header of request_hash_header, or by the route if there is none.

    Each hashed value comes twice, with different values of the header that must not count.
    """
    served = await world.plain_ring(ring=TypedRingHash(named))
    sessions = world.sessions(ENOUGH_TO_DIFFER)
    named_values = [
        [(HEADER, value) for value in world.values.some(values)] for _session in sessions
    ]
    headers = [
        [*first, *session.items()]
        for beside in (sessions, sessions[1:] + sessions[:1])
        for first, session in zip(named_values, beside, strict=True)
    ]
    await world.check(clause, await world.call(headers), served.matches_ring())


@scenario("A76-REQ-01")
async def test_second_priority(world: World) -> None:
    """The rings of all priorities hash by request_hash_header.

    The endpoints of the first priority are unhealthy.
    """
    first, second = await world.addresses(3), await world.addresses(3)
    unhealthy = tuple(Endpoint(at, health="UNHEALTHY") for at in first)
    others = Locality(tuple(map(Endpoint, second)), name="others", priority=1)
    served = one_cluster((Locality(unhealthy), others), policy=TypedRingHash(HEADER))
    await world.serve(served)
    some, sessions = world.values.some(ENOUGH_TO_DIFFER), world.sessions(ENOUGH_TO_DIFFER)
    headers = [{**session, HEADER: at} for session, at in zip(sessions, some, strict=True)]
    await world.check("A76-REQ-01", await world.call(headers), served.matches_ring(priority=1))


@scenario("A76-REQ-01", "A76-REQ-09")
async def test_changed_header(world: World) -> None:
    """After an update, the picker hashes by the new request_hash_header.

    Updates name another header, none, the first header, and an empty one.
    """
    served = await world.plain_ring(ring=TypedRingHash(HEADER))
    some, others = (world.values.some(ENOUGH_TO_DIFFER) for _ in range(2))
    headers = [
        {**session, HEADER: value, OTHER: other}
        for session, value, other in zip(
            world.sessions(ENOUGH_TO_DIFFER), some, others, strict=True
        )
    ]
    await world.check("A76-REQ-01", await world.call(headers), served.matches_ring())
    for clause, named in (
        ("A76-REQ-01", OTHER),
        ("A76-REQ-09", None),
        ("A76-REQ-01", HEADER),
        ("A76-REQ-09", ""),
    ):
        changed = served.with_policy(TypedRingHash(named))
        await world.serve(changed)
        calls = await world.eventually(changed.matches_ring(), partial(world.call, headers))
        await world.check(clause, calls, changed.matches_ring())


@pytest.mark.parametrize(
    ("clause", "headers"),
    [
        case("missing", "A76-REQ-03", {}),
        case("empty", "A76-REQ-08", {HEADER: ""}),
    ],
)
async def test_without_a_value(world: World, clause: str, headers: dict[str, str]) -> None:
    """Without the header the picker uses a random hash; for an empty value the text leaves it open.

    All endpoints are connected. The two sessions belong to two different endpoints.
    """
    order = await ring_order(world, PLAIN_ENDPOINTS, ring=BY_HEADER)
    await world.require_served([{HEADER: value} for value in world.values.some(ENOUGH_TO_MEET)])
    sessions = [dict(order.beginning_with(endpoint)) for endpoint in (order[0], order[1])]
    calls = await world.call([headers | session for session in sessions * (ENOUGH_TO_WEIGH // 2)])
    by_route = order.served.with_policy(TypedRingHash(minimum=LARGE.minimum))
    if clause == "A76-REQ-03":
        await world.check(clause, calls, order.served.random_over_ring())
        return
    await world.check(
        clause,
        calls,
        {
            "a random hash": order.served.random_over_ring(),
            "the hash of an empty value": order.served.matches_ring(key_format=order.key_format),
            "the policies of the route": by_route.matches_ring(key_format=order.key_format),
        },
    )


@scenario("A76-REQ-12", alone=True)
async def test_environment_guard(world: World) -> None:
    """An environment variable may guard request_hash_header."""
    served = await world.plain_ring(ring=BY_HEADER)
    by_route = served.with_policy(TypedRingHash(minimum=LARGE.minimum))
    headers = [
        session | {HEADER: v}
        for session, v in zip(
            world.sessions(ENOUGH_TO_DIFFER), world.values.some(ENOUGH_TO_DIFFER), strict=True
        )
    ]
    channels = await world.channels.open_by(GUARD, None, "true")
    for guard, channel in channels.items():
        calls = await world.call(headers, channel=channel)
        choices = {
            f"used {guard}": served.matches_ring(),
            f"not used {guard}": by_route.matches_ring(),
        }
        await world.check("A76-REQ-12", calls, choices)


ACCEPTED = ("user", "tenant-id", "bin", "tenant-bin-id", "x_1.y", "9")
"""Valid names of nonbinary headers."""


@pytest.mark.parametrize(
    ("clause", "named"),
    [
        case("space", "A76-REQ-10", ["tenant id"]),
        case("slash", "A76-REQ-10", [f"tenant{delimiter}id" for delimiter in '/,:;=@"()']),
        case("umlaut", "A76-REQ-10", ["m\N{LATIN SMALL LETTER U WITH DIAERESIS}ller"]),
        case("binary", "A76-REQ-11", ["tenant-bin"]),
        case("binary-of-three-words", "A76-REQ-11", ["x-tenant-bin", "Tenant-Bin"]),
    ],
)
async def test_rejected(world: World, clause: str, named: list[str]) -> None:
    """The client rejects an invalid or binary request_hash_header.

    It accepts valid names first, also names that resemble those that it must reject.
    """
    served = await world.plain_ring(ring=BY_HEADER)
    await world.require_served([{HEADER: value} for value in world.values.some(1)])
    for name in (*ACCEPTED, *named):
        cluster = served.with_policy(TypedRingHash(name)).cluster()
        answer = await world.control.offer(Kind.CLUSTER, cluster)
        await world.check(clause, answer, AckedOrNacked(acked=name in ACCEPTED))


# Requests with a random hash.


async def arranged(world: World, *states: State) -> RingOrder:
    """Bring endpoints into these states, by requests with the header, which is the session here."""
    order = await ring_order(world, len(states), ring=TypedRingHash(SESSION, minimum=LARGE.minimum))
    await order.arrange(*states)
    return order


@scenario("A76-REQ-04", seconds=5, waits=True)
async def test_one_ready(world: World) -> None:
    """A request with a random hash goes to the first READY endpoint along the ring.

    In a client without this feature some requests wait for the CONNECTING endpoint. Two endpoints
    are READY. Each of them serves more than 0.3 of the hashes, so the chance that one serves no
    request is below 1e-8.
    """
    order = await arranged(world, "READY", FAILED, "CONNECTING", "IDLE", "READY")
    ready = order[0].address, order[4].address
    calls = await world.call(WITHOUT * ENOUGH_TO_SPREAD, deadline=timing.EVENT)
    await world.check("A76-REQ-04", calls, AllServedBy(ready))
    await world.check("A76-REQ-04", calls, EachServesSome(ready))


@scenario("A76-REQ-05", "A76-REQ-06", "A76-REQ-07", needs=("watch",), seconds=1.2, waits=True)
async def test_all_idle(world: World) -> None:
    """A request with a random hash triggers one attempt at most, and none while one is CONNECTING.

    The only connection is lost first, so that all endpoints are IDLE and the list is not new.
    """
    watched = await world.states.watch()
    order = await arranged(world, "READY", "IDLE", "IDLE", "IDLE")
    await world.states.require(watched, "READY", why="a request was served")
    mark = len(watched.states)
    await order.set_modes(*[Stall()] * len(order))
    await order[0].kill()
    await world.states.require(watched, "IDLE", since=mark, why="the only connection is lost")
    since = world.now
    first = await world.start(WITHOUT, deadline=timing.SEVERAL_MOMENTS)
    await world.attempts.require_one(
        *order, why="a request came while every endpoint was IDLE", since=since
    )
    await world.attempts.quiet_from_now(why="one request came")
    await world.check("A76-REQ-05", world.attempts.seen(since=since), EndpointsTried(1))
    why = "a connection is being tried"
    await world.states.require(watched, "CONNECTING", since=mark, why=why)
    more = await world.start(WITHOUT * CONCURRENT_REQUESTS, deadline=timing.HELD)
    quiet = await world.attempts.quiet_from_now(
        why="requests came while one endpoint was CONNECTING"
    )
    await world.check("A76-REQ-06", quiet, AttemptCount())
    for started in (first, more):
        await world.check("A76-REQ-07", await started.over(), EndsWith("DEADLINE_EXCEEDED"))


@scenario("A76-REQ-05", "A76-REQ-06", seconds=1.5, waits=True)
async def test_idle_before_ready(world: World) -> None:
    """On its way to a READY endpoint, a request triggers one attempt at most.

    The READY endpoint has one of 4,096 entries, so the chance that a request meets it first is
    below 0.0003; two requests both do with a chance below 1e-7.
    """
    ready, *idle = await world.endpoints(4)
    alone: dict[str, int | None] = {ready.address: 1}
    await world.serve(weighted_locality(alone, policy=BY_HEADER))
    await world.require_served(WITHOUT)
    for endpoint in idle:
        await endpoint.set_mode(Stall())
    heavy: dict[str, int | None] = {endpoint.address: 1365 for endpoint in idle}
    await world.serve(weighted_locality({**alone, **heavy}, policy=BY_HEADER))
    await world.attempts.quiet(why="the ACK: the client has applied the list by then")
    since = world.now
    for _ in range(2):
        await world.require_served(WITHOUT)
        await world.attempts.quiet_from_now(why="one request came", count=2)
        if world.attempts.seen(since=since).attempts:
            break
    why = "a request met IDLE endpoints first"
    await world.attempts.require_one(*idle, why=why, since=since)
    await world.check("A76-REQ-05", world.attempts.seen(since=since), EndpointsTried(1))
    since = world.now
    await world.require_served(WITHOUT * CONCURRENT_REQUESTS)
    await world.attempts.quiet_from_now(why="requests came while one endpoint was CONNECTING")
    await world.check("A76-REQ-06", world.attempts.seen(since=since), AttemptCount())


@scenario("A76-REQ-07", seconds=1)
async def test_all_failed(world: World) -> None:
    """A request with a random hash fails only if all endpoints have failed."""
    order = await arranged(world, FAILED, FAILED, "CONNECTING")
    calls = await world.call(WITHOUT * CONCURRENT_REQUESTS, deadline=timing.HELD)
    await world.check("A76-REQ-07", calls, EndsWith("DEADLINE_EXCEEDED"))
    await order[2].set_mode(Close())
    await order[2].kill()
    fails = EndsWith("UNAVAILABLE")
    calls = await world.eventually(
        fails, lambda: world.call(WITHOUT * CONCURRENT_REQUESTS, deadline=timing.EVENT)
    )
    await world.check("A76-REQ-07", calls, fails)
