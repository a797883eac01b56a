"""A64 and A85: backend metrics (ORCA, in trailers) in load reports."""

from functools import partial

import pytest

from conformance.judging.declaration import case, scenario
from conformance.judging.expectations import EachServesSome, MetricsReported
from conformance.scenarios.helpers.load_reports import (
    ANOTHER,
    BEHAVIOR,
    NAMED,
    OTHER,
    balanced,
    begin,
    listing,
    mark,
    metrics,
    metrics_reported,
    reported,
    with_another,
    with_replaced,
)
from conformance.spec.oracles.backend_metrics import ALL_NAMED
from conformance.world import World
from conformance.xds_config.config import XdsConfig
from fake_control_plane import UTILIZATIONS

QUEUE, HITS = "named_metrics.queue", "named_metrics.hits"


UNKNOWN = ("xdspec_nobody_has_this", "named_metrics", "queue", "request_cost.queue")
"""Entries of a list that match no ORCA field and no named metric."""


def metrics_by_edition(served: XdsConfig, *at: str) -> dict[str, MetricsReported]:
    """Return the report of all named metrics: by A64 without a list, by A85 with a wildcard."""
    return {
        "A64": metrics_reported(served, None, at=at),
        "A85": metrics_reported(served, (ALL_NAMED,), at=at),
    }


@scenario(
    "A64-METRIC-01",
    "A64-METRIC-02",
    "A64-METRIC-03",
    "A64-METRIC-04",
    seconds=3.5,
    waits=True,
)
async def test_named_metrics(world: World) -> None:
    """The client reports the sums of named metrics that backends send, each value once."""
    served = await begin(world, ALL_NAMED)
    served = await with_another(world, served)
    await world.serve(served)
    there, make_calls = EachServesSome(served.addresses()), partial(world.call, world.sessions(20))
    await world.rounds.require(there, make_calls, why="an update lists one more backend")
    by = metrics_by_edition(served, NAMED, ANOTHER)
    named = world.checks.own("A64-METRIC-01", by)
    seen = await metrics(world, served, named)
    await world.check("A64-METRIC-01", seen, by)
    await world.check("A64-METRIC-02", seen, metrics_by_edition(served, OTHER))
    await world.require_served(world.sessions(20))
    await world.check("A64-METRIC-03", await metrics(world, served, named), named)
    before = mark(world)
    await world.call([{BEHAVIOR: "error-code-13"}] * 20)
    seen = await metrics(world, served, named, since=before)
    await world.check("A64-METRIC-04", seen, named)


@scenario(seconds=1.5, waits=True)
@pytest.mark.parametrize(
    ("clause", "listed", "at"),
    [
        case("a-name", "A85-LIST-01", (QUEUE,), NAMED),
        case("fields", "A85-LIST-02", UTILIZATIONS, OTHER),
        case("nobodys", "A85-LIST-03", (*UNKNOWN, QUEUE), NAMED),
        case("nothing", "A85-LIST-04", (), NAMED),
    ],
)
async def test_listed_metrics(world: World, clause: str, listed: tuple[str, ...], at: str) -> None:
    """The client reports only the metrics that lrs_report_endpoint_metrics lists."""
    served = await begin(world, *listed)
    expected = metrics_reported(served, listed, at=(at,))
    await world.check(clause, await metrics(world, served, expected), expected)


@scenario("A85-LIST-05", seconds=3.5, waits=True)
async def test_changed_metric_list_in_known_locality(world: World) -> None:
    """A new list of metrics applies to an endpoint that replaces those of a known locality."""
    served = await begin(world, QUEUE)
    await metrics(world, served, metrics_reported(served, (QUEUE,)))
    after = listing(await with_replaced(world, served), HITS)
    await world.serve(after)
    every = EachServesSome(after.addresses())
    make_calls = partial(world.call, world.sessions(20))
    await world.rounds.require(every, make_calls, why="the update lists these endpoints alone")
    both = after.with_localities(*served.get_cluster().localities, *after.get_cluster().localities)
    await reported(world, balanced(both))
    before = mark(world)
    await world.require_served(world.sessions(40))
    new = metrics_reported(both, (HITS,), at=(NAMED,))
    seen = await metrics(world, both, new, since=before)
    await world.check("A85-LIST-05", seen, new)


@scenario("A85-LIST-05", "A85-LIST-06", seconds=3.5, waits=True)
async def test_changed_metric_list(world: World) -> None:
    """A new list of metrics applies to endpoints that come with or after the update.

    A new endpoint shows that the client has applied the update, because it comes into use only
    after the Cluster.
    """
    served = await begin(world, QUEUE)
    await metrics(world, served, metrics_reported(served, (QUEUE,)))
    after = listing(await with_another(world, served), HITS)
    await world.serve(after)
    there = EachServesSome(after.addresses()[-1:])
    make_calls = partial(world.call, world.sessions(10))
    await world.rounds.require(there, make_calls, why="the update lists the new endpoint")
    await reported(world, balanced(after))
    before = mark(world)
    await world.require_served(world.sessions(40))
    new = metrics_reported(after, (HITS,), at=(ANOTHER,))
    seen = await metrics(world, after, new, since=before)
    await world.check("A85-LIST-05", seen, new)
    choices = {
        "all requests": metrics_reported(after, (HITS,), at=(NAMED,)),
        "at endpoints that are new": metrics_reported(after, (QUEUE,), at=(NAMED,)),
        "no list is read": metrics_reported(after, None, at=(NAMED,)),
    }
    await world.check("A85-LIST-06", seen, choices)
