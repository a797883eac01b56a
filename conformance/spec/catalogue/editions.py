"""Define editions: the texts, first wordings, parts and additions that a client may state.

All editions have one order, and later editions amend earlier ones. `loader` reads them from
`documents.toml`.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Final

import msgspec

from conformance.spec.catalogue.clauses import Clause

ENVOY: Final = "envoy"
"""The edition of clients that behave like Envoy; it is neither earlier nor later than others."""


PROPOSALS: Final = "https://github.com/grpc/proposal/blob"


class Edition(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """A version of a text that a manifest can state: the current text, or one of three relations.

    Attributes:
        id: The document's name, such as "A61", with a suffix if it is not the whole current text.
        brings: The behavior that the edition adds, in a few words.
        date: The date of this wording in grpc/proposal. Envoy's edition has none.
        commit: The commit of that date in grpc/proposal.
        page: The file of a whole text in grpc/proposal.
        amends: The text that a whole text changes, if any.
        first_wording_of: The text whose first wording this is. A row has no first wording if the
            current wording also holds for it.
        part_of: The text that this is a part of, if clients implement the part alone.
        areas: The areas of ids, such as "A76-KEY". Those of a whole text are in its order; a part
            has the clauses of its areas, in the wordings of its text.
        adds_to: The text that this was added to later. Clients implement text and addition
            separately, so neither implies the other.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^(A\d+(-[A-Z\d]+)?|envoy)$")]
    brings: Annotated[str, msgspec.Meta(min_length=1)]
    date: dt.date | None = None
    commit: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")] | None = None
    page: Annotated[str, msgspec.Meta(pattern=r"^A\d+-[\w-]+\.md$")] | None = None
    amends: str | None = None
    first_wording_of: str | None = None
    part_of: str | None = None
    areas: tuple[Annotated[str, msgspec.Meta(pattern=r"^A\d+-[A-Z]+$")], ...] = ()
    adds_to: str | None = None

    @property
    def text(self) -> str:
        """The id of the whole current text that this edition is or belongs to."""
        return self.first_wording_of or self.part_of or self.adds_to or self.id

    @property
    def relation(self) -> str:
        """The edition's relation to its text, for people; empty for the whole text."""
        if self.first_wording_of:
            return f"first wording of {self.first_wording_of}"
        if self.part_of:
            return f"part of {self.part_of}"
        return f"addition to {self.adds_to}" if self.adds_to else ""

    def has(self, clause: Clause) -> bool:
        """Return whether the edition can have the clause: a part has only those of its areas."""
        return self.part_of is None or clause.area in self.areas


class Editions:
    """All editions, in the order in which they amend each other; Envoy's is last."""

    def __init__(self, listed: Iterable[Edition]) -> None:
        self._by_id = {edition.id: edition for edition in listed}

    def __getitem__(self, edition: str) -> Edition:
        return self._by_id[edition]

    def __contains__(self, edition: object) -> bool:
        return edition in self._by_id

    def __iter__(self) -> Iterator[Edition]:
        return iter(self._by_id.values())

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the editions, in order."""
        return tuple(self._by_id)

    @functools.cached_property
    def wordings(self) -> tuple[str, ...]:
        """The ids that a row may use for its wordings; a part uses the wordings of its text."""
        return tuple(edition.id for edition in self if edition.part_of is None)

    @functools.cached_property
    def _latest_first(self) -> tuple[Edition, ...]:
        """The editions, latest first; Envoy's takes precedence and so comes first."""
        return tuple(reversed(self._by_id.values()))

    def link(self, edition: str) -> str:
        """Return the address of an edition's text; empty if the edition is in no gRFC."""
        entry = self._by_id.get(edition)
        page = self._by_id[entry.text].page if entry else None
        return f"{PROPOSALS}/{entry.commit}/{page}" if entry and page else ""

    def of_text(self, text: str) -> frozenset[str]:
        """Return a text and its additions; each row of the text has a wording of one of them."""
        return frozenset({text, *(edition.id for edition in self if edition.adds_to == text)})

    def place_of(self, clause: Clause) -> tuple[int, int, str]:
        """Return a key that sorts clauses in the order of their texts, areas and numbers."""
        areas = self._by_id[clause.document].areas
        return (self.ids.index(clause.document), areas.index(clause.area), clause.id)

    def edition_for(self, clause: Clause, follows: Collection[str]) -> str | None:
        """Return the edition by which to judge a client that states these editions.

        Args:
            clause: The clause.
            follows: The editions that the client states, including any that have no wording of
                this clause.

        Returns:
            The latest of them that has the clause (Envoy's takes precedence). None if no text that
            the client follows contains the statement: then the suite does not judge the client.
        """
        if is_foreign(clause, follows):
            return None
        stated = {
            edition.part_of or edition.id
            for edition in self
            if edition.id in follows and edition.has(clause)
        }
        for edition in self._latest_first:
            if edition.id not in stated:
                continue
            if edition.id in clause.wordings:
                return edition.id
            now = edition.first_wording_of
            if now in clause.wordings and clause.new_in != now:
                return now
        return None


def is_foreign(clause: Clause, follows: Collection[str]) -> bool:
    """Return whether the client states Envoy's edition and the clause exists in gRPC only."""
    return ENVOY in follows and clause.grpc_only is not None


def broken_rules(listed: Collection[Edition]) -> Iterator[tuple[str, str]]:
    """Yield pairs of an edition and an error in its entry, for rules that types cannot express."""
    order = {edition.id: place for place, edition in enumerate(listed)}
    whole = {edition.id for edition in listed if edition.text == edition.id}
    if len(order) < len(listed):
        yield "the list", "each edition must have one entry"
    for place, edition in enumerate(listed):
        relations = [
            text for text in (edition.first_wording_of, edition.part_of, edition.adds_to) if text
        ]
        text = order.get(edition.text, place)
        is_whole = edition.id in whole
        complaints = {
            "at most one of first-wording-of, part-of and adds-to is allowed": len(relations) > 1,
            f"{edition.text} is not a whole text of the list": edition.text not in whole,
            f"the entry must come before {edition.text}": edition.first_wording_of is not None
            and text < place,
            f"the entry must come after {edition.text}": edition.first_wording_of is None
            and text > place,
            "an edition with `part-of` needs `areas`": bool(edition.part_of and not edition.areas),
            "only a whole text and an edition with `part-of` have `areas`": bool(edition.areas)
            and not (is_whole or edition.part_of),
            f"the areas of a text start with {edition.id}-": is_whole
            and not all(area.startswith(f"{edition.id}-") for area in edition.areas),
            "an area must appear in the list once": len(set(edition.areas)) < len(edition.areas),
            f"`amends` belongs to the entry of {edition.text}": bool(edition.amends)
            and not is_whole,
            f"{edition.amends} is not a whole text of the list": edition.amends is not None
            and edition.amends not in whole,
            f"`page` belongs to the entry of {edition.text}": bool(edition.page) and not is_whole,
            "every edition but Envoy's needs `date` and `commit`": (
                {edition.date is None, edition.commit is None} != {edition.id == ENVOY}
            ),
            "Envoy's entry must be the last": edition.id == ENVOY and place + 1 < len(listed),
        }
        yield from ((edition.id, message) for message, holds in complaints.items() if holds)
