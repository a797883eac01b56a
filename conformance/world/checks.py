"""What a scenario puts before the judge. No I/O: nothing is decided here, either."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.judging.aborts import ResourceRejected, RingUnknown, Unsupported
from conformance.judging.evidence import JudgedClient
from conformance.judging.expectations import Expectation, MatchesRing
from conformance.judging.observations import Observation
from conformance.judging.verdicts import Check, ExpectationT, expectation_of, leaves_a_choice
from conformance.spec.catalogue import ENVOY, Catalogue, edition_for, is_foreign
from conformance.spec.oracles.ring.keys import KeyFormat


class Checks:
    """The checks of one scenario.

    Args:
        catalogue: the clauses, to know which of them leave a choice.
        client: the client as it is judged.
    """

    def __init__(self, catalogue: Catalogue, client: JudgedClient) -> None:
        self._catalogue = catalogue
        self._client = client
        self.checks: list[Check] = []
        self.notes: list[str] = []
        self.at = ""
        """The clause that the scenario has come to, if it goes from one to the next."""

    def turn_to(self, clause: str) -> None:
        """Go on to a clause: what ends the scenario from now on is about this one.

        Those that were judged keep their verdicts, and those to come are blocked by it.
        """
        self.at = clause

    def has(self, clause: str) -> bool:
        """Return whether the clause applies to the client; clauses on gRPC alone exempt Envoy."""
        return not is_foreign(self._catalogue[clause], self._client.follows)

    def require(self, clause: str) -> None:
        """Require that the clause applies to the client.

        Raises:
            ClientUnable: it does not apply.
        """
        if not self.has(clause):
            raise Unsupported(self._catalogue[clause].grpc_only or "")

    def check(
        self,
        clause: str,
        seen: Observation,
        expected: Expectation | Mapping[str, Expectation],
        *,
        before: MatchesRing | None = None,
    ) -> None:
        """Put a clause before the judge.

        Args:
            clause: its id.
            seen: what was seen.
            expected: one expectation, which holds for the row's own text and for Envoy's words for
                the same thing; or one for each edition or choice.
            before: of calls that are overdue: the ring that was served before, if it is known.
        """
        row = self._catalogue[clause]
        if isinstance(expected, Mapping):
            by_edition = dict(expected)
        else:
            own = {row.editions[0], *({ENVOY} & {*row.editions})}
            by_edition = dict.fromkeys(["so"] if leaves_a_choice(row) else sorted(own), expected)
        if row.choices and not by_edition.keys() <= {*row.choices}:
            raise ValueError(
                f"of {clause} {', '.join(by_edition)} is put before the judge, "
                f"and the catalogue has {', '.join(row.choices)}"
            )
        if not leaves_a_choice(row):  # else the format does not matter, or is what is asked
            keys = self._client.ring_keys
            by_edition = {name: keys.bind(expectation) for name, expectation in by_edition.items()}
        self.checks.append(Check(clause=clause, seen=seen, expected=by_edition, before=before))

    def by_edition(
        self, clause: str, expect: Callable[[str], ExpectationT]
    ) -> dict[str, ExpectationT]:
        """Return the expectation of each wording of a clause."""
        return {edition: expect(edition) for edition in self._catalogue[clause].editions}

    def alike(self, clause: str, expected: ExpectationT) -> dict[str, ExpectationT]:
        """Return the same expectation for each edition, for a clause on which all agree."""
        return self.by_edition(clause, lambda _: expected)

    def own(self, clause: str, expected: Mapping[str, ExpectationT]) -> ExpectationT:
        """Return the expectation of the edition that the client follows, or else any of them."""
        known = self._catalogue[clause]
        edition = edition_for(known, self._client.follows)
        found = expectation_of(known, expected, edition) if edition else None
        return next(iter(expected.values())) if found is None else found

    @property
    def key_format(self) -> KeyFormat:
        """How the client names ring entries.

        Raises:
            RingUnknown: the format is unknown.
            ClientRefused: the format is unknown because the client rejected the ring that
                reveals it.
        """
        keys = self._client.ring_keys
        if keys.known is None and keys.refusal is not None:
            raise ResourceRejected(keys.note, keys.refusal)
        if keys.known is None:
            raise RingUnknown(
                "where a request goes next is not known for this client, as the format of its "
                f"ring keys is unknown: {keys.note or 'no scenario has asked'}"
            )
        return keys.known

    def note(self, text: str) -> None:
        """Add a remark that is not a verdict to the scenario's evidence."""
        self.notes.append(text)
