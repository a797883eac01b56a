"""``xdspec badge``: a client's outcome as JSON for badge services."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec

from conformance.cli.failures import Failure
from conformance.cli.option_values import demanded_clauses
from conformance.cli.pictures import write as write_file
from conformance.reporting import badge as badges
from conformance.reporting.report import BadReport, read
from conformance.spec.catalogue import Catalogue


class BadgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants a badge of."""

    client: str | None
    """None: of the one that there is."""
    only: str | None
    """A gRFC; None: of all that was judged."""
    label: str | None


def write(
    reports: Collection[Path],
    wish: BadgeOptions,
    catalogue: Catalogue,
    file: Path | None,
) -> str:
    """Write the badge to a file, if one is named, and return its text.

    Raises:
        Failure: a report cannot be used, there is no such client or gRFC, or a file not be written.
    """
    try:
        found = badges.found([read(path) for path in reports], wish.client)
    except (BadReport, badges.NoBadge) as error:
        raise Failure(str(error)) from None
    if wish.only is None:
        made = badges.badge(found, label=wish.label)
    else:
        clauses = demanded_clauses(wish.only, catalogue)
        made = badges.badge_of_document(found, wish.only, clauses, label=wish.label)
    if file:
        write_file(file, badges.endpoint(made))
    return f"{made.label}: {made.message}"
