"""Mutants of the clauses in proactive.toml."""

from collections.abc import Callable, Sequence
from typing import Any

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.rules.ring_states import (
    Prospect,
    proactive_attempt,
    proactive_attempt_a61,
)
from client_under_test.reference.transport.backoff import backoff_delay
from client_under_test.reference.values import Endpoint, State

ProactiveAttempt = Callable[[State, Sequence[Prospect], str | None], str | None]


FAILED = State.TRANSIENT_FAILURE


ENOUGH_TO_FAIL = 2


Hindered = Callable[[State, Sequence[Prospect]], bool]


def unless(hindered: Hindered) -> ProactiveAttempt:
    """Follow A61's rule, but connect nothing if `hindered` matches."""

    def broken(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        if hindered(aggregated, prospects):
            return None
        return proactive_attempt_a61(aggregated, prospects, last_failed)

    return broken


def never_ready() -> Hindered:
    """Match as long as no endpoint was READY."""
    was_ready = False

    def hindered(aggregated: State, _prospects: Sequence[Prospect]) -> bool:
        nonlocal was_ready
        was_ready = was_ready or aggregated is State.READY
        return not was_ready

    return hindered


def unless_once_ready(hindered: Hindered) -> ProactiveAttempt:
    """Follow A61's rule, but connect nothing once an endpoint was READY and `hindered` matches."""
    before = never_ready()
    return unless(
        lambda aggregated, prospects: (
            not before(aggregated, prospects) and hindered(aggregated, prospects)
        )
    )


def idle_ones(prospects: Sequence[Prospect]) -> list[str]:
    """Return the IDLE endpoints."""
    return [prospect.identity for prospect in prospects if prospect.counted is State.IDLE]


def while_ready_too(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Connect an endpoint even if one is READY."""
    if aggregated is State.READY:
        return next(iter(idle_ones(prospects)), None)
    return proactive_attempt_a61(aggregated, prospects, last_failed)


def the_same_again(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Connect only the same endpoint again after a failure."""
    found = proactive_attempt(aggregated, prospects, last_failed)
    return last_failed if found is not None and last_failed is not None else found


def several_at_once(
    aggregated: State, prospects: Sequence[Prospect], _last_failed: str | None
) -> str | None:
    """Connect another IDLE endpoint even while one is CONNECTING."""
    if aggregated not in {State.CONNECTING, FAILED}:
        return None
    return next(iter(idle_ones(prospects)), None)


def by_address(
    aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
) -> str | None:
    """Follow A61's rule, from the lowest address on."""
    ordered = sorted(prospects, key=lambda prospect: prospect.identity)
    return proactive_attempt_a61(aggregated, ordered, last_failed)


def failures(prospects: Sequence[Prospect]) -> int:
    """Return the number of failed endpoints."""
    return sum(prospect.counted is FAILED for prospect in prospects)


def too_few_failed(_aggregated: State, prospects: Sequence[Prospect]) -> bool:
    """Match if fewer endpoints have failed than make the policy fail."""
    return failures(prospects) < ENOUGH_TO_FAIL


busy_while_ready = Mutant(
    clause="A42-PRO-01",
    broken="endpoints are connected although one is READY",
    rules={"proactive_attempt": while_ready_too},
)


def when_lost() -> ProactiveAttempt:
    """Follow A61's rule, and connect an endpoint when the last READY one is lost."""
    was_ready = False

    def broken(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        nonlocal was_ready
        was_ready = was_ready or aggregated is State.READY
        if was_ready and aggregated is State.IDLE:
            return next(iter(idle_ones(prospects)), None)
        return proactive_attempt_a61(aggregated, prospects, last_failed)

    return broken


replaced_when_lost = Mutant(
    clause="A42-PRO-01",
    broken="when the only READY endpoint is lost, another one connects",
    rules={"proactive_attempt": when_lost()},
)


def when_fewer_are_ready() -> ProactiveAttempt:
    """Follow A61's rule, and connect an endpoint when one of several READY ones is lost."""
    most = 0

    def broken(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        nonlocal most
        ready = sum(prospect.counted is State.READY for prospect in prospects)
        most = max(most, ready)
        if 0 < ready < most:
            return next(iter(idle_ones(prospects)), None)
        return proactive_attempt_a61(aggregated, prospects, last_failed)

    return broken


replaced_beside_ready = Mutant(
    clause="A42-PRO-01",
    broken="when one of two READY endpoints is lost, an IDLE one connects",
    rules={"proactive_attempt": when_fewer_are_ready()},
)


gives_up_when_failed = Mutant(
    clause="A42-PRO-02",
    broken="in TRANSIENT_FAILURE no endpoint is connected without a pick",
    rules={"proactive_attempt": unless(lambda aggregated, _: aggregated is FAILED)},
)


needs_a_pick_to_go_on = Mutant(
    clause="A42-PRO-03",
    broken="after one failure no endpoint is connected without a pick",
    rules={"proactive_attempt": unless(lambda aggregated, _: aggregated is State.CONNECTING)},
)


needs_a_pick_after_a_loss = Mutant(
    clause="A42-PRO-03",
    broken="when a lost endpoint fails to reconnect, none is connected without a pick",
    rules={
        "proactive_attempt": unless_once_ready(lambda aggregated, _: aggregated is State.CONNECTING)
    },
)


same_endpoint_again = Mutant(
    clause="A42-PRO-04",
    broken="after a failure only the same endpoint is retried",
    rules={"proactive_attempt": the_same_again},
    variant="seed",
)


lowest_address_first = Mutant(
    clause="A42-PRO-05",
    broken="endpoints are connected in the order of their addresses",
    rules={"proactive_attempt": by_address},
    reports="of the addresses",
)


only_the_first_three = Mutant(
    clause="A42-PRO-06",
    broken="after three failures the policy stops connecting",
    rules={"proactive_attempt": unless(lambda _, prospects: failures(prospects) > ENOUGH_TO_FAIL)},
)


goes_on_when_ready = Mutant(
    clause="A42-PRO-07",
    broken="endpoints are connected although one is READY",
    rules={"proactive_attempt": while_ready_too},
)


no_backoff = Mutant(
    clause="A42-PRO-08",
    broken="a failed endpoint is retried after 0.1 s",
    rules={"backoff_delay": lambda _failures, _jitter: 0.1},
)


backoff_that_never_grows = Mutant(
    clause="A42-PRO-08",
    broken="a failed endpoint is retried after 1 s, however often it has failed",
    rules={"backoff_delay": lambda _failures, draw: backoff_delay(1, draw)},
)


def shorter_after_an_update() -> dict[str, Callable[..., Any]]:
    """Wait for a tenth of the backoff once the endpoints have been updated."""
    is_updated = False

    def endpoints(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
        nonlocal is_updated
        is_updated = is_updated or bool(before)
        return now

    return {
        "ring_endpoints": endpoints,
        "backoff_delay": lambda failures, draw: (
            backoff_delay(failures, draw) / (10 if is_updated else 1)
        ),
    }


no_backoff_after_an_update = Mutant(
    clause="A42-PRO-08",
    broken="after an update a failed endpoint is retried after a tenth of its backoff",
    rules=shorter_after_an_update(),
)


ends_with_its_request = Mutant(
    clause="A42-PRO-09",
    broken="the policy stops connecting when an attempt fails after its request ended",
    rules={"proactive_attempt": lambda _aggregated, _prospects, _last_failed: None},
)


loss_unnoticed = Mutant(
    clause="A42-PRO-10",
    broken="with two endpoints failed no endpoint is connected without a pick",
    rules={"proactive_attempt": unless(lambda _, prospects: failures(prospects) > 1)},
)


loss_unnoticed_after_one = Mutant(
    clause="A42-PRO-10",
    broken="when the READY endpoint is lost while one other has failed, none is connected",
    rules={"proactive_attempt": unless_once_ready(too_few_failed)},
)


removal_unnoticed = Mutant(
    clause="A42-PRO-11",
    broken="with two endpoints failed no endpoint is connected without a pick",
    rules={"proactive_attempt": unless(lambda _, prospects: failures(prospects) > 1)},
)


def unless_shortened(hindered: Hindered) -> ProactiveAttempt:
    """Follow A61's rule, but connect nothing once the list is shorter and `hindered` matches."""
    longest = 0

    def shortened(aggregated: State, prospects: Sequence[Prospect]) -> bool:
        nonlocal longest
        longest = max(longest, len(prospects))
        return hindered(aggregated, prospects) and len(prospects) < longest

    return unless(shortened)


removal_unnoticed_after_one = Mutant(
    clause="A42-PRO-11",
    broken="when the READY endpoint is removed while one other has failed, none is connected",
    rules={"proactive_attempt": unless_shortened(too_few_failed)},
)


removal_of_a_held_one_unnoticed = Mutant(
    clause="A42-PRO-11",
    broken="when a CONNECTING endpoint is removed, no other is connected",
    rules={"proactive_attempt": unless_shortened(never_ready())},
)


many_at_once = Mutant(
    clause="A42-PRO-12",
    broken="each change connects one more endpoint",
    rules={"proactive_attempt": several_at_once},
    reports="several",
)


several_endpoints_at_a_time = Mutant(
    clause="A61-PRO-01",
    broken="each change connects one more endpoint",
    rules={"proactive_attempt": several_at_once},
)


def beside_picked_ones() -> ProactiveAttempt:
    """Follow A61's rule, but ignore attempts that picks have caused."""
    own: set[str] = set()

    def broken(
        aggregated: State, prospects: Sequence[Prospect], last_failed: str | None
    ) -> str | None:
        counting = [
            each for each in prospects if each.identity in own or each.counted is State.IDLE
        ]
        found = proactive_attempt_a61(aggregated, counting, last_failed)
        own.update([] if found is None else [found])
        return found

    return broken


own_attempts_only = Mutant(
    clause="A61-PRO-01",
    broken="an IDLE endpoint is connected although one that a request picked is CONNECTING",
    rules={"proactive_attempt": beside_picked_ones()},
)


failed_ones_rest = Mutant(
    clause="A61-PRO-02",
    broken="a failed endpoint is retried only for a pick",
    rules={"ring_endpoints_retry": False},
)


new_list_unnoticed = Mutant(
    clause="A61-PRO-03",
    broken="after one failure no endpoint is connected without a pick",
    rules={"proactive_attempt": unless(lambda aggregated, _: aggregated is State.CONNECTING)},
)


def unless_the_list_is_new() -> ProactiveAttempt:
    """Follow A61's rule, but connect nothing at an update of the list."""
    listed: tuple[str, ...] = ()

    def hindered(_aggregated: State, prospects: Sequence[Prospect]) -> bool:
        nonlocal listed
        before, listed = listed, tuple(prospect.identity for prospect in prospects)
        return listed != before

    return unless(hindered)


looked_at_reports_only = Mutant(
    clause="A61-PRO-03",
    broken="proactive connections are checked only when an endpoint's state changes",
    rules={"proactive_attempt": unless_the_list_is_new()},
)


def unless_new_and_failed() -> ProactiveAttempt:
    """Follow A61's rule, but connect nothing at an update of the list in TRANSIENT_FAILURE."""
    listed: tuple[str, ...] = ()

    def hindered(aggregated: State, prospects: Sequence[Prospect]) -> bool:
        nonlocal listed
        before, listed = listed, tuple(prospect.identity for prospect in prospects)
        return listed != before and aggregated is FAILED

    return unless(hindered)


new_list_unnoticed_when_failed = Mutant(
    clause="A61-PRO-03",
    broken="in TRANSIENT_FAILURE an update of the list has no endpoint connected",
    rules={"proactive_attempt": unless_new_and_failed()},
)


AN_HOUR = 3600.0


failed_ones_rest_after_a_retry = Mutant(
    clause="A61-PRO-02",
    broken="a failed endpoint is retried once, and then not for an hour",
    rules={
        "backoff_delay": lambda failures, draw: AN_HOUR if failures > 1 else backoff_delay(1, draw)
    },
)
