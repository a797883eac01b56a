"""Endpoints by priority, and localities by priority in a line of text.

``a b:3 | c- d! E`` has a and b, of weight 3, in the first priority. In the second, c lists no
endpoint, the health of that of d is bad, and that of E, as its name is in capitals, closes every
connection. ``a!,b`` is a locality of two endpoints, called as the first is, of which that is in bad
health. The same name is the same endpoint, and the same locality, in every line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from conformance.judging.expectations import (
    AllServedBy,
    AttemptCount,
    EachServesSome,
    EndsWith,
    Expectation,
    NoAttempts,
    Proportions,
)
from conformance.spec.oracles.statistics import draws_needed, draws_to_meet_all
from conformance.world import World
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from test_servers import BackendEndpoint as Member
from test_servers import Close, Mode, Serve

TO_TELL_A_QUARTER: Final = draws_needed(0.25, 0.5)
"""Calls that tell a locality of a quarter from one of two equal ones."""

AT_LEAST: Final = 20
"""Calls where all have to go to one: one of two that share them has these by a chance of 2^-20."""

ILL: Final = ("UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED")
"""What A27 has ignored, by turns."""

_NAME: Final = re.compile(r"[A-Za-z]\d*")
_PLACE: Final = re.compile(r"(?P<name>[A-Za-z]\d*)(:(?P<weight>\d+))?(?P<state>[-!+]?)")


class LocalityEndpoint(msgspec.Struct, frozen=True):
    """An endpoint of a locality as a line has it. The first has the locality's name and weight."""

    name: str
    weight: int = 1
    state: str = ""
    """``-`` not listed; ``!`` in bad health; ``+`` said to be healthy."""

    @property
    def serves(self) -> bool:
        """Whether requests may go there."""
        return self.name.islower() and self.state in {"", "+"}


def places(line: str) -> tuple[tuple[tuple[LocalityEndpoint, ...], ...], ...]:
    """The endpoints of a line, priority by priority and locality by locality.

    Raises:
        ValueError: it is no such line.
    """
    return tuple(
        tuple(tuple(map(_place, locality.split(","))) for locality in priority.split())
        for priority in line.split("|")
    )


def _place(words: str) -> LocalityEndpoint:
    found = _PLACE.fullmatch(words)
    if found is None:
        raise ValueError(f"{words!r} is no locality such as a, b:3, c- or d!.")
    return LocalityEndpoint(found["name"], int(found["weight"] or 1), found["state"])


def shares_of(line: str) -> dict[str, tuple[int, int]]:
    """Who has which share of the requests, by name: the first priority that serves has them all."""
    for priority in places(line):
        found = [
            (each[0].weight, [member.name for member in each if member.serves]) for each in priority
        ]
        total = sum(weight for weight, serving in found if serving)
        if total:
            return {
                name: (weight, total * len(serving))
                for weight, serving in found
                for name in serving
            }
    return {}


class LocalityUpdates:
    """The endpoints of the localities that some lines name."""

    def __init__(self, members: dict[str, Member]) -> None:
        self._members = members

    @classmethod
    async def begin(cls, world: World, *lines: str) -> LocalityUpdates:
        """An endpoint for each of them."""
        names = dict.fromkeys(name for line in lines for name in _NAME.findall(line))
        serving = iter(await world.endpoints(sum(map(str.islower, names))))
        closing = iter(await world.endpoints(sum(map(str.isupper, names)), mode=Close()))
        return cls({name: next(serving if name.islower() else closing) for name in names})

    def member(self, name: str) -> Member:
        """The endpoint of the locality of this name."""
        return self._members[name]

    def served(self, line: str) -> XdsConfig:
        """What EDS has."""
        ill = itertools.cycle(ILL)
        return one_cluster(
            tuple(
                Locality(
                    tuple(
                        self._endpoint(member, next(ill)) for member in each if member.state != "-"
                    ),
                    name=each[0].name,
                    weight=each[0].weight,
                    priority=number,
                )
                for number, priority in enumerate(places(line))
                for each in priority
            ),
            policy=RoundRobin(),
        )

    def _endpoint(self, place: LocalityEndpoint, ill: str) -> Endpoint:
        health = {"!": ill, "+": "HEALTHY"}.get(place.state, "UNKNOWN")
        return Endpoint(self._members[place.name].address, health=health)

    def wanted(self, line: str) -> Expectation:
        """Where requests go."""
        shares = {self._members[name].address: share for name, share in shares_of(line).items()}
        if len(shares) == 1:
            return AllServedBy(tuple(shares))
        return Proportions(shares) if shares else EndsWith("UNAVAILABLE")

    def below(self, line: str) -> list[Member]:
        """The endpoints of the priorities below the first that serves."""
        priorities = [[member for each in priority for member in each] for priority in places(line)]
        lower = itertools.dropwhile(lambda each: not any(p.serves for p in each), priorities)
        return [self._members[member.name] for each in [*lower][1:] for member in each]

    async def check(self, world: World, clause: str, line: str) -> None:
        """Judge where requests go by this line; of several localities each has to have some first.

        So many calls are made that a right client misses none of them but by a false alarm. More
        tell unlike weights from equal ones.
        """
        shares = shares_of(line).values()
        draws = draws_to_meet_all([each / total for each, total in shares])
        enough = world.sessions(max(AT_LEAST, draws))
        make_calls, expected = partial(world.call, enough), self.wanted(line)
        if not isinstance(expected, Proportions):
            await world.check(
                clause, await world.rounds.eventually_stable(expected, make_calls), expected
            )
            return
        each = EachServesSome(tuple(expected.shares))
        seen = await world.eventually(each, make_calls)
        await world.check(clause, seen, each)
        if not seen.overdue:
            alike = len({*shares}) == 1
            many = enough if alike else world.sessions(max(TO_TELL_A_QUARTER, len(enough)))
            await world.check(clause, await world.call(many), expected)


async def check_lines(world: World, clause: str, lines: Sequence[str]) -> LocalityUpdates:
    """Serve these lines one after the other, and judge where requests go by each."""
    made = await LocalityUpdates.begin(world, *lines)
    for line in lines:
        await world.serve(made.served(line))
        await made.check(world, clause, line)
    return made


async def check_below(world: World, clause: str, made: LocalityUpdates, line: str) -> None:
    """Judge that nobody has connected to the priorities below the one in use."""
    quiet = await world.attempts.quiet(*made.below(line), why="requests at a priority above")
    await world.check(clause, quiet, NoAttempts())


async def endpoints(world: World, *modes: Mode) -> list[Member]:
    """An endpoint for each of these modes of its gate."""
    return [(await world.endpoints(1, mode=mode))[0] for mode in modes]


async def fail(*members: Member) -> list[str]:
    """Have endpoints that serve close their connections, and each new one; their addresses."""
    for member in members:
        await member.set_mode(Close())
        await member.kill()
    return [member.address for member in members]


async def serve_again(world: World, members: Sequence[Member]) -> None:
    """Have endpoints that failed serve, and wait until one of them is tried: backoff comes first.

    Raises:
        ClientStuck: none was in time.
    """
    before = len(world.fleet.ledger.attempts)  # one may be tried as soon as its mode has changed
    for member in members:
        await member.set_mode(Serve())
    await world.attempts.require_one(
        *members, why="its backoff is over", beyond=before, met=Serve()
    )


def ranked(
    *priorities: Sequence[Member],
    policy: Policy = RingHash(),  # noqa: B008 - frozen
    is_reported: bool = False,
) -> XdsConfig:
    """For each priority one locality of equal endpoints."""
    localities = tuple(map(tier, range(len(priorities)), priorities))
    return one_cluster(localities, policy=policy, is_reported=is_reported)


async def check_kept(world: World, used: Member, *, since: float) -> None:
    """Judge that an update that leaves an endpoint as it was leaves its connection, too (A61).

    Args:
        world: of the scenario.
        used: the endpoint, which has been connected.
        since: before the update.
    """
    by = {"A42": AttemptCount(least={used.address: 1}), "A61": AttemptCount()}
    await world.check("A42-SUB-14", world.attempts.seen(used, since=since), by)


def tier(priority: int, members: Sequence[Member]) -> Locality:
    """One locality of equal endpoints, of this priority."""
    listed = tuple(Endpoint(member.address) for member in members)
    return Locality(listed, name=f"locality-{priority}", priority=priority)
