"""A clause: one statement of a text, as a row of the catalogue has it."""

import enum
from typing import Literal

import msgspec


class Strength(enum.StrEnum):
    """How much a text asks; its "will" is a MUST."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    UNSPECIFIED = "UNSPECIFIED"
    """The text leaves it open: what is seen is reported and nobody is failed."""


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement of a text, and how it can be seen from outside a client.

    Attributes:
        id: `<gRFC>-<AREA>-<NN>`; never given to another statement.
        document: The gRFC that makes the statement, such as "A61".
        amends: The gRFC that the document changes by it, if any.
        section: The headings above the statement, joined by " / ".
        strength: What the text asks.
        title: What a conforming client does, in a few words.
        wordings: By edition, the statement in one sentence, earliest first and Envoy's last. An
            edition left out says the same as the latest one before it.
        new_in: The edition that brought the statement, where earlier ones are silent about it.
        open_in: Editions by which the statement is left open: what is seen of a client that is
            judged by one of them is reported, and it is not failed.
        superseded_in: Editions whose wording its own authors corrected later: what a client that is
            judged by one of them does is reported, and it neither passes nor fails.
        basis: The source of the strength: document, section and, in our words, the sentence there.
        seen_by: How it is seen from outside.
        unobservable: Why it cannot be seen. Either this or `seen_by` is there.
        awaits: What has to come before any scenario can decide it: until then nothing is said of
            a client by it.
        grpc_only: Why there is no such thing in Envoy: then nothing is asked of its edition.
        about: The kind of resource whose reading it is about: of all clauses that are not judged
            because a client refuses such a resource, the first that is about it fails.
        rests_on: The clause without which nothing can be said of this one: where that fails in a
            scenario that decides both, this one is blocked there.
        choices: Where the text leaves one: what a client may be seen to choose, as reports and
            manifests write it. Empty where a manifest cannot state it.
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
        """The editions with a wording of their own, earliest first and Envoy last."""
        return tuple(self.wordings)

    def worded(self, edition: str | None) -> str:
        """What it says by an edition that has a wording of its own, or else by the earliest."""
        return self.wordings.get(edition or self.editions[0], self.title)
