"""Arrange endpoints by priority, and describe the localities of each priority in a line of text.

In ``a b:3 | c- d! E`` the first priority has the localities a and b; b has weight 3. In the second
priority, c has no endpoint, the endpoint of d is unhealthy, and the endpoint of E closes every
connection, because its name is a capital letter. ``a!,b`` is a locality named a with two endpoints;
the first is unhealthy. A name means the same endpoint and locality in every line.
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
from conformance.xds_config.config import XdsConfig, one_cluster, single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from test_servers import BackendEndpoint as Member
from test_servers import Close, Mode, Serve

TO_TELL_A_QUARTER: Final = draws_needed(0.25, 0.5)
"""Number of calls that distinguishes a locality's share of 1/4 from 1/2."""

AT_LEAST: Final = 20
"""Number of calls that must all reach one endpoint. If two endpoints have equal shares, one of them
gets all calls with a chance of about 2^-20."""

ILL: Final = ("UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED")
"""Health statuses that a client must ignore by A27, used in turn."""

UNDEFINED: Final = 17
"""A health status that is no name of the enum, so neither HEALTHY nor UNKNOWN."""

_NAME: Final = re.compile(r"[A-Za-z]\d*")
_PLACE: Final = re.compile(r"(?P<name>[A-Za-z]\d*)(:(?P<weight>\d+))?(?P<state>[-!+?]?)")


class LocalityEndpoint(msgspec.Struct, frozen=True):
    """An endpoint of a locality in a line. The first has the locality's name and weight."""

    name: str
    weight: int = 1
    state: str = ""
    """``-``: not listed; ``!``: unhealthy; ``?``: UNDEFINED; ``+``: HEALTHY."""

    @property
    def serves(self) -> bool:
        """True if the endpoint may get requests."""
        return self.name.islower() and self.state in {"", "+"}


def places(line: str) -> tuple[tuple[tuple[LocalityEndpoint, ...], ...], ...]:
    """Return the endpoints of a line, by priority and locality.

    Raises:
        ValueError: the line is invalid.
    """
    return tuple(
        tuple(tuple(map(_place, locality.split(","))) for locality in priority.split())
        for priority in line.split("|")
    )


def _place(words: str) -> LocalityEndpoint:
    found = _PLACE.fullmatch(words)
    if found is None:
        raise ValueError(f"{words!r} is not a locality: write it like a, b:3, c- or d!.")
    return LocalityEndpoint(found["name"], int(found["weight"] or 1), found["state"])


def shares_of(line: str) -> dict[str, tuple[int, int]]:
    """Return the shares of requests by name; the first priority that serves gets all of them."""
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
    """The endpoints of the localities in several lines."""

    def __init__(self, members: dict[str, Member]) -> None:
        self._members = members

    @classmethod
    async def begin(cls, world: World, *lines: str) -> LocalityUpdates:
        """Start an endpoint for each name in these lines."""
        names = dict.fromkeys(name for line in lines for name in _NAME.findall(line))
        serving = iter(await world.endpoints(sum(map(str.islower, names))))
        closing = iter(await world.endpoints(sum(map(str.isupper, names)), mode=Close()))
        return cls({name: next(serving if name.islower() else closing) for name in names})

    def member(self, name: str) -> Member:
        """Return the endpoint of this name."""
        return self._members[name]

    def served(self, line: str) -> XdsConfig:
        """Return the config of a line."""
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
        healths: dict[str, str | int] = {"!": ill, "?": UNDEFINED, "+": "HEALTHY"}
        health = healths.get(place.state, "UNKNOWN")
        return Endpoint(self._members[place.name].address, health=health)

    def wanted(self, line: str) -> Expectation:
        """Return the expectation for requests under a line."""
        shares = {self._members[name].address: share for name, share in shares_of(line).items()}
        if len(shares) == 1:
            return AllServedBy(tuple(shares))
        return Proportions(shares) if shares else EndsWith("UNAVAILABLE")

    def below(self, line: str) -> list[Member]:
        """Return the endpoints of the priorities below the first one that serves."""
        priorities = [[member for each in priority for member in each] for priority in places(line)]
        lower = itertools.dropwhile(lambda each: not any(p.serves for p in each), priorities)
        return [self._members[member.name] for each in [*lower][1:] for member in each]

    async def check(self, world: World, clause: str, line: str) -> None:
        """Check that requests follow a line.

        If several localities serve, each must get some requests first. The number of calls is such
        that a conforming client misses a locality only by a false alarm. Unequal weights need more
        calls, to distinguish them from equal ones.
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
    """Serve these lines one after another, and check that requests follow each."""
    made = await LocalityUpdates.begin(world, *lines)
    for line in lines:
        await world.serve(made.served(line))
        await made.check(world, clause, line)
    return made


async def check_below(world: World, clause: str, made: LocalityUpdates, line: str) -> None:
    """Check that the client has not connected to the priorities below the one in use."""
    quiet = await world.attempts.quiet(*made.below(line), why="a higher priority serves requests")
    await world.check(clause, quiet, NoAttempts())


async def endpoints(world: World, *modes: Mode) -> list[Member]:
    """Start an endpoint for each of these modes."""
    return [(await world.endpoints(1, mode=mode))[0] for mode in modes]


async def fail(*members: Member) -> list[str]:
    """Make endpoints close their connections and each new one; return their addresses."""
    for member in members:
        await member.set_mode(Close())
        await member.kill()
    return [member.address for member in members]


async def serve_again(world: World, members: Sequence[Member]) -> None:
    """Make failed endpoints serve, and wait until the client tries one, after its backoff.

    Raises:
        PreconditionTimeout: the client tried none in time.
    """
    before = len(world.fleet.ledger.attempts)  # An attempt may come as soon as a mode has changed.
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
    """Return a config with one locality of equal endpoints for each priority."""
    localities = tuple(map(tier, range(len(priorities)), priorities))
    return one_cluster(localities, policy=policy, is_reported=is_reported)


def between(leaf: XdsConfig, others: Sequence[str], *, policy: Policy) -> Sequence[XdsConfig]:
    """Return a leaf without endpoints, this leaf, and a leaf of other addresses."""
    first = one_cluster((), name="first", policy=policy)
    return first, leaf, single_locality(others, name="last", policy=policy)


async def check_kept(world: World, used: Member, *, since: float) -> None:
    """Check that an endpoint that an update does not change keeps its connection (A61).

    Args:
        world: the scenario's world.
        used: the endpoint, which was connected before the update.
        since: a time before the update.
    """
    by = {"A42": AttemptCount(least={used.address: 1}), "A61": AttemptCount()}
    await world.check("A42-SUB-14", world.attempts.seen(used, since=since), by)


def tier(priority: int, members: Sequence[Member]) -> Locality:
    """Return one locality of equal endpoints, of this priority."""
    listed = tuple(Endpoint(member.address) for member in members)
    return Locality(listed, name=f"locality-{priority}", priority=priority)
