"""The rules of the contract, by subject, each with the check that looks at it."""

from collections.abc import Collection, Mapping
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
    *conversation.AFTER_OPENING,
    *calls.CHECKS,
    *channels.AFTER_CALLS,
    *many_calls.CHECKS,
    *cancellation.CHECKS,
    *connectivity.CHECKS,
    *channels.CLOSING,
    *custom_policy.CHECKS,
    *bootstrap.CHECKS,
    *host_names.CHECKS,
    *lifetime.CHECKS,
)


SECTIONS: Final[Mapping[str, str]] = {
    "hello": "Requests and answers",
    "not-a-request": "Requests and answers",
    "unknown-request": "Requests and answers",
    "open-channel": "Requests and answers",
    "unknown-channel": "Requests and answers",
    "close": "Requests and answers",
    "channels": "Requests and answers",
    "unary": "Calls",
    "metadata": "Calls",
    "response-headers": "Calls",
    "unknown-method": "Calls",
    "statuses": "Calls",
    "deadline": "Calls",
    "fail-fast": "Calls",
    "wait-for-ready": "Calls",
    "kept-open": "Calls",
    "all-at-once": "Order and overlap",
    "concurrency": "Order and overlap",
    "pace": "Order and overlap",
    "cancel": "Order and overlap",
    "watch": "States",
    "connect": "States",
    "custom-policy": "Custom policies",
    "own-bootstrap": "One process for several scenarios",
    "long-line": "The process",
    "host-names": "Names",
    "name-server": "Names",
    "end": "The process",
}
"""The section of the contract that has each rule of the doctor."""


def every_check() -> tuple[Check, ...]:
    """Return all checks."""
    return _ALL


def checks_for(capabilities: Collection[Capability]) -> tuple[Check, ...]:
    """Return the checks of an adapter: what came with version 2 only if it declares that."""
    left_out = NEW_IN_2.difference(capabilities)
    return tuple(check for check in _ALL if left_out.isdisjoint(check.needs))
