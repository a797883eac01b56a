"""Mutants of the clauses in subchannel_states.toml."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.interface import Drop, PickArgs, PickResult, Target
from client_under_test.reference.policies.rules.ring_picks import Candidate, pick_from_ring_a61
from client_under_test.reference.policies.rules.ring_states import (
    Prospect,
    counted_state,
    proactive_attempt_a61,
)
from client_under_test.reference.values import Endpoint, State
from conformance.mutation.mutants.ring_hash.picker import in_list_order, leaves_alone, tells_all

CONNECTING, READY, FAILED = State.CONNECTING, State.READY, State.TRANSIENT_FAILURE


SEVERAL = 2


def counting(reported: State, *, as_state: State) -> Callable[[State, State], State]:
    """Follow the rule, but count one reported state as another."""

    def counted(before: State, after: State) -> State:
        return counted_state(before, as_state if after is reported else after)

    return counted


def as_reported(_before: State, reported: State) -> State:
    """Count the reported state, without sticky TRANSIENT_FAILURE."""
    return reported


def failed_for_good(before: State, reported: State) -> State:
    """Count an endpoint as failed forever once it has failed."""
    return FAILED if before is FAILED else reported


def lost_is_failed(before: State, reported: State) -> State:
    """Count an endpoint that lost its connection as failed."""
    lost = before is READY and reported is State.IDLE
    return FAILED if lost else counted_state(before, reported)


def whatever_is_idle(
    _aggregated: State, prospects: Sequence[Prospect], _last_failed: str | None
) -> str | None:
    """Connect an IDLE endpoint without a reason."""
    return next(
        (prospect.identity for prospect in prospects if prospect.counted is State.IDLE), None
    )


def once_connected(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Connect the only endpoint again as soon as it is IDLE."""
    alone = len(prospects) == 1
    return whatever_is_idle(aggregated, prospects, last_failed) if alone else None


connects_at_the_start = Mutant(
    clause="A42-SUB-01",
    broken="endpoints are connected before any request",
    rules={"proactive_attempt": whatever_is_idle},
)


def at_an_update() -> Callable[[State, Sequence[Prospect], str | None], str | None]:
    """Connect an IDLE endpoint when the list has changed."""
    listed: list[frozenset[str]] = []

    def proactive_attempt(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        now = frozenset(prospect.identity for prospect in prospects)
        is_new = any(now != before and now & before for before in listed)
        listed.append(now)
        rule = whatever_is_idle if is_new else proactive_attempt_a61
        return rule(aggregated, prospects, last_failed)

    return proactive_attempt


connects_at_an_update = Mutant(
    clause="A42-SUB-01",
    broken="an update of the list connects an endpoint before any request",
    rules={"proactive_attempt": at_an_update()},
)


picked_and_left_alone = Mutant(
    clause="A42-SUB-02",
    broken="a request does not connect the endpoint that it picks",
    rules={"pick_from_ring": leaves_alone(pick_from_ring_a61, State.IDLE, place=0)},
)


first_listed_connected = Mutant(
    clause="A42-SUB-02",
    broken="requests connect the endpoints in the order of the list, whatever their hash is",
    rules={"endpoints_along_ring": in_list_order},
)


def when_picked_by_another() -> Callable[[Iterable[Candidate], PickArgs], PickResult]:
    """Pick as A61 does, but do not connect for the first request that finds an endpoint IDLE."""
    finders: dict[Target, PickArgs] = {}

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        result = pick_from_ring_a61(walk, args)
        if isinstance(result, Drop):
            return result
        told = tuple(
            subchannel
            for subchannel in result.connect
            if finders.setdefault(subchannel, args) is not args
        )
        return replace(result, connect=told)

    return pick


connected_for_the_second = Mutant(
    clause="A42-SUB-02",
    broken="an endpoint connects for the second request that picks it, not for the first",
    rules={"pick_from_ring": when_picked_by_another()},
)


def not_beside_connecting(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
    """Pick as A61 does, but connect nothing while an endpoint is CONNECTING."""
    candidates = [*walk]
    result = pick_from_ring_a61(candidates, args)
    busy = any(candidate.state is CONNECTING for candidate in candidates)
    return result if isinstance(result, Drop) or not busy else replace(result, connect=())


left_alone_beside_connecting = Mutant(
    clause="A42-SUB-02",
    broken="a request does not connect the endpoint that it picks while another is CONNECTING",
    rules={"pick_from_ring": not_beside_connecting},
)


def not_once_lost() -> Callable[[Iterable[Candidate], PickArgs], PickResult]:
    """Pick as A61 does, but do not connect an endpoint that was READY before."""
    known: set[Target] = set()

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = [*walk]
        known.update(each.target for each in candidates if each.state is READY)
        result = pick_from_ring_a61(candidates, args)
        if isinstance(result, Drop):
            return result
        return replace(result, connect=tuple(each for each in result.connect if each not in known))

    return pick


lost_one_left_alone = Mutant(
    clause="A42-SUB-02",
    broken="a request does not connect the endpoint that it picks if a connection there was lost",
    rules={"pick_from_ring": not_once_lost()},
)


all_connected_at_a_pick = Mutant(
    clause="A42-SUB-03",
    broken="the first request connects every endpoint",
    rules={"pick_from_ring": tells_all(pick_from_ring_a61)},
)


def once_two_are_ready(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Connect an IDLE endpoint when two others are READY."""
    ready = [prospect for prospect in prospects if prospect.counted is READY]
    rule = proactive_attempt_a61 if len(ready) < SEVERAL else whatever_is_idle
    return rule(aggregated, prospects, last_failed)


all_connected_beside_two = Mutant(
    clause="A42-SUB-03",
    broken="once requests have picked two endpoints, the others connect",
    rules={"proactive_attempt": once_two_are_ready},
)


def at_an_update_while_ready() -> Callable[[State, Sequence[Prospect], str | None], str | None]:
    """Connect an IDLE endpoint when the list has changed while an endpoint is READY."""
    changed = at_an_update()

    def proactive_attempt(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        rule = changed if aggregated is READY else proactive_attempt_a61
        return rule(aggregated, prospects, last_failed)

    return proactive_attempt


one_connected_at_an_update = Mutant(
    clause="A42-SUB-03",
    broken="an update of the list while an endpoint is READY connects another one",
    rules={"proactive_attempt": at_an_update_while_ready()},
)


attempt_counts_as_failed = Mutant(
    clause="A42-SUB-04",
    broken="an endpoint counts as failed while it is CONNECTING",
    rules={"counted_state": counting(CONNECTING, as_state=FAILED)},
)


def after_a_loss(reported: State, *, as_state: State) -> Callable[[State, State], State]:
    """Follow the rule, but count one state as another once a connection was lost."""
    lost = False

    def counted(before: State, after: State) -> State:
        nonlocal lost
        lost = lost or (before is READY and after is State.IDLE)
        return counted_state(before, as_state if lost and after is reported else after)

    return counted


second_attempt_counts_as_idle = Mutant(
    clause="A42-SUB-04",
    broken="an endpoint that lost its connection counts as IDLE while it is CONNECTING again",
    rules={"counted_state": after_a_loss(CONNECTING, as_state=State.IDLE)},
)


second_time_ready_counts_as_connecting = Mutant(
    clause="A42-SUB-05",
    broken="an endpoint that lost its connection counts as CONNECTING when it is READY again",
    rules={"counted_state": after_a_loss(READY, as_state=CONNECTING)},
)


failure_after_a_loss_counts_as_connecting = Mutant(
    clause="A42-SUB-06",
    broken="an endpoint that lost its connection and fails to reconnect counts as CONNECTING",
    rules={"counted_state": after_a_loss(FAILED, as_state=CONNECTING)},
)


ready_counts_as_connecting = Mutant(
    clause="A42-SUB-05",
    broken="a READY endpoint still counts as CONNECTING",
    rules={"counted_state": counting(READY, as_state=CONNECTING)},
)


failed_counts_as_connecting = Mutant(
    clause="A42-SUB-06",
    broken="a failed endpoint still counts as CONNECTING",
    rules={"counted_state": counting(FAILED, as_state=CONNECTING)},
)


def first_failure_counts() -> Callable[[State, State], State]:
    """Count only the endpoint that fails first as failed, others as IDLE."""
    failures = 0

    def counted(before: State, after: State) -> State:
        nonlocal failures
        failures += after is FAILED and before is not FAILED
        is_later = after is FAILED and before is not FAILED and failures > 1
        return counted_state(before, State.IDLE if is_later else after)

    return counted


only_one_counts_as_failed = Mutant(
    clause="A42-SUB-06",
    broken="an endpoint that fails after another one counts as IDLE",
    rules={"counted_state": first_failure_counts()},
)


waits_for_a_pick = Mutant(
    clause="A42-SUB-07",
    broken="a failed endpoint is retried only for a pick, though A61 is declared",
    rules={"ring_endpoints_retry": False},
)


retries_by_itself = Mutant(
    clause="A42-SUB-07",
    broken="a failed endpoint retries by itself, though A61 is not declared",
    rules={"ring_endpoints_retry": True},
    variant="seed",
)


failure_forgotten_for_requests = Mutant(
    clause="A42-SUB-08",
    broken="an endpoint no longer counts as failed when its next attempt starts",
    rules={"counted_state": as_reported},
    variant="seed",
)


failure_forgotten_in_the_state = Mutant(
    clause="A42-SUB-09",
    broken="an endpoint no longer counts as failed when its next attempt starts",
    rules={"counted_state": as_reported},
    variant="seed",
)


failed_once_and_for_all = Mutant(
    clause="A42-SUB-10",
    broken="an endpoint that failed once gets no more requests",
    rules={"counted_state": failed_for_good},
)


lost_counts_as_failed_for_requests = Mutant(
    clause="A42-SUB-11",
    broken="an endpoint that lost its connection counts as failed",
    rules={"counted_state": lost_is_failed},
)


def passes_over_lost() -> Callable[[Iterable[Candidate], PickArgs], PickResult]:
    """Pick as A61 does, but prefer a READY endpoint to a first one that lost its connection."""
    connected: set[Target] = set()

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        first, *others = list(walk)
        ready = [candidate for candidate in (first, *others) if candidate.state is READY]
        connected.update(candidate.target for candidate in ready)
        if first.state is State.IDLE and first.target in connected and ready:
            return ready[0].take(args, (first.target,))
        return pick_from_ring_a61((first, *others), args)

    return pick


lost_and_passed_over = Mutant(
    clause="A42-SUB-11",
    broken="while another endpoint is READY, requests do not wait for one that lost its connection",
    rules={"pick_from_ring": passes_over_lost()},
)


lost_counts_as_failed_in_the_state = Mutant(
    clause="A42-SUB-12",
    broken="an endpoint that lost its connection counts as failed",
    rules={"counted_state": lost_is_failed},
)


lost_and_renewed = Mutant(
    clause="A42-SUB-13",
    broken="a lost connection is replaced at once",
    rules={"proactive_attempt": once_connected},
)


def once_ready() -> Callable[[State, Sequence[Prospect], str | None], str | None]:
    """Follow A61's rule, and connect an endpoint that was READY before as soon as it is IDLE."""
    ready: set[str] = set()

    def proactive_attempt(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        ready.update(each.identity for each in prospects if each.counted is READY)
        lost = (each for each in prospects if each.counted is State.IDLE)
        renewed = next((each.identity for each in lost if each.identity in ready), None)
        if aggregated is READY and renewed is not None:
            return renewed
        return proactive_attempt_a61(aggregated, prospects, last_failed)

    return proactive_attempt


lost_and_renewed_beside_ready = Mutant(
    clause="A42-SUB-13",
    broken="a lost connection is replaced at once if another endpoint is READY",
    rules={"proactive_attempt": once_ready()},
)


def weighed_by_their_number(
    _before: Sequence[Endpoint], now: Sequence[Endpoint]
) -> Sequence[Endpoint]:
    """Set all weights to the number of endpoints, which keeps the ring unchanged."""
    return [replace(endpoint, weight=len(now)) for endpoint in now]


connected_anew = Mutant(
    clause="A42-SUB-14",
    broken="all endpoints are replaced when the length of the list changes",
    rules={
        "ring_endpoints": weighed_by_their_number,
        "endpoint_identity": lambda endpoint: f"{endpoint.addresses[0]} x {endpoint.weight}",
    },
)


priorities_made_anew = Mutant(
    clause="A42-SUB-14",
    broken="an update of any leaf replaces the policies of all priorities",
    rules={"keeps_priority_name": lambda _before, _now: False},
)


def failed_for_good_after(count: int) -> Callable[[State, State], State]:
    """Count an endpoint as failed forever once endpoints have failed this often."""
    failures = 0

    def counted(before: State, reported: State) -> State:
        nonlocal failures
        failures += reported is FAILED
        return FAILED if before is FAILED and failures >= count else counted_state(before, reported)

    return counted


failed_twice_and_for_all = Mutant(
    clause="A42-SUB-10",
    broken="an endpoint that failed a second time gets no more requests",
    rules={"counted_state": failed_for_good_after(2)},
)


def renewed_by_any_request() -> Callable[[Iterable[Candidate], PickArgs], PickResult]:
    """Connect the endpoints that were READY before and are IDLE, whichever a request picks."""
    ready: set[Target] = set()

    def pick(walk: Iterable[Candidate], args: PickArgs) -> PickResult:
        candidates = list(walk)
        ready.update(each.target for each in candidates if each.state is READY)
        result = pick_from_ring_a61(candidates, args)
        if isinstance(result, Drop):
            return result
        lost = (each.target for each in candidates if each.state is State.IDLE)
        again = (target for target in lost if target in ready)
        return replace(result, connect=tuple(dict.fromkeys((*result.connect, *again))))

    return pick


lost_and_renewed_by_any_request = Mutant(
    clause="A42-SUB-13",
    broken="any request reconnects the endpoints that lost their connections",
    rules={"pick_from_ring": renewed_by_any_request()},
)
