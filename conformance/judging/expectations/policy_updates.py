"""Expect the config and endpoints that a registered policy receives."""

from __future__ import annotations

import json
from collections.abc import Sequence

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent
from conformance.judging.observations import Observation, PolicyUpdate, PolicyUpdates

NO_JSON = "no JSON"
LONGEST = 400
"""Characters of a config that a reader of a failure wants to see."""


class ConfigReceived(TimeDependent, frozen=True, tag="hands_on"):
    """Each group of endpoints has an instance of its own, which has this config.

    Clauses: A52-CUSTOM-01, A52-CUSTOM-02, A52-CUSTOM-03, A52-CUSTOM-04, A52-CUSTOM-05,
    A52-CUSTOM-06, A52-CUSTOM-07, A52-CUSTOM-10, A52-CUSTOM-11, A52-CUSTOM-12,
    A52-CUSTOM-15.
    """

    config: str
    """JSON text. Numbers are doubles, as those of a Struct are, and the order of keys is free."""
    groups: tuple[tuple[str, ...], ...]
    """Their addresses; the order in which they are given is free, too."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh what was given last to each instance."""
        if not isinstance(seen, PolicyUpdates):
            raise WrongKind(f"updates of a policy are expected here, not {type(seen).__name__}")
        wanted = [(canonical(self.config), endpoints(group)) for group in self.groups]
        latest = seen.latest()
        given = [(canonical(instance.config), sorted(instance.endpoints)) for instance in latest]
        holds = all(given.count(pair) >= wanted.count(pair) for pair in wanted)
        words = "; ".join(f"an instance with {told(*pair)}" for pair in wanted)
        return Finding(holds, words, _told(latest))

    def is_config(self, text: str) -> bool:
        """Return whether a JSON text has the value of the config."""
        return canonical(text) == canonical(self.config)


def canonical(text: str) -> str:
    """Return the value of a JSON text in canonical form."""
    try:
        return json.dumps(json.loads(text, parse_int=float), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return f"{NO_JSON}: {text}"


def endpoints(addresses: Sequence[str]) -> list[tuple[str, ...]]:
    """Those of one address each, in one order."""
    return sorted((address,) for address in addresses)


def told(config: str, where: Sequence[Sequence[str]]) -> str:
    """Describe an update."""
    listed = ", ".join(" and ".join(addresses) for addresses in where) or "no endpoints"
    cut = "…" if len(config) > LONGEST else ""
    return f"{config[:LONGEST]}{cut} for {listed}"


def _told(latest: Sequence[PolicyUpdate]) -> str:
    each = (
        f"instance {instance.instance} with {told(instance.config, instance.endpoints)}"
        for instance in latest
    )
    return "; ".join(each) or "no update"
