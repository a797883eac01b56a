"""Mutants of the clauses in request_hash_header.toml."""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

from google.protobuf.json_format import MessageToDict
from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.configs import RingHashConfig
from client_under_test.reference.policies.interface import Drop, Fail, PickArgs, PickResult, Queue
from client_under_test.reference.policies.rules.ring_config import request_hash_header_a76
from client_under_test.reference.policies.rules.ring_picks import (
    Candidate,
    PickAtRandom,
    PickRules,
    RequestHash,
    hash_for_pick,
    hash_for_pick_a76,
    pick_at_random,
    pick_from_ring_a61,
)
from client_under_test.reference.values import State, Status
from conformance.mutation.mutants.ring_hash.locality import by_priority

# The hash.

header_ignored = Mutant(
    clause="A76-REQ-01",
    broken="requests are hashed by the route's policies, whatever the config names",
    rules={"hash_for_pick": hash_for_pick},
)


def added_to_the_route(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
    """Combine the hash of the header with that of the route."""
    named = hash_for_pick_a76(args, header, rules)
    if not header or named is None or named.drawn or args.request_hash is None:
        return named
    return RequestHash(rules.combine_hashes(args.request_hash, named.value))


route_counts_too = Mutant(
    clause="A76-REQ-01",
    broken="the hash of the header is combined with that of the route",
    rules={"hash_for_pick": added_to_the_route},
)


def values_of(header: str, args: PickArgs) -> list[str]:
    """Return the values of a header."""
    return [value for name, value in args.metadata if name == header and isinstance(value, str)]


first_value_alone = Mutant(
    clause="A76-REQ-02",
    broken="only the first of several values counts",
    rules={"join_hash_header": lambda header, args: "".join(values_of(header, args)[:1])},
)


joined_with_a_space = Mutant(
    clause="A76-REQ-02",
    broken="several values are joined by a comma and a space",
    rules={"join_hash_header": lambda header, args: ", ".join(values_of(header, args))},
)


def missing_as(other: Callable[[PickArgs, str, PickRules], RequestHash | None]) -> Any:
    """Hash by the header, or by `other` if the header is missing."""

    def broken(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
        found = hash_for_pick_a76(args, header, rules)
        return other(args, header, rules) if found and found.drawn else found

    return broken


missing_as_empty = Mutant(
    clause="A76-REQ-03",
    broken="a request without the header is hashed as if its value were empty",
    rules={"hash_for_pick": missing_as(lambda _a, _h, rules: RequestHash(rules.hash_value("")))},
)


route_if_missing = Mutant(
    clause="A76-REQ-03",
    broken="a request without the header is hashed by the policies of the route",
    rules={"hash_for_pick": missing_as(hash_for_pick)},
)


def empty_as_a_value(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
    """Hash by the header, even if its value is empty."""
    empty = bool(header) and values_of(header, args) == [""]
    if empty:
        return RequestHash(rules.hash_value(""))
    return hash_for_pick_a76(args, header, rules)


empty_value_hashed = Mutant(
    clause="A76-REQ-08",
    broken="an empty value is hashed as any other",
    rules={"hash_for_pick": empty_as_a_value},
    reports="the hash of an empty value",
)


def never_by_the_route(args: PickArgs, header: str, rules: PickRules) -> RequestHash | None:
    """Use a random hash if the config names no header."""
    return hash_for_pick_a76(args, header or "x", rules)


random_without_a_name = Mutant(
    clause="A76-REQ-09",
    broken="if the config names no header, every hash is random",
    rules={"hash_for_pick": never_by_the_route},
)


guarded_header = Mutant(
    clause="A76-REQ-12",
    broken="the name in the config is ignored while the guard is unset",
    rules={"hash_for_pick": hash_for_pick},
    reports="not used when unset",
    issue="https://github.com/grpc/grpc-go/pull/8922",
)


# Rejected header names.


def unless_it(looks_so: Callable[[str], bool]) -> Callable[[Any], str | None]:
    """Accept matching names without validation."""
    return lambda value: (
        value if isinstance(value, str) and looks_so(value) else request_hash_header_a76(value)
    )


any_name_accepted = Mutant(
    clause="A76-REQ-10",
    broken="a header name is not validated",
    xds={"request_hash_header": unless_it(lambda name: not name.endswith("-bin"))},
)


binary_name_accepted = Mutant(
    clause="A76-REQ-11",
    broken="a binary header is accepted",
    xds={"request_hash_header": unless_it(lambda name: name.endswith("-bin"))},
)


hyphens_rejected = Mutant(
    clause="A76-REQ-11",
    broken="every header name with a hyphen is rejected as binary",
    xds={
        "request_hash_header": lambda value: (
            None if "-" in value else request_hash_header_a76(value)
        )
    },
)


class KeptWhenEmpty:
    """Keeps the last request_hash_header if an update has an empty one."""

    def __init__(self) -> None:
        self._last = ""

    def fields(self, struct: Any) -> dict[str, Any]:
        """Return the config of a policy."""
        made = MessageToDict(struct)
        if "requestHashHeader" in made:
            self._last = made["requestHashHeader"] = made["requestHashHeader"] or self._last
        return made


empty_keeps_the_last = Mutant(
    clause="A76-REQ-09",
    broken="an update to an empty request_hash_header keeps the last one",
    xds={"policy_fields": KeptWhenEmpty().fields},
)


# Requests with a random hash.


def by_a61(walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool) -> PickResult:
    """Pick as if the hash were not random."""
    del one_is_connecting
    return pick_from_ring_a61(walk, args)


first_one_waited_for = Mutant(
    clause="A76-REQ-04",
    broken="a request with a random hash waits for the first endpoint that has not failed",
    rules={"pick_at_random": by_a61},
)


def always_the_same(
    walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool
) -> PickResult:
    """Pick the READY endpoint with the lowest address, wherever the walk begins."""
    candidates = list(walk)
    ready = [candidate for candidate in candidates if candidate.state is State.READY]
    if ready:
        return min(ready, key=lambda candidate: candidate.target.key).take(args)
    return pick_at_random(candidates, args, one_is_connecting=one_is_connecting)


same_ready_one_for_all = Mutant(
    clause="A76-REQ-04",
    broken="all requests with a random hash go to one READY endpoint",
    rules={"pick_at_random": always_the_same},
)


def telling(
    told: Callable[[Sequence[Candidate], bool], Sequence[Candidate]], *, before_ready: bool = False
) -> PickAtRandom:
    """Pick as the rule does, but connect the IDLE endpoints that `told` selects.

    Args:
        told: takes the IDLE endpoints, and whether one is CONNECTING.
        before_ready: whether only those before a READY one are selected from, if there is one.
    """

    def pick(walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool) -> PickResult:
        candidates = list(walk)
        result = pick_at_random(candidates, args, one_is_connecting=one_is_connecting)
        passed = list(takewhile(lambda each: each.state is not State.READY, candidates))
        has_ready = len(passed) < len(candidates)
        if isinstance(result, Drop) or (before_ready and not has_ready):
            return result
        among = passed if before_ready else candidates
        idle = [candidate for candidate in among if candidate.state is State.IDLE]
        connect = told(idle, one_is_connecting)
        return replace(result, connect=tuple(attempt.target for attempt in connect))

    return pick


all_idle_connected = Mutant(
    clause="A76-REQ-05",
    broken="every IDLE endpoint is connected, if none is CONNECTING",
    rules={"pick_at_random": telling(lambda idle, connecting: () if connecting else idle)},
)


none_connected = Mutant(
    clause="A76-REQ-05",
    broken="no endpoint is connected by a request with a random hash",
    rules={"pick_at_random": telling(lambda _idle, _connecting: ())},
)


one_more_connected = Mutant(
    clause="A76-REQ-06",
    broken="an IDLE endpoint is connected though another is CONNECTING",
    rules={"pick_at_random": telling(lambda idle, _connecting: idle[:1])},
)


def ending(
    change: Callable[[PickResult], PickResult],
) -> PickAtRandom:
    """Pick as the rule does, and change the result."""

    def pick(walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool) -> PickResult:
        return change(pick_at_random(walk, args, one_is_connecting=one_is_connecting))

    return pick


fails_instead_of_waiting = Mutant(
    clause="A76-REQ-07",
    broken="a request with a random hash fails if no endpoint is READY",
    rules={
        "pick_at_random": ending(
            lambda end: (
                Fail(Status.unavailable("none is READY"), end.connect)
                if isinstance(end, Queue)
                else end
            )
        )
    },
)


waits_instead_of_failing = Mutant(
    clause="A76-REQ-07",
    broken="a request with a random hash waits though all endpoints have failed",
    rules={
        "pick_at_random": ending(lambda end: Queue(end.connect) if isinstance(end, Fail) else end)
    },
)


header_for_good = Mutant(
    clause="A76-REQ-01",
    broken="the request_hash_header of the first config is used forever",
    xds={"request_hash_header": for_good(request_hash_header_a76)},
)


all_before_a_ready_one_connected = Mutant(
    clause="A76-REQ-05",
    broken="every IDLE endpoint before the READY one is connected, if none is CONNECTING",
    rules={
        "pick_at_random": telling(
            lambda idle, connecting: () if connecting else idle, before_ready=True
        )
    },
)


one_before_a_ready_one_connected = Mutant(
    clause="A76-REQ-06",
    broken="an IDLE endpoint before the READY one is connected though another is CONNECTING",
    rules={"pick_at_random": telling(lambda idle, _connecting: idle[:1], before_ready=True)},
)


def fails_by_the_first(
    walk: Iterable[Candidate], args: PickArgs, *, one_is_connecting: bool
) -> PickResult:
    """Fail a request that finds no READY endpoint if the first one has failed."""
    candidates = list(walk)
    result = pick_at_random(candidates, args, one_is_connecting=one_is_connecting)
    if isinstance(result, Queue) and candidates[0].state is State.TRANSIENT_FAILURE:
        return Fail(Status.unavailable("the endpoint has failed"), result.connect)
    return result


fails_if_the_first_failed = Mutant(
    clause="A76-REQ-07",
    broken="a request with a random hash fails with its first endpoint though another connects",
    rules={"pick_at_random": fails_by_the_first},
)


blanks_and_slashes_alone = Mutant(
    clause="A76-REQ-10",
    broken="only blanks, slashes and characters beyond ASCII make a header name invalid",
    xds={
        "request_hash_header": unless_it(
            lambda name: name.isascii() and not {*name} & {*" /"} and not name.endswith("-bin")
        )
    },
)


binary_name_in_capitals_accepted = Mutant(
    clause="A76-REQ-11",
    broken="a binary header is accepted if its name has capital letters",
    xds={"request_hash_header": unless_it(lambda name: name != name.lower())},
)


header_lost_after_failover = Mutant(
    clause="A76-REQ-01",
    broken="below the first priority the ring has no request_hash_header",
    rules={
        "policy_tree": by_priority(
            lambda number, policy: (
                replace(policy, request_hash_header="")
                if number and isinstance(policy, RingHashConfig)
                else policy
            )
        )
    },
)
