"""A53, A88: server features and resources that are deleted, rejected or never sent."""

from functools import partial
from typing import Any

import pytest

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import NoneServedBy, fits
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import (
    BEFORE_X,
    FAILS,
    ROOTS,
    TREES,
    UNAFFECTED_ROOT,
    Deployment,
    check_each,
    deploy,
    each_position,
    each_position_of,
    in_use,
    without_one,
)
from conformance.scenarios.helpers.resource_timeout import TWICE_THE_TIME, check_time, started
from conformance.scenarios.helpers.routing import calls_to
from conformance.scenarios.helpers.updates import require_rejected, require_subscribed
from conformance.world import PendingCalls, World
from conformance.xds_config.bootstrap import (
    FAILS_ON_DATA,
    KEEPS_DELETED,
    VARIABLE,
    WAITS_LONGER,
    bootstrap,
    with_features,
)
from conformance.xds_config.broken import (
    rejected_cluster,
    rejected_endpoints,
    with_clusters_changed,
    with_endpoints,
    without_resources,
)
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.trees import at_the_first, with_clusters
from fake_control_plane import Kind
from test_servers import Close

DIRECT = "direct"
"""A cluster to which a route leads."""


GONE = (*each_position("x"), DIRECT)


async def at_x(world: World) -> tuple[Deployment, tuple[str, ...]]:
    """Bring each tree into use at its leaf x; return the trees and the failed endpoints."""
    modes = dict.fromkeys(BEFORE_X, (Close(),))
    planted = await deploy(world, *TREES, direct=(UNAFFECTED_ROOT, DIRECT), modes=modes)
    failed = planted.of(*BEFORE_X)
    await in_use(world, planted.served, *ROOTS, DIRECT, UNAFFECTED_ROOT, failed=failed)
    return planted, failed


async def moved(world: World, served: XdsConfig, *names: str) -> XdsConfig:
    """Return the config with new endpoints and new EDS service names for these Clusters."""
    places = [with_endpoints(address) for address in await world.addresses(len(names))]
    return with_clusters(
        served,
        *(
            place(served.get_cluster(name)).known_as(f"other endpoints of {name}")
            for name, place in zip(names, places, strict=True)
        ),
    )


@scenario("A53-DEL-01", "A53-DEL-02", bootstrap=with_features(KEEPS_DELETED))
async def test_deletion_ignored(world: World) -> None:
    """With ignore_resource_deletion the client continues to use a deleted Cluster.

    After the deletion another Cluster changes: once the change is in use, the client has processed
    the deletion.
    """
    planted, failed = await at_x(world)
    await world.control.delete(Kind.CLUSTER, *GONE)
    later = await moved(world, planted.served, UNAFFECTED_ROOT)
    await in_use(world, later, UNAFFECTED_ROOT)
    await check_each(world, "A53-DEL-01", later, *ROOTS, DIRECT, failed=failed, lasts=True)
    again = await moved(world, later, *GONE)
    await world.serve(again, unheard=True)
    await check_each(world, "A53-DEL-02", again, *ROOTS, DIRECT, failed=failed)


NOT_UNDERSTOOD = ("feature_of_another_time", 7, {"name": "feature"}, ["feature"], None)


@scenario("A53-DEL-05")
async def test_features_not_understood(world: World) -> None:
    """The client ignores entries of server_features that it does not understand.

    A second process has that bootstrap, so that a client that cannot read it is seen to fail. The
    feature after those entries makes the client keep a deleted Cluster.
    """
    planted = await deploy(world, direct=(UNAFFECTED_ROOT, DIRECT))
    await in_use(world, planted.served, DIRECT, UNAFFECTED_ROOT)
    features = with_features(*NOT_UNDERSTOOD, KEEPS_DELETED)
    channel = await world.channels.open_in_new_process(
        **{VARIABLE: bootstrap(world.plane.address, features)}
    )

    async def make_calls(root: str) -> Calls:
        return await world.call([{CLUSTER_HEADER: root}] * 3, channel=channel)

    expected = at_the_first(planted.served, DIRECT)
    calls = await world.eventually(expected, partial(make_calls, DIRECT))
    await world.check("A53-DEL-05", calls, expected)
    if not fits(expected, calls):
        return
    await world.control.delete(Kind.CLUSTER, DIRECT)
    later = await moved(world, planted.served, UNAFFECTED_ROOT)
    await world.serve(later, unheard=True)
    await world.rounds.require(
        at_the_first(later, UNAFFECTED_ROOT),
        partial(make_calls, UNAFFECTED_ROOT),
        why="a response after the deletion is in use",
    )
    await world.check("A53-DEL-05", await make_calls(DIRECT), expected)


def by(clause: str, *features: str) -> Any:
    """Return a row of the table whose control plane has these server features."""
    marks = scenario(clause, bootstrap=with_features(*features))
    return pytest.param(clause, id="+".join(features), marks=marks)


@scenario()
@pytest.mark.parametrize(
    "clause",
    [
        by("A88-DATA-01", FAILS_ON_DATA),
        by("A88-DATA-04", KEEPS_DELETED, FAILS_ON_DATA, KEEPS_DELETED),
    ],
)
async def test_deletion_applied(world: World, clause: str) -> None:
    """With fail_on_data_errors the client does not use a deleted Cluster.

    The tree behaves as if the Cluster had never been sent.
    """
    planted, failed = await at_x(world)
    lacks = without_resources(planted.served, Kind.CLUSTER, *GONE)
    await world.serve(lacks)
    await world.control.delete(Kind.CLUSTER, *GONE)
    expected = {
        root: world.checks.own("A37-TROUBLE-01", without_one(lacks, root, failed))
        for root in (*ROOTS, DIRECT)
    }
    for root, calls in (await each_position_of(world, expected, lasts=True)).items():
        await world.check(clause, calls, expected[root])


@scenario("A88-DATA-02", bootstrap=with_features(FAILS_ON_DATA))
async def test_rejected_cluster(world: World) -> None:
    """With fail_on_data_errors the client does not use a Cluster whose update it rejected.

    The text does not say whether a rejected leaf is skipped or fails its tree.
    """
    planted = await deploy(world, {"m": "x b"}, direct=(DIRECT,))
    well, names, roots = planted.served, ("x", DIRECT), ("m", DIRECT)
    await in_use(world, well, *roots)
    bad = (rejected_cluster(well.get_cluster(name)) for name in names)
    await require_rejected(world, Kind.CLUSTER, *bad)
    lacks = without_resources(well, Kind.CLUSTER, *names)
    await check_each(world, "A88-DATA-02", lacks, DIRECT, lasts=True)
    elsewhere = NoneServedBy(planted.of("x"))
    calls = await world.eventually(elsewhere, partial(calls_to, world, "m"))
    await world.check("A88-DATA-02", calls, FAILS if fits(FAILS, calls) else elsewhere)
    mended = await moved(world, well, *names)
    await world.serve(mended, unheard=True)
    await check_each(world, "A88-DATA-02", mended, *roots)


@scenario("A88-DATA-03", bootstrap=with_features(FAILS_ON_DATA))
async def test_rejected_endpoints(world: World) -> None:
    """With fail_on_data_errors the client does not use endpoints whose update it rejected."""
    well = (await deploy(world, {"m": "x b"}, direct=(DIRECT,))).served
    names, roots = ("x", DIRECT), ("m", DIRECT)
    await in_use(world, well, *roots)
    bad = (rejected_endpoints(well.get_cluster(name)) for name in names)
    await require_rejected(world, Kind.ENDPOINTS, *bad)
    lacks = without_resources(well, Kind.ENDPOINTS, *names)
    await check_each(world, "A88-DATA-03", lacks, *roots, lasts=True)
    mended = well
    for name, address in zip(names, await world.addresses(2), strict=True):
        mended = with_clusters_changed(mended, with_endpoints(address), name)
    await world.serve(mended, unheard=True)
    await check_each(world, "A88-DATA-03", mended, *roots)


@scenario(
    *("A53-DEL-03", "A88-TIMER-01"),
    seconds=16.5,
    absence=True,
    bootstrap=with_features(KEEPS_DELETED, WAITS_LONGER),
)
async def test_missing_cluster(world: World) -> None:
    """With resource_timer_is_transient_error, a Cluster that does not come is missing after 30 s.

    The other server feature, ignore_resource_deletion, has no effect on it.
    """
    planted = await deploy(world, direct=(DIRECT,))
    lacks = without_resources(planted.served, Kind.CLUSTER, DIRECT)
    await world.serve(lacks)
    calls = await started(world, DIRECT, deadline=timing.AFTER_LONG_ABSENCE)
    await require_subscribed(world, Kind.CLUSTER, lacks, within=timing.NO_SUCH_RESOURCE)
    await world.check("A53-DEL-03", await calls.over(), at_the_first(lacks, DIRECT))
    await check_long_time(world, Kind.CLUSTER, DIRECT, calls)


@scenario("A88-TIMER-01", seconds=31.5, absence=True, bootstrap=with_features(WAITS_LONGER))
async def test_missing_endpoints(world: World) -> None:
    """With resource_timer_is_transient_error, endpoints that do not come are missing after 30 s."""
    planted = await deploy(world, {"m": "x b"})
    lacks = without_resources(planted.served, Kind.ENDPOINTS, "x")
    await world.serve(lacks)
    calls = await started(world, "m", deadline=timing.AFTER_LONG_ABSENCE)
    await require_subscribed(world, Kind.ENDPOINTS, lacks, within=timing.NO_SUCH_RESOURCE)
    await calls.over()
    await check_long_time(world, Kind.ENDPOINTS, "x", calls)


async def check_long_time(world: World, kind: Kind, name: str, calls: PendingCalls) -> None:
    """Check how long requests wait for a resource that is never sent."""
    time = TWICE_THE_TIME
    await check_time(world, kind, (name,), (calls,), clause="A88-TIMER-01", time=time)
