"""What a mutant of the reference client is: one rule replaced, so that one clause is broken.

Declarations lie beside the catalogue's sections, as `NAME = Mutant(...)` at module level. The
process of a mutant finds its declaration by `conduct.MUTANT_VARIABLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from client_under_test.reference.editions.behavior import Behavior


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A client that is right but for one thing.

    Attributes:
        clause: id of the clause that it breaks.
        broken: what it does instead, in words.
        rules: replaced rules of balancing, by their name in `editions.Rules`.
        xds: replaced rules of the xDS client, by their name in `xds.rules.XdsRules`.
        edition: the manifest's variant in which the clause holds.
        reports: of a clause that leaves a choice, the choice that must then be reported.
        issue: where a real client was reported to do the same.
    """

    clause: str
    broken: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    xds: Mapping[str, Any] = field(default_factory=dict)
    edition: str = "modern"
    reports: str = ""
    issue: str = ""

    def __call__(self, conduct: Behavior) -> Behavior:
        """Break it."""
        return Behavior(replace(conduct.rules, **self.rules), replace(conduct.xds, **self.xds))


def for_good(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Make a rule that goes on, while the process lives, giving the answer that it gave first."""
    answers: list[Any] = []

    def broken(*arguments: Any) -> Any:
        if not answers:
            answers.append(rule(*arguments))
        return answers[0]

    return broken
