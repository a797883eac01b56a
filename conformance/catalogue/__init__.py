"""The clauses: every normative statement of a specification, one observable fact a row."""

from conformance.catalogue.clauses import Clause, Strength
from conformance.catalogue.editions import ENVOY, Edition, Editions, is_foreign
from conformance.catalogue.ground import Behaviour, ground
from conformance.catalogue.loader import (
    FOLDER,
    Catalogue,
    CatalogueError,
    UnknownClause,
    edition_for,
    load,
)

__all__ = [
    "ENVOY",
    "FOLDER",
    "Behaviour",
    "Catalogue",
    "CatalogueError",
    "Clause",
    "Edition",
    "Editions",
    "Strength",
    "UnknownClause",
    "edition_for",
    "ground",
    "is_foreign",
    "load",
]
