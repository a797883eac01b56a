"""A37, Logical DNS: updates to invalid or unresolvable names."""

from collections.abc import Collection, Mapping
from functools import partial

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import AckedOrNacked, AllServedBy, Expectation, Fails
from conformance.scenarios.helpers.aggregates import FAILS, Deployment, deploy, in_use
from conformance.scenarios.helpers.dns import by_host_name, dns_records, host, with_host_names
from conformance.scenarios.helpers.routing import calls_to
from conformance.world import World
from conformance.xds_config.clusters import Cluster, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.trees import at_the_first, with_clusters
from fake_control_plane import Kind
from test_servers import Answer, BackendEndpoint, NameRecords, NoSuchName, ServerFailure, Silence

ALONE = "alone"


TOO_LONG = ".".join(["a" * 49] * 4 + ["b" * 54])
"""A name of 254 characters, one above the limit; its labels are valid (RFC 1035, 2.3.4)."""


@scenario("A37-DNS-23", "A37-VALID-29", seconds=2, waits=True)
@pytest.mark.parametrize(
    ("clause", "name", "at"),
    [
        case("space", "A37-DNS-16", "a space.xdspec.test", "127.0.0.2"),
        case("too-long", "A37-DNS-20", TOO_LONG, "127.0.0.2"),
        case("underscore", "A37-DNS-21", "under_score.xdspec.test", "127.0.0.2"),
        case("ipv6", "A37-DNS-22", "::1", "::1"),
    ],
)
async def test_invalid_name(world: World, clause: str, name: str, at: str) -> None:
    """A leaf with an invalid name does not affect the other leaves.

    An update sets the name in the cluster of a route and in the second leaf of a tree. Then the
    first leaf fails, and at the end another update sets a valid name.
    """
    (member,) = await world.registry.of_one_port(at)
    await world.names.begin({name: NameRecords((at,))})
    planted = await deploy(world, {"m": "x y z"}, direct=(ALONE,), by_dns=("y", ALONE))
    before = planted.served
    await in_use(world, before, "m", ALONE)
    await check_update_to(
        world, clause, before, LogicalDns(f"{name}:{member.port}", (member.address,))
    )
    await check_use(world, "A37-DNS-23", before, "m")
    failed = await check_after_first_leaf(world, planted, member)
    world.checks.turn_to("A37-VALID-29")
    (address,) = await world.addresses(1)
    good = with_clusters(before, *named_clusters(before, LogicalDns(address)))
    await world.serve(good)
    await check_use(world, "A37-VALID-29", good, ALONE)
    if failed:
        await check_use(world, "A37-VALID-29", good, "m", failed=failed)


async def check_update_to(
    world: World, clause: str, before: XdsConfig, invalid: LogicalDns
) -> None:
    """Update the clusters under test to an invalid name; check the answer and the cluster's use."""
    world.checks.turn_to(clause)
    variant = [cluster.resource() for cluster in named_clusters(before, invalid)]
    answer = await world.control.offer(Kind.CLUSTER, *variant)
    if not answer.acked:
        await world.check(clause, answer, {"refused": AckedOrNacked(acked=False)})
        return
    choices: dict[str, Expectation] = {
        "not served": Fails(),
        "served": AllServedBy(invalid.resolved),
    }
    calls = partial(calls_to, world, ALONE)
    seen = await world.rounds.eventually_any(choices.values(), calls, within=timing.ATTEMPT)
    await world.check(clause, seen, {**choices, "as before": at_the_first(before, ALONE)})


async def check_after_first_leaf(
    world: World, planted: Deployment, member: BackendEndpoint
) -> tuple[str, ...]:
    """Make the first leaf fail, and check that another one serves; return the failed addresses.

    Envoy does not use the next leaf, because it fails over by health status only. There, no leaf
    fails.
    """
    if not world.checks.has("A37-FAILOVER-05"):
        return ()
    failed = await planted.lose("x")
    rest = AllServedBy((member.address, *planted.of("y", "z")))
    calls = partial(calls_to, world, "m")
    await world.check("A37-DNS-23", await world.eventually(rest, calls), rest)
    return failed


NEW = host("new")


CHANGED = ("x", "y", ALONE)
"""The clusters that get the new name: first leaf, middle leaf, cluster of a route."""


@scenario("A37-DNS-26", "A37-DNS-27", "A37-VALID-29", seconds=6, waits=True)
@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(ServerFailure(), id="failing"),
        pytest.param(NoSuchName(), id="gone"),
        pytest.param(Silence(), id="silent"),
    ],
)
async def test_changed_name(world: World, trouble: Answer) -> None:
    """A leaf whose new name does not resolve has no endpoints, so the client uses the next leaf.

    An update sets the name in the first leaf of a tree, in the middle leaf of another, and in the
    cluster of a route; another update restores the old name. The old names keep resolving, and
    their endpoints serve.
    """
    trees = {"m": "x c"}, {"n": "b y d"}
    planted = with_host_names(await deploy(world, *trees, direct=(ALONE,)), *CHANGED)
    before = planted.served
    await world.names.begin({**dns_records(planted, *CHANGED), NEW: trouble})
    await in_use(world, before, "m", "n", ALONE)
    await change_names(world, planted)
    await check_soon(world, "A37-DNS-26", "m", at_the_first(before, "m", planted.of("x")))
    if world.checks.has("A37-FAILOVER-05"):  # Envoy stays at a leaf whose connections fail.
        failed = (*planted.of("y"), *await planted.lose("b"))
        await check_soon(world, "A37-DNS-26", "n", at_the_first(before, "n", failed))
    kept = at_the_first(before, ALONE)
    await check_soon(world, "A37-DNS-27", ALONE, {"A37": kept, "A74": FAILS, "envoy": FAILS})
    world.checks.turn_to("A37-VALID-29")
    await world.serve(before)
    for root in ("m", ALONE):
        await check_use(world, "A37-VALID-29", before, root)


async def change_names(world: World, planted: Deployment) -> None:
    """Set the new name in the changed clusters, and wait until the client resolves it."""
    beyond = world.names.mark
    moved = (
        replace(
            planted.served.get_cluster(name),
            discovery=by_host_name("new", *planted.members[name]),
        )
        for name in CHANGED
    )
    await world.serve(with_clusters(planted.served, *moved))
    await world.names.asked_again(NEW, beyond=beyond, within=timing.ATTEMPT)


async def check_soon(
    world: World, clause: str, root: str, expected: Expectation | Mapping[str, Expectation]
) -> None:
    """Check that requests to a root are as expected within the time of an attempt."""
    own = world.checks.own(clause, expected) if isinstance(expected, Mapping) else expected
    calls = partial(calls_to, world, root)
    await world.check(clause, await world.eventually(own, calls, within=timing.ATTEMPT), expected)


def named_clusters(served: XdsConfig, to: LogicalDns) -> list[Cluster]:
    """Return the clusters under test with this DNS name."""
    return [replace(served.get_cluster(name), discovery=to) for name in ("y", ALONE)]


async def check_use(
    world: World, clause: str, served: XdsConfig, root: str, failed: Collection[str] = ()
) -> None:
    """Check that requests to a root soon follow the config, and continue to."""
    expected, calls = at_the_first(served, root, failed), partial(calls_to, world, root)
    await world.check(clause, await world.rounds.eventually_stable(expected, calls), expected)
