"""The random order in which pick_first tries endpoints, if its config says so (A62, A113)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from client_under_test.reference.values import Endpoint


def shuffle_endpoints(endpoints: Sequence[Endpoint], random: random.Random) -> list[Endpoint]:
    """A62: every order is as likely; the addresses within an endpoint keep theirs (A61)."""
    return random.sample(endpoints, len(endpoints))


def shuffle_endpoints_a113(endpoints: Sequence[Endpoint], random: random.Random) -> list[Endpoint]:
    """A113: by falling keys, u to the power of 1 / weight for an even random u."""
    keyed = [(random.random() ** (1 / max(1, endpoint.weight)), endpoint) for endpoint in endpoints]
    return [endpoint for _, endpoint in sorted(keyed, key=lambda pair: pair[0], reverse=True)]


def tries_address(
    _failed_before_the_list: bool,  # noqa: FBT001 - a state
    _failed_before_its_turn: bool,  # noqa: FBT001 - a state
) -> bool:
    """A62-RETRY-01: an address is tried in its turn, and for good, even if it failed before.

    Clauses: A58-WRR-06.
    """
    return True


def addresses_to_try(addresses: Sequence[str]) -> Sequence[str]:
    """A62-RETRY-01: a pass tries each address of the list."""
    return addresses


def retries_address(_position: int, _addresses: int) -> bool:
    """A62-RETRY-01: each address is tried again once its backoff is over."""
    return True


@dataclass(frozen=True, kw_only=True)
class PickFirstRules:
    """The rules of pick_first."""

    shuffle_endpoints: Callable[[Sequence[Endpoint], random.Random], list[Endpoint]] = (
        shuffle_endpoints
    )
    pick_first_sticks: bool = False
    """A62: whether it stays in TRANSIENT_FAILURE and goes on trying until it is READY."""
    attempt_delay: float | None = None
    """A61: seconds until the next address is tried beside one that is slow; None: one by one."""
    tries_address: Callable[[bool, bool], bool] = tries_address
    """Takes whether it failed before the list came, and whether before its turn in the pass."""
    retries_address: Callable[[int, int], bool] = retries_address
    """Takes the position of an address that has failed, and the number of addresses."""
    addresses_to_try: Callable[[Sequence[str]], Sequence[str]] = addresses_to_try
    """Takes the addresses of the list, in their order."""
