"""A42 as a whole: a stream of requests while endpoints fail at random and lists change."""

from conformance import timing
from conformance.judging.declaration import scenario
from conformance.judging.expectations import FailuresExplained, OnlyListedServe
from conformance.scenarios.helpers.soak import Soak, plan
from conformance.world import World

MEMBERS = 8


@scenario("A42-RING-18", "A42-PICK-23", needs=("metadata",), alone=True, seconds=timing.SOAK + 2)
async def test_random_faults_and_updates(world: World) -> None:
    """Only listed endpoints serve, and each failed request has a fault or update as a reason."""
    requests = round(world.soak / timing.SOAK_PACE)
    actions = plan(world.rng, members=MEMBERS, requests=requests)
    soak = Soak(world, await world.endpoints(MEMBERS))
    course = await soak.run(actions, requests=requests)
    await world.check(
        "A42-RING-18", course, OnlyListedServe(moments=timing.MOMENTS, allowance=timing.BELIEVED)
    )
    await world.check(
        "A42-PICK-23", course, FailuresExplained(moments=timing.MOMENTS, allowance=timing.BELIEVED)
    )
