"""Expect the queries to the client's name server."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeIndependent
from conformance.judging.observations import Lookup, Lookups, Observation

OF_ADDRESSES = frozenset({"A", "AAAA"})
"""Kinds of records that are asked for where addresses are wanted, one of them or both."""


class Resolves(TimeIndependent, frozen=True, tag="looks_up"):
    """The addresses of these names are asked for, and of no others.

    Clauses: A37-DNS-01, A37-DNS-02, A37-DNS-11, A74-CONFIG-07.
    """

    names: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh what was asked."""
        asked = [lookup for lookup in _lookups(seen) if lookup.kind in OF_ADDRESSES]
        holds = {query.name for query in asked} == set(self.names)
        return Finding(
            holds, f"addresses asked for of {', '.join(self.names) or 'nobody'}", _told(asked)
        )


class NeverResolves(TimeIndependent, frozen=True, tag="never_looks_up"):
    """No records of a kind are asked for, though addresses are.

    Clauses: A37-DNS-05, A37-DNS-06.
    """

    kind: str

    def finding(self, seen: Observation) -> Finding:
        """Weigh what was asked."""
        asked = _lookups(seen)
        kinds = {query.kind for query in asked}
        holds = bool(kinds & OF_ADDRESSES) and self.kind not in kinds
        wanted = f"addresses asked for, and no records of {self.kind}"
        return Finding(holds, wanted, _told(asked))


def _lookups(seen: Observation) -> tuple[Lookup, ...]:
    if not isinstance(seen, Lookups):
        raise WrongKind(f"look-ups are expected here, not {type(seen).__name__}")
    return seen.lookups


def _told(asked: Sequence[Lookup]) -> str:
    told = dict.fromkeys(f"{query.kind} of {query.name}" for query in asked)
    return f"asked for {', '.join(told)}" if told else "asked for nothing"
