"""Reads the clauses from the TOML files beside this module; README.md there describes a row."""

import dataclasses
import difflib
import enum
import functools
import hashlib
import re
import tomllib
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent

NOW = {"A42-2021": "A42", "A56-2022": "A56", "A61-2023": "A61"}
"""Texts as first written, by the year, and as they are now.

Rows leave the first wording out where the present one holds for it too.
"""

EDITIONS = (*chain.from_iterable(NOW.items()), "A62", "A74", "A75", "A76", "A113")
"""The editions of gRPC's texts, earliest first."""

ENVOY = "envoy"
"""The edition of those who do as Envoy does; it is neither earlier nor later than the others."""

_WORDINGS = (*EDITIONS, ENVOY)

_ID = re.compile(r"(A\d+)-[A-Z]+-\d{2}")


class Strength(enum.StrEnum):
    """How much a text asks; its "will" is a MUST."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"
    UNSPECIFIED = "UNSPECIFIED"
    """The text leaves it open: what is seen is reported and nobody is failed."""


class CatalogueError(Exception):
    """A file of the catalogue is wrong; the message names the file and the row."""


class UnknownClause(LookupError):
    """There is no clause of that id."""


class Clause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement of a text, and how it can be seen from outside a client.

    Attributes:
        id: `<gRFC>-<AREA>-<NN>`; never given to another statement.
        document: The gRFC that makes the statement, such as "A61".
        amends: The gRFC that the document changes by it, if any.
        section: The headings above the statement, joined by " / ".
        strength: What the text asks.
        title: A short noun phrase.
        wordings: By edition, the statement in one sentence. An edition left out says the same as
            the latest one before it.
        new_in: The edition that brought the statement, where earlier ones are silent about it.
        basis: Where the rule is written, if the document only points there.
        seen_by: How it is seen from outside.
        unobservable: Why it cannot be seen. Either this or `seen_by` is there.
        grpc_only: Why there is no such thing in Envoy: then nothing is asked of its edition.
    """

    id: str
    document: str
    section: str
    strength: Strength
    title: str
    wordings: dict[str, str]
    amends: str | None = None
    new_in: str | None = None
    basis: str | None = None
    seen_by: str | None = None
    unobservable: str | None = None
    grpc_only: str | None = None

    @property
    def editions(self) -> tuple[str, ...]:
        """The editions with a wording of their own, earliest first and Envoy last."""
        return tuple(edition for edition in _WORDINGS if edition in self.wordings)


@dataclasses.dataclass(frozen=True, slots=True)
class Catalogue:
    """All clauses, in the order of the texts.

    Attributes:
        clauses: By id, in order.
        version: A hash of what the clauses say, for the provenance of a run.
    """

    clauses: dict[str, Clause]
    version: str

    def __getitem__(self, clause_id: str) -> Clause:
        """Look a clause up by its id.

        Raises:
            UnknownClause: There is none.
        """
        clause = self.clauses.get(clause_id)
        if clause is None:
            near = difflib.get_close_matches(clause_id.upper(), self.clauses, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UnknownClause(
                f"There is no clause {clause_id}; `xdspec list clauses` shows all.{hint}"
            )
        return clause

    def __contains__(self, clause_id: object) -> bool:
        return clause_id in self.clauses

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses.values())

    def __len__(self) -> int:
        return len(self.clauses)

    def worded_by(self, edition: str) -> tuple[Clause, ...]:
        """The clauses that have a wording of this edition's own."""
        return tuple(clause for clause in self if edition in clause.wordings)

    def only(self, grfc: str) -> tuple[Clause, ...]:
        """The clauses that a gRFC states, those that reword one of its own, and its rewordings.

        So "a42" has the clauses of A61 that amend A42, and "a61" has those clauses and the ones
        of A42 for which A61 has another wording. Upper or lower case; unknown means none.
        """
        name = grfc.upper()
        return tuple(
            clause for clause in self if name in (clause.document, clause.amends, *clause.wordings)
        )


def is_foreign(clause: Clause, follows: Collection[str]) -> bool:
    """Whether a clause is gRPC's alone, and the client one that states Envoy's edition."""
    return ENVOY in follows and clause.grpc_only is not None


def edition_for(clause: Clause, follows: Collection[str]) -> str | None:
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
    for edition in (ENVOY, *reversed(EDITIONS)):
        if edition not in follows:
            continue
        if edition in clause.wordings:
            return edition
        now = NOW.get(edition)
        if now in clause.wordings and clause.new_in != now:
            return now
    return None


@functools.cache
def load(folder: Path = FOLDER) -> Catalogue:
    """Read a catalogue; a second call gives the same one.

    Args:
        folder: Where `contents.toml` lies, which names the files in order.

    Raises:
        CatalogueError: A file is missing, not listed or wrong.
    """
    names = _table(folder, "contents.toml").get("files")
    if not isinstance(names, list):
        raise CatalogueError("contents.toml: `files` must list the files of the catalogue.")
    forgotten = {path.relative_to(folder).as_posix() for path in folder.glob("*/*.toml")}
    forgotten.difference_update(names)
    if forgotten:
        raise CatalogueError(f"contents.toml does not list {min(forgotten)}.")
    clauses: dict[str, Clause] = {}
    for name in names:
        for place, clause in _clauses(folder, name):
            if clause.id in clauses:
                raise CatalogueError(f"{place}: the id is taken by an earlier row.")
            clauses[clause.id] = clause
    digest = hashlib.sha256(msgspec.json.encode(list(clauses.values())))
    return Catalogue(clauses, digest.hexdigest()[:12])


def _table(folder: Path, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads((folder / name).read_text("utf-8"))
    except OSError as error:
        raise CatalogueError(f"{name}: cannot be read ({error.strerror}).") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CatalogueError(f"{name}: {error}.") from error


def _clauses(folder: Path, name: str) -> Iterator[tuple[str, Clause]]:
    """Give the rows of a file, each with the place to name when something is wrong with it."""
    table = _table(folder, name)
    # What stands above the rows holds for those that do not say otherwise.
    head = {key: value for key, value in table.items() if not isinstance(value, dict)}
    for clause_id, row in table.items():
        if clause_id in head:
            continue
        place = f"{name}, {clause_id}"
        wordings = {edition: row.pop(edition) for edition in _WORDINGS if edition in row}
        try:
            clause = msgspec.convert({**head, **row, "id": clause_id, "wordings": wordings}, Clause)
        except msgspec.ValidationError as error:
            raise CatalogueError(f"{place}: {error}.") from error
        complaint = _complaint(clause)
        if complaint:
            raise CatalogueError(f"{place}: {complaint}.")
        yield place, clause


def _complaint(clause: Clause) -> str | None:
    """Say what no type can: how the fields of a row must fit together."""
    parts = _ID.fullmatch(clause.id)
    if parts is None:
        return "an id looks like A42-HASH-03"
    if parts[1] != clause.document:
        return f"the id must begin with the document, {clause.document}"
    complaints = {
        f"the wording of {clause.document} is missing": clause.document not in clause.wordings,
        "a row has either `seen_by` or `unobservable`": (
            (clause.seen_by is None) == (clause.unobservable is None)
        ),
        "what is gRPC's alone has no wording of Envoy's": (
            clause.grpc_only is not None and ENVOY in clause.wordings
        ),
        "`new_in` must be the first edition that has a wording": (
            clause.new_in not in (None, *clause.editions[:1])
        ),
    }
    return next((words for words, holds in complaints.items() if holds), None)
