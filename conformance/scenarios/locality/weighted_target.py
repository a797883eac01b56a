"""A28, Weighted target LB policy: the aggregated state of localities."""

from functools import partial

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import AllServedBy, EachServesSome, EndsInState, EndsWith
from conformance.scenarios.helpers.localities import LocalityUpdates
from conformance.world import World
from conformance.xds_config.config import one_cluster, with_raw_clusters
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policy_lists import in_localities, pick_first, policies, round_robin
from conformance.xds_config.variants import ResourceVariant
from test_servers import Hold, Serve

WAITS = EndsWith("DEADLINE_EXCEEDED")


RESTING = ResourceVariant("A62-TARGET-01", policies(in_localities(pick_first(), round_robin())))
"""pick_first in each locality; it becomes IDLE when its connection is lost (A62)."""


LOST = "both connections were lost, and no request needs one"


@scenario("A28-TARGET-01", needs=("watch",), seconds=1.5)
async def test_one_failed_and_one_connecting(world: World) -> None:
    """With one target failed and one connecting, the policy is CONNECTING and requests wait."""
    made = await LocalityUpdates.begin(world, "A b")
    held = made.member("b")
    await held.set_mode(Hold())
    await world.serve(made.served("A b"))
    watched = await world.states.watch()
    waiting = await world.start(world.sessions(5))
    await world.attempts.require_count(held, why="an update lists its locality")
    await world.attempts.require_count(made.member("A"), 2, why="its connections fail")
    calls = await world.call(world.sessions(5), deadline=timing.HELD)
    await world.check("A28-TARGET-01", calls, WAITS)
    await world.check("A28-TARGET-01", world.states.reported(watched), EndsInState(("CONNECTING",)))
    await held.set_mode(Serve())
    await world.check("A28-TARGET-01", await waiting.over(), AllServedBy((held.address,)))


# If a request does not make an IDLE client connect, it waits until its deadline: hence 20 s.
@scenario("A62-TARGET-01", "A62-TARGET-02", needs=("watch",), seconds=20, waits=True)
async def test_idle_localities(world: World) -> None:
    """All targets become IDLE: weighted_target connects them, or the next request does."""
    members = await world.endpoints(2)
    names = zip(members, "ab", strict=True)
    served = one_cluster(
        [Locality((Endpoint(endpoint.address),), name) for endpoint, name in names]
    )
    await world.serve(with_raw_clusters(served, RESTING.of(served.cluster())))
    watched = await world.states.watch()
    both, make_calls = EachServesSome(served.addresses()), partial(world.call, world.sessions(20))
    await world.rounds.require(both, make_calls, why="both endpoints serve")
    mark = len(watched.states)
    for member in members:
        await member.kill()
    await world.attempts.quiet_from_now(*members, count=len(members), why=LOST)
    states = await world.states.until(watched, "IDLE", "CONNECTING", "READY", since=mark)
    if not states.states:  # If it regains one before it loses the other, it is READY throughout.
        states = world.states.reported(watched, since=mark - 1)
    choices = {"IDLE": EndsInState(("IDLE",)), "connects": EndsInState(("CONNECTING", "READY"))}
    await world.check("A62-TARGET-01", states, choices)
    there = AllServedBy(served.addresses())
    await world.check(
        "A62-TARGET-02", await world.rounds.eventually_stable(there, make_calls), there
    )
