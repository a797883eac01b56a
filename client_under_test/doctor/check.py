"""One rule of the contract, how to look whether an adapter obeys it, and what was found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from client_under_test.contract.messages import Capability
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck

HELLO: Final = "hello"
"""The check on which every other one builds."""

Verdict = Literal["ok", "wrong", "skipped"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found.

    `rule` is what the contract asks for, as a sentence, and `advice` how an adapter does it. `seen`
    tells what was seen if the verdict is `wrong`, and why it was not looked at, or breaks no rule,
    if it is `skipped`; `missing` has the capabilities that it would take. `waits_for` names the
    check that must be right before this one says anything. `section` is where the rule is
    explained, and `exchange` has the last lines of a check that found the rule broken.
    """

    check: str
    rule: str
    advice: str
    verdict: Verdict
    seen: str = ""
    missing: tuple[Capability, ...] = ()
    waits_for: str | None = None
    section: str = ""
    exchange: tuple[str, ...] = ()
    cause: str = ""
    """What broke the conversation, if other checks may find the same."""


Run = Callable[[AdapterUnderCheck], Awaitable[None]]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the contract, and how to see whether an adapter obeys it.

    `after` is the check without which this one says nothing; `needs` what the client must be able
    to do at all.
    """

    name: str
    rule: str
    advice: str
    after: str
    needs: tuple[Capability, ...]
    run: Run


def check(
    name: str, *, rule: str, advice: str, after: str = "", needs: tuple[Capability, ...] = ()
) -> Callable[[Run], Check]:
    """Make a check of the function below: of what it looks at, `demand` what the rule says."""

    def made(run: Run) -> Check:
        return Check(name=name, rule=rule, advice=advice, after=after, needs=needs, run=run)

    return made
