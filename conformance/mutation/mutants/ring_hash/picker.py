"""Mutants of the clauses in picker.toml."""

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.interface import (
    Drop,
    Fail,
    PickArgs,
    PickResult,
    Queue,
    Target,
)
from client_under_test.reference.policies.rules.ring import endpoints_along_ring, find_entry
from client_under_test.reference.policies.rules.ring_picks import (
    Candidate,
    RequestHash,
    failure_of,
    hash_for_pick,
    pick_from_ring,
    pick_from_ring_a61,
)
from client_under_test.reference.values import Endpoint, State, Status

Pick = Callable[[Iterable[Candidate], PickArgs], PickResult]


def passes_over(state: State, *, place: int, told: bool) -> Pick:
    """Pick as A61 does, but skip an endpoint if a later one is READY.

    Args:
        state: state of the endpoint to skip.
        place: its position in ring order; all endpoints before it have failed.
        told: True if the pick still connects it.
    """

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        failed = [candidate.state is State.TRANSIENT_FAILURE for candidate in candidates]
        behind = [
            candidate for candidate in candidates[place + 1 :] if candidate.state is State.READY
        ]
        if not behind or not all(failed[:place]) or candidates[place].state is not state:
            return pick_from_ring_a61(candidates, args)
        return behind[0].take(args, (candidates[place].target,) if told else ())

    return pick


def leaves_alone(rule: Pick, state: State, *, place: int) -> Pick:
    """Pick as `rule` does, but do not connect an endpoint in this state at this position."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = rule(candidates, args)
        if isinstance(result, Drop) or [candidate.state for candidate in candidates[place:]][
            :1
        ] != [state]:
            return result
        alone = candidates[place].target
        return replace(
            result,
            connect=tuple(subchannel for subchannel in result.connect if subchannel != alone),
        )

    return pick


def tells_all(rule: Pick) -> Pick:
    """Pick as `rule` does, and connect every IDLE endpoint on the ring."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = rule(candidates, args)
        if isinstance(result, Drop):
            return result
        idle = tuple(candidate.target for candidate in candidates if candidate.state is State.IDLE)
        return replace(result, connect=tuple(dict.fromkeys((*result.connect, *idle))))

    return pick


def never_fails(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A61 does, but queue requests that would fail."""
    result = pick_from_ring_a61(walk, args)
    return Queue(result.connect) if isinstance(result, Fail) else result


def first_or_none(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as if there were only the first endpoint."""
    return pick_from_ring_a61(list(walk)[:1], args)


def blaming(blame: Callable[[list[Candidate], PickArgs], Status]) -> Pick:
    """Pick as A61 does, with another status for requests that fail."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = pick_from_ring_a61(candidates, args)
        return Fail(blame(candidates, args)) if isinstance(result, Fail) else result

    return pick


def address_of(candidate: Candidate) -> str:
    """Return the identity of an endpoint."""
    return candidate.target.key


# The first endpoint.


def second_comes_first(owners: Sequence[int], start: int) -> tuple[int, ...]:
    """Return the endpoints in ring order, with the first one last."""
    first, *others = endpoints_along_ring(owners, start)
    return (*others, first)


starts_at_the_second = Mutant(
    clause="A42-PICK-01",
    broken="a pick looks first at the endpoint that comes next on the ring",
    rules={"endpoints_along_ring": second_comes_first},
)


starts_one_entry_on = Mutant(
    clause="A42-PICK-01",
    broken="a pick starts one entry after the entry of its hash",
    rules={
        "find_entry": lambda hashes, request_hash: (
            (find_entry(hashes, request_hash) + 1) % len(hashes)
        )
    },
)


def in_list_order(owners: Sequence[int], _start: int) -> Sequence[int]:
    """Return the endpoints in the order of the list."""
    return sorted({*owners})


as_listed = Mutant(
    clause="A42-PICK-01",
    broken="a pick looks at the endpoints in the order of the list, whatever its hash is",
    rules={"endpoints_along_ring": in_list_order},
)


def at_or_before(hashes: Sequence[int], request_hash: int) -> int:
    """Return the last entry at or before the hash."""
    return (bisect.bisect_right(hashes, request_hash) - 1) % len(hashes)


rounds_down = Mutant(
    clause="A42-PICK-01",
    broken="a pick starts at the last entry that is not greater than its hash",
    rules={"find_entry": at_or_before},
)


second_ready_preferred = Mutant(
    clause="A42-PICK-02",
    broken="a request is sent to the second endpoint if both are READY",
    rules={"pick_from_ring": passes_over(State.READY, place=0, told=False)},
)


idle_left_alone = Mutant(
    clause="A42-PICK-03",
    broken="while another endpoint is READY, an IDLE one is not connected",
    rules={"pick_from_ring": passes_over(State.IDLE, place=0, told=False)},
)


idle_not_waited_for = Mutant(
    clause="A42-PICK-04",
    broken="an IDLE endpoint is connected, but the request goes to another that is READY",
    rules={"pick_from_ring": passes_over(State.IDLE, place=0, told=True)},
)


left_when_connected = Mutant(
    clause="A42-PICK-04",
    broken="a request waits for its endpoint and, when it is READY, is sent to another READY one",
    rules={"pick_from_ring": passes_over(State.READY, place=0, told=False)},
)


connecting_not_waited_for = Mutant(
    clause="A42-PICK-05",
    broken="a request whose endpoint is CONNECTING goes to another that is READY",
    rules={"pick_from_ring": passes_over(State.CONNECTING, place=0, told=False)},
)


def fails_with_the_policy(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Fail every request while the policy reports TRANSIENT_FAILURE (A42-AGG-02)."""
    candidates = list(walk)
    states = [candidate.state for candidate in candidates]
    if State.READY in states or states.count(State.TRANSIENT_FAILURE) < 2:  # noqa: PLR2004
        return pick_from_ring_a61(candidates, args)
    return Fail(Status.unavailable("no endpoint is connected"))


fails_as_others_have = Mutant(
    clause="A42-PICK-05",
    broken="a request fails although its endpoint is CONNECTING, because two others have failed",
    rules={"pick_from_ring": fails_with_the_policy},
)


drawn_at_each_pick = Mutant(
    clause="A42-PICK-06",
    broken="a random hash is drawn at each pick, not once for the request",
    rules={
        "random_hash": lambda _random: None,
        "hash_for_pick": lambda args, header, rules: (
            hash_for_pick(args, header, rules) or RequestHash(args.random.getrandbits(64))
        ),
    },
)


left_once_connected = Mutant(
    clause="A42-PICK-05",
    broken="a request waits for its endpoint and, when it is READY, is sent to another READY one",
    rules={"pick_from_ring": passes_over(State.READY, place=0, told=False)},
)


def once_only(rule: Pick) -> Pick:
    """Pick as `rule` does, but reconnect each failed endpoint once only."""
    told: set[Target] = set()

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = rule(candidates, args)
        if isinstance(result, Drop):
            return result
        failed = {
            candidate.target
            for candidate in candidates
            if candidate.state is State.TRANSIENT_FAILURE
        }
        fresh = tuple(subchannel for subchannel in result.connect if subchannel not in told)
        told.update(failed & set(fresh))
        return replace(result, connect=fresh)

    return pick


first_never_again = Mutant(
    clause="A42-PICK-07",
    broken="a pick does not reconnect a failed first endpoint",
    rules={"pick_from_ring": leaves_alone(pick_from_ring, State.TRANSIENT_FAILURE, place=0)},
    variant="seed",
)


first_once_again = Mutant(
    clause="A42-PICK-07",
    broken="picks reconnect a failed first endpoint once only",
    rules={"pick_from_ring": once_only(pick_from_ring)},
    variant="seed",
)


first_not_by_itself = Mutant(
    clause="A42-PICK-07",
    broken="a failed endpoint does not retry by itself, and picks do not reconnect it",
    rules={"ring_endpoints_retry": False},
)


# The second endpoint.


def then_as_listed(owners: Sequence[int], start: int) -> tuple[int, ...]:
    """Return the endpoint of the hash, then the others in list order."""
    return tuple(dict.fromkeys((owners[start], *sorted(owners))))


next_by_list = Mutant(
    clause="A42-PICK-08",
    broken="after a failed endpoint comes the first of the list, not the next on the ring",
    rules={"endpoints_along_ring": then_as_listed},
)


def each_entry(owners: Sequence[int], start: int) -> Iterator[int]:
    """Return each endpoint once for each of its entries, in ring order."""
    return (owners[(start + offset) % len(owners)] for offset in range(len(owners)))


entries_count = Mutant(
    clause="A42-PICK-09",
    broken="the next entry counts as the second endpoint, even if it belongs to the first",
    rules={"endpoints_along_ring": each_entry},
    variant="seed",
)


first_alone = Mutant(
    clause="A42-PICK-10",
    broken="a request fails if its first endpoint has failed",
    rules={"pick_from_ring": first_or_none},
)


second_left_alone = Mutant(
    clause="A42-PICK-11",
    broken="after a failed endpoint, only READY ones are used and IDLE ones are not connected",
    rules={"pick_from_ring": passes_over(State.IDLE, place=1, told=False)},
)


second_idle_not_waited_for = Mutant(
    clause="A42-PICK-12",
    broken="an IDLE second endpoint is connected, but the request goes to one that is READY",
    rules={"pick_from_ring": passes_over(State.IDLE, place=1, told=True)},
)


second_connecting_not_waited_for = Mutant(
    clause="A42-PICK-13",
    broken="a request whose second endpoint is CONNECTING goes to another that is READY",
    rules={"pick_from_ring": passes_over(State.CONNECTING, place=1, told=False)},
)


second_never_again = Mutant(
    clause="A42-PICK-14",
    broken="a pick does not reconnect a failed second endpoint",
    rules={"pick_from_ring": leaves_alone(pick_from_ring, State.TRANSIENT_FAILURE, place=1)},
    variant="seed",
)


second_once_again = Mutant(
    clause="A42-PICK-14",
    broken="picks reconnect a failed second endpoint once only",
    rules={"pick_from_ring": once_only(pick_from_ring)},
    variant="seed",
)


second_not_by_itself = Mutant(
    clause="A42-PICK-14",
    broken="a failed endpoint does not retry by itself, and picks do not reconnect it",
    rules={"ring_endpoints_retry": False},
)


second_left_when_connected = Mutant(
    clause="A42-PICK-12",
    broken="a request waits for a second endpoint and, when it is READY, is sent to a third",
    rules={"pick_from_ring": passes_over(State.READY, place=1, told=False)},
)


second_left_once_connected = Mutant(
    clause="A42-PICK-13",
    broken="a request waits for a second endpoint and, when it is READY, is sent to a third",
    rules={"pick_from_ring": passes_over(State.READY, place=1, told=False)},
)


# The rest of the ring.

ready_preferred = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a READY one is used, whatever comes before it",
    rules={"pick_from_ring": pick_from_ring},
)


third_left_while_idle = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a request connects an IDLE one and goes to a READY one",
    rules={"pick_from_ring": passes_over(State.IDLE, place=2, told=True)},
)


fourth_left_while_connecting = Mutant(
    clause="A42-PICK-15",
    broken="after three failed endpoints a request does not wait for a fourth that is CONNECTING",
    rules={"pick_from_ring": passes_over(State.CONNECTING, place=3, told=False)},
)


def any_ready_after_two(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A61 does, but take the last READY endpoint after two failed ones."""
    candidates = list(walk)
    failed = [candidate.state is State.TRANSIENT_FAILURE for candidate in candidates[:2]]
    ready = [candidate for candidate in candidates[2:] if candidate.state is State.READY]
    if all(failed) and ready and candidates[2].state is State.READY:
        return ready[-1].take(args)
    return pick_from_ring_a61(candidates, args)


last_ready_after_two = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a request is sent to the last that is READY, not the first",
    rules={"pick_from_ring": any_ready_after_two},
)


third_waited_for = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a request waits for a third that is CONNECTING",
    rules={"pick_from_ring": pick_from_ring_a61},
    variant="seed",
)


fails_after_two = Mutant(
    clause="A42-PICK-16",
    broken="a request fails after two failed endpoints if none is READY",
    rules={"pick_from_ring": pick_from_ring},
)


waits_after_two = Mutant(
    clause="A42-PICK-16",
    broken="a request waits for a third endpoint after two that failed",
    rules={"pick_from_ring": pick_from_ring_a61},
    variant="seed",
)


def two_or_three(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A61 does, on the first three endpoints."""
    return pick_from_ring_a61(list(walk)[:3], args)


fails_after_three = Mutant(
    clause="A42-PICK-16",
    broken="a request fails after three failed endpoints, although a fourth is CONNECTING",
    rules={"pick_from_ring": two_or_three},
)


third_passed_over = Mutant(
    clause="A42-PICK-17",
    broken="after two failed endpoints, only READY ones are used and IDLE ones are not connected",
    rules={"pick_from_ring": passes_over(State.IDLE, place=2, told=False)},
)


third_left_alone = Mutant(
    clause="A42-PICK-17",
    broken="after two failed endpoints a pick does not connect an IDLE one",
    rules={"pick_from_ring": leaves_alone(pick_from_ring, State.IDLE, place=2)},
    variant="seed",
)


fourth_passed_over = Mutant(
    clause="A42-PICK-17",
    broken="after three failed endpoints, only READY ones are used and IDLE ones not connected",
    rules={"pick_from_ring": passes_over(State.IDLE, place=3, told=False)},
)


all_idle_told = Mutant(
    clause="A42-PICK-18",
    broken="a pick connects every IDLE endpoint on the ring",
    rules={"pick_from_ring": tells_all(pick_from_ring_a61)},
)


all_idle_told_after_two = Mutant(
    clause="A42-PICK-18",
    broken="after two failed endpoints a pick connects every IDLE one",
    rules={"pick_from_ring": tells_all(pick_from_ring)},
    variant="seed",
)


third_never_again = Mutant(
    clause="A42-PICK-19",
    broken="a pick does not reconnect a failed endpoint after the second",
    rules={"pick_from_ring": leaves_alone(pick_from_ring, State.TRANSIENT_FAILURE, place=2)},
    variant="seed",
)


third_once_again = Mutant(
    clause="A42-PICK-19",
    broken="picks reconnect a failed endpoint after the second once only",
    rules={"pick_from_ring": once_only(pick_from_ring)},
    variant="seed",
)


fourth_never_again = Mutant(
    clause="A42-PICK-19",
    broken="a pick does not reconnect a failed endpoint after the third",
    rules={"pick_from_ring": leaves_alone(pick_from_ring, State.TRANSIENT_FAILURE, place=3)},
    variant="seed",
)


third_not_by_itself = Mutant(
    clause="A42-PICK-19",
    broken="a failed endpoint does not retry by itself, and picks do not reconnect it",
    rules={"ring_endpoints_retry": False},
)


waits_though_all_failed = Mutant(
    clause="A42-PICK-20",
    broken="a request waits though every endpoint has failed",
    rules={"pick_from_ring": never_fails},
)


def waits_for_the_next_picker() -> Pick:
    """Pick as A61 does, but queue each request that would fail until the next picker."""
    asked: list[PickArgs] = []

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        result = pick_from_ring_a61(walk, args)
        if not isinstance(result, Fail) or any(args is before for before in asked):
            return result
        asked.append(args)
        return Queue(result.connect)

    return pick


waits_for_a_retry = Mutant(
    clause="A42-PICK-20",
    broken="if every endpoint has failed, a request waits for a retry and fails after it",
    rules={"pick_from_ring": waits_for_the_next_picker()},
)


def waits_for_few(count: int) -> Pick:
    """Pick as A61 does, but queue requests that would fail if there are `count` endpoints."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        rule = never_fails if len(candidates) == count else pick_from_ring_a61
        return rule(candidates, args)

    return pick


waits_for_the_only_one = Mutant(
    clause="A42-PICK-20",
    broken="a request waits for the only endpoint, although it has failed",
    rules={"pick_from_ring": waits_for_few(1)},
)


waits_for_a_third = Mutant(
    clause="A42-PICK-20",
    broken="a request waits if there are two endpoints, although both have failed",
    rules={"pick_from_ring": waits_for_few(2)},
)


ends_at_the_last_entry = Mutant(
    clause="A42-PICK-21",
    broken="the search for further endpoints ends at the last entry of the ring",
    rules={"endpoints_along_ring": lambda owners, start: endpoints_along_ring(owners[start:], 0)},
)


def back_from_the_end(owners: Sequence[int], start: int) -> tuple[int, ...]:
    """Return the endpoints up to the last entry, then those before the first pick's entry."""
    return tuple(dict.fromkeys((*owners[start:], *reversed(owners[:start]))))


turns_back_at_the_last_entry = Mutant(
    clause="A42-PICK-21",
    broken="after the last entry of the ring the search goes back from the first one that it saw",
    rules={"endpoints_along_ring": back_from_the_end},
)


# The request as a whole.

waits_for_each = Mutant(
    clause="A42-PICK-22",
    broken="a request waits for one endpoint after another",
    rules={"pick_from_ring": pick_from_ring_a61},
    variant="seed",
)


waits_for_ever = Mutant(
    clause="A42-PICK-22",
    broken="a request keeps waiting when all endpoints have failed",
    rules={"pick_from_ring": never_fails},
)


def on_its_first_ring() -> Callable[[Sequence[int], int], int]:
    """Find the entry on the ring of the request's first pick."""
    rings: dict[int, Sequence[int]] = {}

    def find(hashes: Sequence[int], request_hash: int) -> int:
        first = rings.setdefault(request_hash, hashes)
        return find_entry(first, request_hash) % len(hashes)

    return find


placed_on_the_old_ring = Mutant(
    clause="A42-PICK-23",
    broken="waiting requests keep their entry of the old ring",
    rules={"find_entry": on_its_first_ring()},
)


def where_it_was_first() -> Pick:
    """Pick as A61 does, but begin with the endpoint of the request's first pick if it is listed."""
    firsts: list[tuple[PickArgs, Target]] = []

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        first = next((target for before, target in firsts if before is args), None)
        if first is None:
            firsts.append((args, candidates[0].target))
        return pick_from_ring_a61(sorted(candidates, key=lambda each: each.target != first), args)

    return pick


stays_while_listed = Mutant(
    clause="A42-PICK-23",
    broken="a waiting request waits for the endpoint of its first pick as long as that is listed",
    rules={"pick_from_ring": where_it_was_first()},
)


def kept_if_most_go(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Keep the old list if less than a tenth of it is left."""
    return before if 0 < len(now) < len(before) / 10 else now


holds_an_update_back = Mutant(
    clause="A42-PICK-23",
    broken="an update that removes most endpoints is ignored, and requests keep waiting for these",
    rules={"ring_endpoints": kept_if_most_go},
)


fails_at_once = Mutant(
    clause="A42-PICK-24",
    broken="wait_for_ready is ignored",
    rules={"queue_wait_for_ready": lambda result: result},
)


one_failure_for_all = Mutant(
    clause="A42-PICK-25",
    broken="every failed request gets the error of the same endpoint",
    rules={
        "pick_from_ring": blaming(lambda walk, args: failure_of(min(walk, key=address_of), args)),
    },
)


def fails_with_no_other(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A61 does, but fail if the second endpoint is CONNECTING and none is READY."""
    candidates = list(walk)
    states = [candidate.state for candidate in candidates]
    if states[:2] == [State.TRANSIENT_FAILURE, State.CONNECTING] and State.READY not in states:
        return Fail(failure_of(candidates[0], args))
    return pick_from_ring_a61(candidates, args)


second_alone_not_waited_for = Mutant(
    clause="A42-PICK-13",
    broken="a request fails if its second endpoint is CONNECTING and no endpoint is READY",
    rules={"pick_from_ring": fails_with_no_other},
)


def second_retried_alone(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A42 does, but do not reconnect the first endpoint if the second has failed too."""
    candidates = list(walk)
    result = pick_from_ring(candidates, args)
    states = [candidate.state for candidate in candidates]
    if isinstance(result, Drop) or states[:2] != [State.TRANSIENT_FAILURE] * 2:
        return result
    first = candidates[0].target
    return replace(result, connect=tuple(target for target in result.connect if target != first))


first_never_again_with_the_second = Mutant(
    clause="A42-PICK-07",
    broken="a pick does not reconnect a failed first endpoint if the second has failed too",
    rules={"pick_from_ring": second_retried_alone},
    variant="seed",
)
