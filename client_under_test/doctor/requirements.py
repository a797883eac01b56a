"""What a check demands of what it sees, and how it ends if that does not hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.launching.channels import Outcome


class MissingCapability(Exception):
    """What is looked for is not to be had here, which is against no rule; the text says why."""


class Violation(Exception):
    """The adapter did not do what the contract says."""


class NotApplicable(Violation):
    """It did not, and so what builds on it says nothing."""


def require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Go on only if it holds.

    Raises:
        Wrong: it does not.
    """
    if not holds:
        raise Violation(otherwise)


def require_status(outcome: Outcome, status: str) -> None:
    """Go on only if a call ended so.

    Raises:
        Wrong: it did not.
    """
    require(
        outcome.status == status,
        f"{outcome.status} ({outcome.details or 'no details'}) instead of {status}",
    )


async def require_answer(
    ready: Callable[[], bool], until: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    """Go on once it is `ready()`, as waited for by `until`.

    Raises:
        Wrong: nothing came in time.
    """
    try:
        async with asyncio.timeout(ANSWER_DEADLINE):
            await until(ready)
    except TimeoutError:
        raise Violation(f"no answer came within {ANSWER_DEADLINE:g} s") from None
