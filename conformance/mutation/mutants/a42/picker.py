"""Mutants of the clauses in picker.toml."""

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
from client_under_test.reference.policies.rules.ring import each_endpoint_once, first_at_or_after
from client_under_test.reference.policies.rules.ring_picks import (
    Candidate,
    RequestHash,
    failure_of,
    hash_of_the_route,
    pick_by_a42,
    pick_by_a61,
)
from client_under_test.reference.values import Endpoint, State, Status

Pick = Callable[[Iterable[Candidate], PickArgs], PickResult]


def passes_over(state: State, *, place: int, told: bool) -> Pick:
    """A61's picks, but an endpoint is passed over if one behind it is READY.

    Args:
        state: that of the endpoint.
        place: its place on the walk, all before it having failed.
        told: whether it is told to connect all the same.
    """

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        failed = [candidate.state is State.TRANSIENT_FAILURE for candidate in candidates]
        behind = [
            candidate for candidate in candidates[place + 1 :] if candidate.state is State.READY
        ]
        if not behind or not all(failed[:place]) or candidates[place].state is not state:
            return pick_by_a61(candidates, args)
        return behind[0].take(args, (candidates[place].target,) if told else ())

    return pick


def leaves_alone(rule: Pick, state: State, *, place: int) -> Pick:
    """The same picks, but an endpoint in this state at this place of the walk is told nothing."""

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
    """The same picks, but every IDLE endpoint on the walk is told to connect."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = rule(candidates, args)
        if isinstance(result, Drop):
            return result
        idle = tuple(candidate.target for candidate in candidates if candidate.state is State.IDLE)
        return replace(result, connect=tuple(dict.fromkeys((*result.connect, *idle))))

    return pick


def never_fails(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """A61's picks, but a request waits where it would fail."""
    result = pick_by_a61(walk, args)
    return Queue(result.connect) if isinstance(result, Fail) else result


def first_or_none(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Only the first endpoint counts."""
    return pick_by_a61(list(walk)[:1], args)


def blaming(blame: Callable[[list[Candidate], PickArgs], Status]) -> Pick:
    """A61's picks, with another status for those that fail."""

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        result = pick_by_a61(candidates, args)
        return Fail(blame(candidates, args)) if isinstance(result, Fail) else result

    return pick


def address_of(candidate: Candidate) -> str:
    """The endpoint's identity."""
    return candidate.target.key


# The first endpoint.


def second_comes_first(owners: Sequence[int], start: int) -> tuple[int, ...]:
    """Along the ring, but whom the hash finds comes last."""
    first, *others = each_endpoint_once(owners, start)
    return (*others, first)


starts_at_the_second = Mutant(
    clause="A42-PICK-01",
    broken="a pick looks first at the endpoint that comes next on the ring",
    rules={"along_the_ring": second_comes_first},
)

starts_one_entry_on = Mutant(
    clause="A42-PICK-01",
    broken="a pick begins at the entry behind the one that its hash finds",
    rules={
        "find_entry": lambda hashes, request_hash: (
            (first_at_or_after(hashes, request_hash) + 1) % len(hashes)
        )
    },
)

second_ready_preferred = Mutant(
    clause="A42-PICK-02",
    broken="a request is sent to the next READY endpoint, if there are two",
    rules={"pick": passes_over(State.READY, place=0, told=False)},
)

idle_left_alone = Mutant(
    clause="A42-PICK-03",
    broken="while another endpoint is READY, an IDLE one is not connected",
    rules={"pick": passes_over(State.IDLE, place=0, told=False)},
)

idle_not_waited_for = Mutant(
    clause="A42-PICK-04",
    broken="an IDLE endpoint is connected, but the request goes to another that is READY",
    rules={"pick": passes_over(State.IDLE, place=0, told=True)},
)

left_when_connected = Mutant(
    clause="A42-PICK-04",
    broken="a request waits for its endpoint and, when that is READY, is sent to another that is",
    rules={"pick": passes_over(State.READY, place=0, told=False)},
)

connecting_not_waited_for = Mutant(
    clause="A42-PICK-05",
    broken="a request whose endpoint is CONNECTING goes to another that is READY",
    rules={"pick": passes_over(State.CONNECTING, place=0, told=False)},
)


def fails_with_the_policy(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """While the policy reports TRANSIENT_FAILURE, as by A42-AGG-02, every request fails."""
    candidates = list(walk)
    states = [candidate.state for candidate in candidates]
    if State.READY in states or states.count(State.TRANSIENT_FAILURE) < 2:  # noqa: PLR2004
        return pick_by_a61(candidates, args)
    return Fail(Status.unavailable("no endpoint is connected"))


fails_as_others_have = Mutant(
    clause="A42-PICK-05",
    broken="a request fails though its endpoint is CONNECTING, as two others have failed",
    rules={"pick": fails_with_the_policy},
)

drawn_at_each_pick = Mutant(
    clause="A42-PICK-06",
    broken="a random hash is drawn at each pick, not once for the request",
    rules={
        "random_hash": lambda _random: None,
        "hash_for_pick": lambda args, header, rules: (
            hash_of_the_route(args, header, rules) or RequestHash(args.random.getrandbits(64))
        ),
    },
)

left_once_connected = Mutant(
    clause="A42-PICK-05",
    broken="a request waits for its endpoint and, when that is READY, is sent to another that is",
    rules={"pick": passes_over(State.READY, place=0, told=False)},
)


def once_only(rule: Pick) -> Pick:
    """The same picks, but no failed endpoint is told to connect a second time."""
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
    broken="a failed first endpoint is not told to connect again",
    rules={"pick": leaves_alone(pick_by_a42, State.TRANSIENT_FAILURE, place=0)},
    edition="seed",
)

first_once_again = Mutant(
    clause="A42-PICK-07",
    broken="a failed first endpoint is told to connect again once, and then no more",
    rules={"pick": once_only(pick_by_a42)},
    edition="seed",
)

first_not_by_itself = Mutant(
    clause="A42-PICK-07",
    broken="a failed endpoint is not tried again by itself, though picks do not ask for it",
    rules={"ring_endpoints_retry": False},
)

# The second.


def then_as_listed(owners: Sequence[int], start: int) -> tuple[int, ...]:
    """Whom the hash finds, then the others in the order of the list."""
    return tuple(dict.fromkeys((owners[start], *sorted(owners))))


next_by_list = Mutant(
    clause="A42-PICK-08",
    broken="after a failed endpoint comes the first of the list, not the next along the ring",
    rules={"along_the_ring": then_as_listed},
)


def each_entry(owners: Sequence[int], start: int) -> Iterator[int]:
    """An endpoint as often as it has entries."""
    return (owners[(start + offset) % len(owners)] for offset in range(len(owners)))


entries_count = Mutant(
    clause="A42-PICK-09",
    broken="the next entry is looked at, even if it belongs to the first endpoint again",
    rules={"along_the_ring": each_entry},
    edition="seed",
)

first_alone = Mutant(
    clause="A42-PICK-10",
    broken="a request fails if its first endpoint has failed",
    rules={"pick": first_or_none},
)

second_left_alone = Mutant(
    clause="A42-PICK-11",
    broken="after a failed endpoint, READY ones are looked for and IDLE ones left alone",
    rules={"pick": passes_over(State.IDLE, place=1, told=False)},
)

second_idle_not_waited_for = Mutant(
    clause="A42-PICK-12",
    broken="an IDLE second endpoint is connected, but the request goes to one that is READY",
    rules={"pick": passes_over(State.IDLE, place=1, told=True)},
)

second_connecting_not_waited_for = Mutant(
    clause="A42-PICK-13",
    broken="a request whose second endpoint is CONNECTING goes to another that is READY",
    rules={"pick": passes_over(State.CONNECTING, place=1, told=False)},
)

second_never_again = Mutant(
    clause="A42-PICK-14",
    broken="a failed second endpoint is not told to connect again",
    rules={"pick": leaves_alone(pick_by_a42, State.TRANSIENT_FAILURE, place=1)},
    edition="seed",
)

second_once_again = Mutant(
    clause="A42-PICK-14",
    broken="a failed second endpoint is told to connect again once, and then no more",
    rules={"pick": once_only(pick_by_a42)},
    edition="seed",
)

second_not_by_itself = Mutant(
    clause="A42-PICK-14",
    broken="a failed endpoint is not tried again by itself, though picks do not ask for it",
    rules={"ring_endpoints_retry": False},
)

second_left_when_connected = Mutant(
    clause="A42-PICK-12",
    broken="a request waits for a second endpoint and, when that is READY, is sent to a third",
    rules={"pick": passes_over(State.READY, place=1, told=False)},
)

second_left_once_connected = Mutant(
    clause="A42-PICK-13",
    broken="a request waits for a second endpoint and, when that is READY, is sent to a third",
    rules={"pick": passes_over(State.READY, place=1, told=False)},
)

# The rest of the ring.

ready_preferred = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a READY one is taken, whatever lies before it",
    rules={"pick": pick_by_a42},
)

third_waited_for = Mutant(
    clause="A42-PICK-15",
    broken="after two failed endpoints a third that is CONNECTING is waited for",
    rules={"pick": pick_by_a61},
    edition="seed",
)

fails_after_two = Mutant(
    clause="A42-PICK-16",
    broken="a request fails after two failed endpoints if none is READY",
    rules={"pick": pick_by_a42},
)

waits_after_two = Mutant(
    clause="A42-PICK-16",
    broken="a request waits for a third endpoint after two that failed",
    rules={"pick": pick_by_a61},
    edition="seed",
)

third_passed_over = Mutant(
    clause="A42-PICK-17",
    broken="after two failed endpoints READY ones are looked for and IDLE ones left alone",
    rules={"pick": passes_over(State.IDLE, place=2, told=False)},
)

third_left_alone = Mutant(
    clause="A42-PICK-17",
    broken="after two failed endpoints an IDLE one is not told to connect",
    rules={"pick": leaves_alone(pick_by_a42, State.IDLE, place=2)},
    edition="seed",
)

all_idle_told = Mutant(
    clause="A42-PICK-18",
    broken="every IDLE endpoint on the walk is told to connect",
    rules={"pick": tells_all(pick_by_a61)},
)

all_idle_told_after_two = Mutant(
    clause="A42-PICK-18",
    broken="after two failed endpoints every IDLE one is told to connect",
    rules={"pick": tells_all(pick_by_a42)},
    edition="seed",
)

third_never_again = Mutant(
    clause="A42-PICK-19",
    broken="a failed endpoint behind two others is not told to connect again",
    rules={"pick": leaves_alone(pick_by_a42, State.TRANSIENT_FAILURE, place=2)},
    edition="seed",
)

third_once_again = Mutant(
    clause="A42-PICK-19",
    broken="a failed endpoint behind two others is told to connect again once, and then no more",
    rules={"pick": once_only(pick_by_a42)},
    edition="seed",
)

third_not_by_itself = Mutant(
    clause="A42-PICK-19",
    broken="a failed endpoint is not tried again by itself, though picks do not ask for it",
    rules={"ring_endpoints_retry": False},
)

waits_though_all_failed = Mutant(
    clause="A42-PICK-20",
    broken="a request waits though every endpoint has failed",
    rules={"pick": never_fails},
)

ends_at_the_last_entry = Mutant(
    clause="A42-PICK-21",
    broken="the search for further endpoints ends at the last entry of the ring",
    rules={"along_the_ring": lambda owners, start: each_endpoint_once(owners[start:], 0)},
)

# For the request as a whole.

waits_for_each = Mutant(
    clause="A42-PICK-22",
    broken="a request waits for one endpoint after the other",
    rules={"pick": pick_by_a61},
    edition="seed",
)

waits_for_ever = Mutant(
    clause="A42-PICK-22",
    broken="a request waits on when all endpoints have failed",
    rules={"pick": never_fails},
)


def on_its_first_ring() -> Callable[[Sequence[int], int], int]:
    """By the places that the entries had when the request was first picked."""
    rings: dict[int, Sequence[int]] = {}

    def find(hashes: Sequence[int], request_hash: int) -> int:
        first = rings.setdefault(request_hash, hashes)
        return first_at_or_after(first, request_hash) % len(hashes)

    return find


placed_on_the_old_ring = Mutant(
    clause="A42-PICK-23",
    broken="waiting requests keep the place that they had on the ring before the update",
    rules={"find_entry": on_its_first_ring()},
)


def kept_if_most_go(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """The old list, if hardly anything is left of it."""
    return before if 0 < len(now) < len(before) / 10 else now


holds_an_update_back = Mutant(
    clause="A42-PICK-23",
    broken="an update that takes most endpoints away is held back, and requests wait on for these",
    rules={"ring_endpoints": kept_if_most_go},
)

fails_at_once = Mutant(
    clause="A42-PICK-24",
    broken="that a request wants to wait for readiness is ignored",
    rules={"wait_for_ready": lambda result: result},
)

one_failure_for_all = Mutant(
    clause="A42-PICK-25",
    broken="every request that fails is told of the same endpoint",
    rules={
        "pick": blaming(lambda walk, args: failure_of(min(walk, key=address_of), args)),
    },
)
