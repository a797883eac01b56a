"""A46: the valid resources of a response that the client NACKs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.declaration import scenario
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    AnswerVersion,
    EndsWith,
    Expectation,
    NackHasDetail,
    NackNames,
    NackVersion,
)
from conformance.judging.observations import Answer
from conformance.scenarios.helpers.aggregates import aggregate_config, leaf
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.scenarios.helpers.updates import require_subscribed
from conformance.world import World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import CLUSTER_HEADER
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind, RawResource
from test_servers import BackendEndpoint

NO_EDS_CONFIG = ResourceVariant("", less="eds_cluster_config")


PLACES = {
    "first": ("good", "bad", "worse"),
    "between": ("bad", "good", "worse"),
    "last": ("bad", "worse", "good"),
}


async def updates(world: World, names: tuple[str, ...]) -> tuple[XdsConfig, XdsConfig]:
    """Return configs before and after an update that gives each cluster other endpoints."""
    members = await world.endpoints(2 * len(names))
    places = [leaf(f"place-{number}", (member,)) for number, member in enumerate(members)]
    clusters = [
        replace(place.known_as(place.name), name=name)
        for name, place in zip((*names, *names), places, strict=True)
    ]
    before, after = clusters[: len(names)], clusters[len(names) :]
    return aggregate_config(names, (*before, *places)), aggregate_config(names, (*after, *places))


async def reject_two(world: World, names: tuple[str, ...]) -> tuple[XdsConfig, XdsConfig, Answer]:
    """Update three Clusters in use, two to invalid ones; return both configs and the answer."""
    before, after = await updates(world, names)
    await world.serve(before)
    await world.require_served([{CLUSTER_HEADER: name} for name in names])
    good = [after.get_cluster(name).resource() for name in names]
    sent = [each if each.name == "good" else NO_EDS_CONFIG.of(each) for each in good]
    return before, after, await world.control.offer(Kind.CLUSTER, *sent)


async def check_follows(world: World, clause: str, served: XdsConfig, name: str) -> None:
    """Check that requests to a cluster soon reach its endpoints in this config."""
    expected = leads(served, name)
    calls = await world.eventually(expected, partial(calls_to, world, name))
    await world.check(clause, calls, expected)


@scenario("A46-NACK-01", "A46-NACK-03", "A46-NACK-06")
@pytest.mark.parametrize("names", [pytest.param(place, id=name) for name, place in PLACES.items()])
async def test_clusters(world: World, names: tuple[str, ...]) -> None:
    """If the client NACKs a response, it uses the valid Clusters in it, and keeps the others."""
    before, after, _ = await reject_two(world, names)
    await check_follows(world, "A46-NACK-01", after, "good")
    for name in ("bad", "worse"):
        await world.check("A46-NACK-03", await calls_to(world, name), leads(before, name))
    good = (after.get_cluster(name).resource() for name in names)
    mended = await world.control.offer(Kind.CLUSTER, *good)
    await world.check("A46-NACK-06", mended, AckedOrNacked(acked=True))
    for name in names:
        await check_follows(world, "A46-NACK-06", after, name)


@scenario("A46-NACK-04", "A46-NACK-05", "A46-NACK-07")
async def test_contents_of_nack(world: World) -> None:
    """A response with invalid Clusters is NACKed, with details, and no ACK follows.

    Then a new route makes the client subscribe to another Cluster.
    """
    before, _, answer = await reject_two(world, PLACES["between"])
    for expectation in (AckedOrNacked(acked=False), NackHasDetail()):
        await world.check("A46-NACK-04", answer, expectation)
    versions: dict[str, Expectation] = {
        "version accepted before": AnswerVersion(),
        "version of the response": NackVersion(),
    }
    await world.check("A46-NACK-07", answer, versions)
    bad = ("bad", "worse")
    choices = {"names each": NackNames(bad), "does not name each": NackNames(bad, has_all=False)}
    await world.check("A46-NACK-05", answer, choices)
    more = replace(before, routes=(*before.routes, route_to("place-0")))
    await world.control.offer(Kind.ROUTE, more.route_configuration())
    expected = AllServedBy(more.get_cluster("place-0").addresses())
    calls = partial(calls_to, world, "place-0")
    await world.rounds.require(expected, calls, why="the new route leads there")
    if answer.told != answer.version:  # Otherwise later requests may name it, too (A46-NACK-07).
        last = world.control.last_word(answer)
        await world.check("A46-NACK-04", last, AckedOrNacked(acked=False))


def leads(served: XdsConfig, name: str) -> AllServedBy:
    """Expect that all endpoints of this cluster, and no others, serve the calls."""
    discovery: Any = served.get_cluster(name).discovery
    return AllServedBy(
        tuple(endpoint.address for place in discovery.localities for endpoint in place.endpoints)
    )


REJECTED = 100
"""Responses that the client rejects, one after another without a pause."""


@scenario("A46-NACK-03", "A46-NACK-06", seconds=1)
async def test_many_rejected(world: World) -> None:
    """The client keeps a Cluster while it rejects many updates of it, and uses the next one."""
    names = ("good",)
    before, after = await updates(world, names)
    await world.serve(before)
    await world.require_served([{CLUSTER_HEADER: "good"}])
    good = after.get_cluster("good").resource()
    pushes = [await world.plane.set(NO_EDS_CONFIG.of(good)) for _ in range(REJECTED)]
    answer = await world.control.answer(pushes[-1], Kind.CLUSTER)
    await world.check("A46-NACK-03", answer, AckedOrNacked(acked=False))
    await world.check("A46-NACK-03", await calls_to(world, "good"), leads(before, "good"))
    mended = await world.control.offer(Kind.CLUSTER, good)
    await world.check("A46-NACK-06", mended, AckedOrNacked(acked=True))
    await check_follows(world, "A46-NACK-06", after, "good")


@scenario("A46-NACK-01")
async def test_first_response(world: World) -> None:
    """If the client NACKs its first response with Clusters, it uses the valid one.

    The control plane sends neither Cluster until the client has subscribed to both, possibly by one
    request each. Otherwise the valid Cluster might come alone, in a valid response.
    """
    world.checks.require("A37-TROUBLE-04")
    members = await world.endpoints(2)
    pair = zip(("bad", "good"), members, strict=True)
    whole = aggregate_config(("bad", "good"), [leaf(name, (endpoint,)) for name, endpoint in pair])
    await world.serve(replace(whole, unsent=((Kind.CLUSTER, "bad"), (Kind.CLUSTER, "good"))))
    requests = await world.start([{CLUSTER_HEADER: "good"}])
    await require_subscribed(world, Kind.CLUSTER, whole)
    sent = (
        NO_EDS_CONFIG.of(whole.get_cluster("bad").resource()),
        whole.get_cluster("good").resource(),
    )
    answer = await world.control.offer(Kind.CLUSTER, *sent)
    await world.check("A46-NACK-01", answer, AckedOrNacked(acked=False))
    await world.check("A46-NACK-01", await requests.over(), leads(whole, "good"))
    await world.check("A46-NACK-01", await calls_to(world, "bad"), EndsWith("UNAVAILABLE"))


def with_a_gap(assignment: Any) -> Any:
    """Return the endpoints resource without its first priority, which makes it invalid."""
    assignment.endpoints[0].priority = 1
    return assignment


def no_message(assignment: Any) -> RawResource:
    """Return a resource whose bytes are no valid message."""
    return RawResource(Kind.ENDPOINTS, assignment.cluster_name, b"\xff\xff")


BEFORE, BEHIND = ("bad", "good"), ("good", "bad")


@scenario("A46-NACK-02", "A46-NACK-06", "A46-NACK-08")
@pytest.mark.parametrize(
    ("names", "spoilt"),
    [
        pytest.param(BEFORE, with_a_gap, id="behind"),
        pytest.param(BEHIND, with_a_gap, id="before"),
        pytest.param(BEFORE, no_message, id="behind-no-message"),
        pytest.param(BEHIND, no_message, id="before-no-message"),
    ],
)
async def test_endpoints(
    world: World, names: tuple[str, ...], spoilt: Callable[[Any], Any]
) -> None:
    """If the client NACKs a response, it uses the valid endpoints resources in it.

    The valid resource comes before or after the invalid one. The next response repairs that.
    """
    before, after = [clusters_named(names, await world.endpoints(2)) for _ in range(2)]
    await world.serve(before)
    await world.require_served([{CLUSTER_HEADER: name} for name in names])
    good = {name: after.get_cluster(name).endpoints() for name in names}
    sent = {**good, "bad": spoilt(after.get_cluster("bad").endpoints())}
    answer = await world.control.offer(Kind.ENDPOINTS, *sent.values())
    await world.check("A46-NACK-02", answer, AckedOrNacked(acked=False))
    for expectation in (AckedOrNacked(acked=False), NackHasDetail()):
        await world.check("A46-NACK-08", answer, expectation)
    await check_in_use(world, "A46-NACK-02", after, "good")
    await world.check("A46-NACK-08", world.control.last_word(answer), AckedOrNacked(acked=False))
    mended = await world.control.offer(Kind.ENDPOINTS, *good.values())
    await world.check("A46-NACK-06", mended, AckedOrNacked(acked=True))
    await check_in_use(world, "A46-NACK-06", after, "bad")


def clusters_named(names: Sequence[str], members: Sequence[BackendEndpoint]) -> XdsConfig:
    """Return a config of clusters with one of the endpoints each, and a route to each."""
    pairs = zip(names, members, strict=True)
    return aggregate_config(names, [leaf(name, (member,)) for name, member in pairs])


async def check_in_use(world: World, clause: str, served: XdsConfig, root: str) -> None:
    """Check that requests to a cluster soon reach its endpoints in this config."""
    expected = leads(served, root)
    calls = await world.eventually(expected, partial(calls_to, world, root))
    await world.check(clause, calls, expected)
