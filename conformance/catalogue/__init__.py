"""The clauses: every normative statement of a specification, one observable fact a row."""

from conformance.catalogue.editions import BROUGHT
from conformance.catalogue.loader import (
    EDITIONS,
    ENVOY,
    FOLDER,
    Catalogue,
    CatalogueError,
    Clause,
    Strength,
    UnknownClause,
    edition_for,
    is_foreign,
    load,
)

__all__ = [
    "BROUGHT",
    "EDITIONS",
    "ENVOY",
    "FOLDER",
    "Catalogue",
    "CatalogueError",
    "Clause",
    "Strength",
    "UnknownClause",
    "edition_for",
    "is_foreign",
    "load",
]
