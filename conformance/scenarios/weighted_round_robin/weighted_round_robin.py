"""A58: the config of ClientSideWeightedRoundRobin, and its weights by what backends report."""

from collections.abc import Sequence
from functools import partial

import pytest

from conformance import timing
from conformance.judging.aborts import SuiteTimeout
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AllServedBy,
    EachServesSome,
    Fails,
    MinimumShare,
    Proportions,
)
from conformance.judging.observations import Call, Calls
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.live_policies import LivePolicy
from conformance.scenarios.helpers.localities import fail
from conformance.spec.oracles.statistics import draws_needed
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.policy_lists import (
    in_localities,
    policies,
    ring_hash,
    weighted_round_robin,
)
from conformance.xds_config.variants import ResourceVariant
from test_servers import BackendEndpoint as Member
from test_servers import BackendMetrics, Close, Serve

pytestmark = scenario(timer=timing.SHORTEST_UPDATE)

BAD_RING = ring_hash(function="hash_function: MURMUR_HASH_2")
"""A client that reads this entry rejects the Cluster."""


TIMES = (
    "blackout_period",
    "oob_reporting_period",
    "weight_expiration_period",
    "weight_update_period",
)


A_SECOND = " ".join(f"{time} {{ seconds: 1 }}" for time in TIMES)


NANOS_OF_100_MS = 100_000_000


LONGEST = 315_576_000_000
"""The most seconds of a Duration (google/protobuf/duration.proto)."""


def penalty(value: str) -> str:
    """Return an entry with this error_utilization_penalty."""
    return weighted_round_robin(f"error_utilization_penalty {{ value: {value} }}")


# No entry follows, so a client that does not support the policy rejects the list as well.
BELOW_ZERO = tuple(
    ResourceVariant("A58-WRR-01", policies(penalty(value))) for value in ("-1", "-0.001")
)


@scenario("A58-WRR-01", "A37-VALID-29", "A46-NACK-03")
async def test_negative_penalty(world: World) -> None:
    """The client rejects a negative error_utilization_penalty."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(BELOW_ZERO)


@scenario("A58-WRR-01", "A37-VALID-29", "A46-NACK-03")
async def test_negative_penalty_below_wrr_locality(world: World) -> None:
    """The client rejects a negative error_utilization_penalty below WrrLocality."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(
        [ResourceVariant("A58-WRR-01", policies(in_localities(penalty("-1"))))]
    )


@scenario("A58-WRR-02", "A37-VALID-29")
async def test_short_periods(world: World) -> None:
    """The client accepts a weight_update_period below 100 ms."""
    live = await LiveCluster.start(world, "EDS")
    drawn = world.rng.randrange(1, NANOS_OF_100_MS)
    for period in ("", "nanos: 1000000", f"nanos: {drawn}"):
        entry = weighted_round_robin(f"weight_update_period {{ {period} }}")
        await live.check_accepted(ResourceVariant("A58-WRR-02", policies(entry)))


@scenario("A37-VALID-29")
@pytest.mark.parametrize(
    ("clause", "fields"),
    [
        *(case(f"negative-{time}", "A58-WRR-03", f"{time} {{ seconds: -1 }}") for time in TIMES),
        case("too-long", "A58-WRR-04", f"blackout_period {{ seconds: {LONGEST + 1} }}"),
        case("two-signs", "A58-WRR-04", "blackout_period { seconds: 1 nanos: -1 }"),
    ],
)
async def test_unspecified_durations(world: World, clause: str, fields: str) -> None:
    """The text does not say how a client handles such a time."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(
        ResourceVariant(clause, policies(weighted_round_robin(fields))), used=True
    )


@scenario("A58-WRR-05", seconds=0.5)
async def test_below_wrr_locality(world: World) -> None:
    """Below WrrLocality the client uses weighted_round_robin and skips the entries after it."""
    live = await LivePolicy.start(world)
    weighted = weighted_round_robin(f"enable_oob_load_report {{ value: false }} {A_SECOND}")
    entries = in_localities(weighted, BAD_RING)
    await live.check_accepted(ResourceVariant("A58-WRR-05", policies(entries)), RoundRobin())


TO_TELL = draws_needed(0.25, 0.5)
"""Number of calls that distinguishes a share of 1/4 from 1/2."""


SOON = "weight_update_period { nanos: 100000000 }"


BLACKOUT = "blackout_period { nanos: 1000000 }"


AT_ONCE = f"{BLACKOUT} {SOON}"
"""Weights count soon after the first report. Another row is about a blackout_period of zero."""


BUSY = BackendMetrics(application_utilization=0.75, rps_fractional=100)


IDLE = BackendMetrics(application_utilization=0.25, rps_fractional=100)


MOSTLY, SELDOM, HARDLY = (
    BackendMetrics(application_utilization=0.5, rps_fractional=rate) for rate in (400, 20, 1)
)
"""By these reports, each weight is 20 times the next one."""


LOOKS, MOST_LOOKS = 60, 180


TO_FAVOR = (20, 40)
"""Calls that tell an endpoint with most of the weight from one with little.

Their number is drawn: a client that deals out calls in a fixed order would otherwise be looked at
in the same place of that order each time.
"""


FEW = 4
"""Number of calls after which a client without a shortest period has used a new report."""


UNCHANGED_YET = (1, 2)
"""The least share of looks that find old weights: a look takes at most half of the time between two
updates of the weights."""


BASES = (20, 200)


STEPS = (1, 3, 9)


AROUND = (0.8, 1.25)


UTILIZATIONS = (0.1, 0.9)


MILLION = 1_000_000


LONG_EXPIRATION = 14
"""Seconds. A client that expires weights after a constant time would take 7 s or more here, and
5 s or less where the period is 1 s."""


WELL_WITHIN = 0.5


EVENLY = ((1, 2), (1, 2))


QUARTER = ((1, 4), (3, 4))


def by_weights(fields: str, members: Sequence[Member]) -> XdsConfig:
    """Return a config of these endpoints under ClientSideWeightedRoundRobin with these fields."""
    locality = Locality(tuple(Endpoint(member.address) for member in members))
    served = one_cluster((locality,), policy=RoundRobin())
    weighted = ResourceVariant("", policies(in_localities(weighted_round_robin(fields))))
    return with_raw_clusters(served, weighted.of(served.cluster()))


async def serve(world: World, fields: str, *metrics: BackendMetrics) -> list[Member]:
    """Serve a cluster whose backends report these metrics; return once each got a request."""
    members = list(await world.endpoints(len(metrics)))
    for member, reported in zip(members, metrics, strict=True):
        member.set_metrics(reported)
    addresses = tuple(member.address for member in members)
    await world.serve(by_weights(fields, members))
    calls = partial(world.call, world.sessions(8))
    await world.rounds.require(EachServesSome(addresses), calls, why="all of them are reachable")
    return members


async def check(
    world: World, clause: str, members: list[Member], shares: Sequence[tuple[int, int]]
) -> None:
    """Check the shares of requests once the client had time to read the reports."""
    addresses = [member.address for member in members]
    expected = Proportions(dict(zip(addresses, shares, strict=True)))
    make_calls = partial(world.call, world.sessions(TO_TELL))
    calls = await world.rounds.eventually(expected, make_calls, within=timing.EVENT)
    await world.check(clause, calls, expected)


@scenario(seconds=1)
@pytest.mark.parametrize(
    ("clause", "fields", "quarter", "rest"),
    [
        case("utilization", "A58-LOAD-01", AT_ONCE, BUSY, IDLE),
        case(
            "cpu-utilization",
            "A58-LOAD-01",
            AT_ONCE,
            BackendMetrics(cpu_utilization=0.75, rps_fractional=100),
            BackendMetrics(cpu_utilization=0.25, rps_fractional=100),
        ),
        case(
            "rate",
            "A58-LOAD-01",
            AT_ONCE,
            BackendMetrics(application_utilization=0.5, rps_fractional=100),
            BackendMetrics(application_utilization=0.5, rps_fractional=300),
        ),
        case(
            # By the utilization that is left, both would have about the same weight.
            "rate-and-utilization",
            "A58-LOAD-01",
            AT_ONCE,
            BackendMetrics(application_utilization=0.5, rps_fractional=100),
            BackendMetrics(application_utilization=0.9, rps_fractional=540),
        ),
        case(
            "errors",
            "A58-LOAD-03",
            f"error_utilization_penalty {{ value: 8 }} {AT_ONCE}",
            BackendMetrics(application_utilization=0.25, rps_fractional=100, eps=6.25),
            BackendMetrics(application_utilization=0.25, rps_fractional=100),
        ),
        case("no-blackout", "A58-LOAD-06", f"blackout_period {{}} {SOON}", BUSY, IDLE),
        case(
            "no-penalty",
            "A58-LOAD-06",
            f"error_utilization_penalty {{}} {AT_ONCE}",
            BUSY,
            BackendMetrics(application_utilization=0.25, rps_fractional=100, eps=50),
        ),
    ],
)
async def test_weights(
    world: World, clause: str, fields: str, quarter: BackendMetrics, rest: BackendMetrics
) -> None:
    """One of two backends has a third of the other's weight."""
    members = await serve(world, fields, quarter, rest)
    await check(world, clause, members, QUARTER)


@scenario("A58-LOAD-01", seconds=1)
async def test_drawn_weights(world: World) -> None:
    """Each of three backends has a weight of about a third of the next one's."""
    base = world.rng.uniform(*BASES)
    weights = [base * step * world.rng.uniform(*AROUND) for step in STEPS]
    world.rng.shuffle(weights)
    reports = []
    for weight in weights:
        utilization = round(world.rng.uniform(*UTILIZATIONS), 3)
        rate = weight * utilization
        reports.append(BackendMetrics(application_utilization=utilization, rps_fractional=rate))
    members = await serve(world, AT_ONCE, *reports)
    exact = [round(MILLION * weight / sum(weights)) for weight in weights]
    await check(world, "A58-LOAD-01", members, tuple((share, sum(exact)) for share in exact))


@scenario("A58-LOAD-02", seconds=1)
async def test_two_utilizations(world: World) -> None:
    """By each utilization alone, another backend has a quarter."""
    both = BackendMetrics(application_utilization=0.75, cpu_utilization=0.25, rps_fractional=100)
    opposite = BackendMetrics(
        application_utilization=0.25, cpu_utilization=0.75, rps_fractional=100
    )
    members = await serve(world, AT_ONCE, both, opposite)
    first, second = [member.address for member in members]
    by_application = Proportions({first: (1, 4), second: (3, 4)})
    by_cpu = Proportions({first: (3, 4), second: (1, 4)})
    by = {"A58-2023": by_cpu, "A58": by_application}
    own = world.checks.own("A58-LOAD-02", by)
    make_calls = partial(world.call, world.sessions(TO_TELL))
    calls = await world.rounds.eventually(own, make_calls, within=timing.EVENT)
    await world.check("A58-LOAD-02", calls, by)


@scenario("A58-LOAD-04", seconds=3, waits=True)
async def test_blackout(world: World) -> None:
    """The weights of the same reports would be used without the blackout."""
    members = await serve(world, f"blackout_period {{ seconds: 3600 }} {SOON}", BUSY, IDLE)
    expected = Proportions({member.address: (1, 2) for member in members})
    calls = await world.call(world.sessions(TO_TELL))
    for _ in range(3):
        await world.attempts.quiet_from_now(*members, why="no connection is lost", seconds=0.5)
        calls = await world.call(world.sessions(TO_TELL))
        await world.check("A58-LOAD-04", calls, expected)


@scenario("A58-LOAD-05", seconds=4.5, waits=True)
async def test_pause(world: World) -> None:
    """A weight is still used after a pause that is longer than the blackout_period."""
    members = await serve(world, f"blackout_period {{ seconds: 1 }} {SOON}", BUSY, IDLE)
    await check(world, "A58-LOAD-05", members, QUARTER)
    await world.attempts.quiet_from_now(*members, why="no request is made", seconds=2)
    calls = await world.call(world.sessions(TO_TELL))
    expected = Proportions({members[0].address: (1, 4), members[1].address: (3, 4)})
    await world.check("A58-LOAD-05", calls, expected)


@scenario("A58-LOAD-05", seconds=4, waits=True)
async def test_expiration(world: World) -> None:
    """The backends stop to report load, although requests reach them."""
    expiration = "weight_expiration_period { seconds: 1 }"
    members = await serve(world, f"{AT_ONCE} {expiration}", BUSY, IDLE)
    await check(world, "A58-LOAD-05", members, QUARTER)
    for member in members:
        member.set_metrics(None)
    await check(world, "A58-LOAD-05", members, EVENLY)


@scenario("A58-LOAD-05", seconds=8, waits=True)
async def test_long_expiration(world: World) -> None:
    """A weight is still used while half of a weight_expiration_period of 14 s has not passed."""
    expiration = f"weight_expiration_period {{ seconds: {LONG_EXPIRATION} }}"
    members = await serve(world, f"{AT_ONCE} {expiration}", BUSY, IDLE)
    await check(world, "A58-LOAD-05", members, QUARTER)
    for member in members:
        member.set_metrics(None)
    stopped = world.now
    await world.attempts.quiet_from_now(
        *members, why="no request is made", seconds=WELL_WITHIN * LONG_EXPIRATION
    )
    calls = await world.call(world.sessions(TO_TELL))
    if world.now - stopped >= LONG_EXPIRATION:
        raise SuiteTimeout("the calls came after the weight_expiration_period")
    shares = dict(zip((member.address for member in members), QUARTER, strict=True))
    await world.check("A58-LOAD-05", calls, Proportions(shares))


@scenario("A58-LOAD-01", "A58-WRR-07", seconds=9, waits=True)
async def test_short_update_period(world: World) -> None:
    """The client does not use new weights before 100 ms have passed since the last update.

    Time and again, the backend with most requests begins to report a low rate. The last of the next
    few calls mostly follows the weights before that.
    """
    nanoseconds = world.rng.randint(1, 1_000_000)
    fields = f"{BLACKOUT} weight_update_period {{ nanos: {nanoseconds} }}"
    changing, other = await serve(world, fields, MOSTLY, SELDOM)
    favored = MinimumShare(changing.address, (20, 21))
    world.checks.turn_to("A58-LOAD-01")
    many = partial(world.call, world.sessions(TO_TELL))
    await world.rounds.require(favored, many, why=HIGHEST)
    await world.check("A58-LOAD-01", await many(), favored)
    world.checks.turn_to("A58-WRR-07")
    calls = await calls_after_low_rates(world, changing, other, favored)
    expected = MinimumShare(changing.address, UNCHANGED_YET)
    await world.check("A58-WRR-07", calls, expected)


HIGHEST = "it reports the highest rate"


async def calls_after_low_rates(
    world: World, changing: Member, other: Member, favored: MinimumShare
) -> Calls:
    """Return LOOKS calls, each the last of a few after the favored backend reports a low rate.

    A call counts if it comes within half of the shortest update period.

    Raises:
        SuiteTimeout: too few of them did.
    """
    seen: list[Call] = []
    for _ in range(MOST_LOOKS):
        changing.set_metrics(MOSTLY)
        calls = partial(world.call, world.sessions(world.rng.randint(*TO_FAVOR)))
        await world.rounds.require(favored, calls, why=HIGHEST)
        pause = world.rng.random() * timing.SHORTEST_UPDATE
        await world.attempts.quiet_from_now(other, why="an update of weights", seconds=pause)
        changing.set_metrics(HARDLY)
        began = world.now
        last = (await world.call(world.sessions(FEW), concurrency=1)).calls[-1]
        if world.now - began <= timing.SHORTEST_UPDATE / 2:
            seen.append(last)
        if len(seen) == LOOKS:
            return Calls(tuple(seen))
    raise SuiteTimeout(f"{FEW} calls took too long to fall between two updates of weights")


@scenario("A58-WRR-06", seconds=5, waits=True)
async def test_failed_endpoints(world: World) -> None:
    """Requests fail while all endpoints fail, and are served once an endpoint serves.

    One of three endpoints serves, then fails again, and then each of the others serves.
    """
    members = list(await world.endpoints(3, mode=Close()))
    await world.serve(by_weights(AT_ONCE, members))
    make_calls = partial(world.call, world.sessions(5))
    world.rng.shuffle(members)
    for serving in (members[:1], members[1:]):
        await fail(*members)
        calls = await world.eventually(Fails(), make_calls)
        await world.check("A58-WRR-06", calls, Fails())
        for member in serving:
            await member.set_mode(Serve())
        expected = AllServedBy(tuple(member.address for member in serving))
        calls = await world.eventually(expected, make_calls, within=timing.BACKOFFS)
        await world.check("A58-WRR-06", calls, expected)
