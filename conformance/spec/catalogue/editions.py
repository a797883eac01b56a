"""Editions: whole texts, and wordings, parts and additions of texts that a client may state. Pure.

They stand in one order, in which later ones amend earlier ones: `documents.toml`, which `loader`
reads.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Final

import msgspec

from conformance.spec.catalogue.clauses import Clause

ENVOY: Final = "envoy"
"""The edition of those who do as Envoy does; it is neither earlier nor later than the others."""


PROPOSALS: Final = "https://github.com/grpc/proposal/blob"


class Edition(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"
):
    """What a manifest can state of a document: all of it as it is now, or else one of three things.

    Attributes:
        id: The document's name, such as "A61", with a suffix if this is not the whole of it now.
        brings: What a client that follows it has, in a few words.
        date: When it came to be worded so, in grpc/proposal. Envoy's has none.
        commit: The commit of that day.
        page: The file of a whole text there.
        files: Where the rows of a whole text stand, from the folder of the catalogue on.
        first_wording_of: The text whose first wording it is. Rows leave that out where the text
            as it is now holds for it too.
        part_of: The text of which a client may have this part alone.
        areas: Those of a part, such as "A76-KEY": it has the clauses of these areas, in the
            wordings of its text.
        adds_to: The text to which it was added so late that clients took it up apart from that:
            neither states the other.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^(A\d+(-[A-Z\d]+)?|envoy)$")]
    brings: Annotated[str, msgspec.Meta(min_length=1)]
    date: dt.date | None = None
    commit: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")] | None = None
    page: Annotated[str, msgspec.Meta(pattern=r"^A\d+-[\w-]+\.md$")] | None = None
    files: tuple[str, ...] = ()
    first_wording_of: str | None = None
    part_of: str | None = None
    areas: tuple[Annotated[str, msgspec.Meta(pattern=r"^A\d+-[A-Z]+$")], ...] = ()
    adds_to: str | None = None

    @property
    def text(self) -> str:
        """The whole text as it is now: this one itself, or that to which it belongs."""
        return self.first_wording_of or self.part_of or self.adds_to or self.id

    @property
    def relation(self) -> str:
        """What it is of its text, in words; empty for the whole of it."""
        if self.first_wording_of:
            return f"first wording of {self.first_wording_of}"
        if self.part_of:
            return f"part of {self.part_of}"
        return f"addition to {self.adds_to}" if self.adds_to else ""

    def has(self, clause: Clause) -> bool:
        """Whether a part has the clause; whatever is no part may have any."""
        return self.part_of is None or clause.area in self.areas


class Editions:
    """All editions, in the order in which they amend each other, and Envoy's at the end."""

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
        """Their names, in order."""
        return tuple(self._by_id)

    @functools.cached_property
    def wordings(self) -> tuple[str, ...]:
        """Those by which a row may word its statement: a part goes by the wordings of its text."""
        return tuple(edition.id for edition in self if edition.part_of is None)

    @functools.cached_property
    def _latest_first(self) -> tuple[Edition, ...]:
        """Envoy's, which goes before all others, stands last in the list."""
        return tuple(reversed(self._by_id.values()))

    def link(self, edition: str) -> str:
        """Where an edition's wording of its text can be read; empty of one that is in no gRFC."""
        entry = self._by_id.get(edition)
        page = self._by_id[entry.text].page if entry else None
        return f"{PROPOSALS}/{entry.commit}/{page}" if entry and page else ""

    def of_text(self, text: str) -> frozenset[str]:
        """A text and what was added to it: by one of them its own rows are worded."""
        return frozenset({text, *(edition.id for edition in self if edition.adds_to == text)})

    def edition_for(self, clause: Clause, follows: Collection[str]) -> str | None:
        """Tell by which wording a client is judged that states to follow these editions.

        Args:
            clause: The clause.
            follows: Names of editions; those that this clause does not know do not matter.

        Returns:
            The latest edition of the clause among them (Envoy's before all), or None where the
            statement is in no text that the client follows: then there is nothing to judge.
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
    """Whether a clause is gRPC's alone, and the client one that states Envoy's edition."""
    return ENVOY in follows and clause.grpc_only is not None


def broken_rules(listed: Collection[Edition]) -> Iterator[tuple[str, str]]:
    """Pairs of an edition and what is wrong with its entry, for rules that types cannot say."""
    order = {edition.id: place for place, edition in enumerate(listed)}
    whole = {edition.id for edition in listed if edition.text == edition.id}
    files: list[str] = []
    if len(order) < len(listed):
        yield "the list", "each edition has one entry"
    for place, edition in enumerate(listed):
        relations = [
            text for text in (edition.first_wording_of, edition.part_of, edition.adds_to) if text
        ]
        text = order.get(edition.text, place)
        files += edition.files
        complaints = {
            "give one of first-wording-of, part-of and adds-to at most": len(relations) > 1,
            f"{edition.text} is no whole text of the list": edition.text not in whole,
            f"it must stand before {edition.text}": edition.first_wording_of is not None
            and text < place,
            f"it must stand behind {edition.text}": edition.first_wording_of is None
            and text > place,
            "`areas` tell what a part has, and nothing else has them": (
                bool(edition.areas) != bool(edition.part_of)
            ),
            f"its rows stand in the files of {edition.text}": bool(edition.files)
            and edition.id not in whole,
            f"its page is that of {edition.text}": bool(edition.page) and edition.id not in whole,
            "a file stands in the list once": len(set(files)) < len(files),
            "each has its date and its commit, but Envoy's": (
                {edition.date is None, edition.commit is None} != {edition.id == ENVOY}
            ),
            "Envoy's stands last": edition.id == ENVOY and place + 1 < len(listed),
        }
        yield from ((edition.id, words) for words, holds in complaints.items() if holds)
