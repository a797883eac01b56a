"""The catalogue of clauses: each row is one normative statement of a gRFC."""

from conformance.spec.catalogue.clauses import Clause, Strength
from conformance.spec.catalogue.editions import ENVOY, Edition, Editions, is_foreign
from conformance.spec.catalogue.loader import (
    FOLDER,
    Catalogue,
    CatalogueError,
    UnknownClause,
    edition_for,
    load,
)
from conformance.spec.catalogue.peer_coverage import PeerBehavior, peer_coverage

__all__ = [
    "ENVOY",
    "FOLDER",
    "Catalogue",
    "CatalogueError",
    "Clause",
    "Edition",
    "Editions",
    "PeerBehavior",
    "Strength",
    "UnknownClause",
    "edition_for",
    "is_foreign",
    "load",
    "peer_coverage",
]
