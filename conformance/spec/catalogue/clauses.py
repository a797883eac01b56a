"""Define a clause: one normative statement of a text, one row of the catalogue."""

import enum
from typing import Literal

import msgspec


class Strength(enum.StrEnum):
    """The requirement level of a statement; "will" in a text is a MUST."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    UNSPECIFIED = "UNSPECIFIED"
    """The text leaves the behavior open: the suite reports what it observed and fails no client."""

    @property
    def is_open(self) -> bool:
        """Return whether no client can fail such a clause."""
        return self in {Strength.MAY, Strength.UNSPECIFIED}


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One normative statement of a text, and how to observe it from outside a client.

    Attributes:
        id: `<gRFC>-<AREA>-<NN>`; never reused for another statement.
        document: The gRFC that makes the statement, such as "A61".
        amends: The gRFC that the statement changes, if any.
        section: The headings above the statement, joined by " / ".
        strength: The requirement level.
        title: What a conforming client does, in a few words.
        wordings: The statement in one sentence, by edition, earliest first and Envoy's last. An
            edition without a wording keeps the wording of the latest edition before it.
        new_in: The edition that introduced the statement, if earlier editions do not mention it.
        open_in: Editions that leave the behavior open. The suite reports the behavior of a client
            that follows one of them, and does not fail it.
        superseded_in: Editions whose wording its authors corrected later. The suite reports the
            behavior of a client that follows one of them, and neither passes nor fails it.
        basis: The source of the strength: document, section and, in our words, the sentence there.
        seen_by: How a scenario observes the behavior from outside.
        unobservable: Why no scenario can observe it. A row has either this or `seen_by`.
        awaits: What is missing before a scenario can decide the clause. Until then the suite gives
            no verdict on it.
        grpc_only: Why Envoy has no such behavior. A client of Envoy's edition is not judged by it.
        about: The kind of resource that the clause is about. If a client rejects such a resource,
            the first clause about it fails, and other clauses that need the resource are blocked.
        rests_on: The clause that this one depends on. If a scenario decides both and that clause
            fails, this one is blocked there.
        choices: The behaviors that the text lets a client choose from, as reports and manifests
            write them. Empty if a manifest cannot state the choice.
    """

    id: str
    document: str
    section: str
    strength: Strength
    title: str
    wordings: dict[str, str]
    amends: str | None = None
    new_in: str | None = None
    open_in: tuple[str, ...] = ()
    superseded_in: tuple[str, ...] = ()
    basis: str | None = None
    seen_by: str | None = None
    unobservable: str | None = None
    awaits: str | None = None
    grpc_only: str | None = None
    about: Literal["listener", "route", "cluster", "endpoints"] | None = None
    rests_on: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The id without its number, such as "A42-HASH"."""
        return self.id.rpartition("-")[0]

    @property
    def editions(self) -> tuple[str, ...]:
        """The editions that have their own wording, earliest first and Envoy last."""
        return tuple(self.wordings)

    @property
    def paraphrase(self) -> str:
        """The basis, marked as a paraphrase, since readers take it for a quotation otherwise."""
        place, colon, sentence = (self.basis or "").partition(": ")
        return f"{place} (paraphrased): {sentence}" if colon else place

    def worded(self, edition: str | None) -> str:
        """Return the wording of an edition, or the title if the edition has none.

        Args:
            edition: The edition; None for the earliest that has a wording.
        """
        return self.wordings.get(edition or self.editions[0], self.title)
