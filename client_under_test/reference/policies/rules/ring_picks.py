"""What becomes of one request on a ring (A42, Picker Behavior; A61; A76).

A pick walks over endpoints: from the entry of its hash along the ring, each endpoint once. The
rules get that walk as `Candidate`s and do not see the ring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from client_under_test.reference.hash_policy import HashPolicyRules
from client_under_test.reference.policies.interface import (
    Complete,
    Fail,
    PickArgs,
    Picker,
    PickResult,
    Queue,
    Target,
)
from client_under_test.reference.policies.rules.ring import Ring, RingRules
from client_under_test.reference.values import State, Status


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as the picker knows it: counted state, where its requests go, how to wake it."""

    state: State
    picker: Picker
    target: Target

    def take(self, args: PickArgs, connect: tuple[Target, ...] = ()) -> PickResult:
        """Let the endpoint decide, and have others connected on the way."""
        result = self.picker.pick(args)
        if connect and isinstance(result, Complete | Queue | Fail):
            return msgspec.structs.replace(result, connect=(*connect, *result.connect))
        return result


class RequestHash(msgspec.Struct, frozen=True):
    """The hash of a request, and whether the picker drew it at random."""

    value: int
    drawn: bool = False


class PickAtRandom(Protocol):
    """Decides on a request whose hash the picker drew."""

    def __call__(
        self, walk: Iterable[Candidate], args: PickArgs, /, *, one_is_connecting: bool
    ) -> PickResult:
        """Decide, knowing whether any endpoint, on the walk or not, is CONNECTING."""
        ...


# Which hash.


def hash_for_pick(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
    """Return the hash from the config selector, which is the same at each pick.

    Clauses: A42-HASH-21, A42-PICK-06.
    """
    del header, rules
    return None if args.request_hash is None else RequestHash(args.request_hash)


def hash_for_pick_a76(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
    """By request_hash_header if the config has one, else by the route.

    None if there is no hash from anywhere (A76-REQ-13). An empty value counts as none.

    Clauses: A42-PICK-06, A76-REQ-01, A76-REQ-03, A76-REQ-08, A76-REQ-09, A76-REQ-12.
    """
    if not header:
        return hash_for_pick(args, header, rules)
    value = rules.join_hash_header(header, args)
    if not value:
        return RequestHash(rules.random_hash(args.random), drawn=True)
    return RequestHash(rules.hash_value(value))


def join_hash_header(header: str, args: PickArgs) -> str:
    """A76-REQ-02: the values of the header, joined by commas; empty if there is none."""
    values = (value for name, value in args.metadata if name == header)
    return ",".join(value for value in values if isinstance(value, str))


# Where it leads.


def pick_from_ring(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Two endpoints are waited for, the rest is only searched for READY."""
    candidates = iter(walk)
    first = next(candidates)
    if first.state is not State.TRANSIENT_FAILURE:
        return pick_from_one(first, args)
    connect: tuple[Target, ...] = (first.target,)  # A42-PICK-07: try it again after its backoff.
    second = next(candidates, None)  # A42-PICK-08, A42-PICK-09
    if second is None:
        return Fail(failure_of(first, args), connect)  # A42-PICK-20
    if second.state is not State.TRANSIENT_FAILURE:
        return pick_from_one(second, args, connect)
    connect = (*connect, second.target)  # A42-PICK-14
    return pick_from_the_rest(first, candidates, args, connect)


def pick_from_one(
    candidate: Candidate, args: PickArgs, connect: tuple[Target, ...] = ()
) -> PickResult:
    """Pick by the state of one endpoint that has not failed.

    Clauses: A42-PICK-02, A42-PICK-03, A42-PICK-04, A42-PICK-05, A42-PICK-10, A42-PICK-11,
    A42-PICK-12, A42-PICK-13, A42-SUB-02, A42-SUB-03.
    """
    match candidate.state:
        case State.READY:  # A42-PICK-02, A42-PICK-10
            return candidate.take(args, connect)
        case State.IDLE:  # A42-PICK-03, A42-PICK-04, A42-PICK-11, A42-PICK-12, A42-SUB-02
            return Queue((*connect, candidate.target))
        case _:  # A42-PICK-05, A42-PICK-13: CONNECTING
            return Queue(connect)


def pick_from_the_rest(
    first: Candidate, rest: Iterator[Candidate], args: PickArgs, connect: tuple[Target, ...]
) -> PickResult:
    """After two failed ones; nothing here is waited for.

    Clauses: A42-PICK-15, A42-PICK-16, A42-PICK-17, A42-PICK-18, A42-PICK-19, A42-PICK-20,
    A42-PICK-22.
    """
    found_one_not_failed = False
    for candidate in rest:
        if candidate.state is State.READY:  # A42-PICK-15
            return candidate.take(args, connect)
        if found_one_not_failed:  # A42-PICK-18
            continue
        if candidate.state is not State.CONNECTING:
            connect = (*connect, candidate.target)  # A42-PICK-17 (IDLE), A42-PICK-19 (failed)
        found_one_not_failed = candidate.state is not State.TRANSIENT_FAILURE
    return Fail(failure_of(first, args), connect)  # A42-PICK-16, A42-PICK-20


def pick_from_ring_a61(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick the first endpoint that has not failed."""
    first: Candidate | None = None
    for candidate in walk:
        if candidate.state is not State.TRANSIENT_FAILURE:
            return pick_from_one(candidate, args)
        first = first or candidate
    if first is None:
        return Fail(Status.unavailable("the ring is empty"))
    return Fail(failure_of(first, args))  # A42-PICK-20, A42-PICK-25 (A61)


def failure_of(candidate: Candidate, args: PickArgs) -> Status:
    """A42-PICK-25: a failed request gets the failure of its first endpoint."""
    result = candidate.picker.pick(args)
    return result.status if isinstance(result, Fail) else Status.unavailable("connecting failed")


def pick_at_random(
    walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool
) -> PickResult:
    """Pick the first READY endpoint; make at most one IDLE endpoint connect.

    Clauses: A76-REQ-04, A76-REQ-05, A76-REQ-06, A76-REQ-07.
    """
    connect: tuple[Target, ...] = ()
    first: Candidate | None = None
    for candidate in walk:
        first = first or candidate
        if candidate.state is State.READY:
            return candidate.take(args, connect)
        if candidate.state is State.IDLE and not (one_is_connecting or connect):
            connect = (candidate.target,)
    if one_is_connecting or connect:
        return Queue(connect)
    if first is None:
        return Fail(Status.unavailable("the ring is empty"))
    return Fail(failure_of(first, args))


def queue_wait_for_ready(result: PickResult) -> PickResult:
    """Queue a wait-for-ready request instead of failing it; drops still drop it.

    Clauses: A27-DROP-13, A32-CB-26, A42-PICK-24, A37-TROUBLE-34.
    """
    return Queue(result.connect) if isinstance(result, Fail) else result


class RingPicker(msgspec.Struct, frozen=True, kw_only=True):
    """A ring with the states that its endpoints had when it was made.

    Clauses: A42-RING-21, A42-RING-22.
    """

    ring: Ring
    candidates: tuple[Candidate, ...]
    header: str
    one_is_connecting: bool
    rules: PickRules

    def pick(self, args: PickArgs, /) -> PickResult:
        """Decide on one request."""
        request_hash = self.rules.hash_for_pick(args, self.header, self.rules)
        if request_hash is None:
            return Fail(Status.unavailable("the request has no hash"))  # A76-REQ-13
        if not self.ring.hashes:
            return Fail(Status.unavailable("the ring is empty"))
        start = self.rules.find_entry(self.ring.hashes, request_hash.value)
        walk = (
            self.candidates[owner]
            for owner in self.rules.endpoints_along_ring(self.ring.owners, start)
        )
        if request_hash.drawn:
            return self.rules.pick_at_random(walk, args, one_is_connecting=self.one_is_connecting)
        return self.rules.pick_from_ring(walk, args)


@dataclass(frozen=True, kw_only=True)
class PickRules(HashPolicyRules, RingRules):
    """What becomes of a request on a ring.

    With the rules of the ring, which it searches, and of hashes, as it makes some itself (A76).
    """

    hash_for_pick: Callable[[PickArgs, str, PickRules], RequestHash | None] = hash_for_pick
    join_hash_header: Callable[[str, PickArgs], str] = join_hash_header
    pick_from_ring: Callable[[Iterable[Candidate], PickArgs], PickResult] = pick_from_ring
    pick_at_random: PickAtRandom = pick_at_random
    queue_wait_for_ready: Callable[[PickResult], PickResult] = queue_wait_for_ready
