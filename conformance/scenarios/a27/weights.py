"""A27, ClusterLoadAssignment: sums of locality weights."""

from functools import partial

from conformance.judging.declaration import scenario
from conformance.judging.expectations import AckedOrNacked, AllServedBy, EachServesSome
from conformance.scenarios.helpers.live_clusters import placed
from conformance.world import World
from conformance.xds_config.config import one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin

LARGEST = 2**32 - 1


@scenario("A27-WEIGHT-01")
async def test_sums(world: World) -> None:
    """The client rejects locality weights of one priority whose sum exceeds a uint32.

    The sum is one above the maximum: first over two priorities, which is valid, then in one.
    """
    a, b = await world.addresses(2)

    def localities(light: int, heavy: int, later: int = 0) -> tuple[Locality, ...]:
        return (
            Locality((Endpoint(a),), name="a", weight=light),
            Locality((Endpoint(b),), name="b", weight=heavy, priority=later),
        )

    served = one_cluster(localities(1, 1), policy=RoundRobin())
    await world.serve(served)
    calls = partial(world.call, world.sessions(16))
    await world.rounds.require(EachServesSome((a, b)), calls, why="both localities serve")
    answer = await placed(world, served, *localities(2, LARGEST - 1, later=1))
    await world.check("A27-WEIGHT-01", answer, AckedOrNacked(acked=True))
    answer = await placed(world, served, *localities(2, LARGEST - 1))
    await world.check("A27-WEIGHT-01", answer, AckedOrNacked(acked=False))
    if not answer.acked:
        await world.check("A27-WEIGHT-01", await calls(), AllServedBy((a, b)))
