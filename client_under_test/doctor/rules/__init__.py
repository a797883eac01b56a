"""The rules of the contract, by subject, each with the check that looks at it."""

from collections.abc import Collection
from typing import Final

from client_under_test.contract.messages import NEW_IN_2, Capability
from client_under_test.doctor.check import Check
from client_under_test.doctor.rules import (
    bootstrap,
    calls,
    cancellation,
    channels,
    connectivity,
    conversation,
    custom_policy,
    host_names,
    lifetime,
    many_calls,
)

# In the order in which an author writes an adapter: a check comes after those that it builds on.
_ALL: Final[tuple[Check, ...]] = (
    *conversation.CHECKS,
    *channels.OPENING,
    *calls.CHECKS,
    *many_calls.CHECKS,
    *cancellation.CHECKS,
    *connectivity.CHECKS,
    *channels.CLOSING,
    *custom_policy.CHECKS,
    *bootstrap.CHECKS,
    *host_names.CHECKS,
    *lifetime.CHECKS,
)


def every_check() -> tuple[Check, ...]:
    """Return all checks."""
    return _ALL


def checks_for(capabilities: Collection[Capability]) -> tuple[Check, ...]:
    """Those that an adapter is examined by: what came with version 2 only if it states that."""
    left_out = NEW_IN_2.difference(capabilities)
    return tuple(check for check in _ALL if left_out.isdisjoint(check.needs))
