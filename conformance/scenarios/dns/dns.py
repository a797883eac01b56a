"""A37, Logical DNS: the name that the client resolves, and how answers affect requests."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Final

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import (
    AllServedBy,
    EndsWith,
    ErrorMentions,
    Expectation,
    NeverResolves,
    NoAttempts,
    NoneServedBy,
    OneEndpoint,
    Resolves,
    fits,
)
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import (
    FAILS,
    ROOTS,
    TREES,
    aggregate_config,
    check_each,
    deploy,
    each_position,
    in_use,
    leaf,
    lose_before_x,
)
from conformance.scenarios.helpers.dns import (
    by_host_name,
    calls_after_new_records,
    dns_records,
    host,
    with_host_names,
)
from conformance.scenarios.helpers.live_policies import BackgroundTraffic
from conformance.scenarios.helpers.load_reports import balanced, reported
from conformance.scenarios.helpers.localities import fail
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import ENOUGH_TO_DIFFER, World
from conformance.xds_config.clusters import Aggregate, Cluster, LogicalDns
from conformance.xds_config.config import XdsConfig, with_raw_clusters
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, subscriptions_of
from conformance.xds_config.variants import ResourceVariant
from test_servers import Answer, NameRecords, NoSuchName, ServerFailure, Silence
from test_servers import BackendEndpoint as Member

BACKGROUND_REQUESTS: Final = 100
"""Requests during an update."""


DECOY: Final = "decoy.xdspec.test"
"""A name in every field whose name the client must not resolve."""


NO_TIME: Final = (
    'grpc_config=[{"serviceConfig": {"methodConfig": [{"name": [{}], "timeout": "0s"}]}}]'
)


MORE_NAMES: Final = ResourceVariant(
    "A37-DNS-02",
    f"eds_cluster_config {{ eds_config {{ ads {{}} }} service_name: '{DECOY}' }} "
    f"load_assignment {{ cluster_name: '{DECOY}' }}",
)


@scenario("A37-DNS-01", "A37-DNS-05", "A37-DNS-06", seconds=1)
async def test_name_and_port(world: World) -> None:
    """The client resolves the address of the endpoint in load_assignment, by address queries only.

    The name of the Cluster, and DNS records of other types, lead to another endpoint or to a
    timeout of zero.
    """
    right, wrong = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    asked = host("right")
    await world.names.begin({asked: NameRecords((right.host,)), **misleading_records(asked, wrong)})
    served = aggregate_config((DECOY,), (leaf(DECOY, discovery=by_host_name("right", right)),))
    await world.serve(served)
    calls = await calls_to(world, DECOY, 10, deadline=timing.COLD_CALL)
    for clause in ("A37-DNS-01", "A37-DNS-05", "A37-DNS-06"):
        await world.check(clause, calls, AllServedBy((right.address,)))
    why = "the client resolves the name of the Cluster and uses its address"
    await world.check("A37-DNS-01", await world.attempts.quiet(wrong, why=why), NoAttempts())
    seen = world.names.asked()
    await world.check("A37-DNS-01", seen, Resolves((asked,)))
    await world.check("A37-DNS-05", seen, NeverResolves("TXT"))
    await world.check("A37-DNS-06", seen, NeverResolves("SRV"))


def misleading_records(name: str, wrong: Member) -> dict[str, Answer]:
    """Return records that lead to a wrong endpoint, and a TXT record that sets a timeout of 0."""
    return {
        DECOY: NameRecords((wrong.host,)),
        f"_grpc_config.{name}": NameRecords(texts=(NO_TIME,)),
        f"_grpclb._tcp.{name}": NameRecords(services=((wrong.port, DECOY),)),
    }


@scenario("A37-DNS-02", seconds=1)
async def test_subscribes_to_no_endpoints(world: World) -> None:
    """The client does not subscribe to endpoints of a LOGICAL_DNS cluster with a service_name.

    The service_name and the name of the load_assignment lead to another endpoint. Then updates make
    it a cluster of EDS, and one of LOGICAL_DNS again. Another cluster remains one of EDS.
    """
    right, wrong = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    names = {host("m"): NameRecords((right.host,)), DECOY: NameRecords((wrong.host,))}
    await world.names.begin(names)
    beside = leaf("beside", await world.endpoints(1))
    targets = (leaf("m", discovery=by_host_name("m", right)), leaf("m", (wrong,)))
    by_dns, by_eds = (aggregate_config(("m", "beside"), (target, beside)) for target in targets)
    variant = with_raw_clusters(by_dns, MORE_NAMES.of(by_dns.get_cluster("m").resource()))
    await world.serve(variant)
    calls = await calls_to(world, "m", 10, deadline=timing.COLD_CALL)
    await world.check("A37-DNS-02", calls, AllServedBy((right.address,)))
    await world.check("A37-DNS-02", world.names.asked(), Resolves((host("m"),)))
    expected = subscriptions_of(by_dns, "ENDPOINTS", ever=True)
    await world.check("A37-DNS-02", await world.control.asked_until(expected), expected)
    for served, member in ((by_eds, wrong), (variant, right)):
        await world.serve(served)
        at_it, calls_to_it = AllServedBy((member.address,)), partial(calls_to, world, "m")
        await world.rounds.require(at_it, calls_to_it, why="an update changed the type of m")
    expected = subscriptions_of(by_dns, "ENDPOINTS")
    await world.check("A37-DNS-02", await world.control.asked_until(expected), expected)


ALONE: Final = "alone"


TROUBLES: Final = {
    "failing": (ServerFailure(), "A37-DNS-18"),
    "silent": (Silence(), "A37-DNS-18"),
    "gone": (NoSuchName(), "A37-DNS-19"),
}


@pytest.mark.parametrize(
    ("trouble", "later"),
    [
        pytest.param(trouble, later, id=name, marks=scenario(later))
        for name, (trouble, later) in TROUBLES.items()
    ],
)
@scenario("A37-DNS-07", "A37-DNS-08", "A37-DNS-28", seconds=27, resolutions=True)
async def test_unresolved(world: World, trouble: Answer, later: str) -> None:
    """A name that does not resolve counts as a leaf without endpoints.

    The name belongs to a leaf in each position of a tree, and to a cluster of a route. At the end
    it resolves.
    """
    bad = (*each_position("x"), ALONE)
    planted = with_host_names(await deploy(world, *TREES, direct=(ALONE,)), *bad)
    served, failed, records = planted.served, planted.of(*bad), dns_records(planted, *bad)
    await world.names.begin(dict.fromkeys(records, trouble))
    await world.serve(served)
    calls = await calls_while_unresolved(world, *ROOTS, ALONE)
    for root in ("only-m", ALONE):
        await world.check("A37-DNS-08", calls[root], FAILS)
    for root in ("first-m", "middle-m", "last-m"):
        await world.check("A37-DNS-07", calls[root], at_the_first(served, root, failed))
    failed = (*failed, *await lose_before_x(world, planted))
    await check_each(world, "A37-DNS-07", served, "middle-m", failed=failed)
    mentions = ErrorMentions(host(ALONE)), ErrorMentions(host(ALONE), is_told=False)
    by_name = dict(zip(("name told", "name not told"), mentions, strict=True))
    await world.check("A37-DNS-28", calls[ALONE], by_name)
    expected = at_the_first(served, ALONE)
    seen = await calls_once_resolved(world, records, calls[ALONE], expected)
    await world.check(later, seen, {"served": expected, "not served": FAILS})


async def calls_while_unresolved(world: World, *roots: str) -> dict[str, Calls]:
    """Make calls to all roots at once, which wait until resolution fails; return them by root."""
    calls = (calls_to(world, root, deadline=timing.UNRESOLVED) for root in roots)
    return dict(zip(roots, await asyncio.gather(*calls), strict=True))


async def calls_once_resolved(
    world: World, records: Mapping[str, Answer], failed: Calls, expected: Expectation
) -> Calls:
    """Set the records of all names; return calls to the cluster of a route.

    If its requests waited while the name did not resolve, these `failed` calls are returned: a
    client that lets them wait is not judged by what comes later.
    """
    beyond = world.names.mark
    for name, answer in records.items():
        world.names.set(name, answer)
    if not fits(FAILS, failed):
        return failed
    calls = partial(calls_to, world, ALONE)
    return await calls_after_new_records(world, host(ALONE), expected, calls, beyond=beyond)


@scenario("A37-DNS-12", needs=("metadata",), seconds=1)
async def test_changed_name(world: World) -> None:
    """If an update changes the name or the port of a LOGICAL_DNS cluster, the client uses the new.

    The first update changes the name, the second one the port. Routes lead to the cluster, and to
    an aggregate of it. No request fails during an update.
    """
    first, second = await world.registry.of_one_port("127.0.0.2", "127.0.0.3")
    (third,) = await world.registry.of_one_port("127.0.0.3")
    names = {host("a"): NameRecords((first.host,)), host("b"): NameRecords((third.host,))}
    await world.names.begin(names)
    steps = (by_host_name("a", first), by_host_name("b", second), by_host_name("b", third))
    roots, above = ("m", "above"), Cluster(name="above", discovery=Aggregate(("m",)))
    before, *after = (aggregate_config(roots, (leaf("m", discovery=step), above)) for step in steps)
    await in_use(world, before, *roots)
    for served in after:
        meanwhile = await BackgroundTraffic.start(world, background_requests(world, roots))
        await world.serve(served)
        for root in roots:
            expected = at_the_first(served, root)
            calls = await world.eventually(expected, partial(calls_to, world, root))
            await world.check("A37-DNS-12", calls, expected)
        await world.check("A37-DNS-12", await meanwhile.over(), EndsWith("OK"))


def background_requests(world: World, roots: Sequence[str]) -> list[dict[str, str]]:
    """Return the headers of requests that go to these roots in turn."""
    sessions = world.sessions(BACKGROUND_REQUESTS)
    return [
        {**session, CLUSTER_HEADER: root}
        for session, root in zip(sessions, cycle(roots), strict=False)
    ]


@scenario(seconds=3, waits=True)
@pytest.mark.parametrize(
    ("clause", "at", "is_truncated"),
    [case("ipv6", "A37-DNS-24", "::1", False), case("over-tcp", "A37-DNS-25", "127.0.0.2", True)],
)
async def test_answer_types(world: World, clause: str, at: str, is_truncated: bool) -> None:  # noqa: FBT001
    """The client uses an IPv6 address and a truncated answer, or not, by its resolver."""
    (member,) = await world.registry.of_one_port(at)
    await world.names.begin({host("m"): NameRecords((at,), is_truncated=is_truncated)})
    await world.serve(aggregate_config(("m",), (leaf("m", discovery=by_host_name("m", member)),)))
    choices: Mapping[str, Expectation] = {
        "served": AllServedBy((member.address,)),
        "not served": FAILS,
    }
    calls = partial(calls_to, world, "m", deadline=timing.UNRESOLVED)
    await world.check(clause, await world.rounds.eventually_any(choices.values(), calls), choices)


ADDRESSES: Final = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


OTHER_LOCALITY: Final = ResourceVariant(
    "A37-DNS-03",
    "locality { region: 'another' zone: 'one' sub_zone: 'than none' }",
    within="load_assignment.endpoints",
)


POLICIES: Final[Mapping[str, Policy]] = {"turns": RoundRobin(), "ring": RingHash()}


SEVERAL: Final = (*POLICIES, *(f"above-{name}" for name in POLICIES))
"""The clusters whose name has several addresses, and the aggregates above them."""


async def serve_several_addresses(world: World) -> tuple[XdsConfig, dict[str, Member]]:
    """Serve clusters whose name has several addresses, and aggregates of them.

    There is a cluster under each policy. Its load_assignment names a locality. Leaves and
    aggregates have lrs_server, because the text does not state which one applies.

    Returns:
        The config, and the endpoints by address.
    """
    await world.names.begin({host("several"): NameRecords(ADDRESSES)})
    members, leaves, above = dict[str, Member](), list[Cluster](), list[Cluster]()
    for name, policy in POLICIES.items():
        made = await world.registry.of_one_port(*ADDRESSES)
        members |= {endpoint.address: endpoint for endpoint in made}
        target = f"{host('several')}:{made[0].port}"
        discovery = LogicalDns(target, tuple(endpoint.address for endpoint in made))
        below = Cluster(name=name, discovery=discovery, policy=policy, is_reported=True)
        leaves.append(below)
        above.append(replace(below, name=f"above-{name}", discovery=Aggregate((name,))))
    served = aggregate_config(SEVERAL, (*leaves, *above))
    messages = (OTHER_LOCALITY.of(cluster.resource()) for cluster in leaves)
    await world.serve(with_raw_clusters(served, *messages))
    return served, members


@scenario("A37-DNS-04", seconds=1)
async def test_several_addresses(world: World) -> None:
    """The client uses one address of a name, and another one once that fails."""
    _, members = await serve_several_addresses(world)
    used = set[str]()
    for root in SEVERAL:
        calls = await calls_to(world, root, ENOUGH_TO_DIFFER, deadline=timing.COLD_CALL)
        await world.check("A37-DNS-04", calls, OneEndpoint())
        used |= {call.endpoint for call in calls if call.endpoint is not None}
    await fail(*(members[address] for address in used))
    others = NoneServedBy(tuple(used))
    for root in SEVERAL:
        calls = await world.eventually(others, partial(calls_to, world, root, ENOUGH_TO_DIFFER))
        await world.check("A37-DNS-04", calls, others)
        await world.check("A37-DNS-04", calls, OneEndpoint())


@scenario("A37-DNS-03", seconds=2.5, waits=True)
async def test_locality_of_several_addresses(world: World) -> None:
    """All addresses of a name belong to one locality, whose name is empty."""
    served, _ = await serve_several_addresses(world)
    requests = [{CLUSTER_HEADER: root} for root in SEVERAL * ENOUGH_TO_DIFFER]
    await world.require_served(requests, deadline=timing.COLD_CALL)
    expected = balanced(served)
    await world.check("A37-DNS-03", await reported(world, expected), expected)
