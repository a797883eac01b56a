"""Trees of three leaves, with the one that is in trouble in each place. They share no leaf."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

from conformance import timing
from conformance.judging.aborts import Unsupported
from conformance.judging.expectations import Expectation, FirstUsablePriority
from conformance.judging.observations import Calls
from conformance.scenarios.helpers.aggregates import Deployment, Shape, calls_to, prefixed
from conformance.world import World
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.subscriptions import subscriptions
from conformance.xds_config.trees import at_the_first
from fake_control_plane import Kind

POSITIONS: Final = {"first": "x b c", "middle": "b x c", "last": "b c x", "only": "x"}
"""Where the leaf x stands; b and c are the others."""

TREES: Final[tuple[Shape, ...]] = tuple(
    prefixed({"m": made}, where) for where, made in POSITIONS.items()
)
ROOTS: Final = tuple(f"{where}-m" for where in POSITIONS)

BEFORE_X: Final = ("middle-b", "last-b", "last-c")
"""The leaves of all trees that stand before x."""

BESIDE: Final = "beside"
"""A cluster that no trouble touches, behind a route of its own."""


def each_position(name: str) -> tuple[str, ...]:
    """The leaf of this name in each of the trees that have it."""
    return tuple(f"{where}-{name}" for where, made in POSITIONS.items() if name in made.split())


async def each_position_of(
    world: World, wanted: Mapping[str, Expectation], *, lasts: bool = False
) -> dict[str, Calls]:
    """Calls to each of these roots once they go as wanted, or time is up; all are asked at once.

    Args:
        world: of the scenario.
        wanted: of the calls to each root.
        lasts: whether one round more is made after the first that fits.
    """
    until = world.rounds.eventually_stable if lasts else world.eventually
    looks = (
        until(expectation, partial(calls_to, world, root)) for root, expectation in wanted.items()
    )
    return dict(zip(wanted, await asyncio.gather(*looks), strict=True))


async def check_each(
    world: World,
    clause: str,
    served: XdsConfig,
    *roots: str,
    failed: Collection[str] = (),
    lasts: bool = False,
) -> None:
    """The clause for each of these trees, or all, once what is served is taken up.

    Args:
        world: of the scenario.
        clause: that is judged.
        served: all that there is.
        roots: of the trees.
        failed: endpoints that have failed.
        lasts: whether one round more is made after the first that fits.
    """
    choices = {
        root: by_health(world, clause, served, root, failed=failed) for root in roots or ROOTS
    }
    expected = {root: world.checks.own(clause, choice) for root, choice in choices.items()}
    for root, calls in (await each_position_of(world, expected, lasts=lasts)).items():
        await world.check(clause, calls, choices[root])


async def check_lists(world: World, clause: str, served: XdsConfig, *roots: str) -> None:
    """Judge that each root has its own list of leaves, on which the next clause rests.

    Args:
        world: of the scenario.
        clause: that the scenario continues with.
        served: all that there is.
        roots: of the trees.
    """
    for root in roots:
        expected = at_the_first(served, root)
        calls = await world.eventually(expected, partial(calls_to, world, root))
        await world.check("A37-TREE-15", calls, expected)
    world.checks.turn_to(clause)


async def lose_before_x(world: World, planted: Deployment) -> tuple[str, ...]:
    """Have the leaves before x fail, and return their addresses.

    Envoy leaves a leaf by the health of its endpoints only, so none of its leaves fails.
    """
    return await planted.lose(*BEFORE_X) if world.checks.has("A27-PRIO-04") else ()


def by_health(
    world: World, clause: str, served: XdsConfig, root: str, *, failed: Collection[str] = ()
) -> dict[str, FirstUsablePriority]:
    """Calls to a tree by each wording: Envoy has degraded endpoints, too, where no other is left.

    Args:
        world: of the scenario.
        clause: that is judged.
        served: all that there is.
        root: of the tree.
        failed: endpoints that have failed.
    """
    first, last = (
        at_the_first(served, root, failed, degraded=degraded) for degraded in (False, True)
    )
    return world.checks.by_edition(clause, lambda edition: last if edition == "envoy" else first)


def without_one(
    served: XdsConfig, root: str, failed: Collection[str] = ()
) -> dict[str, Expectation]:
    """Calls to a tree of which a cluster is missing, by the editions that tell what follows."""
    whole = at_the_first(served, root, failed, as_a_whole=True)
    rest = at_the_first(served, root, failed)
    return {"A37": whole, "A74-2024": whole, "A74": rest, "envoy": rest}


async def require_subscribed(
    world: World, kind: Kind, served: XdsConfig, *, within: float = timing.ANSWER
) -> None:
    """Go on when the client has asked for all resources of this kind that it is led to.

    Raises:
        ClientStuck: it did not in time.
    """
    count = sum(subscribed is kind for subscribed, _ in subscriptions(served))
    await world.control.require_asked(kind, count, within=within)


async def require_rejected(world: World, kind: Kind, *bad: Any) -> None:
    """Send resources that are to be refused, and go on when they are.

    Raises:
        ClientUnable: they were not, so nothing of what follows from it can be seen.
    """
    answer = await world.control.offer(kind, *bad)
    if answer.acked:
        raise Unsupported(f"it takes a resource of {kind.name} that A27 has refused")
