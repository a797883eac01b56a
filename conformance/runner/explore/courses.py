"""A course: a first configuration and the steps after it, as a value that can be saved and read.

A course names endpoints by number and header values by what they must hit, so that it means the
same in each run although ports differ.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, Literal

import msgspec

from conformance.judging import json_files
from conformance.runner.explore.trees import Tree
from conformance.spec.oracles.request_hash import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
)
from conformance.spec.oracles.ring.sizes import DEFAULT_CAP, DEFAULT_MINIMUM
from conformance.xds_config.routes import SESSION

SCHEMA: Final = 1
MOST_ENDPOINTS: Final = 12
MOST_STEPS: Final = 1000
MOST_VALUES: Final = 500
MOST_WEIGHT: Final = 1000
MOST_LOCALITIES: Final = 8
"""Bounds of a course that a file may have."""

Member = int
"""The number of an endpoint, from 0."""

GateMode = Literal["serve", "close", "hold", "stall"]
Health = Literal["UNKNOWN", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"]
PolicyName = Literal["ring_hash", "round_robin"]
Hashing = Literal[
    "header", "rewritten", "terminal", "fallback", "unsupported", "two", "channel", "none"
]

USER: Final = "user"
"""The metadata key of a second hash policy."""

HASHING: Final[dict[str, tuple[HashPolicy, ...]]] = {
    "header": (HeaderPolicy(name=SESSION),),
    "rewritten": (HeaderPolicy(name=SESSION, regex="^id-[0-9]+:"),),
    "terminal": (HeaderPolicy(name=SESSION, terminal=True), HeaderPolicy(name=USER)),
    "fallback": (HeaderPolicy(name=USER, terminal=True), HeaderPolicy(name=SESSION)),
    "unsupported": (
        UnsupportedPolicy("cookie"),
        HeaderPolicy(name=f"{SESSION}-bin", terminal=True),
        HeaderPolicy(name=SESSION),
    ),
    "two": (HeaderPolicy(name=SESSION), HeaderPolicy(name=USER)),
    "channel": (ChannelIdPolicy(),),
    "none": (),
}
"""The hash policies of the route, by their name in a course."""


def headers_for(hashing: Hashing, value: str) -> tuple[tuple[str, str | bytes], ...]:
    """Return the metadata of a request whose hash is that of the value, if a single policy counts.

    With two policies that count, the hash depends on the value in some way.
    """
    match hashing:
        case "rewritten":
            return ((SESSION, f"id-{len(value)}:{value}"),)
        case "terminal" | "two":
            return ((SESSION, value), (USER, f"not {value}"))
        case "unsupported":
            return ((f"{SESSION}-bin", value.encode()), (SESSION, value))
        case _:
            return ((SESSION, value),)


class Listed(msgspec.Struct, frozen=True):
    """An endpoint of the list."""

    member: Member
    weight: int | None = None
    health: Health = "UNKNOWN"
    locality: int = 0
    """The number of its locality."""

    @property
    def is_usable(self) -> bool:
        """Return whether a client uses an endpoint of this health (A27)."""
        return self.health in {"UNKNOWN", "HEALTHY"}

    def __str__(self) -> str:
        weight = "" if self.weight is None else f" x {self.weight}"
        health = "" if self.health == "UNKNOWN" else f" {self.health}"
        locality = f" in l{self.locality}" if self.locality else ""
        return f"e{self.member}{weight}{health}{locality}"


class Configuration(msgspec.Struct, frozen=True):
    """What the control plane serves: a cluster of ring_hash, and the route to it."""

    endpoints: tuple[Listed, ...]
    minimum: int | None = 32
    maximum: int | None = None
    hashing: Hashing = "header"
    localities: tuple[int | None, ...] = ()
    """The weight of each locality, None for unset; a locality that is not listed has weight 1."""
    policy: PolicyName = "ring_hash"
    tree: Tree = Tree()
    """The leaves and priorities of localities; a locality of an absent leaf is not used."""

    def weight_of(self, locality: int) -> int | None:
        """Return the weight of a locality."""
        return self.localities[locality] if locality < len(self.localities) else 1

    @property
    def used(self) -> tuple[Listed, ...]:
        """The endpoints that a client uses: those of usable health in localities with a weight."""
        return tuple(
            endpoint
            for endpoint in self.endpoints
            if endpoint.is_usable
            and self.weight_of(endpoint.locality)
            and self.tree.place_of(endpoint.locality) is not None
        )

    @property
    def members(self) -> tuple[Member, ...]:
        """The numbers of the endpoints that a client uses."""
        return tuple(endpoint.member for endpoint in self.used)

    @property
    def by_priority(self) -> tuple[Configuration, ...]:
        """What each priority has of it, from the most preferred on."""
        return _by_priority(self)

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.endpoints)) or "no endpoint"
        least = "unset" if self.minimum is None else self.minimum
        most = "" if self.maximum is None else f" to {self.maximum}"
        weights = (
            f"; l{number} has {'no weight' if weight is None else f'weight {weight}'}"
            for number, weight in enumerate(self.localities)
        )
        ring = f"ring of {least}{most}; hash by {self.hashing}"
        balanced = ring if self.policy == "ring_hash" else self.policy
        return f"{listed}{''.join(weights)}{self.tree}; {balanced}"


@functools.lru_cache(maxsize=4096)
def _by_priority(configuration: Configuration) -> tuple[Configuration, ...]:
    tree, listed = configuration.tree, configuration.endpoints
    if not tree.priorities:
        return (configuration,)
    several = (
        tuple(each for each in listed if tree.place_of(each.locality) == rank)
        for rank in tree.ranks
    )
    return tuple(
        msgspec.structs.replace(configuration, endpoints=endpoints, tree=Tree())
        for endpoints in several
    )


class Value(msgspec.Struct, frozen=True):
    """A request hash: one that meets these endpoints first on the ring, or that of a text."""

    first: tuple[Member, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return " then ".join(f"e{member}" for member in self.first) or repr(self.text)


class Serve(msgspec.Struct, frozen=True, tag="serve"):
    """The control plane sends another configuration."""

    configuration: Configuration
    at_once: bool = False
    """True if the course continues before the client has ACKed it."""

    def __str__(self) -> str:
        return f"serve {self.configuration}{'; do not wait for ACKs' if self.at_once else ''}"


class Gate(msgspec.Struct, frozen=True, tag="gate"):
    """The gate of an endpoint treats new connections like this from now on."""

    member: Member
    mode: GateMode

    def __str__(self) -> str:
        return f"gate of e{self.member}: {self.mode}"


class Kill(msgspec.Struct, frozen=True, tag="kill"):
    """All connections of an endpoint are dropped."""

    member: Member

    def __str__(self) -> str:
        return f"drop the connections of e{self.member}"


class GoAway(msgspec.Struct, frozen=True, tag="go_away"):
    """An endpoint sends GOAWAY on its connections."""

    member: Member

    def __str__(self) -> str:
        return f"GOAWAY from e{self.member}"


class Call(msgspec.Struct, frozen=True, tag="call"):
    """Requests with these hashes start; the course continues when all have ended."""

    values: tuple[Value, ...]
    wait_for_ready: bool = False
    in_background: bool = False
    """True if the course continues at once."""

    def __str__(self) -> str:
        how = " that wait for ready" if self.wait_for_ready else ""
        when = " in the background" if self.in_background else ""
        return f"{len(self.values)} requests{how}{when}: {', '.join(map(str, self.values))}"


class OpenStream(msgspec.Struct, frozen=True, tag="open_stream"):
    """A stream starts and stays open."""

    value: Value

    def __str__(self) -> str:
        return f"open a stream: {self.value}"


class CloseStreams(msgspec.Struct, frozen=True, tag="close_streams"):
    """The client cancels the streams that stay open."""

    def __str__(self) -> str:
        return "cancel the open streams"


class EndAds(msgspec.Struct, frozen=True, tag="end_ads"):
    """The control plane ends its ADS streams."""

    def __str__(self) -> str:
        return "end the ADS stream"


class LoseControlPlane(msgspec.Struct, frozen=True, tag="lose_control_plane"):
    """The control plane stops listening and drops its connections."""

    def __str__(self) -> str:
        return "stop the control plane"


class RestoreControlPlane(msgspec.Struct, frozen=True, tag="restore_control_plane"):
    """The control plane listens again."""

    def __str__(self) -> str:
        return "restart the control plane"


class Refuse(msgspec.Struct, frozen=True, tag="refuse"):
    """The control plane sends a resource that is invalid, and the client NACKs it."""

    kind: Literal["CLUSTER", "ENDPOINTS"]

    def __str__(self) -> str:
        return f"send an invalid {self.kind} resource"


class Withhold(msgspec.Struct, frozen=True, tag="withhold"):
    """The control plane holds back all responses until `Release`."""

    def __str__(self) -> str:
        return "hold back responses"


class Release(msgspec.Struct, frozen=True, tag="release"):
    """The control plane sends the responses that it has held back."""

    def __str__(self) -> str:
        return "send the responses that were held back"


class Settle(msgspec.Struct, frozen=True, tag="settle"):
    """Wait until requests with these hashes end as the configuration and the gates demand.

    Without requests, wait until the channel's state is that of its endpoints.
    """

    values: tuple[Value, ...] = ()
    past_timer: bool = False
    """True if requests that may wait for the failover timer repeat until the timer has ended."""

    def __str__(self) -> str:
        when = " after the failover timer" if self.past_timer else ""
        if not self.values:
            return f"settle{when} without requests"
        return f"settle{when} with {len(self.values)} requests: {', '.join(map(str, self.values))}"


Step = (
    Serve
    | Gate
    | Kill
    | GoAway
    | Call
    | OpenStream
    | CloseStreams
    | EndAds
    | LoseControlPlane
    | RestoreControlPlane
    | Refuse
    | Withhold
    | Release
    | Settle
)


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A first configuration and the steps after it."""

    schema: int = SCHEMA
    members: int
    """The number of endpoints that exist."""
    initial: Configuration
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.members} endpoints; serve {self.initial}"]
        lines += [f"{number:3}. {step}" for number, step in enumerate(self.steps, 1)]
        return "\n".join(lines)


class BadCourse(Exception):
    """A file that has no course of this version; the text says why."""


def read(path: Path) -> Course:
    """Read a course from a file.

    Raises:
        BadCourse: the file cannot be read, or holds no valid course.
    """
    try:
        course = json_files.read(path, Course)
    except (json_files.Unreadable, json_files.ForeignFile) as error:
        raise BadCourse(f"{path} is not a course: {error}") from None
    if why := flaw(course):
        raise BadCourse(f"{path} is not a course: {why}")
    return course


def write(path: Path, course: Course) -> None:
    """Write a course as JSON."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(course), indent=1) + b"\n")


def flaw(course: Course) -> str:
    """Return why a course cannot run; empty if it can."""
    if course.schema != SCHEMA:
        return f"its schema is {course.schema}, and this version reads {SCHEMA}"
    if not 1 <= course.members <= MOST_ENDPOINTS:
        return f"it has {course.members} endpoints, not 1 to {MOST_ENDPOINTS}"
    if len(course.steps) > MOST_STEPS:
        return f"it has {len(course.steps)} steps, more than {MOST_STEPS}"
    if any(len(values(step)) > MOST_VALUES for step in course.steps):
        return f"a step has more than {MOST_VALUES} requests"
    flaws = filter(None, map(_flaw_of, configurations(course)))
    return next(flaws, "") or _stranger(course)


def _flaw_of(configuration: Configuration) -> str:
    members = [endpoint.member for endpoint in configuration.endpoints]
    if len(set(members)) < len(members):
        return "a configuration lists an endpoint twice"
    weights = (*(each.weight for each in configuration.endpoints), *configuration.localities)
    if any(weight is not None and not 1 <= weight <= MOST_WEIGHT for weight in weights):
        return f"the weight of an endpoint or a locality is not 1 to {MOST_WEIGHT}"
    places = [endpoint.locality for endpoint in configuration.endpoints]
    if any(not 0 <= place < MOST_LOCALITIES for place in places):
        return f"the number of a locality is not 0 to {MOST_LOCALITIES - 1}"
    if why := _flaw_of_tree(configuration):
        return why
    least = DEFAULT_MINIMUM if configuration.minimum is None else configuration.minimum
    most = DEFAULT_CAP if configuration.maximum is None else configuration.maximum
    if not 1 <= least <= most <= DEFAULT_CAP:
        return f"the sizes of a ring are {least} to {most}, not within 1 to {DEFAULT_CAP}"
    return ""


def _flaw_of_tree(configuration: Configuration) -> str:
    tree = configuration.tree
    if tree.flaw or not tree.priorities:
        return tree.flaw
    if any(each.locality >= len(tree.priorities) for each in configuration.endpoints):
        return "the locality of an endpoint has no priority"
    if None in configuration.localities:
        return "a locality with a priority has no weight"
    for leaf in tree.leaves:
        if leaf.kind == "LOGICAL_DNS" and not may_be_dns(configuration, leaf.number):
            return "a LOGICAL_DNS leaf has other than one plain endpoint"
    return ""


def may_be_dns(configuration: Configuration, leaf: int) -> bool:
    """Return whether a leaf has just one locality with one plain endpoint."""
    places = configuration.tree.localities_of(leaf)
    own = [each for each in configuration.endpoints if each.locality in places]
    return len(places) == len(own) == 1 and own == [Listed(own[0].member, locality=places[0])]


def _stranger(course: Course) -> str:
    """Describe an endpoint that a course names and that does not exist; empty if there is none."""
    named = [
        endpoint.member
        for configuration in configurations(course)
        for endpoint in configuration.endpoints
    ]
    for step in course.steps:
        if isinstance(step, Gate | Kill | GoAway):
            named.append(step.member)
        named += [member for value in values(step) for member in value.first]
    strangers = (member for member in named if not 0 <= member < course.members)
    return next((f"there is no endpoint e{member}" for member in strangers), "")


def values(step: Step) -> tuple[Value, ...]:
    """Return the hashes of the requests that a step makes."""
    match step:
        case Call(values=several) | Settle(values=several):
            return several
        case OpenStream(value=single):
            return (single,)
        case _:
            return ()


def configurations(course: Course) -> tuple[Configuration, ...]:
    """Return every configuration of a course, in order."""
    later = (step.configuration for step in course.steps if isinstance(step, Serve))
    return (course.initial, *later)
