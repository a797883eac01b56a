"""What a mutant of the reference client is: one rule replaced, so that one clause is broken.

Declarations are in `conformance/mutation/mutants`, as `NAME = Mutant(...)` at module level. The
process of a mutant finds its declaration by `behavior.MUTANT_VARIABLE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

from client_under_test.reference.editions.behavior import Behavior
from client_under_test.reference.editions.editions import Rules
from client_under_test.reference.xds.rules import XdsRules


class NoSuchRule(ValueError):
    """A mutant replaces a rule that the reference client does not have; the text says which."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A client that is right but for one thing.

    Attributes:
        clause: id of the clause that it breaks.
        broken: what it does instead, in words.
        rules: replaced rules of balancing, by their name in `editions.Rules`.
        xds: replaced rules of the xDS client, by their name in `xds.rules.XdsRules`.
        variant: the variant of the reference client that it breaks: a name in its client.toml.
        reports: of a clause that leaves a choice, the choice that must then be reported.
        issue: where a real client was reported to do the same.
    """

    clause: str
    broken: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    xds: Mapping[str, Any] = field(default_factory=dict)
    variant: str = "modern"
    reports: str = ""
    issue: str = ""

    def __post_init__(self) -> None:
        """Check that the reference client has the rules.

        Raises:
            NoSuchRule: it has none of one of these names.
        """
        for kind, other, replaced, of in (
            ("rules", "xds", self.rules, (Rules, XdsRules)),
            ("xds", "rules", self.xds, (XdsRules, Rules)),
        ):
            here, there = ({each.name for each in fields(owner)} for owner in of)
            for name in replaced.keys() - here:
                hint = f": it is one of `{other}`" if name in there else ""
                if not hint and (near := get_close_matches(name, here, n=1)):
                    hint = f": did you mean {near[0]}?"
                raise NoSuchRule(
                    f"a mutant of {self.clause} replaces {name} in `{kind}`, and the reference "
                    f"client has no such rule there{hint}"
                )

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
