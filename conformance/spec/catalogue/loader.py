"""Read editions and clauses from the TOML files next to this module; README.md describes them."""

import dataclasses
import difflib
import functools
import hashlib
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from conformance.spec.catalogue.clauses import Clause, Strength
from conformance.spec.catalogue.editions import ENVOY, Edition, Editions, broken_rules
from regular_files import read_text

FOLDER = Path(__file__).parent

DOCUMENTS = "documents.toml"

BASICS = "basics.toml"
"""The files with rows in an order in which each builds upon files before it."""

_ID = re.compile(r"(A\d+)-[A-Z]+-\d{2}")

Read = TypeVar("Read", bound=msgspec.Struct)


class CatalogueError(Exception):
    """A file of the catalogue is invalid; the message names the file and the row."""


class UnknownClause(LookupError):
    """There is no clause with that id."""


@dataclasses.dataclass(frozen=True, slots=True)
class Catalogue:
    """All clauses, in the order of the texts.

    Attributes:
        clauses: By id, in order.
        files: The file of each clause's row, such as "ring_hash/ring.toml".
        editions: The editions that the clauses have wordings for.
        version: A hash of all clauses, for the provenance of a run.
    """

    clauses: dict[str, Clause]
    files: dict[str, str]
    editions: Editions
    version: str

    def __getitem__(self, clause_id: str) -> Clause:
        """Return the clause with this id.

        Raises:
            UnknownClause: There is no such clause.
        """
        clause = self.clauses.get(clause_id)
        if clause is None:
            wanted = re.sub(r"-(\d)$", r"-0\1", clause_id.upper())
            near = difflib.get_close_matches(wanted, self.clauses, n=1)
            hint = f": did you mean {near[0]}?" if near else "; `xdspec list clauses` shows all"
            raise UnknownClause(f"there is no clause {clause_id}{hint}")
        return clause

    def __contains__(self, clause_id: object) -> bool:
        return clause_id in self.clauses

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses.values())

    def __len__(self) -> int:
        return len(self.clauses)

    def basics(self) -> dict[str, tuple[int, int]]:
        """Return the place of each clause in an order in which the most basic one comes first.

        A file that `basics.toml` does not list comes last.
        """
        order = _basics()
        return {
            clause: (order.get(self.files.get(clause, ""), len(order)), number)
            for number, clause in enumerate(self.clauses)
        }

    def worded_by(self, edition: str) -> tuple[Clause, ...]:
        """Return the clauses that have a wording of this edition (for a part, of its text)."""
        known = self.editions[edition]
        wording = known.part_of or edition
        return tuple(clause for clause in self if wording in clause.wordings and known.has(clause))

    def only(self, grfc: str) -> tuple[Clause, ...]:
        """Return the clauses of a gRFC, those that amend it, and those that it rewords.

        "a42" selects the clauses of A42, and those of A61 that amend A42. "a61" selects the clauses
        of A61, and those of A42 for which A61 or an addition to it has another wording. The case of
        the name does not matter. An unknown name selects none.
        """
        names = self.editions.of_text(grfc.upper())
        return tuple(
            clause
            for clause in self
            if not names.isdisjoint((clause.document, clause.amends, *clause.wordings))
        )


def edition_for(clause: Clause, follows: Collection[str]) -> str | None:
    """Return the edition by which to judge a client that states the editions `follows`."""
    return load().editions.edition_for(clause, follows)


@functools.cache
def load(folder: Path = FOLDER) -> Catalogue:
    """Read a catalogue; a second call returns the same object.

    Args:
        folder: The folder of `documents.toml`; the files with rows are in folders by topic.

    Raises:
        CatalogueError: A file is missing or wrong.
    """
    editions = _editions(folder)
    files: dict[str, str] = {}
    rows: list[Clause] = []
    for name in sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*.toml")):
        for place, clause in _clauses(folder, name, editions):
            if clause.id in files:
                raise CatalogueError(f"{place}: {files[clause.id]} has a row with this id.")
            files[clause.id] = name
            rows.append(clause)
    clauses = {clause.id: clause for clause in sorted(rows, key=editions.place_of)}
    for clause in clauses.values():
        below = clause.rests_on and clauses.get(clause.rests_on)
        if clause.rests_on and not (below and below.strength in {Strength.MUST, clause.strength}):
            weak = f"{clause.rests_on}, which is neither a MUST nor of the same strength"
            raise CatalogueError(f"{clause.id}: the clause depends on {weak}.")
    digest = hashlib.sha256(msgspec.json.encode(list(clauses.values())))
    return Catalogue(clauses, files, editions, digest.hexdigest()[:12])


@functools.cache
def _basics() -> dict[str, int]:
    """Return the place of each file of `basics.toml`."""
    return {file: place for place, file in enumerate(_table(FOLDER, BASICS)["order"])}


def _table(folder: Path, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(folder / name))
    except OSError as error:
        raise CatalogueError(f"{name}: cannot be read ({error.strerror}).") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CatalogueError(f"{name}: {error}.") from error


def _read(fields: dict[str, Any], as_: type[Read], place: str) -> Read:
    try:
        return msgspec.convert(fields, as_)
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{place}: {error}.") from error


def _editions(folder: Path) -> Editions:
    table = _table(folder, DOCUMENTS)
    entries = table.pop("edition", None)
    if table or not isinstance(entries, list):
        raise CatalogueError(f"{DOCUMENTS}: only [[edition]] tables are allowed.")
    listed = [
        _read(entry, Edition, f"{DOCUMENTS}, {entry.get('id', f'edition {number}')}")
        for number, entry in enumerate(entries, start=1)
    ]
    for edition, wrong in broken_rules(listed):
        raise CatalogueError(f"{DOCUMENTS}, {edition}: {wrong}.")
    return Editions(listed)


def _clauses(folder: Path, name: str, editions: Editions) -> Iterator[tuple[str, Clause]]:
    """Yield the rows of a file, each with its location for error messages."""
    table = _table(folder, name)
    # Values above the rows are defaults for all rows of the file.
    head = {key: value for key, value in table.items() if not isinstance(value, dict)}
    for clause_id, row in table.items():
        if clause_id in head:
            continue
        place = f"{name}, {clause_id}"
        parts = _ID.fullmatch(clause_id)
        if parts is None:
            raise CatalogueError(f"{place}: the id must look like A42-HASH-03.")
        text = next((edition for edition in editions if edition.id == parts[1]), None)
        if text is None:
            raise CatalogueError(f"{place}: {DOCUMENTS} has no document {parts[1]}.")
        if given := {"document", "amends"} & {*head, *row}:
            raise CatalogueError(
                f"{place}: leave `{min(given)}` out. The id names the document, and {DOCUMENTS} "
                "has what it amends."
            )
        wordings = {edition: row.pop(edition) for edition in editions.wordings if edition in row}
        for key in row:
            if re.match(r"A\d", key):
                raise CatalogueError(f"{place}: no edition in {DOCUMENTS} has wordings as `{key}`.")
        known = {
            "id": clause_id,
            "document": text.id,
            "amends": text.amends,
            "wordings": wordings,
        }
        clause = _read({**head, **row, **known}, Clause, place)
        complaint = _complaint(clause, text, editions)
        if complaint:
            raise CatalogueError(f"{place}: {complaint}.")
        yield place, clause


def _complaint(clause: Clause, document: Edition, editions: Editions) -> str | None:
    """Return the first error in how the fields of a row fit together, which types cannot check."""
    complaints = {
        f"{DOCUMENTS} does not list {clause.area} in the `areas` of {document.id}": (
            clause.area not in document.areas
        ),
        f"the wording of {clause.document} is missing": (
            editions.of_text(clause.document).isdisjoint(clause.wordings)
        ),
        "a row needs either `seen_by` or `unobservable`": (
            (clause.seen_by is None) == (clause.unobservable is None)
        ),
        "a row with `unobservable` cannot have `awaits`": (
            clause.awaits is not None and clause.unobservable is not None
        ),
        "a row with `grpc_only` cannot have a wording of Envoy's": (
            clause.grpc_only is not None and ENVOY in clause.wordings
        ),
        "`open_in` must name wordings of the row": not {*clause.open_in} <= {*clause.wordings},
        "`superseded_in` must name first wordings of the row": not all(
            edition in clause.wordings and editions[edition].first_wording_of
            for edition in clause.superseded_in
        ),
        "only a MAY or UNSPECIFIED row can have `choices`": (
            bool(clause.choices) and not clause.strength.is_open
        ),
        "`new_in` must be the first edition that has a wording": (
            clause.new_in not in (None, *clause.editions[:1])
        ),
    }
    return next((message for message, holds in complaints.items() if holds), None)
