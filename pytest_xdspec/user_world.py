"""The world of a user's own scenario, which fails at the first unexpected observation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import conformance.world
from conformance.judging.expectations import Expectation, Finding
from conformance.judging.observations import Observation
from conformance.judging.verdicts import BAD, Decision, decide
from conformance.spec.catalogue import load


class World(conformance.world.World):
    """What a test works with, alone: a control plane, a fleet, a client, and what was seen of them.

    `serve` gives the client an `XdsConfig`, `endpoints` and `addresses` make backends behind gates,
    `call` and `start` have it make calls, `eventually` repeats them until they fit,
    and `attempts`, `states`, `control`, `channels` and `rounds` have all the rest.
    """

    def expect(self, seen: Observation, expected: Expectation) -> None:
        """Go on only if what was seen is as expected, which an oracle computes.

        Where requests go on a ring is computed by the way in which this client names its entries.

        Args:
            seen: such as the calls that `call` has given back.
            expected: such as `served.matches_ring()`, or one of `expectations`.

        Raises:
            AssertionError: it is not.
        """
        __tracebackhide__ = True
        finding = self.client.ring_keys.bind(expected).finding(seen)
        self.checks.note(f"expected {finding.wanted}: observed {finding.saw}")
        if not finding.holds:
            heading = "the observation differs from the expectation"
            raise AssertionError("\n".join([heading, *_told(finding)]))

    async def check(
        self, clause: str, seen: Observation, expected: Expectation | Mapping[str, Expectation]
    ) -> None:
        """Hold what was seen against a clause of the catalogue, in the client's own edition of it.

        A clause cannot fail if no edition that the client states contains it. A clause that
        leaves a choice can fail only if the client's manifest states the choice.

        Args:
            clause: its id, of those that `xdspec list clauses` has.
            seen: what was seen.
            expected: one expectation, or one for each edition or choice.

        Raises:
            AssertionError: it is not as that edition says.
            UnknownClause: there is no such clause.
        """
        __tracebackhide__ = True
        await super().check(clause, seen, expected)
        row, check = load()[clause], self.checks.checks[-1]
        said = decide(check, row, self.client.follows, self.client.choices.get(clause))
        if said.verdict in BAD:
            where = f"{clause}, {row.title}: {row.worded(said.edition)}"
            raise AssertionError("\n".join([where, *_told(said)]))


def _told(found: Finding | Decision) -> Iterator[str]:
    yield f"  expected  {found.wanted}"
    yield f"  observed  {found.saw}"
    if found.differs:
        yield f"  differs   {found.differs}"
    if found.oracle:
        yield f"  computed  from {found.oracle}"
    if isinstance(found, Finding) and found.doubtful:
        yield "  doubtful  the suite itself was late, which alone may be why"
